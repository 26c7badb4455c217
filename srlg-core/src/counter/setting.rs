//! [`Setting`]: what the sizes of every counter follow from.

use crate::error::ConfigError;
use crate::hash::Hash;

/// What a detector asks of a counter; fields of a [`Config`](crate::Config).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// θ.
    pub(crate) threshold: u32,
    /// k, in slices.
    pub(crate) window: u32,
    /// η': recorders of a linear estimator.
    pub(crate) width: u32,
    /// The family of every hash.
    pub(crate) hash: Hash,
}

impl Setting {
    /// Checks that a linear estimator can tell a cardinality of θ.
    pub(crate) fn check_width(self) -> Result<(), ConfigError> {
        let Self { threshold, width, .. } = self;
        // From 8 recorders on the largest cardinality that they can tell, η' ln η', passes 2η'.
        if width < threshold.div_ceil(2).max(8) {
            return Err(ConfigError::LinearWidth { width, threshold });
        }
        Ok(())
    }

    /// Checks that 32 bits number all `recorders` of an array.
    pub(crate) fn check_recorders(self, recorders: u64) -> Result<(), ConfigError> {
        if recorders > u64::from(u32::MAX) {
            return Err(ConfigError::TooManyRecorders { recorders });
        }
        Ok(())
    }
}
