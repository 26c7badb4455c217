//! [`Plan`]: sizes for a load within a memory limit, with the expected errors.
//!
//! The module [`finder`] computes the number of cells that a load needs, and [`counter`] uses the remaining memory.
//! Every plan fulfils the guarantees of [`Config::for_load`]. An error names the broken rule and, if more memory would
//! help, the minimum memory.

mod counter;
mod finder;

use crate::config::{Config, Scheme};
use crate::counter::tagged::{LEAST_TAGS, LINE};
use crate::error::ConfigError;
use counter::{Shape, least_lines, line_bytes, lines_of};
use finder::{FinderPlan, cell_bytes};

/// The sizes that [`Config::for_load`] chose, with the expected errors.
///
/// The expected errors apply to the planned load. They assume that contacts never repeat, are spread evenly over the
/// window, and were as frequent before the window as in it. Errors are smaller if the load is lower or contacts repeat.
/// However, the error of a host is larger than expected if the contacts of all other hosts repeat and its own do not.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Sizes, with seed 0.
    pub config: Config,
    /// Expected standard error of the estimate for a host with θ peers, in peers.
    pub std_error: f64,
    /// Probability that the finder misses an IPv4 or IPv6 host with θ peers. It is at most 0.8 %.
    ///
    /// IPv4 hosts are missed less often if they need fewer than the four cells that an IPv6 host needs. For θ below 64,
    /// this value is an upper bound.
    ///
    /// The probability applies while at most `candidate_limit` hosts hold the required number of cells. For θ of 65 or
    /// less, even hosts with ten peers may hold enough cells. If more than `candidate_limit` hosts hold enough cells,
    /// reports contain `Overload::Raised` and a higher probability of a miss.
    pub miss_probability: f64,
    /// Upper bound on the probability that an IPv4 or IPv6 host with 2θ peers is not reported. It is at most 1 in
    /// 1,000. The bound covers misses of the finder, for any distribution of the load over hosts, and estimates below
    /// θ.
    pub double_miss_probability: f64,
    /// λ: number of touches by the distinct pairs in a window, divided by the number of recorders of the counter. It is
    /// at most 2.75, so `Health::errors_hold` is true at the planned load. If one pair in k is counted, a pair touches
    /// about 1.02/k recorders on average.
    pub pairs_per_recorder: f64,
}

/// Maximum share of hosts with 2θ peers that the finder misses. At most an equal share of these hosts has an estimate
/// below θ. The total is 1 in 1,000.
const ACCEPTED: f64 = 5e-4;

/// Memory that is enough for every array of recorders, in bytes.
const MOST_MEMORY: usize = usize::MAX >> 1;

/// [`Config::for_error`] uses at most one part in this number more than the least memory.
const PRECISION: usize = 128;

impl Config {
    /// Returns this configuration with the threshold θ in `threshold`, and with linear estimators that are long enough
    /// for it: at least θ/2 recorders, in whole lines of 32.
    ///
    /// Nothing else changes, and [`validate`](Self::validate) checks whether the other sizes suffice.
    ///
    /// ```
    /// use srlg::Config;
    /// let config = Config::default().for_threshold(100_000);
    /// assert_eq!((config.threshold, config.linear_width), (100_000, 50_016));
    /// assert!(config.validate().is_ok());
    /// ```
    #[must_use]
    pub const fn for_threshold(self, threshold: u32) -> Self {
        let least = threshold.div_ceil(2).next_multiple_of(LINE);
        let linear_width = if self.linear_width < least { least } else { self.linear_width };
        Self { threshold, linear_width, ..self }
    }

    /// Computes the sizes of a detector for a load. The recorders fit into `memory` bytes.
    ///
    /// The load is `distinct_pairs` distinct pairs in a window of `window` slices. Super points have at least
    /// `threshold` peers. The plan uses the tagged scheme, and its expected error is close to the minimum. A table of
    /// plans is in docs/sizing.md.
    ///
    /// A plan guarantees the following for IPv4 and IPv6 hosts whose contacts are spread over the window. If a slice is
    /// closed after all contacts were in its oldest slice, more hosts are missed: see
    /// `FinderHealth::burst_miss_probability`. A close of each slice finds such hosts earlier. If `memory` is too small for these guarantees, the
    /// error states the minimum memory.
    ///
    /// - At most 1 in 1,000 hosts with 2θ peers is not reported. The finder misses at most 1 in 2,000, for any
    ///   distribution of the load over hosts. At most another 1 in 2,000 has an estimate below θ.
    /// - The finder misses at most 0.8 % of hosts with θ peers, even if the number of free cells is three standard
    ///   deviations below its expectation. Reports contain `Overload::Crowded` if the probability of a miss exceeds
    ///   1 %, which is rare with the planned load.
    /// - λ, the number of touches by distinct pairs in a window divided by the number of recorders of the counter, is at
    ///   most 2.75, so stated errors hold ([`Params::errors_hold`](crate::Params::errors_hold)).
    /// - A host with 2θ peers is within the range of the estimator.
    ///
    /// Hosts with θ/2 peers are rarely reported. If errors were normally distributed, at most 1 in 2,000 of these hosts
    /// would have an estimate of θ or more. Errors are skewed to the right, so with the minimum memory slightly more of
    /// these hosts are reported.
    ///
    /// The number of cells follows these rules:
    ///
    /// - A plan has at least 13 cells for every θ pairs, if they fit into a sixth of the memory and leave enough memory
    ///   for the counter. IPv4 hosts with θ peers are then missed in about 1 of 10,000 cases.
    /// - A plan has more cells if the guarantees need them.
    /// - A plan may have up to 8 times as many cells as the first rule requires, if they fit into a fifteenth of the
    ///   memory. With fewer cells, more hosts with fewer than θ peers become candidates, and computing their tallies is
    ///   wasted work.
    ///
    /// If the load is too high for counting every pair, the plan counts a [share](Config::share) of the pairs. The share
    /// and the length of linear estimators follow these rules:
    ///
    /// - The share has the minimum error at θ.
    /// - Of the lengths whose error at θ is at most 1.2 times the minimum, and at most 1.03 times the error with the
    ///   default length, the longest is used. Longer linear estimators have smaller errors for hosts with more peers.
    ///
    /// The candidate limit of a plan is the default, unless θ is so small that more super points are possible. The
    /// limit is then up to 65,536. The limit is larger still if hosts with 2θ peers would otherwise be missed too
    /// often.
    ///
    /// ```
    /// use srlg::Config;
    /// use srlg::config::ConfigError;
    /// let plan = Config::for_load(1024, 300, 2_000_000, 8_000_000)?;
    /// assert!(plan.config.validate()?.recorder_bytes() <= 8_000_000);
    /// assert!(plan.std_error < 0.02 * 1024.0);
    ///
    /// let refused = Config::for_load(64, 300, 20_000_000, 8_000_000);
    /// let Err(ConfigError::PlanCells { least: Some(least), .. }) = refused else { panic!("{refused:?}") };
    /// assert!(Config::for_load(64, 300, 20_000_000, least).is_ok());
    /// # Ok::<(), ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If `threshold` or `window` breaks a rule, returns the error for this rule. Returns [`ConfigError::Memory`] if
    /// `memory` is too small for the smallest array of cells and the shortest linear estimator. Returns
    /// [`ConfigError::PlanCells`] or [`ConfigError::PlanCandidates`] if the finder cannot fulfil the guarantees, and
    /// [`ConfigError::PlanLoad`] or [`ConfigError::PlanError`] if the counter cannot.
    pub fn for_load(
        threshold: u32,
        window: u32,
        distinct_pairs: u64,
        memory: usize,
    ) -> Result<Plan, ConfigError> {
        let load = Load { base: Self { threshold, window, ..Self::default() }, distinct_pairs };
        // The rules that this line checks do not depend on the memory.
        load.shortest(FinderPlan::LEAST_BITS).validate()?;
        let least = FinderPlan::least(&load)?;
        let preferred = FinderPlan::preferred_bits(&load, memory).max(least.cell_bits);
        // If the preferred number of cells leaves too little memory for the counter, the minimum number is used.
        let finders = [FinderPlan::new(&load, preferred), Some(least)].into_iter().flatten();
        let mut plans = finders.filter_map(|finder| load.plan(finder, memory));
        plans.next().ok_or_else(|| load.refusal(least, memory))
    }

    /// Computes the sizes of a detector for a load with about the least memory for an error: a host with θ peers has a
    /// standard error of at most `std_error` peers. The other arguments and guarantees are those of
    /// [`for_load`](Self::for_load).
    ///
    /// ```
    /// use srlg::Config;
    /// let plan = Config::for_error(1024, 300, 2_000_000, 30.0)?;
    /// assert!(plan.std_error <= 30.0 && plan.config.validate()?.recorder_bytes() < 6_000_000);
    /// # Ok::<(), srlg::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ConfigError::PlanStdError`] if no plan has such a small error. Also returns the errors of
    /// [`for_load`](Self::for_load), except those that depend on the memory.
    pub fn for_error(
        threshold: u32,
        window: u32,
        distinct_pairs: u64,
        std_error: f64,
    ) -> Result<Plan, ConfigError> {
        let plan = |memory| Self::for_load(threshold, window, distinct_pairs, memory);
        let (mut enough, mut least) = (plan(MOST_MEMORY)?, 0);
        if enough.std_error > std_error || std_error.is_nan() {
            let std_error = libm::ceil(enough.std_error) as u32;
            return Err(ConfigError::PlanStdError { threshold, least: std_error });
        }
        let mut most = MOST_MEMORY;
        while most - least > most / PRECISION {
            let memory = least + (most - least) / 2;
            match plan(memory) {
                Ok(plan) if plan.std_error <= std_error => (enough, most) = (plan, memory),
                _ => least = memory,
            }
        }
        Ok(enough)
    }
}

struct Load {
    /// Configuration with θ and the window of the plan. All other fields have their default values.
    base: Config,
    /// L: number of distinct pairs per window.
    distinct_pairs: u64,
}

impl Load {
    fn config(&self, cell_bits: u32, Shape { width, share }: Shape, lines: u32) -> Config {
        let scheme = Scheme::Tagged { cell_bits, lines, tags: LEAST_TAGS };
        Config { scheme, linear_width: width, share, ..self.base }
    }

    /// Returns the configuration with the smallest counter, which has the shortest linear estimators.
    fn shortest(&self, cell_bits: u32) -> Config {
        let shape = self.least_shape();
        self.config(cell_bits, shape, least_lines(shape.width))
    }

    /// Returns the number of lines that fit into `memory` next to the cells, or `None` if no linear estimator fits.
    fn lines(&self, cell_bits: u32, memory: usize) -> Option<u32> {
        let lines = lines_of(memory.checked_sub(cell_bytes(cell_bits))?);
        (lines >= least_lines(self.least_shape().width)).then_some(lines)
    }

    fn plan(&self, finder: FinderPlan, memory: usize) -> Option<Plan> {
        let counter = self.counter(self.lines(finder.cell_bits, memory)?)?;
        let FinderPlan { cell_bits, candidate_limit, miss, double_miss } = finder;
        let config = self.config(cell_bits, counter.shape, counter.lines);
        Some(Plan {
            config: Config { candidate_limit, ..config },
            std_error: counter.std_error,
            miss_probability: miss,
            double_miss_probability: double_miss + counter.double_miss,
            pairs_per_recorder: counter.load,
        })
    }

    /// Returns the error for a rule that every plan within `memory` breaks. `finder` must have the minimum number of
    /// cells.
    fn refusal(&self, finder: FinderPlan, memory: usize) -> ConfigError {
        let bytes = |cell_bits, lines| cell_bytes(cell_bits) + line_bytes(lines);
        let least = self.least_lines().map(|lines| bytes(finder.cell_bits, lines));
        if let Some(lines) = self.lines(finder.cell_bits, memory) {
            return self.counter_refusal(lines, least);
        }
        let fewer = (FinderPlan::LEAST_BITS..finder.cell_bits).rev();
        match fewer.into_iter().find(|&bits| self.lines(bits, memory).is_some()) {
            Some(cell_bits) => FinderPlan::refusal(self, cell_bits, least),
            None => {
                let shortest = bytes(finder.cell_bits, least_lines(self.least_shape().width));
                ConfigError::Memory { memory, least: least.unwrap_or(shortest) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
