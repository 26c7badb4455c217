//! Configuration of a detector: schemes, hash families, and plans for an expected load.
//!
//! [`Config::default`](crate::Config::default) handles up to about 20 million distinct pairs per window in 31.6 MB. For
//! another load, [`Config::for_load`](crate::Config::for_load) computes a [`Plan`]. [`Params`] are the checked sizes of
//! a configuration, which are needed to read a [`state`](crate::state) from bytes.
//!
//! Thresholds and standard errors are numbers of peers. Windows are in slices, loads are in distinct pairs per window,
//! and memory is in bytes.
//!
//! # Example
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::Config;
//! use srlg::config::{HashFamily, random_seed};
//!
//! let plan = Config::for_load(1024, 300, 2_000_000, 8_000_000)?;
//! assert!(plan.std_error < 25.0 && plan.miss_probability < 0.01);
//! let hostile = Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..plan.config };
//! hostile.validate()?;
//! # Ok::<(), srlg::Error>(())
//! ```
//!
//! # Errors
//!
//! If a size breaks a rule, it is rejected with a [`ConfigError`], which states the rule and the values that break it.

#[cfg(feature = "serde")]
pub use srlg_core::with_seed;
pub use srlg_core::{ConfigError, HashFamily, MOST_CANDIDATES, Params, Plan, RsraSizes, Scheme};

use crate::error::Error;

/// Returns a random seed from the system, for a detector that must resist hostile traffic.
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
/// Detectors whose states are merged need the same seed. Draw the seed once, pass it as a secret to each detector, and
/// use it for nothing else. A single detector can draw a new seed at every start and need not store it.
///
/// # Errors
/// Returns [`Error::Randomness`] if the system cannot provide randomness.
pub fn random_seed() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::Randomness { source: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two seeds are equal by chance once in 2^64 runs.
    #[test]
    fn two_seeds_differ() {
        assert_ne!(random_seed().unwrap(), random_seed().unwrap());
    }
}
