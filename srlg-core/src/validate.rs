//! [`Config::validate`], which checks sizes and returns [`Params`].

use crate::config::Config;
use crate::epoch::LARGEST_AGE;
use crate::error::ConfigError;
use crate::hash::Keys;
use crate::ids::IdKeys;
use crate::params::Params;
use crate::scheme::{counter_part, finder_part};

/// Maximum candidate limit of a configuration. A snapshot therefore contains at most this number of hosts.
pub const MOST_CANDIDATES: u32 = 1 << 20;

impl Config {
    /// Checks every rule and derives the values that the estimators need.
    ///
    /// # Errors
    /// Returns an error for the first rule that the configuration breaks, with the values that break it.
    pub fn validate(&self) -> Result<Params, ConfigError> {
        let Self { threshold, window, hash, candidate_limit, .. } = *self;
        let max = LARGEST_AGE - 1;
        if window == 0 || window > max {
            return Err(ConfigError::Window { window, max });
        }
        let max = MOST_CANDIDATES;
        if !(1..=max).contains(&candidate_limit) {
            return Err(ConfigError::CandidateLimit { limit: candidate_limit, max });
        }
        let keys = Keys::of(self.seed);
        let finder = finder_part(self, &keys)?;
        let counter = counter_part(self, &keys)?;
        let [.., seed_key] = keys.columns;
        let id_keys = IdKeys(keys.limbs);
        let params =
            Params { threshold, window, candidate_limit, hash, seed_key, id_keys, finder, counter };
        let shapes = params.arrays();
        let bytes = shapes.map(|shape| shape.recorders as u64 * shape.width.bytes() as u64);
        let bytes = bytes.iter().sum();
        // On 32-bit machines, `Params::recorder_bytes` would overflow.
        if bytes > isize::MAX as u64 {
            return Err(ConfigError::AddressSpace { bytes });
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests;
