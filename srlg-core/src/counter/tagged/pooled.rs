//! The tagged estimate from several regions: of hosts that have used up their fine one.
//!
//! A position of region r gets an opposite host with the probability q_r, its rate. N(m) opposite hosts were last
//! seen at age m or less; a position has survived it with the probability e^(-q_r N(m)), with the same N in all
//! regions. So at each age the increment x = N(m) - N(m - 1) is the root of
//!
//! `Σ_r q_r (d_r / (1 - e^(-x q_r)) - R_r) = 0`,
//!
//! the maximum of the likelihood; of one region it is `x = -ln(1 - d/R)/q`, as in [`visible`](super::visible). With
//! y = x q_r and f = y/(1 - e^(-y)) its variance is B/A², `A = Σ q_r R_r f e^(-y)`, `B = Σ o_r (1 - d_r/R_r) f²`: of
//! one region Greenwood's.
//!
//! Age by age, not for the window as a whole: a fine region that is used up in the end is still exact for the
//! recent part of the window. To look at what a region *became*, and choose, would be biased.
//!
//! Which regions count at an age. A coarser region stays out while a finer one tells more than 4 times as much,
//! (R - d) q: after a burst that used the fine region up, most of what it counts are twins and false matches of
//! few positions, and the coarse one would add more of them than it knows. A region with fewer than 4 positions
//! left tells nothing in this comparison, one with none left does not count. As R depends on younger ages alone,
//! the sum stays a martingale. Where all are used up at one age, the coarsest is taken to have one position left,
//! and the estimate is beyond range.

use super::counts::{Counts, other_tags};
use super::histograms::Histograms;
use super::params::TaggedParams;
use super::region::REGIONS;
use super::visible::{AtRisk, Sum, edge_variance, estimate_fine};
use crate::counter::Tally;
use crate::counter::estimate::Estimate;
use crate::epoch::Span;

/// How many times as much a finer region has to tell for a coarser one to stay out.
const FINER_TELLS: f64 = 4.0;

/// The same in positions left at risk, for every coarse position with all of them: a fine region with more of
/// them, of all that coarse regions get of it, tells more at every age.
pub(super) const COARSE_TELLS: f64 = FINER_TELLS;

/// Positions with which a region tells something.
const TELLING: f64 = 4.0;

/// Of a smaller share of the positions the first guess is exact to its square over 12.
const SMALL: f64 = 0.02;

/// A region at an age.
#[derive(Clone, Copy)]
struct Part {
    rate: f64,
    at: AtRisk,
}

impl Part {
    /// What it can tell.
    fn weight(self) -> f64 {
        let left = self.at.risk - self.at.touched;
        if left < TELLING { 0.0 } else { left * self.rate }
    }

    /// The terms of the increment's equation and of its derivative at `x`.
    fn terms(self, x: f64) -> [f64; 2] {
        let (left, gone) = (libm::exp(-x * self.rate), -libm::expm1(-x * self.rate));
        let term = self.at.touched / gone;
        [self.rate * (term - self.at.risk), -self.rate * self.rate * term * left / gone]
    }

    /// Its terms of A and B.
    fn information(self, x: f64) -> [f64; 2] {
        let y = x * self.rate;
        let f = if y == 0.0 { 1.0 } else { y / -libm::expm1(-y) };
        let AtRisk { risk, touched, own } = self.at;
        [self.rate * risk * f * libm::exp(-y), own * (1.0 - touched / risk) * f * f]
    }
}

/// Regions that count at an age, the finest first.
#[derive(Default)]
struct Parts {
    parts: [Option<Part>; REGIONS],
}

impl Parts {
    fn iter(&self) -> impl Iterator<Item = Part> {
        self.parts.iter().flatten().copied()
    }

    /// Adds a region unless a finer one tells more than enough.
    fn add(&mut self, number: usize, mut part: Part) {
        part.at.touched = part.at.touched.min(part.at.risk);
        let weight = FINER_TELLS * part.weight();
        if part.at.risk > 1.0 && !self.iter().any(|finer| finer.weight() > weight) {
            self.parts[number] = Some(part);
        }
    }

    /// Leaves the coarsest alone, with one position left, where none has any. Whether that was so.
    fn end(&mut self) -> bool {
        if self.iter().any(|Part { at, .. }| at.risk - at.touched >= 1.0) {
            return false;
        }
        let coarsest =
            self.iter().last().map(|Part { rate, at: AtRisk { risk, touched, own } }| {
                let most = risk - 1.0;
                Part { rate, at: AtRisk { risk, touched: touched.min(most), own: own.min(most) } }
            });
        self.parts = [None; REGIONS];
        self.parts[0] = coarsest;
        true
    }

    /// Opposite hosts of the age.
    fn increment(&self) -> f64 {
        let sum = |term: &dyn Fn(Part) -> f64| self.iter().map(term).sum::<f64>();
        let touched = sum(&|part| part.at.touched);
        // Below the root, as -ln(1 - u) is at least u/(1 - u/2).
        let mut x = touched / sum(&|part| part.rate * (part.at.risk - 0.5 * part.at.touched));
        let fastest = self.iter().map(|part| part.rate).fold(0.0, f64::max);
        if x * fastest <= SMALL {
            return x;
        }
        // The equation is convex and falls: from below, Newton's steps get there without passing it.
        for _ in 0..STEPS {
            let [value, slope] = self
                .iter()
                .map(|part| part.terms(x))
                .fold([0.0; 2], |sum, terms| [sum[0] + terms[0], sum[1] + terms[1]]);
            let step = value / slope;
            if slope >= 0.0 || !(x - step).is_finite() || x - step <= 0.0 {
                break;
            }
            x -= step;
            if step.abs() <= PRECISION * x {
                break;
            }
        }
        x
    }

    /// The variance of the increment `x`.
    fn variance(&self, x: f64) -> f64 {
        let [a, b] = self
            .iter()
            .map(|part| part.information(x))
            .fold([0.0; 2], |sum, terms| [sum[0] + terms[0], sum[1] + terms[1]]);
        b / (a * a)
    }
}

/// Steps of Newton's, at most: some six from the first guess to double precision, and some 25 where all regions but
/// the coarsest are used up.
const STEPS: u32 = 40;

/// What a step may leave undone, relative.
const PRECISION: f64 = 1e-13;

/// Estimates the cardinality over `span` of a host with these `tallies` from the array of `params`: of its fine region,
/// and of all coarse ones if the coarse ones were looked at.
///
/// # Panics
/// When they are of another counter.
#[must_use]
pub fn estimate(params: &TaggedParams, tallies: &[Tally], span: Span) -> Estimate {
    match tallies {
        [Tally::Visible(fine)] => estimate_fine(params, fine, span),
        tallies => estimate_all(params, tallies, span).stated(),
    }
}

/// Returns whether `fine`, the tally of the fine region in the array of `params`, leaves so few positions at risk that
/// the coarse ones tell more at some age of `span`: 4 times as many, or fewer, as coarse ones at risk would tell as
/// much.
#[must_use]
pub fn needs_coarse(params: &TaggedParams, fine: &Histograms, span: Span) -> bool {
    tells_little(params, Counts::of(fine, span))
}

/// The same of `counts`, those of the fine region over the window.
#[inline(always)]
pub(super) fn tells_little(params: &TaggedParams, counts: Counts) -> bool {
    let Some(bits) = params.regions.coarse_bits() else { return false };
    let most = COARSE_TELLS as u64 * u64::from(params.width) * other_tags(params);
    counts.at_risk(params, params.width) << bits <= most
}

/// The sum over ages of all regions together.
fn estimate_all(params: &TaggedParams, tallies: &[Tally], span: Span) -> Sum {
    let regions = params.regions.as_slice();
    let (mut at_risk, mut rates) = ([0.0; REGIONS], [0.0; REGIONS]);
    for (number, region) in regions.iter().enumerate() {
        at_risk[number] = f64::from(region.width);
        rates[number] = params.regions.share(number) / at_risk[number];
    }
    let (mut cardinality, mut variance, mut is_beyond) = (0.0, 0.0, false);
    for age in 0..span.ages as usize {
        let mut parts = Parts::default();
        for (number, tally) in tallies.iter().enumerate() {
            let Tally::Visible(histograms) = tally else { panic!("a tally of the tagged counter") };
            let at = AtRisk::at_age(params, histograms, age, at_risk[number]);
            parts.add(number, Part { rate: rates[number], at });
            at_risk[number] -= f64::from(histograms.all[age]);
        }
        if parts.iter().next().is_none() {
            is_beyond = true;
            break;
        }
        is_beyond |= parts.end();
        let (x, share) = (parts.increment(), span.share(age));
        cardinality += share * x;
        variance += share * share * parts.variance(x) + edge_variance(share, x);
    }
    Sum { cardinality, variance, is_beyond }
}

#[cfg(test)]
mod tests;
