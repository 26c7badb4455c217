//! [`Config`]: every size of a detector, as plain public fields.
//!
//! A `Config` may hold anything; [`Config::validate`] checks it against the rules of
//! the paper and turns it into [`Params`](crate::Params), the only way in.

mod error;

pub use error::ConfigError;

use crate::hash::{Key, KeySequence};
use crate::pair::ADDRESS_BITS;
use crate::params::{MAX_LINEAR_ROWS, Params};

/// What a recorder remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The paper's: an age in slices, 16 bits everywhere. Estimates subtract what foreign
    /// touches set on average.
    Paper,
    /// An age in epochs and, in the SLEA, a tag of the toucher: estimates count what a host
    /// touched itself. Recorders of the RSRA have 8 bits.
    Tagged {
        /// Bits of an age in the SLEA, 4 to 8; the other bits of its 16 are the tag.
        age_bits: u32,
    },
}

/// Sizes of a detector. Symbols are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What a recorder remembers.
    pub scheme: Scheme,
    /// θ: a host with at least this many distinct opposite hosts is a super point.
    pub threshold: u32,
    /// k: slices in the window.
    pub window: u32,
    /// r: rows of the RSRA.
    pub rough_rows: u32,
    /// q: a row of the RSRA has `2^q` rough estimators.
    pub rough_column_bits: u32,
    /// η: recorders of one rough estimator; 2, 4 or 8, so that a mask of them is one byte.
    pub rough_width: u32,
    /// δ: bits by which the address is shifted from one row of the RHFG to the next.
    pub bit_stride: u32,
    /// Bits by which τ is below Eq. 1 (`eq_getLsbThreshold`): each doubles the share of
    /// opposite hosts that a rough estimator sees. 0 is the paper; 1 makes misses at θ
    /// some 250 times rarer for about twice the candidates.
    pub oversampling_bits: u32,
    /// r': rows of the SLEA.
    pub linear_rows: u32,
    /// Linear estimators in a row of the SLEA (`2^q'` in the paper; any number here).
    pub linear_columns: u32,
    /// η': recorders of one linear estimator.
    pub linear_width: u32,
    /// δ': recorders between the starts of two neighbouring linear estimators.
    pub linear_stride: u32,
    /// Hot columns per row that a slice's search accepts; more is an overload.
    pub hot_limit: u32,
    /// Candidates per slice that a slice's search accepts; more is an overload.
    pub candidate_limit: u32,
    /// Seed of every hash. Nodes whose states are merged need the same one.
    pub seed: u64,
}

impl Config {
    /// Section 5 of the paper: 31.6 MB of recorders, θ = 1024, 300 slices.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            scheme: Scheme::Paper,
            threshold: 1024,
            window: 300,
            rough_rows: 5,
            rough_column_bits: 17,
            rough_width: 8,
            bit_stride: 5,
            oversampling_bits: 0,
            linear_rows: 5,
            linear_columns: 1 << 17,
            linear_width: 1 << 14,
            linear_stride: 16,
            hot_limit: 1 << 14,
            candidate_limit: 1 << 16,
            seed: 0,
        }
    }

    /// 31.7 MB of tagged recorders, for links with millions of distinct pairs per window: two
    /// rows of linear estimators that start at any recorder, ages of 8 bits, and twice the
    /// paper's sampling. docs/tagged-recorders.md has the figures behind each number.
    ///
    /// At 300 slices an age counts epochs of two: where the window begins within one, what a
    /// host did in it counts half, and a burst at that edge is misjudged for one slice.
    #[must_use]
    pub const fn tagged() -> Self {
        Self {
            scheme: Scheme::Tagged { age_bits: 8 },
            oversampling_bits: 1,
            linear_rows: 2,
            linear_columns: 6_594_000,
            linear_stride: 1,
            ..Self::paper()
        }
    }

    /// Checks every rule and derives what the estimators need.
    ///
    /// # Errors
    /// The first rule that does not hold, with its values and the way out.
    pub fn validate(&self) -> Result<Params, ConfigError> {
        self.check_rough()?;
        self.check_linear()?;
        let lsb_threshold = self.lsb_threshold()?;
        let max = LARGEST_AGE - 1;
        if self.window == 0 || self.window > max {
            return Err(ConfigError::Window { window: self.window, max });
        }
        if self.hot_limit == 0 || self.candidate_limit == 0 {
            return Err(ConfigError::Limits);
        }
        Ok(self.derive(lsb_threshold, self.tag_bits()?))
    }

    fn check_rough(&self) -> Result<(), ConfigError> {
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

    fn check_linear(&self) -> Result<(), ConfigError> {
        let Self { linear_rows, linear_columns, linear_width, linear_stride, threshold, .. } =
            *self;
        if !(1..=MAX_LINEAR_ROWS as u32).contains(&linear_rows) {
            return Err(ConfigError::LinearRows { rows: linear_rows });
        }
        if linear_columns == 0 {
            return Err(ConfigError::LinearColumns);
        }
        if linear_stride == 0 || linear_stride > linear_width {
            return Err(ConfigError::LinearStride { stride: linear_stride, width: linear_width });
        }
        // From 8 recorders on the largest cardinality that they can tell, η' ln η', passes 2η'.
        if linear_width < threshold.div_ceil(2).max(8) {
            return Err(ConfigError::LinearWidth { width: linear_width, threshold });
        }
        let row =
            u64::from(linear_columns - 1) * u64::from(linear_stride) + u64::from(linear_width);
        let recorders = row.saturating_mul(u64::from(linear_rows));
        if recorders > u64::from(u32::MAX) {
            return Err(ConfigError::TooManyRecorders { recorders });
        }
        Ok(())
    }

    /// τ: Eq. 1, `ceil(log2(θ/η))`, less the oversampling.
    fn lsb_threshold(&self) -> Result<u32, ConfigError> {
        let Self { threshold, rough_width: width, .. } = *self;
        if threshold < width {
            return Err(ConfigError::Threshold { threshold, width });
        }
        let tau = threshold.div_ceil(width).next_power_of_two().trailing_zeros();
        // At most 32 - log2(η), so that sampling never reaches the high bits that H2 takes.
        Ok(tau.saturating_sub(self.oversampling_bits))
    }

    fn tag_bits(&self) -> Result<u32, ConfigError> {
        match self.scheme {
            Scheme::Paper => Ok(0),
            Scheme::Tagged { age_bits } if !(4..=8).contains(&age_bits) => {
                Err(ConfigError::AgeBits { bits: age_bits })
            }
            // A tag is a function of a 16-bit position.
            Scheme::Tagged { .. } if self.linear_width > 1 << 16 => {
                Err(ConfigError::TaggedWidth { width: self.linear_width })
            }
            Scheme::Tagged { age_bits } => Ok(16 - age_bits),
        }
    }

    fn derive(&self, lsb_threshold: u32, tag_bits: u32) -> Params {
        let mut keys = KeySequence::new(self.seed);
        let (opposite_key, position_key) = (keys.next_key(), keys.next_key());
        let (low_key, high_key) = (keys.next_key(), keys.next_key());
        let mut column_keys = [Key::default(); MAX_LINEAR_ROWS];
        column_keys.fill_with(|| keys.next_key());
        let mut tag_keys = [Key::default(); MAX_LINEAR_ROWS];
        tag_keys.fill_with(|| keys.next_key());
        let epoch_slices = match tag_bits {
            0 => 1,
            // One age means 'long ago', and the oldest epoch may be cut by the window.
            _ => self.window.div_ceil((1 << (16 - tag_bits)) - 2),
        };
        Params {
            threshold: self.threshold,
            window: self.window,
            rough_rows: self.rough_rows,
            rough_column_bits: self.rough_column_bits,
            rough_width: self.rough_width,
            bit_stride: self.bit_stride,
            lsb_threshold,
            hot_weight: hot_weight(self.rough_width),
            linear_rows: self.linear_rows,
            linear_columns: self.linear_columns,
            linear_width: self.linear_width,
            linear_stride: self.linear_stride,
            linear_row_len: (self.linear_columns - 1) * self.linear_stride + self.linear_width,
            hot_limit: self.hot_limit,
            candidate_limit: self.candidate_limit,
            tag_bits,
            epoch_slices,
            opposite_key,
            position_key,
            low_key,
            high_key,
            column_keys,
            tag_keys,
        }
    }
}

impl Default for Config {
    /// The paper's scheme and sizes with two departures: τ one lower (misses at θ fall from
    /// 3.3 % to 0.013 %, for about twice the candidates), and linear estimators that start at
    /// any recorder (δ' = 1) at the same memory, which removes the correlation between rows
    /// that δ' = 16 brings. Windows are exact to the slice.
    fn default() -> Self {
        let paper = Self::paper();
        Self {
            oversampling_bits: 1,
            linear_columns: paper.linear_columns * paper.linear_stride,
            linear_stride: 1,
            ..paper
        }
    }
}

/// Largest age of a recorder of 16 bits: 'long ago, or never'.
const LARGEST_AGE: u32 = u16::MAX as u32;

/// `ceil(ρη)` with ρ = 0.99(1 - e^(-1/3)) = 0.28063...: 1, 2, 3 for η = 2, 4, 8.
const fn hot_weight(rough_width: u32) -> u32 {
    const RHO_PER_MILLION: u32 = 280_634;
    (rough_width * RHO_PER_MILLION).div_ceil(1_000_000)
}

#[cfg(test)]
mod tests;
