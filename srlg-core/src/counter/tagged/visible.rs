//! The tagged estimate: survival analysis of what a host touched itself.
//!
//! A position of a host's linear estimator shows the host's own last touch, of age m, unless
//! foreigners hid it in the place of the touch and in that of its echo. So the position tells
//! one of two things: the own touch has age m (it is visible), or it is older than what is
//! there, or there is none (a foreign touch *censors* it at that age). That is the setting of
//! Kaplan and Meier (1958): with R positions still at risk at age m, of which d show an own
//! touch of age m, a share 1 - d/R of the positions survives. The product S over the ages of
//! the window is the share of positions without any own touch, whatever foreigners hid.
//!
//! Linear counting turns S into a cardinality: `n = -η' ln S = -η' Σ ln(1 - d/R)`: η' times
//! the cumulative hazard. It is in closed form, takes nothing from outside the host's own
//! positions, and is the non-parametric maximum likelihood.
//!
//! Ties. Of touches of one age the smaller tag stays. So a foreign touch of age m whose tag is
//! larger than the host's excludes an own touch of that age: the position is at risk at m and
//! censored thereafter. One whose tag is smaller might hide an own touch: it leaves before m.
//! Which of the two happens depends on two tags alone, not on whether there is an own touch.
//!
//! False matches. A foreign word has the host's own tag with probability 1/T, and then looks like
//! an own touch. For each such false match T - 1 words of the same age with another tag are
//! expected, and these can be counted. One place of age m is one *chance* for a false match,
//! whatever its tag; where both places have age m, each is a chance if the other does not exclude
//! an own touch: 2 where both might hide one, 0 where both exclude it. So d loses the number of
//! chances over T - 1; and positions whose tags are equal tell nothing of an own touch, so R
//! loses the chances of the hidden ones over T - 1.
//!
//! The oldest epoch. Of the M touches of an epoch that the window cuts, a share s of its slices
//! is in the window: its hazard counts s times. How many of the M really are nobody knows: were each in a slice
//! of its own choice, a binomial number with the variance s(1 - s)M; were all in one slice, all or none, with
//! the variance s(1 - s)M². The larger is stated: of even contacts it is next to nothing, as M is one of some
//! 500 parts of n, and a burst at the edge is what it is for.
//!
//! Standard error (Greenwood 1926): `η'² Σ o/(R(R - d))` is the variance of η' ln S, o being
//! the observed matches, false ones included, if the number of opposite hosts were a Poisson
//! variable; as it is a fixed number n, its variance n comes off.
//!
//! The fine region gets a share p of the opposite hosts, with n/p in place of n, and of the variance n/p²: the
//! sum counts as if all η'/p positions of such a region were there. Where the fine region is nearly used up the
//! coarse ones are looked at, and [`pooled`](super::pooled) estimates from all of them.
//!
//! Beyond range. Where no position is left at risk the sum stops. What it has by then is what was seen, with its
//! error: the truth is above it but for that error. So the bound that is stated is two standard errors below.

use super::histograms::Histograms;
use super::params::{AGES, TaggedParams};
use crate::counter::estimate::{Estimate, EstimateRange};
use crate::epoch::Span;

/// Cardinality over `span` of a host with these `histograms` of its fine region.
pub(super) fn estimate_fine(
    params: &TaggedParams,
    histograms: &Histograms,
    span: Span,
) -> Estimate {
    let width = f64::from(params.width);
    estimate_run(params, histograms, span, width, params.regions.share(0) / width).stated()
}

/// The sum over ages of a region of so many `positions`, each of which a peer touches with the probability `rate`.
pub(super) fn estimate_run(
    params: &TaggedParams,
    histograms: &Histograms,
    span: Span,
    positions: f64,
    rate: f64,
) -> Sum {
    // The inverse of the share S that survives: one logarithm in the end, not one per age.
    let (mut at_risk, mut inverse, mut greenwood, mut edge) = (positions, 1.0, 0.0, 0.0);
    let mut is_beyond = false;
    for age in 0..span.ages as usize {
        if histograms.all[age] == 0 && at_risk > 1.0 {
            continue; // adds 0 and multiplies by 1
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

/// The variance of how many of `touches` in an epoch are in the window, which has a `share` of the epoch.
pub(super) fn edge_variance(share: f64, touches: f64) -> f64 {
    let touches = touches.max(0.0); // false matches may be fewer than expected
    share * (1.0 - share) * touches.max(touches * touches)
}

/// Positions at an age.
#[derive(Clone, Copy)]
pub(super) struct AtRisk {
    /// R: positions that would show an own touch.
    pub(super) risk: f64,
    /// d: positions that do, less false matches.
    pub(super) touched: f64,
    /// Positions that do, or seem to.
    pub(super) own: f64,
}

impl AtRisk {
    /// Of `at_risk` positions that no younger age has used up.
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
        // Where tags are equal nothing can be told either.
        let risk = at_risk - hidden - (hidden + twice) / other_tags;
        Self { risk, touched: own - chances / other_tags, own }
    }
}

/// What the sum over the ages of a window gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    /// Opposite hosts, or fewer than none if false matches are fewer than expected.
    pub(super) cardinality: f64,
    /// The variance that it would have if their number were a Poisson variable.
    pub(super) variance: f64,
    /// Whether no position was left at some age.
    pub(super) is_beyond: bool,
}

impl Sum {
    /// The estimate with its standard error.
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

    /// The estimate of all positions, each of which gets as many opposite hosts as another.
    fn estimate(params: &TaggedParams, histograms: &Histograms, span: Span) -> Estimate {
        let width = f64::from(params.width);
        estimate_run(params, histograms, span, width, 1.0 / width).stated()
    }

    /// Histograms of positions by (age, count, count that is own); half of the others might hide
    /// an own touch. The rest is untouched.
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
        // Three logarithms and sums, each within an ulp or so of numbers below 1.
        let rounding = 16_384.0 * 8.0 * f64::EPSILON;
        assert_abs_diff_eq!(estimate.cardinality, counted, epsilon = rounding);
        assert_eq!(estimate.range, EstimateRange::Within);
        // η'(e^t - t - 1) at t = 0.06299: the variance of linear counting.
        let load = counted / 16_384.0;
        let expected = libm::sqrt(16_384.0 * (libm::exp(load) - load - 1.0));
        assert_abs_diff_eq!(estimate.std_error / expected, 1.0, epsilon = 1e-9);
    }

    #[test]
    fn touches_that_foreigners_hid_are_made_up_for() {
        // Half of all positions were touched by foreigners at age 3: of own touches of age 9,
        // half are seen. 75 of the foreign touches have the host's tag by chance.
        let false_matches = 75;
        let seen = run(&[(3, 75 + 75 * 108, false_matches), (9, 250, 250)]);
        let estimate = estimate(&params(), &seen, WINDOW);
        // 250 of the 16384 - 8175 positions at risk, a hazard of ln(8209/7959).
        let expected = 16_384.0 * libm::log(8209.0 / 7959.0);
        // 75·108 foreign touches that do not match stand for 75 that do: no difference.
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
        // A quarter of the variance of a Poisson number, less half of the hosts, and one coin for all of them.
        let poisson = whole.std_error * whole.std_error + whole.cardinality;
        let all = whole.cardinality * whole.cardinality;
        let expected = poisson / 4.0 - half.cardinality + all / 4.0;
        assert_abs_diff_eq!(half.std_error * half.std_error, expected, epsilon = 1e-6);
    }

    #[test]
    fn full_run_is_beyond_range_and_a_lower_bound() {
        let giant = estimate(&params(), &run(&[(0, 16_384, 16_384)]), WINDOW);
        assert_eq!(giant.range, EstimateRange::Beyond);
        // η' ln η' with an error of η' for the last position, twice.
        let least = 16_384.0 * (libm::log(16_384.0) - 2.0);
        assert!((least..least + 100.0).contains(&giant.cardinality), "{giant:?}");
        // Foreigners filled it: nothing is known, and nothing is made up.
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
