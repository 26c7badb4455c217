//! The number of recorders that a load needs, the length of linear estimators, and the share of the pairs to count.

use super::Load;
use super::finder::FinderPlan;
use crate::config::Config;
use crate::counter::tagged::expected::{load, std_error};
use crate::counter::tagged::load::MOST_LOAD;
use crate::counter::tagged::{LINE, MOST_POSITIONS, Regions, most_share};
use crate::error::ConfigError;

/// Lengths of linear estimators to try, in recorders.
const WIDTHS: [u32; 8] =
    [4096, 8192, 12_288, 16_384, 24_576, DEFAULT_WIDTH, 40_960, MOST_POSITIONS];

/// Minimum number of fine positions in use. With fewer, the load of a host's lines depends too much on the few large
/// hosts that share them.
const LEAST_USED: u32 = 1024;

/// Length of the linear estimators of `Config::default()`.
const DEFAULT_WIDTH: u32 = 1 << 15;

/// Maximum standard error at θ, as a multiple of the minimum over all lengths. Of the lengths within this limit, the
/// longest is chosen, because it has the smallest errors for larger hosts.
const GOOD_ENOUGH: f64 = 1.2;

/// Maximum standard error at θ, as a multiple of the standard error with the default length.
const LIKE_DEFAULT: f64 = 1.03;

/// Number of standard deviations by which a normal variable exceeds its mean in 1 of 2,000 cases.
const DEVIATIONS: f64 = 3.2905;

const LINE_BYTES: usize = 2 * LINE as usize;

/// The length of linear estimators, and the number of pairs of which one is counted.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) width: u32,
    pub(super) share: u32,
}

#[derive(Clone, Copy)]
pub(super) struct CounterPlan {
    pub(super) shape: Shape,
    pub(super) lines: u32,
    /// Standard error of the estimate for a host with θ peers, in peers.
    pub(super) std_error: f64,
    /// Probability that the estimate of a host with 2θ peers is below θ.
    pub(super) double_miss: f64,
    /// λ: number of touches per recorder.
    pub(super) load: f64,
}

/// A rule that a counter breaks.
enum Broken {
    Load,
    /// A number of peers that cannot be distinguished from θ, and the standard error of its estimate as a multiple of
    /// θ.
    Error(u32, f64),
}

impl Broken {
    /// Returns how far a counter is from obeying all rules. Only counters with the same number of lines are comparable.
    fn distance(&self) -> f64 {
        match self {
            Self::Load => f64::INFINITY,
            Self::Error(_, error) => *error,
        }
    }
}

pub(super) fn least_lines(width: u32) -> u32 {
    Regions::new(width, 1).positions() / LINE
}

/// Returns the number of lines that fit into `bytes`. The result is limited so that 32 bits can number all recorders. On
/// 32-bit machines, the limit is a quarter of the address space, so that cells fit beside the lines.
pub(super) fn lines_of(bytes: usize) -> u32 {
    (bytes.min(usize::MAX / 4) / LINE_BYTES).min((u32::MAX / LINE) as usize) as u32
}

pub(super) const fn line_bytes(lines: u32) -> usize {
    lines as usize * LINE_BYTES
}

impl Load {
    /// Returns the shares to try, the smallest first.
    fn shares(&self) -> impl Iterator<Item = u32> {
        (0..=most_share(self.base.threshold).ilog2()).map(|bits| 1 << bits)
    }

    /// Returns the shapes to try with `share` and this number of `lines`. Lengths that are too short for θ are increased.
    fn shapes(&self, share: u32, lines: u32) -> impl Iterator<Item = Shape> {
        let shapes = WIDTHS.map(|width| Shape { width: self.width(width), share });
        let is_valid = move |&shape: &Shape| {
            shape.width / shape.share >= LEAST_USED
                && least_lines(shape.width) <= lines
                && self.config(FinderPlan::LEAST_BITS, shape, lines).validate().is_ok()
        };
        shapes.into_iter().filter(is_valid)
    }

    /// Returns `width`, or the minimum length that θ needs if that is larger.
    pub(super) fn width(&self, width: u32) -> u32 {
        let base = Config { linear_width: width, ..self.base };
        base.for_threshold(self.base.threshold).linear_width
    }

    pub(super) fn least_shape(&self) -> Shape {
        Shape { width: self.width(WIDTHS[0]), share: 1 }
    }

    /// Returns the best counter with this number of `lines`, or `None` if every counter with this number of lines breaks
    /// a rule. The counter has the share with the minimum error.
    pub(super) fn counter(&self, lines: u32) -> Option<CounterPlan> {
        let mut best: Option<(f64, CounterPlan)> = None;
        for share in self.shares() {
            let mut plans = [None; WIDTHS.len()];
            for (plan, shape) in plans.iter_mut().zip(self.shapes(share, lines)) {
                *plan = self.counted(shape, lines).ok();
            }
            let Some((least, plan)) = longest(&plans) else { continue };
            if best.is_some_and(|(found, _)| found <= least) {
                break; // Larger shares increase the error further.
            }
            best = Some((least, plan));
        }
        best.map(|(_, plan)| plan)
    }

    /// Returns the minimum number of lines at which a counter obeys the rules, or `None` if no number is enough.
    pub(super) fn least_lines(&self) -> Option<u32> {
        let most = lines_of(usize::MAX);
        let of_share =
            |share| self.shapes(share, most).filter_map(|shape| self.least_of(shape, most)).min();
        self.shares().filter_map(of_share).min()
    }

    fn least_of(&self, shape: Shape, most: u32) -> Option<u32> {
        let keeps = |lines| self.counted(shape, lines).is_ok();
        let (mut least, mut most) = (least_lines(shape.width), keeps(most).then_some(most)?);
        // More lines improve every property of a counter.
        while least < most {
            let middle = least.midpoint(most);
            if keeps(middle) { most = middle } else { least = middle + 1 }
        }
        Some(most)
    }

    /// Returns the error for the rule that the best counter with this number of `lines` breaks. The lines must have
    /// room for at least one linear estimator.
    pub(super) fn counter_refusal(&self, lines: u32, least: Option<usize>) -> ConfigError {
        let broken =
            |share| self.shapes(share, lines).filter_map(|shape| self.counted(shape, lines).err());
        let best = self.shares().flat_map(broken);
        let best = best.min_by(|a, b| a.distance().total_cmp(&b.distance()));
        let broken = best.expect("the counter of at least one shape breaks a rule");
        let Self { base: Config { threshold, .. }, distinct_pairs } = *self;
        let recorders = u64::from(lines) * u64::from(LINE);
        match broken {
            Broken::Load => ConfigError::PlanLoad { distinct_pairs, recorders, least },
            Broken::Error(hosts, error) => ConfigError::PlanError {
                hosts,
                percent: libm::ceil(100.0 * error) as u64,
                threshold,
                most: (100.0 * self.most_error(hosts)) as u32,
                least,
            },
        }
    }

    fn counted(&self, shape: Shape, lines: u32) -> Result<CounterPlan, Broken> {
        let config = self.config(FinderPlan::LEAST_BITS, shape, lines);
        let params = config.validate().expect("the rules were checked");
        let params = params.counter().tagged().expect("the tagged scheme has this counter");
        let (threshold, pairs) = (self.base.threshold, self.distinct_pairs);
        let load = load(params, pairs);
        if load > MOST_LOAD {
            return Err(Broken::Load);
        }
        for hosts in [2 * threshold, threshold / 2] {
            let error = std_error(params, hosts, pairs) / f64::from(threshold);
            if error > self.most_error(hosts) {
                return Err(Broken::Error(hosts, error));
            }
        }
        let deviations = f64::from(threshold) / std_error(params, 2 * threshold, pairs);
        Ok(CounterPlan {
            shape,
            lines,
            std_error: std_error(params, threshold, pairs),
            double_miss: libm::erfc(deviations / core::f64::consts::SQRT_2) / 2.0,
            load,
        })
    }

    /// Returns the maximum standard error for a host with `hosts` peers, as a multiple of θ. With this error, all but 1
    /// of 2,000 estimates are on the correct side of θ.
    fn most_error(&self, hosts: u32) -> f64 {
        let threshold = f64::from(self.base.threshold);
        libm::fabs(f64::from(hosts) - threshold) / threshold / DEVIATIONS
    }
}

/// Returns the longest of `plans` within [`GOOD_ENOUGH`] and [`LIKE_DEFAULT`], and the minimum error of all plans. The
/// plans have the same share and are sorted by length.
fn longest(plans: &[Option<CounterPlan>]) -> Option<(f64, CounterPlan)> {
    let plans = plans.iter().flatten();
    let least = plans.clone().map(|plan| plan.std_error).fold(f64::INFINITY, f64::min);
    let default = plans.clone().find(|plan| plan.shape.width == DEFAULT_WIDTH);
    let like_default = default.map_or(f64::INFINITY, |plan| LIKE_DEFAULT * plan.std_error);
    let most = (GOOD_ENOUGH * least).min(like_default).max(least);
    let longest = plans.rev().find(|plan| plan.std_error <= most)?;
    Some((least, *longest))
}
