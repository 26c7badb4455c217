//! The tagged estimate: a survival analysis of a host's own touches.
//!
//! The age m of a position in a host's linear estimator is the age of the older of its two places. If the host's own
//! last touch is visible, it has age m. The touch is hidden only if other hosts overwrote both the touch and its echo.
//! The position is then *censored*: any touch of the host has age m or is older. Kaplan and Meier (1958) estimate
//! survival from censored data. Of R positions still at risk at age m, d show a touch of the host at age m, and a share
//! 1 - d/R survives. The product S of these shares over the ages of the window estimates the share of positions that
//! the host did not touch, even if some touches are hidden.
//!
//! Linear counting turns S into a cardinality: `n = -η' ln S = -η' Σ ln(1 - d/R)`, which is η' times the cumulative
//! hazard. This is the non-parametric maximum likelihood estimate. This estimate has a closed form and uses only
//! the host's own positions.
//!
//! # Ties
//! Of two touches with the same age, the one with the smaller tag is kept. If another host's touch of age m has a
//! larger tag than the host's own tag, a touch of the host at that age is excluded. The position is then at risk at age
//! m and censored at older ages. If the other host's tag is smaller, a touch of the host may be hidden, and the
//! position is censored from age m on. Which case applies depends only on the two tags, not on whether a touch of the
//! host exists.
//!
//! # False matches
//! Let T be the number of tags. A word of another host has the host's own tag with probability 1/T, and then looks like
//! a touch of the host. For each false match, T - 1 words of the same age with other tags are expected, and these can
//! be counted. A place of age m is one *chance* for a false match, regardless of its tag. If both places have age m,
//! each is a chance if the other does not exclude a touch of the host. The position then has 2 chances if both places
//! may hide a touch of the host, and 0 if both exclude one.
//!
//! The number of chances, divided by T - 1, is therefore subtracted from d. A position with a false match cannot show a
//! touch of the host. The number of chances at hidden positions, divided by T - 1, is therefore subtracted from R.
//!
//! # The oldest epoch
//! If the window contains only a share s of the slices of its oldest epoch, the hazard of that epoch is multiplied by
//! s. Of the M touches in this epoch, an unknown number is in the window. If the touches are independent, this number
//! is binomial with the variance s(1 - s)M. If all touches are in a single slice, this number is M or 0, with the
//! variance s(1 - s)M². The standard error includes the larger variance, which is negligible for evenly spread
//! contacts, but large for a burst at the start of the window.
//!
//! # Standard error
//! The variance of η' ln S is `η'² Σ o/(R(R - d))` (Greenwood 1926), where o is the number of observed matches,
//! including false ones. This formula assumes a Poisson-distributed number of peers. The actual number n is fixed, so
//! the Poisson variance n is subtracted.
//!
//! If one pair in k is counted, a peer touches each of the η'/k positions in use with probability 1/η'. The formulas
//! with η' therefore remain valid. If the fine region is nearly used up, the coarse regions are read too, and
//! [`pooled`](super::pooled) computes the estimate from all regions.
//!
//! # Beyond the range
//! If at most one position is left at risk, the sum stops, and the estimate is beyond the range. If R - d is less than
//! 1, it is replaced by 1, and the estimate is also beyond the range. In both cases, the result is a lower bound: the
//! sum minus two standard errors, or 0 if this difference is negative.

use super::histograms::Histograms;
use super::params::TaggedParams;
use super::sizes::AGES;
use crate::counter::estimate::{Estimate, EstimateRange};
use crate::epoch::Span;

pub(super) fn estimate_fine(
    params: &TaggedParams,
    histograms: &Histograms,
    span: Span,
) -> Estimate {
    let (width, rate) = (f64::from(params.width()), params.regions.rate(0));
    estimate_run(params, histograms, span, width, rate).stated()
}

/// Returns the sums over the ages of `span` for a region of `positions` positions, each of which a peer touches with
/// probability `rate`.
pub(super) fn estimate_run(
    params: &TaggedParams,
    histograms: &Histograms,
    span: Span,
    positions: f64,
    rate: f64,
) -> Sum {
    // The inverse of the surviving share S needs only one logarithm at the end, instead of one per age.
    let (mut at_risk, mut inverse, mut greenwood, mut edge) = (positions, 1.0, 0.0, 0.0);
    let mut is_beyond = false;
    for age in 0..span.ages as usize {
        if histograms.all[age] == 0 && at_risk > 1.0 {
            continue; // This age adds 0 and multiplies by 1.
        }
        let share = span.share(age);
        let AtRisk { risk, touched, own } = AtRisk::at_age(params, histograms, age, at_risk);
        if risk <= 1.0 {
            is_beyond = true;
            break;
        }
        is_beyond |= risk - touched < 1.0;
        let untouched = (risk - touched).max(1.0);
        let ratio = risk / untouched;
        greenwood += share * share * own / (risk * untouched);
        if share < 1.0 {
            edge = edge_variance(share, libm::log(ratio) / rate);
            inverse *= libm::pow(ratio, share);
        } else {
            inverse *= ratio;
        }
        at_risk -= f64::from(histograms.all[age]);
    }
    let variance = greenwood / (rate * rate) + edge;
    Sum { cardinality: libm::log(inverse) / rate, variance, is_beyond }
}

/// Returns the variance of the number of touches in the window, if the window contains a `share` of an epoch with
/// `touches` touches.
pub(super) fn edge_variance(share: f64, touches: f64) -> f64 {
    let touches = touches.max(0.0); // There may be fewer false matches than expected.
    share * (1.0 - share) * touches.max(touches * touches)
}

/// The position counts at one age.
#[derive(Clone, Copy)]
pub(super) struct AtRisk {
    /// R: number of positions that would show a touch of the host at this age.
    pub(super) risk: f64,
    /// d: `own`, minus the expected number of false matches.
    pub(super) touched: f64,
    /// o: number of positions that show a touch of the host or a false match.
    pub(super) own: f64,
}

impl AtRisk {
    /// Returns the position counts at `age`. `at_risk` is the number of positions that were not used up at younger
    /// ages.
    pub(super) fn at_age(
        params: &TaggedParams,
        histograms: &Histograms,
        age: usize,
        at_risk: f64,
    ) -> Self {
        let count = |bins: &[u32; AGES]| f64::from(bins[age]);
        let (all, own) = (count(&histograms.all), count(&histograms.own));
        let (hidden, twice) = (count(&histograms.hidden), count(&histograms.hidden_twice));
        let chances = all - own + twice - count(&histograms.excluded_twice);
        let other_tags = f64::from(params.tags - 1);
        // Positions with equal tags cannot show a touch of the host, so they are not at risk.
        let risk = at_risk - hidden - (hidden + twice) / other_tags;
        Self { risk, touched: own - chances / other_tags, own }
    }
}

/// The sums over the ages of a window, from which an [`Estimate`] is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    /// Estimated number of peers. It can be negative if fewer false matches occurred than expected.
    pub(super) cardinality: f64,
    /// Variance of `cardinality` under the assumption of a Poisson-distributed number of peers.
    pub(super) variance: f64,
    pub(super) is_beyond: bool,
}

impl Sum {
    /// Returns the estimate with its standard error and range.
    pub(super) fn stated(self) -> Estimate {
        let Self { cardinality, variance, is_beyond } = self;
        let std_error = libm::sqrt((variance - cardinality.max(0.0)).max(0.0));
        if is_beyond {
            let cardinality = (cardinality - 2.0 * std_error).max(0.0);
            return Estimate { cardinality, std_error, range: EstimateRange::Beyond };
        }
        if cardinality < 0.0 {
            return Estimate { cardinality: 0.0, std_error, range: EstimateRange::ClampedToZero };
        }
        Estimate { cardinality, std_error, range: EstimateRange::Within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use approx::assert_abs_diff_eq;

    fn params() -> TaggedParams {
        let config = Config { linear_width: 1 << 14, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    const WINDOW: Span = Span::whole(150, 2);

    fn estimate(params: &TaggedParams, histograms: &Histograms, span: Span) -> Estimate {
        let width = f64::from(params.width());
        estimate_run(params, histograms, span, width, 1.0 / width).stated()
    }

    /// Returns histograms from tuples of an age, a number of positions, and the number of own positions among them.
    /// Half of the positions without an own touch may hide a touch of the host. All remaining positions of the
    /// estimator have an age outside the window.
    fn run(positions: &[(usize, u32, u32)]) -> Histograms {
        let mut histograms = Histograms::EMPTY;
        for &(age, all, own) in positions {
            histograms.all[age] += all;
            histograms.own[age] += own;
            histograms.hidden[age] += (all - own) / 2;
        }
        histograms.all[AGES - 1] += 16_384 - histograms.all.iter().sum::<u32>();
        histograms
    }

    #[test]
    fn without_foreigners_it_is_linear_counting() {
        let estimate =
            estimate(&params(), &run(&[(0, 500, 500), (70, 400, 400), (149, 100, 100)]), WINDOW);
        let counted = crate::counter::estimate::linear_cardinality(1000.0, 16_384).unwrap();
        // Each of three logarithms and sums has an error of about one ulp of a number below 1.
        let rounding = 16_384.0 * 8.0 * f64::EPSILON;
        assert_abs_diff_eq!(estimate.cardinality, counted, epsilon = rounding);
        assert_eq!(estimate.range, EstimateRange::Within);
        // At t = 0.06299, η'(e^t - t - 1) is the variance of linear counting.
        let load = counted / 16_384.0;
        let expected = libm::sqrt(16_384.0 * (libm::exp(load) - load - 1.0));
        assert_abs_diff_eq!(estimate.std_error / expected, 1.0, epsilon = 1e-9);
    }

    #[test]
    fn touches_that_foreigners_hid_are_made_up_for() {
        // Other hosts touched half of all positions at age 3, so half of the host's touches of age 9 are visible. By
        // chance, 75 touches of other hosts have the host's tag.
        let false_matches = 75;
        let seen = run(&[(3, 75 + 75 * 108, false_matches), (9, 250, 250)]);
        let estimate = estimate(&params(), &seen, WINDOW);
        // 250 of the 16384 - 8175 positions at risk are touched, a hazard of ln(8209/7959).
        let expected = 16_384.0 * libm::log(8209.0 / 7959.0);
        // 75·108 touches that do not match balance 75 that do, so the difference is 0.
        assert_abs_diff_eq!(estimate.cardinality, expected, epsilon = 1e-6);
    }

    #[test]
    fn foreigners_alone_are_zero_hosts_within_the_standard_error() {
        let too_few_matches = estimate(&params(), &run(&[(3, 8192, 60)]), WINDOW);
        assert_eq!(
            (too_few_matches.cardinality, too_few_matches.range),
            (0.0, EstimateRange::ClampedToZero)
        );
        let more_matches = estimate(&params(), &run(&[(3, 8192, 95)]), WINDOW);
        assert!(more_matches.cardinality < 3.0 * more_matches.std_error, "{more_matches:?}");
    }

    #[test]
    fn oldest_epoch_counts_by_the_share_that_is_in_the_window() {
        let histograms = run(&[(149, 400, 400), (150, 77, 77)]);
        let whole = estimate(&params(), &histograms, WINDOW);
        let half = estimate(&params(), &histograms, Span { oldest_slices: 1, ..WINDOW });
        assert_abs_diff_eq!(half.cardinality, whole.cardinality / 2.0, epsilon = 1e-9);
        // The variance is a quarter of the variance for a Poisson number, minus half of the peers, plus the variance of
        // one coin toss for all of them.
        let poisson = whole.std_error * whole.std_error + whole.cardinality;
        let all = whole.cardinality * whole.cardinality;
        let expected = poisson / 4.0 - half.cardinality + all / 4.0;
        assert_abs_diff_eq!(half.std_error * half.std_error, expected, epsilon = 1e-6);
    }

    #[test]
    fn full_run_is_beyond_range_and_a_lower_bound() {
        let giant = estimate(&params(), &run(&[(0, 16_384, 16_384)]), WINDOW);
        assert_eq!(giant.range, EstimateRange::Beyond);
        // The bound is η' ln η' minus twice the error for the last position, which is η'.
        let least = 16_384.0 * (libm::log(16_384.0) - 2.0);
        assert!((least..least + 100.0).contains(&giant.cardinality), "{giant:?}");
        // If other hosts filled the estimator, the number of peers is unknown, and the estimate must be near 0.
        let hidden = estimate(&params(), &run(&[(0, 16_384, 150)]), WINDOW);
        assert!(hidden.cardinality < 10.0, "{hidden:?}");
        let hidden = estimate(&params(), &run(&[(0, 16_000, 146), (1, 384, 3)]), WINDOW);
        assert_eq!(hidden.range, EstimateRange::Beyond);
        assert!(hidden.cardinality < 100.0, "{hidden:?}");
    }

    #[test]
    fn empty_run_is_zero() {
        let estimate = estimate(&params(), &run(&[]), WINDOW);
        assert_eq!((estimate.cardinality, estimate.std_error), (0.0, 0.0));
    }
}
