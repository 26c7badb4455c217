//! [`Plan`]: sizes for a load and a memory, and the error to expect.

use crate::config::{Config, Scheme};
use crate::counter::tagged::{LEAST_TAGS, LINE};
use crate::error::ConfigError;
use crate::finder::lsb_threshold;
use crate::pair::ADDRESS_BITS;

/// What [`Config::for_load`] picked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The sizes, with seed 0.
    pub config: Config,
    /// Standard error, in hosts, to expect of the estimate of a host with θ opposite hosts.
    /// Contacts are taken to be even over the window and never to repeat. A host whose own
    /// contacts repeat errs less; one whose contacts do not, among others that do, errs more.
    pub std_error: f64,
}

/// Linear estimators that are tried, in recorders; longer ones cost more time.
const WIDTHS: [u32; 7] = [4096, 8192, 12_288, 16_384, 24_576, 32_768, 65_536];

/// The shortest linear estimator is taken whose error is at most this factor times the least.
const GOOD_ENOUGH: f64 = 1.05;

impl Config {
    /// Sizes for super points of at least `threshold` opposite hosts in windows of `window`
    /// slices that hold `distinct_pairs` distinct pairs, with recorders of at most `memory`
    /// bytes: the tagged scheme with the least error.
    ///
    /// A row of the RSRA gets a column for every pair that is sampled, up to a sixth of the
    /// memory, but at least 2^12: with fewer columns, more hosts below θ become candidates and are tallied for nothing.
    ///
    /// ```
    /// use srlg_core::Config;
    /// let plan = Config::for_load(1024, 300, 2_000_000, 8_000_000)?;
    /// assert!(plan.config.validate()?.recorder_bytes() <= 8_000_000);
    /// assert!(plan.std_error < 0.02 * 1024.0);
    /// # Ok::<(), srlg_core::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError::Memory`] when `memory` is too small for the shortest linear estimator, and
    /// the rules that `threshold` or `window` break.
    pub fn for_load(
        threshold: u32,
        window: u32,
        distinct_pairs: u64,
        memory: usize,
    ) -> Result<Plan, ConfigError> {
        let base = Self { threshold, window, ..Self::default() };
        let sampled = distinct_pairs >> lsb_threshold(&base)?;
        let is_useful = |bits: &u32| sampled > 1 << (bits - 1);
        let fits = |bits: &u32| base.with_columns(*bits).rough_bytes() <= memory / 6;
        let bits = (13..=24).rev().find(|bits| is_useful(bits) && fits(bits)).unwrap_or(12);
        let base = base.with_columns(bits);
        let plans = WIDTHS.map(|width| base.plan(width, distinct_pairs, memory));
        let errors = plans.iter().flatten().map(|plan| plan.std_error);
        let least = errors.fold(f64::INFINITY, f64::min);
        let is_good = |plan: &Result<Plan, _>| {
            plan.as_ref().is_ok_and(|plan| plan.std_error <= least * GOOD_ENOUGH)
        };
        // What forbids the first forbids all.
        plans[plans.iter().position(is_good).unwrap_or(0)]
    }

    /// With rows of `2^bits` columns, and the stride that makes them cover all address bits.
    fn with_columns(self, bits: u32) -> Self {
        let bit_stride = (ADDRESS_BITS - bits).div_ceil(self.rough_rows - 2);
        Self { rough_column_bits: bits, bit_stride, ..self }
    }

    /// Bytes of the RSRA, whose recorders have one each.
    fn rough_bytes(&self) -> usize {
        ((self.rough_rows * self.rough_width) as usize) << self.rough_column_bits
    }

    /// With linear estimators of `width` recorders, or of more where the threshold needs them,
    /// in what the RSRA leaves of `memory`.
    fn plan(self, width: u32, distinct_pairs: u64, memory: usize) -> Result<Plan, ConfigError> {
        let needed = self.threshold.div_ceil(2).next_multiple_of(LINE);
        let linear_width = width.max(needed);
        let line_bytes = 2 * LINE as usize;
        let lines = memory.saturating_sub(self.rough_bytes()) / line_bytes;
        let least = (linear_width / LINE) as usize;
        // More lines than 32 bits can number recorders stay unused.
        let numbered = lines.clamp(least, (u32::MAX / LINE) as usize) as u32;
        let scheme = Scheme::Tagged { lines: numbered, tags: LEAST_TAGS };
        let config = Self { scheme, linear_width, ..self };
        let params = config.validate()?;
        if lines < least {
            let least = self.rough_bytes() + least * line_bytes;
            return Err(ConfigError::Memory { memory, least });
        }
        let std_error = params
            .expected_error(self.threshold, distinct_pairs)
            .expect("the tagged scheme has a formula");
        Ok(Plan { config, std_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_at(load: u64, memory: usize) -> f64 {
        Config::for_load(1024, 300, load, memory).unwrap().std_error / 1024.0
    }

    #[test]
    fn plan_fits_in_its_memory_and_is_valid() {
        for memory in [400_000, 1_000_000, 8_000_000, 31_700_000, 1_000_000_000] {
            for (threshold, window, load) in
                [(8, 1, 1), (100, 60, 100_000), (1024, 300, 2_000_000), (9000, 60_000, u64::MAX)]
            {
                let plan = Config::for_load(threshold, window, load, memory).unwrap();
                let bytes = plan.config.validate().unwrap().recorder_bytes();
                assert!(bytes <= memory && bytes > memory - 64, "{memory} {plan:?}");
                assert!(plan.std_error > 0.0, "{plan:?}");
            }
        }
    }

    #[test]
    fn more_memory_errs_less_and_more_load_errs_more() {
        for load in [500_000, 2_000_000, 20_000_000] {
            assert!(error_at(load, 31_700_000) < error_at(load, 8_000_000), "{load}");
            assert!(error_at(load, 31_700_000) < error_at(load * 2, 31_700_000), "{load}");
        }
    }

    #[test]
    fn default_errs_hardly_more_than_the_plan_for_its_memory() {
        let params = Config::default().validate().unwrap();
        for load in [2_000_000, 5_000_000, 10_000_000] {
            let error = params.expected_error(1024, load).unwrap() / 1024.0;
            let ratio = error / error_at(load, 31_700_000);
            assert!(ratio < 1.15, "{load}: {ratio}");
        }
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        let plan = |threshold, window, memory| Config::for_load(threshold, window, 1, memory);
        let least = 40 * 4096 + 2 * 4096;
        let memory = least - 1;
        assert_eq!(plan(1024, 300, memory), Err(ConfigError::Memory { memory, least }));
        assert!(plan(1024, 300, least).is_ok());
        assert_eq!(plan(7, 300, 1 << 20), Err(ConfigError::Threshold { threshold: 7, width: 8 }));
        for memory in [0, 1 << 20] {
            assert_eq!(plan(8, 0, memory), Err(ConfigError::Window { window: 0, max: 65_534 }));
        }
        let too_large = plan(1 << 20, 300, 1 << 30);
        assert_eq!(too_large, Err(ConfigError::TaggedWidth { width: 1 << 19 }));
    }
}
