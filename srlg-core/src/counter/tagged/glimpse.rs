//! The glimpse: a count of the positions in an eighth of the fine region, which dismisses most candidates without a
//! full count.

use super::bound::{Bound, FRACTION};
use super::counts::other_tags;
use super::params::TaggedParams;
use super::sizes::LINE;
use crate::epoch::Span;

/// Returns whether a [glimpse](may_reach) with `params` can dismiss any host. If θ is small, too few peers touch the
/// positions of a glimpse.
#[must_use]
pub fn can_dismiss(params: &TaggedParams) -> bool {
    glimpsed(params) > (DEVIATIONS * DEVIATIONS) << FRACTION
}

/// Returns the number of positions of a [glimpse](may_reach) in the array of `params`: a multiple of [`LINE`].
#[inline(always)]
#[must_use]
pub fn positions(params: &TaggedParams) -> u32 {
    (params.width() / 8).next_multiple_of(LINE)
}

/// Returns whether a host may reach the threshold of `params`, judging by the [`positions`] of its glimpse over `span`.
/// `count` returns the number of positions of a kind in a group of [`Grouping::for_bound`](super::Grouping::for_bound).
///
/// Of θ peers, a Poisson-distributed number with mean m touches the positions of the glimpse. Let v be the share of
/// these positions that is at risk at the oldest age of the window. However old its contact is, each peer is visible
/// with probability v or more. Each visible peer counts as at most 1/v peers. The number of false matches among C
/// chances is Poisson-distributed with mean C/(T - 1), which is subtracted.
///
/// The estimate of a host with θ peers therefore has a variance of at most m/v + C/((T - 1) v²). The Chernoff bound for
/// weighted sums of Poisson variables then applies. The estimate is at least four standard deviations below m with a
/// probability of at most e^(-16/2), about 3 in 10,000. If m is 128 and there are no other hosts, this probability is
/// at most 1.3 in 100,000. A host is dismissed if its [bound](super::bound) is more than four standard deviations below
/// m.
///
/// All numbers are integers, so all devices make the same decision. The variance is rounded up, and m is rounded down.
/// If fewer than one position in 256 is at risk, the glimpse does not dismiss any host.
#[inline(always)]
#[must_use]
pub fn may_reach(params: &TaggedParams, span: &Span, count: impl Fn(usize, usize) -> u32) -> bool {
    let positions = positions(params);
    let Bound { counts, hosts } = Bound::new(params, span, positions, count);
    let (mean, other_tags) = (glimpsed(params), other_tags(params));
    let (at_risk, all) = (counts.at_risk(params, positions), u64::from(positions) * other_tags);
    let below = match hosts {
        // With 8 fractional bits, the square has as many fractional bits as the variance.
        Some(hosts) if hosts < mean && at_risk << 8 >= all => (mean - hosts) >> (FRACTION / 2),
        _ => return true,
    };
    let inverse = (all << FRACTION).div_ceil(at_risk);
    let false_matches = (counts.most_chances() << FRACTION).div_ceil(other_tags);
    let times_inverse = |number: u64| (number * inverse).div_ceil(1 << FRACTION);
    let variance = times_inverse(mean + times_inverse(false_matches));
    below * below <= DEVIATIONS * DEVIATIONS * variance
}

/// Maximum number of standard deviations by which the bound of a candidate may be below m (see [`may_reach`]).
const DEVIATIONS: u64 = 4;

/// Returns the number of peers, out of θ, that are expected to touch the positions of a glimpse, in units of 2^-16
/// peers.
#[inline(always)]
fn glimpsed(params: &TaggedParams) -> u64 {
    params.threshold_at(positions(params))
}

#[cfg(test)]
mod tests {
    use super::super::bound::tests::{by_group, histograms};
    use super::super::histograms::Histograms;
    use super::super::sizes::AGES;
    use super::super::visible::estimate_run;
    use super::*;
    use crate::Config;
    extern crate std;
    use proptest::prelude::*;

    const WINDOW: Span = Span::whole(150, 2);

    fn params(threshold: u32) -> TaggedParams {
        let config = Config { threshold, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    fn may_reach(params: &TaggedParams, histograms: &Histograms, span: Span) -> bool {
        super::may_reach(params, &span, by_group(histograms, span))
    }

    fn mean(params: &TaggedParams) -> f64 {
        glimpsed(params) as f64 / f64::from(1 << FRACTION)
    }

    /// Returns the minimum estimate that the documented rule accepts, computed in floating point, or `None` if the rule
    /// accepts all hosts.
    fn least(params: &TaggedParams, histograms: &Histograms, span: Span) -> Option<f64> {
        let sum = |bins: &[u32; AGES]| f64::from(bins[..span.ages as usize].iter().sum::<u32>());
        let (positions, other_tags) = (f64::from(positions(params)), f64::from(params.tags - 1));
        let at_risk = positions - sum(&histograms.all) - 2.0 * sum(&histograms.hidden) / other_tags;
        let visible = at_risk / positions;
        let chances = sum(&histograms.all) - sum(&histograms.own) + sum(&histograms.hidden_twice);
        let variance = (mean(params) + chances / other_tags / visible) / visible;
        let least = mean(params) - 4.0 * libm::sqrt(variance);
        (visible > 0.0 && least > 0.0).then_some(least)
    }

    /// Returns the probability that a host with θ peers is dismissed if all its contacts have the oldest age. Other
    /// hosts cover `covered` positions of its glimpse, evenly over the younger ages.
    fn dismissed(params: &TaggedParams, covered: u32) -> f64 {
        let share = f64::from(covered) / f64::from(positions(params));
        let mean = mean(params) * (1.0 - share);
        let (mut probability, mut dismissed) = (libm::exp(-mean), 0.0);
        let mut glimpse = Histograms::EMPTY;
        // The bounds are tightest if the ages are spread evenly. As expected, one in T of the covered positions is a
        // false match.
        let shares = |of: u32| (0..149).map(move |age| of * (age + 1) / 149 - of * age / 149);
        for (age, (all, own)) in shares(covered).zip(shares(covered / params.tags)).enumerate() {
            (glimpse.all[age], glimpse.own[age]) = (all, own);
        }
        for own in 0..params.threshold {
            (glimpse.all[149], glimpse.own[149]) = (own, own);
            dismissed += if may_reach(params, &glimpse, WINDOW) { 0.0 } else { probability };
            probability *= mean / f64::from(own + 1);
        }
        dismissed
    }

    #[test]
    fn a_glimpse_dismisses_less_than_3_of_10_000_at_any_threshold_and_load() {
        // Each entry is a threshold and the maximum number of covered positions, out of 4096, with which a host can be
        // dismissed.
        let thresholds = [
            (8, None),
            (32, None),
            (100, None),
            (256, Some(1000)),
            (1024, Some(3000)),
            (4000, Some(3000)),
        ];
        for (threshold, most) in thresholds {
            let params = params(threshold);
            assert_eq!(can_dismiss(&params), most.is_some(), "{threshold}");
            for covered in [0, 1000, 2000, 3000, 3850] {
                let share = dismissed(&params, covered);
                assert!(share < 3.4e-4, "{threshold} {covered}: {share}");
                assert_eq!(
                    share > 0.0,
                    most.is_some_and(|most| covered <= most),
                    "{threshold} {covered}"
                );
            }
        }
        assert!(dismissed(&params(1024), 0) < 1.3e-5);
    }

    proptest! {
        #[test]
        fn integers_dismiss_no_host_that_floats_do_not(
            threshold in prop_oneof![Just(256u32), Just(1024), Just(4000)],
            ages in prop::collection::vec((0usize..150, 0u32..12, 0u32..60, 0u32..60, 0u32..20), 0..150),
            oldest_slices in 1u32..3,
        ) {
            let params = params(threshold);
            let glimpse = histograms(&ages);
            prop_assume!(glimpse.all.iter().sum::<u32>() <= positions(&params));
            let span = Span { oldest_slices, ..WINDOW };
            let positions = f64::from(positions(&params));
            let found = estimate_run(&params, &glimpse, span, positions, 1.0 / positions);
            let dismissed = !found.is_beyond
                && least(&params, &glimpse, span).is_some_and(|least| found.cardinality < least);
            prop_assert!(dismissed || may_reach(&params, &glimpse, span));
        }
    }

    #[test]
    fn a_glimpse_dismisses_hosts_far_below_the_threshold_but_no_hidden_hosts() {
        let params = params(1024);
        // An eighth of θ = 1024, minus one in 512 peers, is about 128. Four standard deviations below 128 are 82.5.
        let mut glimpse = Histograms::EMPTY;
        for (own, expected) in [(0, false), (30, false), (79, false), (84, true), (128, true)] {
            (glimpse.all[5], glimpse.own[5]) = (own, own);
            assert_eq!(may_reach(&params, &glimpse, WINDOW), expected, "{own}");
        }
        // If other hosts cover all positions, the glimpse cannot exclude anything, so the host is not dismissed.
        glimpse.all = [0; AGES];
        glimpse.own = [0; AGES];
        (glimpse.all[0], glimpse.hidden[0]) = (4096, 4096);
        assert!(may_reach(&params, &glimpse, WINDOW));
    }
}
