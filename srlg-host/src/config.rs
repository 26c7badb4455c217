//! Sizes of a detector: schemes, hash families, and plans for a load.
//!
//! [`Config::default`](crate::Config::default) handles up to some 20 million distinct pairs per window, in 31.6 MB.
//! For another load, [`Config::for_load`](crate::Config::for_load) computes a [`Plan`]. [`Params`] are checked sizes; the
//! readers of [`state`](crate::state) ask for them.
//!
//! Thresholds and errors are numbers of peers, windows are in slices, loads in distinct pairs per window, memory in bytes.
//! A size that breaks a rule is rejected with a [`ConfigError`], which names the rule and a value that works.
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::Config;
//! use srlg::config::{HashFamily, random_seed};
//!
//! let plan = Config::for_load(1024, 300, 2_000_000, 8_000_000)?;
//! assert!(plan.std_error < 20.0 && plan.miss_probability < 0.01);
//! let hostile = Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..plan.config };
//! hostile.validate()?;
//! # Ok::<(), srlg::Error>(())
//! ```

pub use srlg_core::{ConfigError, HashFamily, MOST_CANDIDATES, Params, Plan, RsraSizes, Scheme};

use crate::error::Error;

/// Returns a seed from the system's randomness, for a detector that hostile traffic reaches.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::config::{HashFamily, random_seed};
///
/// let config = Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..Config::default() };
/// let detector = SlidingDetector::new(config, Device::Cpu)?;
/// # Ok::<(), srlg::Error>(())
/// ```
///
/// Detectors whose states are merged need the same seed: draw it once, give it to each of them as
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
