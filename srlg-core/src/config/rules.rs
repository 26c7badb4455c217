//! The rules that a [`Config`] has to keep, and τ.

use super::{Config, ConfigError, LARGEST_AGE, Scheme};
use crate::linear::{AGES, LINE};
use crate::pair::ADDRESS_BITS;
use crate::params::MAX_LINEAR_ROWS;

/// Fewer tags need more ages than a tally has bins.
pub(super) const LEAST_TAGS: u32 = (LARGEST_AGE + 1) / (2 * AGES as u32);

/// With more tags not even two ages, of a touch and of an echo, fit into 16 bits.
const MOST_TAGS: u32 = LARGEST_AGE / 4;

impl Config {
    pub(super) fn check_rough(&self) -> Result<(), ConfigError> {
        let Self { rough_rows, rough_column_bits, rough_width, bit_stride, .. } = *self;
        if !(12..=24).contains(&rough_column_bits) {
            return Err(ConfigError::RoughColumnBits { bits: rough_column_bits });
        }
        if !(3..=16).contains(&rough_rows) {
            return Err(ConfigError::RoughRows { rows: rough_rows });
        }
        if ![2, 4, 8].contains(&rough_width) {
            return Err(ConfigError::RoughWidth { width: rough_width });
        }
        if bit_stride == 0 || bit_stride >= rough_column_bits {
            return Err(ConfigError::BitStride { stride: bit_stride, bits: rough_column_bits });
        }
        let covered = (rough_rows - 2) * bit_stride + rough_column_bits;
        if covered < ADDRESS_BITS {
            return Err(ConfigError::UncoveredBits { covered });
        }
        Ok(())
    }

    pub(super) fn check_linear(&self) -> Result<(), ConfigError> {
        let Self { linear_width: width, threshold, .. } = *self;
        // From 8 recorders on the largest cardinality that they can tell, η' ln η', passes 2η'.
        if width < threshold.div_ceil(2).max(8) {
            return Err(ConfigError::LinearWidth { width, threshold });
        }
        let recorders = match self.scheme {
            Scheme::Paper { rows, columns, stride } => {
                paper_recorders(rows, columns, stride, width)?
            }
            Scheme::Tagged { lines, tags } => tagged_recorders(lines, tags, width)?,
        };
        if recorders > u64::from(u32::MAX) {
            return Err(ConfigError::TooManyRecorders { recorders });
        }
        Ok(())
    }

    /// τ: Eq. 1, `ceil(log2(θ/η))`, less the oversampling.
    pub(super) fn lsb_threshold(&self) -> Result<u32, ConfigError> {
        let Self { threshold, rough_width: width, .. } = *self;
        if threshold < width {
            return Err(ConfigError::Threshold { threshold, width });
        }
        let tau = threshold.div_ceil(width).next_power_of_two().trailing_zeros();
        // At most 32 - log2(η), so that sampling never reaches the high bits that H2 takes.
        Ok(tau.saturating_sub(self.oversampling_bits))
    }
}

/// Recorders of the paper's SLEA.
fn paper_recorders(rows: u32, columns: u32, stride: u32, width: u32) -> Result<u64, ConfigError> {
    if !(1..=MAX_LINEAR_ROWS as u32).contains(&rows) {
        return Err(ConfigError::LinearRows { rows });
    }
    if columns == 0 {
        return Err(ConfigError::LinearColumns);
    }
    if stride == 0 || stride > width {
        return Err(ConfigError::LinearStride { stride, width });
    }
    let row = u64::from(columns - 1) * u64::from(stride) + u64::from(width);
    Ok(row.saturating_mul(u64::from(rows)))
}

/// Recorders of the tagged SLEA.
fn tagged_recorders(lines: u32, tags: u32, width: u32) -> Result<u64, ConfigError> {
    // A tag is a function of a 16-bit cell.
    if width > 1 << 16 || !width.is_multiple_of(LINE) {
        return Err(ConfigError::TaggedWidth { width });
    }
    if lines < width / LINE {
        return Err(ConfigError::Lines { lines, least: width / LINE });
    }
    if !(LEAST_TAGS..=MOST_TAGS).contains(&tags) {
        return Err(ConfigError::Tags { tags });
    }
    Ok(u64::from(lines) * u64::from(LINE))
}
