//! The glimpse: a count of the positions in a sixteenth, then in an eighth of the fine region, which dismisses most
//! candidates without a full count.

use super::bound::FRACTION;
use super::counts::{Counts, other_tags};
use super::histograms::Grouping;
use super::params::TaggedParams;
use super::sizes::LINE;
use crate::epoch::Span;

/// Returns whether a [glimpse](may_reach) with `params` can dismiss any host. If θ is small, too few peers touch the
/// positions of a glimpse.
#[must_use]
pub fn can_dismiss(params: &TaggedParams) -> bool {
    let [.., most] = stages(params);
    params.threshold_at(most) > 2 * MARGIN
}

/// Number of stages of a [glimpse](may_reach).
pub const STAGES: usize = 2;

/// Returns the number of positions that are examined by the end of each stage of a [glimpse](may_reach) in the array of
/// `params`. The numbers are multiples of [`LINE`].
#[inline(always)]
#[must_use]
pub fn stages(params: &TaggedParams) -> [u32; STAGES] {
    [params.width() / 16, params.width() / 8].map(|positions| positions.next_multiple_of(LINE))
}

/// Returns whether a host may reach the threshold of `params`, judging by its first `positions` positions over `span`,
/// at the end of one of the [`stages`]. `count` returns the number of positions of a kind in a group of
/// [`Grouping::for_bound`].
///
/// Of θ peers, a Poisson-distributed number with mean m touches these positions. In group g, a peer is visible with
/// probability v_g or more, whatever the age of its contact in this group. Other hosts cause f_g false matches on
/// average. Each position that shows a touch of the host scores `a_g = -ln(1 - κ/v_g)`, with one number κ for all
/// groups. A peer then lowers the mean of `e^(-score)` by a factor of at least `e^-κ`, whatever the age of its contact,
/// and an expected false match by a factor of `e^(-κ/v_g)`. For θ peers, Markov's inequality yields:
///
/// ```text
/// P(Σ o_g a_g <= κ (m + Σ f_g/v_g) - 8)  <=  e^-8, about 3 in 10,000
/// ```
///
/// A host with such a score is dismissed. The inequality holds for any κ that does not depend on the touches of the
/// host. The bound is nearly the tightest if κ is `4 sqrt(v/m)`, where v is the share of positions at risk at the
/// oldest age. κ is limited to three quarters of v.
///
/// All stages use the m of the last stage in κ. Except for the errors of v and v_g, which each stage measures anew,
/// `e^(-score + κ (m + Σ f_g/v_g))` is then a supermartingale, so e^-8 also limits the probability that any stage
/// dismisses the host (Ville's inequality). If m is 128 at the last stage and there are no other hosts, this
/// probability is at most 3 in 100,000.
///
/// All numbers are integers, so all devices make the same decision. Scores are rounded up, and the other numbers are
/// rounded down. If fewer than one position in 256 is at risk, the glimpse does not dismiss any host.
#[inline(always)]
#[must_use]
pub fn may_reach(
    params: &TaggedParams,
    span: &Span,
    positions: u32,
    count: impl Fn(usize, usize) -> u32,
) -> bool {
    let other_tags = other_tags(params);
    let groups = 0..Grouping::for_bound(*span).groups() as usize;
    let counts = |group| Counts::new(|kind| count(kind, group));
    let total = groups.clone().fold(Counts::default(), |total, group| total.plus(counts(group)));
    let all = u64::from(positions) * other_tags;
    let visible = (total.at_risk(params, positions) << FRACTION) / all;
    if visible < ONE >> 8 {
        return true;
    }
    let [.., most] = stages(params).map(|positions| params.threshold_at(positions));
    let kappa = (4 * square_root((visible << (2 * FRACTION)) / most)).min(visible * 3 / 4);
    let (mut left, mut score, mut false_matches) = (u64::from(positions), 0, 0);
    for group in groups {
        let counts = counts(group);
        left = left.saturating_sub(counts.all);
        // This is at least the number of positions that are at risk at the oldest age.
        let at_risk = left * other_tags - counts.hidden - counts.hidden_twice;
        let share = kappa * all / at_risk;
        false_matches += counts.chances() * share;
        if counts.own > 0 {
            score += counts.own * scored(share + 1);
        }
    }
    let peers = (kappa * params.threshold_at(positions)) >> FRACTION;
    score + MARGIN > peers + false_matches / other_tags
}

/// 1, in units of 2^-16.
const ONE: u64 = 1 << FRACTION;

/// Negative logarithm of the maximum probability that a host with θ peers is dismissed, in units of 2^-16.
const MARGIN: u64 = 8 * ONE;

/// Returns the integer square root of `square`, which must be below 2^28. More than 16 peers are expected at the last
/// stage, so `visible / most` is always in range.
///
/// `u64::isqrt` uses a table, which kernels do not support.
#[inline(always)]
fn square_root(square: u64) -> u64 {
    (0..14).rev().fold(0, |root, bit| {
        let next = root | 1 << bit;
        if next * next <= square { next } else { root }
    })
}

/// Returns an upper bound on `-ln(1 - share)`, in units of 2^-16. `share` is in the same units and is at most three
/// quarters. The bound is at most 8.3 % too large for this share, and 0.3 % too large for a share of a third.
#[inline(always)]
fn scored(share: u64) -> u64 {
    let quotient = share * (6 * ONE - 5 * share);
    (quotient << FRACTION).div_ceil((ONE - share) * (6 * ONE - 2 * share))
}

#[cfg(test)]
mod tests {
    use super::super::bound::tests::{by_group, histograms};
    use super::super::histograms::Histograms;
    use super::super::sizes::AGES;
    use super::*;
    use crate::Config;
    extern crate std;
    use proptest::prelude::*;

    const WINDOW: Span = Span::whole(150, 2);

    fn params(threshold: u32) -> TaggedParams {
        let config = Config { threshold, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    /// Returns the number of positions that are examined by the end of the last stage.
    fn most(params: &TaggedParams) -> u32 {
        stages(params)[STAGES - 1]
    }

    fn may_reach(params: &TaggedParams, histograms: &Histograms, span: Span) -> bool {
        super::may_reach(params, &span, most(params), by_group(histograms, span))
    }

    fn mean(params: &TaggedParams, positions: u32) -> f64 {
        params.threshold_at(positions) as f64 / ONE as f64
    }

    /// Returns the difference between the maximum score of a dismissed host and the score in `histograms`, computed
    /// from the documented rule in floating point. Returns `None` if the rule dismisses no host.
    fn margin(params: &TaggedParams, histograms: &Histograms, span: Span) -> Option<f64> {
        let count = by_group(histograms, span);
        let groups = 0..Grouping::for_bound(span).groups() as usize;
        let counts = |group| Counts::new(|kind| count(kind, group));
        let (positions, other_tags) = (f64::from(most(params)), f64::from(params.tags - 1));
        let mean = mean(params, most(params));
        let total =
            groups.clone().fold(Counts::default(), |total, group| total.plus(counts(group)));
        let at_risk = positions - total.all as f64 - 2.0 * total.hidden as f64 / other_tags;
        let visible = at_risk / positions;
        let kappa = (4.0 * libm::sqrt(visible / mean)).min(0.75 * visible);
        let (mut left, mut margin) = (positions, kappa * mean);
        for group in groups {
            let counts = counts(group);
            left -= counts.all as f64;
            let unclear = (counts.hidden + counts.hidden_twice) as f64;
            let share = kappa * positions / (left - unclear / other_tags);
            margin += counts.chances() as f64 / other_tags * share;
            margin += counts.own as f64 * libm::log1p(-share);
        }
        (visible * 256.0 > 1.0).then_some(margin)
    }

    /// Returns the maximum number of touches with which a host is dismissed after `positions` positions, if all its
    /// contacts have the oldest age. Other hosts cover `covered` of these positions, evenly over the younger ages.
    fn most_dismissed(params: &TaggedParams, positions: u32, covered: u32) -> Option<u32> {
        let mut glimpse = Histograms::EMPTY;
        // The scores are lowest if the ages are spread evenly. As expected, one in T of the covered positions is a
        // false match.
        let shares = |of: u32| (0..149).map(move |age| of * (age + 1) / 149 - of * age / 149);
        for (age, (all, own)) in shares(covered).zip(shares(covered / params.tags)).enumerate() {
            (glimpse.all[age], glimpse.own[age]) = (all, own);
        }
        let is_dismissed = |own: &u32| {
            (glimpse.all[149], glimpse.own[149]) = (*own, *own);
            !super::may_reach(params, &WINDOW, positions, by_group(&glimpse, WINDOW))
        };
        (0..positions - covered).take_while(is_dismissed).last()
    }

    /// Returns the probabilities that a Poisson variable with the given mean is 0, 1, 2 and so on.
    fn poisson(mean: f64) -> impl Iterator<Item = f64> {
        (1u32..).scan(libm::exp(-mean), move |probability, next| {
            let current = *probability;
            *probability *= mean / f64::from(next);
            Some(current)
        })
    }

    /// Returns the probability that a stage dismisses a host with θ peers. A `share` of the positions is covered as in
    /// [`most_dismissed`].
    fn dismissed(params: &TaggedParams, share: f64) -> f64 {
        let [early, late] =
            stages(params).map(|end| most_dismissed(params, end, (share * f64::from(end)) as u32));
        let visible = |positions| mean(params, positions) * (1.0 - share);
        let [first, all] = stages(params);
        let touches = |most: u32| (0..=most).zip(poisson(visible(first)));
        let early_only: f64 =
            early.map_or(0.0, |most| touches(most).map(|(_, chance)| chance).sum());
        let later = |most: u32| {
            let stays = touches(most).filter(|&(own, _)| early.is_none_or(|early| own > early));
            stays
                .map(|(own, chance)| {
                    let more = poisson(visible(all - first)).take((most - own) as usize + 1);
                    chance * more.sum::<f64>()
                })
                .sum::<f64>()
        };
        early_only + late.map_or(0.0, later)
    }

    #[test]
    fn a_glimpse_dismisses_less_than_3_of_10_000_at_any_threshold_and_load() {
        assert!([8, 32, 100].iter().all(|&threshold| !can_dismiss(&params(threshold))));
        // Each entry is a threshold and the maximum share of covered positions with which a host can be dismissed.
        for (threshold, most) in [(256, 0.25), (1024, 0.75), (4000, 0.94)] {
            let params = params(threshold);
            assert!(can_dismiss(&params), "{threshold}");
            for covered in [0.0, 0.25, 0.5, 0.75, 0.94] {
                let share = dismissed(&params, covered);
                assert!(share < 3.4e-4, "{threshold} {covered}: {share}");
                assert_eq!(share > 0.0, covered <= most, "{threshold} {covered}");
            }
        }
        assert!(dismissed(&params(1024), 0.0) < 3e-5);
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
            prop_assume!(glimpse.all.iter().sum::<u32>() <= most(&params));
            let span = Span { oldest_slices, ..WINDOW };
            // κ is rounded down, which may change the margin by up to a thousandth.
            let dismissed = margin(&params, &glimpse, span).is_some_and(|margin| margin > 7.999);
            prop_assert!(dismissed || may_reach(&params, &glimpse, span));
        }

        #[test]
        fn square_roots_equal_those_of_the_standard_library(square in 0u64..1 << 28) {
            prop_assert_eq!(square_root(square), square.isqrt());
        }

        #[test]
        fn scores_are_at_most_a_twelfth_above_the_logarithm(share in 1u64..=ONE * 3 / 4) {
            let ratio = |of: u64| of as f64 / ONE as f64;
            let (score, exact) = (ratio(scored(share)), -libm::log1p(-ratio(share)));
            prop_assert!((exact..=exact * (13.0 / 12.0) + ratio(1)).contains(&score), "{score} {exact}");
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
