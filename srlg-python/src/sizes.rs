//! The arguments of a detector that determine its configuration.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use srlg::config::ConfigError as SizeError;
use srlg::{Config, Device, SlidingDetector};

use crate::error::{ConfigError, raised};

/// Maximum number of pairs that a detector lists before it allocates its memory.
const MOST_LISTED_PAIRS: usize = 100_000;

/// The arguments that determine the sizes of a detector.
#[derive(Clone, IntoPyObject)]
pub(crate) struct Sizes {
    pub(crate) threshold: u32,
    pub(crate) window: u32,
    pub(crate) memory: Option<usize>,
    pub(crate) pairs: Option<u64>,
}

/// The seed and the device of a detector.
#[derive(Clone, IntoPyObject)]
pub(crate) struct Place {
    pub(crate) seed: Option<u64>,
    pub(crate) device: String,
}

/// Reads the whole number that is the argument `name`, if it was given.
pub(crate) fn number<T: TryFrom<i128>>(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    let number = match value.extract::<i128>() {
        Ok(number) => T::try_from(number).ok(),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => None,
        Err(_) => {
            let kind = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{name}: must be a whole number, got {kind}"
            )));
        }
    };
    let out_of_range = || {
        let most = 8 * size_of::<T>();
        PyOverflowError::new_err(format!(
            "{name}: must be 0 or more and below 2**{most}, got {value}"
        ))
    };
    number.map(Some).ok_or_else(out_of_range)
}

impl Place {
    /// Creates a detector that lists its first pairs.
    pub(crate) fn detector(&self, config: Config) -> PyResult<SlidingDetector> {
        let place: Device = self.device.parse().map_err(raised)?;
        SlidingDetector::sparse(config, place, MOST_LISTED_PAIRS).map_err(raised)
    }
}

impl Sizes {
    /// Returns the configuration for these sizes, with the default hash and seed.
    pub(crate) fn config(&self) -> PyResult<Config> {
        let Self { threshold, window, memory, pairs } = *self;
        let preset = Config::default();
        let raised = |error: SizeError| ConfigError::new_err(error.to_string());
        match (pairs, memory) {
            (None, None) => Ok(Config { window, ..preset.for_threshold(threshold) }),
            (None, Some(memory)) => Err(ConfigError::new_err(format!(
                "memory: requires pairs, the number of distinct pairs per window, got memory {memory} without pairs"
            ))),
            (Some(pairs), memory) => {
                let default = || preset.validate().map(|sizes| sizes.recorder_bytes());
                let memory = memory.map_or_else(default, Ok).map_err(raised)?;
                Config::for_load(threshold, window, pairs, memory)
                    .map(|plan| plan.config)
                    .map_err(raised)
            }
        }
    }
}
