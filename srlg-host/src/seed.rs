//! [`random_seed`]: a seed that nobody can guess.

use crate::error::Error;

/// Returns a seed from the system's randomness, for a detector that hostile traffic reaches.
///
/// ```
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::config::{HashFamily, random_seed};
///
/// let config = Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..Config::default() };
/// let detector = SlidingDetector::new(config, Device::Cpu)?;
/// # Ok::<(), srlg::Error>(())
/// ```
///
/// Nodes whose states are merged need the same seed: draw it once, give it to each of them as
/// any other secret, and to no other program. A detector alone draws its own at every start, and
/// needs to keep none.
///
/// # Errors
/// [`Error::Randomness`] when the system has none.
pub fn random_seed() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::Randomness { source: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Equal by chance once in 2^64.
    #[test]
    fn two_seeds_differ() {
        assert_ne!(random_seed().unwrap(), random_seed().unwrap());
    }
}
