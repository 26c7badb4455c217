//! [`Plan`]: sizes for a load and a memory, with the errors to expect.
//!
//! [`finder`] computes the cells that a load needs, and [`counter`] uses the rest of the memory. Every plan fulfils
//! what [`Config::for_load`] guarantees. An error names the broken rule and, if there is one, the least sufficient
//! memory.

mod counter;
mod finder;

use crate::config::{Config, Scheme};
use crate::counter::tagged::LEAST_TAGS;
use crate::error::ConfigError;
use counter::{least_lines, line_bytes, lines_of};
use finder::{FinderPlan, cell_bytes};

/// The sizes that [`Config::for_load`] chose, and the errors to expect.
///
/// The expectations apply to the planned load: contacts never repeat, are even over the window, and were as frequent
/// before it. With less load, or if contacts repeat, errors are smaller. If only other hosts' contacts repeat, the
/// error of a host is larger.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Sizes, with seed 0.
    pub config: Config,
    /// Expected standard error, in hosts, of the estimate for a host with θ peers.
    pub std_error: f64,
    /// Probability that the finder misses a host with θ peers, at most 0.8 %, for IPv4 and IPv6 hosts.
    ///
    /// IPv4 hosts that need fewer than the four cells of an IPv6 host are missed less often. For θ below 64, this is an
    /// upper bound.
    ///
    /// The probability applies while at most `candidate_limit` hosts hold as many cells as are needed. For θ of 65 and
    /// less, even hosts with ten peers may hold that many. If there are more, reports say `Overload::Raised` and give a
    /// higher probability.
    pub miss_probability: f64,
    /// Probability that a host with 2θ peers is not reported, at most 1 in 1,000, for IPv4 and IPv6 hosts. Either the
    /// finder misses it, for any distribution of the load over hosts, or its estimate is below θ. This is an upper
    /// bound.
    pub double_miss_probability: f64,
    /// λ: distinct pairs of a window per recorder of the counter, at most 5. Errors grow with it. If it is clearly
    /// below 3, `Health::errors_hold` is true. If it is close to 3, the measured load may exceed 3 by chance.
    pub pairs_per_recorder: f64,
}

/// Accepted share of hosts with 2θ peers that the finder misses, and of those whose estimate is below θ. Together these
/// are 1 in 1,000.
const ACCEPTED: f64 = 5e-4;

impl Config {
    /// Computes the sizes of a detector for a load, within `memory` bytes of recorders.
    ///
    /// The load is `distinct_pairs` distinct pairs in a window of `window` slices. Super points have at least
    /// `threshold` peers. The plan uses the tagged scheme and has the least error. A table of plans is in
    /// docs/sizing.md.
    ///
    /// A plan guarantees the following for IPv4 and IPv6 hosts. If `memory` is too small for that, the error names the
    /// least sufficient memory.
    ///
    /// - At most 1 in 1,000 hosts with 2θ peers is not reported. The finder misses 1 in 2,000, for any distribution of
    ///   the load over hosts, and another 1 in 2,000 has an estimate below θ.
    /// - The finder misses at most 0.8 % of hosts with θ peers, even if chance leaves three standard deviations fewer
    ///   cells free than expected. Reports say `Overload::Crowded` above 1 %, so a detector with the planned load
    ///   hardly ever says so.
    /// - Each recorder of the counter has at most 5 distinct pairs of a window. Above 3, estimates are unbiased and
    ///   lower bounds hold, but upper bounds are too low ([`Params::errors_hold`](crate::Params::errors_hold)).
    /// - A host with 2θ peers is within the range of the estimator.
    ///
    /// Hosts with θ/2 peers are rarely reported. With normal errors, at most 1 in 2,000 of them would have an estimate
    /// of θ or more. Errors are skewed to the right, so with the least memory slightly more of them are reported.
    ///
    /// The number of cells follows these rules:
    ///
    /// - A plan has 14 cells for every θ pairs, if they fit into a sixth of the memory. IPv4 hosts with θ peers are
    ///   then missed about once in 10,000 times.
    /// - If the guarantees need more cells, a plan has more.
    /// - A plan may have up to 8 times as many cells if they fit into a fifteenth of the memory. With fewer cells, more
    ///   hosts below θ become candidates and are tallied in vain.
    ///
    /// The limit of candidates is the default. If θ is so small that there may be more super points, it is up to
    /// 65,536. It is larger if hosts with 2θ peers would otherwise be missed.
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
    /// Returns the rule that `threshold` or `window` breaks. Returns [`ConfigError::Memory`] if `memory` is too small
    /// for the shortest linear estimator. Returns [`ConfigError::PlanCells`] or [`ConfigError::PlanCandidates`] if the
    /// finder cannot fulfil the guarantees, and [`ConfigError::PlanLoad`] or [`ConfigError::PlanError`] if the counter
    /// cannot.
    pub fn for_load(
        threshold: u32,
        window: u32,
        distinct_pairs: u64,
        memory: usize,
    ) -> Result<Plan, ConfigError> {
        let load = Load { base: Self { threshold, window, ..Self::default() }, distinct_pairs };
        // These rules do not depend on the memory.
        load.shortest(FinderPlan::LEAST_BITS).validate()?;
        let least = FinderPlan::least(&load)?;
        let preferred = FinderPlan::preferred_bits(&load, memory).max(least.cell_bits);
        // If the preferred number of cells leaves too little for the counter, the least number is used.
        let finders = [FinderPlan::new(&load, preferred), Some(least)].into_iter().flatten();
        let mut plans = finders.filter_map(|finder| load.plan(finder, memory));
        plans.next().ok_or_else(|| load.refusal(least, memory))
    }
}

/// The load and the threshold of a plan.
struct Load {
    /// θ and the window. All other fields are those of the default.
    base: Config,
    /// L: distinct pairs per window.
    distinct_pairs: u64,
}

impl Load {
    /// Returns the configuration with `2^cell_bits` cells, and with linear estimators of `width` recorders in `lines`
    /// lines.
    fn config(&self, cell_bits: u32, width: u32, lines: u32) -> Config {
        let scheme = Scheme::Tagged { cell_bits, lines, tags: LEAST_TAGS };
        Config { scheme, linear_width: width, ..self.base }
    }

    /// Returns the configuration with the smallest counter, which has the shortest linear estimators.
    fn shortest(&self, cell_bits: u32) -> Config {
        let width = self.least_width();
        self.config(cell_bits, width, least_lines(width))
    }

    /// Returns the number of lines in the part of `memory` that the cells leave, or `None` if no linear estimator fits.
    fn lines(&self, cell_bits: u32, memory: usize) -> Option<u32> {
        let lines = lines_of(memory.checked_sub(cell_bytes(cell_bits))?);
        (lines >= least_lines(self.least_width())).then_some(lines)
    }

    fn plan(&self, finder: FinderPlan, memory: usize) -> Option<Plan> {
        let counter = self.counter(self.lines(finder.cell_bits, memory)?)?;
        let FinderPlan { cell_bits, candidate_limit, miss, double_miss } = finder;
        let config = self.config(cell_bits, counter.width, counter.lines);
        Some(Plan {
            config: Config { candidate_limit, ..config },
            std_error: counter.std_error,
            miss_probability: miss,
            double_miss_probability: double_miss + counter.double_miss,
            pairs_per_recorder: counter.load,
        })
    }

    /// Returns the rule that every plan in `memory` breaks. `finder` has the fewest sufficient cells.
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
                let shortest = bytes(finder.cell_bits, least_lines(self.least_width()));
                ConfigError::Memory { memory, least: least.unwrap_or(shortest) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
