//! [`Plan`]: sizes for a load and a memory, and the error to expect.

use crate::config::{Config, Scheme};
use crate::counter::tagged::{LEAST_TAGS, LINE, MOST_POSITIONS, Regions};
use crate::error::ConfigError;
use crate::finder::cells::chance::AgeHistogram;

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
    /// Probability that the finder misses a host with θ opposite hosts, of such a load; of θ below 64 a
    /// bound.
    pub miss_probability: f64,
}

/// Linear estimators that are tried, in recorders; longer ones cost more time.
const WIDTHS: [u32; 7] = [4096, 8192, 12_288, 16_384, 24_576, 32_768, MOST_POSITIONS];

/// The shortest linear estimator is taken whose error is at most this factor times the least.
const GOOD_ENOUGH: f64 = 1.05;

/// Cells for every θ pairs of a window, at which a host of θ is missed once in 10,000 times.
const CELLS_PER_THRESHOLD: u64 = 14;

impl Config {
    /// Sizes for super points of at least `threshold` opposite hosts in windows of `window`
    /// slices that hold `distinct_pairs` distinct pairs, with recorders of at most `memory`
    /// bytes: the tagged scheme with the least error.
    ///
    /// There are 14 cells for every θ of the pairs, so that hosts of θ are missed once in 10,000 times, if they fit in a
    /// sixth of the memory. In a fifteenth of the memory there may be 8 times as many: with fewer cells, more hosts
    /// below θ become candidates and are tallied for nothing. The limit of candidates is that of the default, and
    /// up to four times as much where θ is so small that there may be as many super points.
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
        // No more hosts than this have θ opposite hosts.
        let super_points = distinct_pairs / u64::from(threshold.max(1));
        let candidate_limit = super_points.clamp(1 << 14, 1 << 16).next_power_of_two() as u32;
        let base = Self { threshold, window, candidate_limit, ..Self::default() };
        let needed =
            distinct_pairs.saturating_mul(CELLS_PER_THRESHOLD) / u64::from(threshold.max(1));
        let is_good = |bits: &u32| {
            // Half as many would do where they are as many as needed.
            let (half, bytes) = (1 << (bits - 1), cell_bytes(*bits));
            half < needed && bytes <= memory / 6
                || half < needed.saturating_mul(8) && bytes <= memory / 15
        };
        let cell_bits = (13..=24).rev().find(is_good).unwrap_or(12);
        let plans = WIDTHS.map(|width| base.plan((cell_bits, width), distinct_pairs, memory));
        let errors = plans.iter().flatten().map(|plan| plan.std_error);
        let least = errors.fold(f64::INFINITY, f64::min);
        let is_good = |plan: &Result<Plan, _>| {
            plan.as_ref().is_ok_and(|plan| plan.std_error <= least * GOOD_ENOUGH)
        };
        // What forbids the first forbids all.
        plans[plans.iter().position(is_good).unwrap_or(0)]
    }

    /// With `2^cell_bits` cells, and linear estimators of `width` recorders, or of more where the threshold
    /// needs them, in what the cells leave of `memory`.
    fn plan(
        self,
        (cell_bits, width): (u32, u32),
        distinct_pairs: u64,
        memory: usize,
    ) -> Result<Plan, ConfigError> {
        let needed = self.threshold.div_ceil(2).next_multiple_of(LINE);
        let linear_width = width.max(needed);
        let line_bytes = 2 * LINE as usize;
        let lines = memory.saturating_sub(cell_bytes(cell_bits)) / line_bytes;
        let least = (Regions::new(linear_width).positions() / LINE) as usize;
        // More lines than 32 bits can number recorders stay unused.
        let numbered = lines.clamp(least, (u32::MAX / LINE) as usize) as u32;
        let scheme = Scheme::Tagged { cell_bits, lines: numbered, tags: LEAST_TAGS };
        let config = Self { scheme, linear_width, ..self };
        let params = config.validate()?;
        if lines < least {
            let least = cell_bytes(cell_bits) + least * line_bytes;
            return Err(ConfigError::Memory { memory, least });
        }
        let std_error = params
            .expected_error(self.threshold, distinct_pairs)
            .expect("the tagged scheme has a formula");
        let cells = params.finder().cells().expect("the finder of the tagged scheme");
        let sampled = libm::ldexp(distinct_pairs as f64, -(cells.lsb_threshold() as i32));
        let mut ages = [0; 64];
        let touches = sampled / libm::ldexp(1.0, cell_bits as i32);
        let histogram = AgeHistogram::of_load(cells, touches, &mut ages);
        let miss_probability = histogram.miss(histogram.threshold(), histogram.c_min());
        Ok(Plan { config, std_error, miss_probability })
    }
}

/// Bytes of `2^cell_bits` cells.
const fn cell_bytes(cell_bits: u32) -> usize {
    size_of::<u64>() << cell_bits
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
    fn plan_says_how_often_the_finder_misses() {
        let miss = |threshold, load, memory| {
            Config::for_load(threshold, 300, load, memory).unwrap().miss_probability
        };
        for load in [500_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000] {
            assert!(miss(1024, load, 31_700_000) < 1.31e-4, "{load}");
        }
        assert!(miss(1024, 100_000_000, 31_700_000) > 0.01, "too many pairs for the memory");
        assert!(miss(8, 2_000_000, 8_000_000) > 0.5, "too many pairs for the memory");
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
        let least = 8 * 4096 + 2 * (4096 + 8192);
        let memory = least - 1;
        assert_eq!(plan(1024, 300, memory), Err(ConfigError::Memory { memory, least }));
        assert!(plan(1024, 300, least).is_ok());
        assert_eq!(
            plan(7, 300, 1 << 20),
            Err(ConfigError::CellsThreshold { threshold: 7, least: 8 })
        );
        for memory in [0, 1 << 20] {
            assert_eq!(plan(8, 0, memory), Err(ConfigError::Window { window: 0, max: 65_534 }));
        }
        let too_large = plan(1 << 20, 300, 1 << 30);
        assert_eq!(
            too_large,
            Err(ConfigError::TaggedWidth { width: 1 << 19, max: MOST_POSITIONS })
        );
    }
}
