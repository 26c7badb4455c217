//! The tagged estimate from several regions, for hosts that have nearly used up their fine region.
//!
//! A peer touches a given position of region r with probability q_r, the rate of the region. Let N(m) be the number of
//! peers that were last seen at age m or less. These peers leave a position of region r untouched with probability
//! e^(-q_r N(m)). N is the same in all regions. At each age m, the increment x = N(m) - N(m - 1) is therefore the root
//! of an equation, in which R and d have the same meaning as in [`visible`](super::visible):
//!
//! `Σ_r q_r (d_r / (1 - e^(-x q_r)) - R_r) = 0`
//!
//! The root maximises the likelihood. With one region, the root is `x = -ln(1 - d/R)/q`, as in
//! [`visible`](super::visible). Let y = x q_r and f = y/(1 - e^(-y)). The variance of x is B/A², where `A = Σ q_r R_r f
//! e^(-y)` and `B = Σ o_r (1 - d_r/R_r) f²`. With one region, the result is Greenwood's variance.
//!
//! The peers of coarse regions also touch the fine region. If one pair in k is counted, the estimates of x from the fine
//! region and from a coarse region therefore have a covariance of k x. If the fine region has a weight of w in the
//! estimate, `2 w (1 - w) k x` is added to the variance.
//!
//! Regions are combined age by age, because a fine region that is used up at older ages is still exact at younger ages.
//! Choosing regions by their final state would bias the estimate.
//!
//! The regions to include are also chosen separately at each age. The information in a region is (R - d) q. A coarser
//! region is excluded if a finer one contains more than 4 times as much information. The coarser region would then add
//! more errors, from collisions and false matches in a few positions, than information. In this comparison, a region
//! contains no information if R - d is below 4. A region is always excluded if R is at most 1. R does not depend on
//! whether the host touched a position at this age, so the sum stays a martingale. If all regions are used up at one
//! age, the estimate is beyond the range. The coarsest included region is then treated as if one of its positions were
//! left untouched.

use super::counts::{Counts, other_tags};
use super::histograms::Histograms;
use super::load::CROWDED_LOAD;
use super::params::TaggedParams;
use super::region::{PARTS, REGIONS};
use super::visible::{AtRisk, Sum, edge_variance, estimate_fine};
use crate::counter::Tally;
use crate::counter::estimate::Estimate;
use crate::epoch::Span;

/// Ratio of the information in a finer region to that in a coarser one, above which the coarser one is excluded.
const FINER_TELLS: f64 = 4.0;

/// Factor in the test for coarse regions. Coarse regions are not needed if more than this factor times η'/c fine
/// positions are at risk. Here, one peer in c touches a coarse region.
pub(super) const COARSE_TELLS: f64 = FINER_TELLS;

/// Minimum value of R - d at which a region contains information.
const TELLING: f64 = 4.0;

/// Maximum number of peers per position at which the first guess is returned without Newton steps. The relative error
/// of the guess is at most a twelfth of the square of this number.
const SMALL: f64 = 0.02;

/// A region at one age.
#[derive(Clone, Copy)]
struct Part {
    rate: f64,
    at: AtRisk,
}

impl Part {
    /// Returns the information in the region, (R - d) q, or 0 if R - d is below `TELLING`.
    fn weight(self) -> f64 {
        let left = self.at.risk - self.at.touched;
        if left < TELLING { 0.0 } else { left * self.rate }
    }

    /// Returns this region's term in the equation for the increment, and the derivative of this term, both at `x`.
    fn terms(self, x: f64) -> [f64; 2] {
        let (left, gone) = (libm::exp(-x * self.rate), -libm::expm1(-x * self.rate));
        let term = self.at.touched / gone;
        [self.rate * (term - self.at.risk), -self.rate * self.rate * term * left / gone]
    }

    /// Returns this region's terms of A and B for the increment `x`.
    fn information(self, x: f64) -> [f64; 2] {
        let y = x * self.rate;
        let f = if y == 0.0 { 1.0 } else { y / -libm::expm1(-y) };
        let AtRisk { risk, touched, own } = self.at;
        [self.rate * risk * f * libm::exp(-y), own * (1.0 - touched / risk) * f * f]
    }
}

/// The regions that are included at one age, the finest first.
#[derive(Default)]
struct Parts {
    parts: [Option<Part>; REGIONS],
}

impl Parts {
    fn iter(&self) -> impl Iterator<Item = Part> {
        self.parts.iter().flatten().copied()
    }

    /// Adds region number `number`, unless R is at most 1 or a finer region contains more than 4 times as much
    /// information.
    fn add(&mut self, number: usize, mut part: Part) {
        part.at.touched = part.at.touched.min(part.at.risk);
        let weight = FINER_TELLS * part.weight();
        if part.at.risk > 1.0 && !self.iter().any(|finer| finer.weight() > weight) {
            self.parts[number] = Some(part);
        }
    }

    /// If no region has an untouched position left, keeps only the coarsest region, as if it had one. Returns whether
    /// this was necessary.
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

    /// Returns x, the estimated number of peers that were last seen at this age.
    fn increment(&self) -> f64 {
        let sum = |term: &dyn Fn(Part) -> f64| self.iter().map(term).sum::<f64>();
        let touched = sum(&|part| part.at.touched);
        // The first guess is below the root, because -ln(1 - u) is at least u/(1 - u/2).
        let mut x = touched / sum(&|part| part.rate * (part.at.risk - 0.5 * part.at.touched));
        let fastest = self.iter().map(|part| part.rate).fold(0.0, f64::max);
        if x * fastest <= SMALL {
            return x;
        }
        // The function is convex and decreasing, so Newton's method approaches the root from below without passing it.
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

    fn variance(&self, x: f64) -> f64 {
        let [a, b] = self
            .iter()
            .map(|part| part.information(x))
            .fold([0.0; 2], |sum, terms| [sum[0] + terms[0], sum[1] + terms[1]]);
        b / (a * a)
    }

    /// Returns 2 w (1 - w), where w is the weight of the fine region in the estimate. If the peers of coarse regions did
    /// not touch the fine region too, the estimates from both would be independent.
    fn common_share(&self, x: f64) -> f64 {
        let all: f64 = self.iter().map(|part| part.information(x)[0]).sum();
        let fine = self.parts[0].map_or(0.0, |part| part.information(x)[0] / all);
        2.0 * fine * (1.0 - fine)
    }
}

/// Maximum number of Newton steps. From the first guess, about 6 steps reach double precision. If all regions but the
/// coarsest are used up, about 25 are needed.
const STEPS: u32 = 40;

/// Relative step size at which the iteration ends.
const PRECISION: f64 = 1e-13;

/// Estimates the cardinality of a host over `span` from its `tallies` in the array of `params`. `tallies` contains the
/// tally of the fine region, or the tallies of all regions.
///
/// # Panics
/// Panics if a tally does not belong to the tagged counter.
#[must_use]
pub fn estimate(params: &TaggedParams, tallies: &[Tally], span: Span) -> Estimate {
    match tallies {
        [Tally::Visible(fine)] => estimate_fine(params, fine, span),
        tallies => estimate_all(params, tallies, span).stated(),
    }
}

/// Returns whether the estimate over `span` also needs the coarse regions. `fine` is the tally of the fine region in
/// the array of `params`. Coarse regions are needed if, at some age, they may contain at least a quarter of the
/// information in the fine region.
#[must_use]
pub fn needs_coarse(params: &TaggedParams, fine: &Histograms, span: Span) -> bool {
    tells_little(params, Counts::of(fine, span))
}

/// Returns the result of [`needs_coarse`], computed from `counts`, the position counts of the fine region in the
/// window.
#[inline(always)]
pub(super) fn tells_little(params: &TaggedParams, counts: Counts) -> bool {
    let parts = u64::from(params.regions.coarse_parts());
    let most = COARSE_TELLS as u64 * parts * u64::from(params.width()) * other_tags(params);
    parts > 0 && counts.at_risk(params, params.width()) * u64::from(PARTS) <= most
}

/// Returns whether less than e^-4 of the positions that the host does not show to have touched are at risk at every age,
/// as in a crowded counter. `fine` is the tally of the fine region.
///
/// The result may also be true if the counter is not crowded, for example if hidden touches of a giant look like
/// untouched positions.
pub(crate) fn seems_crowded(params: &TaggedParams, fine: &Histograms, span: Span) -> bool {
    let counts = Counts::of(fine, span);
    let untouched = u64::from(params.width()) - counts.own;
    let at_risk = u64::from(params.width()) - counts.all;
    (at_risk as f64) < libm::exp(-CROWDED_LOAD) * untouched as f64
}

/// Returns whether the visible touches in one of the `tallies` alone make a super point of a host.
///
/// Each position of region r with an own touch is at least one peer, and a share p_r of the peers touches the region.
/// The number of false matches is Poisson-distributed, and six of its standard deviations are subtracted. Of the
/// remaining number, three standard deviations are subtracted, because p_r n is the mean of a random number.
pub(crate) fn shows_super_point(params: &TaggedParams, tallies: &[Tally], span: Span) -> bool {
    let threshold = f64::from(params.threshold);
    tallies.iter().enumerate().any(|(region, tally)| {
        let Tally::Visible(histograms) = tally else {
            panic!("the tally belongs to a different counter")
        };
        let counts = Counts::of(histograms, span);
        let false_matches = counts.chances() as f64 / other_tags(params) as f64;
        let touched = counts.own as f64 - false_matches - 6.0 * libm::sqrt(false_matches);
        touched > 0.0
            && touched - 3.0 * libm::sqrt(touched) >= threshold * params.regions.share(region)
    })
}

fn estimate_all(params: &TaggedParams, tallies: &[Tally], span: Span) -> Sum {
    let regions = params.regions.as_slice();
    let (mut at_risk, mut rates) = ([0.0; REGIONS], [0.0; REGIONS]);
    for (number, region) in regions.iter().enumerate() {
        at_risk[number] = f64::from(region.width);
        rates[number] = params.regions.rate(number);
    }
    let (mut cardinality, mut variance, mut is_beyond) = (0.0, 0.0, false);
    for age in 0..span.ages as usize {
        let mut parts = Parts::default();
        for (number, tally) in tallies.iter().enumerate() {
            let Tally::Visible(histograms) = tally else {
                panic!("the tally belongs to a different counter")
            };
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
        let common = parts.common_share(x) * x / params.regions.share(0);
        variance += share * share * (parts.variance(x) + common) + edge_variance(share, x);
    }
    Sum { cardinality, variance, is_beyond }
}

#[cfg(test)]
mod tests;
