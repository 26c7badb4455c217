//! Configuration rules that apply to all counters.

use crate::config::Config;
use crate::error::ConfigError;

/// Checks that a linear estimator of `config` can estimate a cardinality of θ.
pub(super) fn check_width(config: &Config) -> Result<(), ConfigError> {
    let Config { threshold, linear_width: width, .. } = *config;
    // With at least 8 recorders, the largest possible estimate, η' ln η', exceeds 2η'.
    if width < threshold.div_ceil(2).max(8) {
        return Err(ConfigError::LinearWidth { width, threshold });
    }
    Ok(())
}

pub(super) fn check_recorders(recorders: u64) -> Result<(), ConfigError> {
    if recorders > u64::from(u32::MAX) {
        return Err(ConfigError::TooManyRecorders { recorders });
    }
    Ok(())
}
