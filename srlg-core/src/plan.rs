//! [`Plan`]: sizes for a load and a memory, and the errors to expect.
//!
//! Shape: [`finder`] says how many cells a load needs, [`counter`] what comes of the rest of the memory.
//! Invariant: a plan keeps what [`Config::for_load`] says of it, and what is refused names the rule and,
//! where there is one, the least memory that is not.

mod counter;
mod finder;

use crate::config::{Config, Scheme};
use crate::counter::tagged::LEAST_TAGS;
use crate::error::ConfigError;
use counter::{least_lines, line_bytes, lines_of};
use finder::{FinderPlan, cell_bytes};

/// Holds what [`Config::for_load`] picked, and what to expect of that.
///
/// What is expected is expected of the load that was planned for: contacts even over the window, as many
/// before it as in it, that never repeat. Of less load, or where contacts repeat, errors are smaller; a host whose
/// contacts do not repeat, among others that do, errs more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The sizes, with seed 0.
    pub config: Config,
    /// Standard error, in hosts, to expect of the estimate of a host with θ opposite hosts.
    pub std_error: f64,
    /// Probability that the finder misses a host with θ peers, at most 0.8 %. It holds for IPv4 and for IPv6 hosts. An IPv6
    /// host needs four cells, and where two or three are asked of an IPv4 host, that one is missed less often. For θ below
    /// 64 this is an upper bound.
    ///
    /// It applies as long as no more hosts than `candidate_limit` hold as many cells as are asked of a host of θ. For θ of
    /// 65 and less even hosts with ten peers may hold as many. If there are more of them, reports say `Overload::Raised`
    /// and state a higher probability.
    pub miss_probability: f64,
    /// Probability that a host with 2θ peers, of IPv4 or of IPv6, is not reported, at most 1 in 1,000: the finder misses
    /// it, however the load is spread over hosts, or its estimate is below θ. An upper bound.
    pub double_miss_probability: f64,
    /// λ, distinct pairs of a window per recorder of the counter, at most 5. Errors grow with it. If it is clearly below 3,
    /// `Health::errors_hold` is true. Close to 3 the load that is measured may be above by chance.
    pub pairs_per_recorder: f64,
}

/// Half of the 1 in 1,000 hosts of 2θ that may go unreported: the finder may miss as many, and the estimates
/// of as many may be too low.
const ACCEPTED: f64 = 5e-4;

impl Config {
    /// Sizes a detector for super points of at least `threshold` opposite hosts in windows of `window`
    /// slices that hold `distinct_pairs` distinct pairs, in at most `memory` bytes of recorders: the tagged
    /// scheme with the least error. docs/sizing.md has a table of plans.
    ///
    /// A plan keeps this for IPv4 and for IPv6 hosts, or it is refused, with the least memory that is enough:
    ///
    /// - Of hosts with 2θ peers at most 1 in 1,000 goes unreported. The finder misses 1 in 2,000, however the load is spread
    ///   over hosts, and 1 in 2,000 has an estimate below θ.
    /// - Of hosts with θ peers the finder misses at most 0.8 %, even if chance leaves fewer cells free than expected, by three
    ///   standard deviations. Reports say `Overload::Crowded` above 1 %, so a detector that gets its load hardly ever does.
    /// - A recorder of the counter has at most 5 distinct pairs of a window. Above 3, estimates are right in the mean and
    ///   lower bounds hold, but upper bounds are too low ([`Params::errors_hold`](crate::Params::errors_hold)).
    /// - A host of 2θ is within the range of the estimator.
    ///
    /// Hosts with θ/2 peers are rarely reported. If errors were normal, 1 in 2,000 of them would have an estimate of θ or
    /// more; a plan is refused where it would be more. But errors are skewed to the right, so with the least memory more
    /// of them are reported.
    ///
    /// There are 14 cells for every θ of the pairs, so that IPv4 hosts of θ are missed once in 10,000 times, if they fit in
    /// a sixth of the memory, or as many more as the rules need. In a fifteenth of the memory there may be 8 times as many:
    /// with fewer cells, more hosts below θ become candidates and are tallied for nothing. The limit of candidates
    /// is that of the default, and up to 65,536 where θ is so small that there may be as many super points;
    /// more where hosts of 2θ would be missed.
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
    /// The rules that `threshold` or `window` break; [`ConfigError::Memory`] when `memory` is too small for the
    /// shortest linear estimator; [`ConfigError::PlanCells`] and [`ConfigError::PlanCandidates`] where the finder,
    /// [`ConfigError::PlanLoad`] and [`ConfigError::PlanError`] where the counter
    /// would not keep what a plan keeps.
    pub fn for_load(
        threshold: u32,
        window: u32,
        distinct_pairs: u64,
        memory: usize,
    ) -> Result<Plan, ConfigError> {
        let load = Load { base: Self { threshold, window, ..Self::default() }, distinct_pairs };
        // Rules that no memory changes.
        load.shortest(FinderPlan::LEAST_BITS).validate()?;
        let least = FinderPlan::least(&load)?;
        let preferred = FinderPlan::preferred_bits(&load, memory).max(least.cell_bits);
        // Where the preferred cells leave the counter too little, the fewest do.
        let finders = [FinderPlan::new(&load, preferred), Some(least)].into_iter().flatten();
        let mut plans = finders.filter_map(|finder| load.plan(finder, memory));
        plans.next().ok_or_else(|| load.refusal(least, memory))
    }
}

/// What a plan is for.
struct Load {
    /// θ and the window; the rest is that of the default.
    base: Config,
    /// L.
    distinct_pairs: u64,
}

impl Load {
    /// `2^cell_bits` cells, and linear estimators of `width` recorders in so many `lines`.
    fn config(&self, cell_bits: u32, width: u32, lines: u32) -> Config {
        let scheme = Scheme::Tagged { cell_bits, lines, tags: LEAST_TAGS };
        Config { scheme, linear_width: width, ..self.base }
    }

    /// The smallest counter, of the shortest linear estimators.
    fn shortest(&self, cell_bits: u32) -> Config {
        let width = self.least_width();
        self.config(cell_bits, width, least_lines(width))
    }

    /// What the cells leave of `memory` for the counter, if that is a linear estimator.
    fn lines(&self, cell_bits: u32, memory: usize) -> Option<u32> {
        let lines = lines_of(memory.checked_sub(cell_bytes(cell_bits))?);
        (lines >= least_lines(self.least_width())).then_some(lines)
    }

    /// The plan of these cells and the best counter in the rest of `memory`.
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

    /// The rule that no plan in `memory` keeps, where `finder` has the fewest cells.
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
