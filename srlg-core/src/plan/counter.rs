//! The number of recorders that a load needs.

use super::Load;
use super::finder::FinderPlan;
use crate::config::Config;
use crate::counter::tagged::expected::{load, std_error};
use crate::counter::tagged::load::MOST_LOAD;
use crate::counter::tagged::{LINE, MOST_POSITIONS, Regions};
use crate::error::ConfigError;

/// Lengths of linear estimators to try, in recorders. Longer linear estimators need more time.
const WIDTHS: [u32; 7] = [4096, 8192, 12_288, 16_384, 24_576, 32_768, MOST_POSITIONS];

/// Maximum standard error, as a multiple of the minimum over all lengths. The shortest linear estimator within this
/// limit is chosen.
const GOOD_ENOUGH: f64 = 1.05;

/// Number of standard deviations by which a normal variable exceeds its mean in 1 of 2,000 cases.
const DEVIATIONS: f64 = 3.2905;

const LINE_BYTES: usize = 2 * LINE as usize;

#[derive(Clone, Copy)]
pub(super) struct CounterPlan {
    pub(super) width: u32,
    pub(super) lines: u32,
    /// Standard error of the estimate for a host with θ peers, in peers.
    pub(super) std_error: f64,
    /// Probability that the estimate of a host with 2θ peers is below θ.
    pub(super) double_miss: f64,
    /// λ: number of distinct pairs per recorder.
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
    Regions::new(width).positions() / LINE
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
    /// Returns the lengths of linear estimators to try with this number of `lines`. Lengths that are too short for θ
    /// are increased.
    fn widths(&self, lines: u32) -> impl Iterator<Item = u32> {
        let widths = WIDTHS.into_iter().map(|width| self.width(width));
        widths.filter(move |&width| least_lines(width) <= lines)
    }

    /// Returns `width`, or the minimum length that θ needs if that is larger.
    pub(super) fn width(&self, width: u32) -> u32 {
        let base = Config { linear_width: width, ..self.base };
        base.for_threshold(self.base.threshold).linear_width
    }

    pub(super) fn least_width(&self) -> u32 {
        self.width(WIDTHS[0])
    }

    /// Returns the counter with this number of `lines` that [`GOOD_ENOUGH`] selects, or `None` if every counter with
    /// this number of lines breaks a rule.
    pub(super) fn counter(&self, lines: u32) -> Option<CounterPlan> {
        let plans = || self.widths(lines).filter_map(|width| self.counted(width, lines).ok());
        let least = plans().map(|plan| plan.std_error).fold(f64::INFINITY, f64::min);
        plans().find(|plan| plan.std_error <= least * GOOD_ENOUGH)
    }

    /// Returns the minimum number of lines at which a counter obeys the rules, or `None` if no number is enough.
    pub(super) fn least_lines(&self) -> Option<u32> {
        let most = lines_of(usize::MAX);
        let least = self.widths(most).filter_map(|width| {
            let keeps = |lines| self.counted(width, lines).is_ok();
            let (mut least, mut most) = (least_lines(width), keeps(most).then_some(most)?);
            // More lines improve every property of a counter.
            while least < most {
                let middle = least.midpoint(most);
                if keeps(middle) { most = middle } else { least = middle + 1 }
            }
            Some(most)
        });
        least.min()
    }

    /// Returns the error for the rule that the best counter with this number of `lines` breaks. The lines must have
    /// room for at least one linear estimator.
    pub(super) fn counter_refusal(&self, lines: u32, least: Option<usize>) -> ConfigError {
        let broken = |width| self.counted(width, lines).err();
        let broken = self.widths(lines).filter_map(broken);
        let best = broken.min_by(|a, b| a.distance().total_cmp(&b.distance()));
        let broken = best.expect("the counter of at least one width breaks a rule");
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

    fn counted(&self, width: u32, lines: u32) -> Result<CounterPlan, Broken> {
        let config = self.config(FinderPlan::LEAST_BITS, width, lines);
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
            width,
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
