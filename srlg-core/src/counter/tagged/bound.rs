//! An upper bound on the [visible](super::visible) estimate, computed in integers. With this bound, a device
//! without floating point can rule out that a host is a super point.
//!
//! The estimate is proportional to the sum over ages of `-ln(1 - d/R)`. Each term is at most `d/(R - d)`. R is the
//! number of positions at risk, T is the number of tags, and o is the number of positions that show a touch of the
//! host. If there are c chances for a false match, c/(T - 1) false matches are expected, so d = o - c/(T - 1). Several
//! ages form a group, in which the number of positions at risk falls from A to B. At every age of the group, the
//! following holds:
//!
//! ```text
//! B - (h + t)/(T - 1)  <=  R - d  <=  A + c/(T - 1)
//! ```
//!
//! Here, h is the number of hidden positions. At t hidden positions, both places have the same age. The numbers o, c,
//! h and t are sums over the ages of the group. The group therefore contributes at most the following to the sum:
//!
//! ```text
//! o / (B - (h + t)/(T - 1))  -  c/(T - 1) / (A + c/(T - 1))
//! ```
//!
//! If the oldest age is only partly in the window, the second term of its group is omitted, because it would subtract
//! too much. The first term is rounded up and the second is rounded down, in units of 2^-16 peers. The bound exceeds
//! the estimate, because the number of positions at risk falls within a group. If half of the positions at risk are
//! lost over 64 groups, the bound exceeds the estimate by 1 to 2 %.

use super::counts::{Counts, other_tags};
use super::histograms::Grouping;
use super::params::TaggedParams;
use super::pooled::tells_little;
use crate::epoch::Span;

/// Number of fractional bits in a fixed-point number of peers.
pub(super) const FRACTION: u32 = 16;

impl TaggedParams {
    /// Returns the number of peers, out of θ, that are expected to touch the first `positions` fine positions. The
    /// result is in units of 2^-16 peers and rounded down.
    #[inline(always)]
    pub(super) fn threshold_at(&self, positions: u32) -> u64 {
        let threshold = u64::from(self.threshold) << FRACTION;
        threshold * u64::from(positions) / u64::from(self.regions.fine().full)
    }
}

/// The counts of some positions of a host, and the upper bound that is computed from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Counts summed over all ages.
    pub(super) counts: Counts,
    /// Upper bound on the estimated number of peers that touched these positions, in units of 2^-16. The value is
    /// `None` if the lower bound on R - d is at most 1 in at least one group.
    pub(super) hosts: Option<u64>,
}

impl Bound {
    /// Computes the bound over `span` for the fine region. `count` returns the number of positions of a kind in a group
    /// of [`Grouping::for_bound`].
    #[inline(always)]
    pub(super) fn new(
        params: &TaggedParams,
        span: &Span,
        count: impl Fn(usize, usize) -> u32,
    ) -> Self {
        let (other_tags, unit) = (other_tags(params), u64::from(params.width()) << FRACTION);
        let groups = Grouping::for_bound(*span).groups() as usize;
        let is_cut = span.oldest_slices < span.oldest_length;
        let (mut total, mut more, mut less) = (Counts::default(), 0u64, 0u64);
        let (mut at_risk, mut is_bound) = (u64::from(params.width()), true);
        for group in 0..groups {
            let counts = Counts::new(|kind| count(kind, group));
            let before = at_risk * other_tags;
            at_risk = at_risk.saturating_sub(counts.all);
            let unclear = counts.hidden + counts.hidden_twice;
            let least = (at_risk * other_tags).saturating_sub(unclear);
            total = total.plus(counts);
            if least <= other_tags {
                is_bound = false;
                continue;
            }
            if counts.own > 0 {
                more += (counts.own * unit * other_tags).div_ceil(least);
            }
            if !(is_cut && group + 1 == groups) {
                let chances = counts.chances();
                less += chances * unit / (before + chances);
            }
        }
        Self { counts: total, hosts: is_bound.then_some(more.saturating_sub(less)) }
    }
}

/// Returns whether a host may be a super point, judging by the positions of its fine region over `span`. `count`
/// returns the number of positions of a kind in a group of [`Grouping::for_bound`].
///
/// If the result is false, the host's [estimate](crate::Params::estimate) is below the threshold of `params`.
#[inline(always)]
#[must_use]
pub fn may_reach(params: &TaggedParams, span: &Span, count: impl Fn(usize, usize) -> u32) -> bool {
    let Bound { counts, hosts } = Bound::new(params, span, count);
    let Some(hosts) = hosts else { return true };
    // The floating-point estimate is a sum of at most a thousand terms, whose rounding error is below one unit.
    let is_below = hosts + 1 < params.threshold_at(params.width());
    !is_below || tells_little(params, counts)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::histograms::{Histograms, Kind};
    use super::super::pooled::{estimate, needs_coarse};
    use super::super::sizes::AGES;
    use super::*;
    use crate::Config;
    use crate::counter::Tally;
    extern crate std;
    use proptest::prelude::*;

    pub(in super::super) fn by_group(
        histograms: &Histograms,
        span: Span,
    ) -> impl Fn(usize, usize) -> u32 {
        let groups = Grouping::for_bound(span);
        move |kind, group| {
            let ages = groups.ages_of(group);
            let sum = |bins: &[u32; AGES]| bins[ages.clone()].iter().sum::<u32>();
            let (own, hidden) = (sum(&histograms.own), sum(&histograms.hidden));
            let (hidden_twice, excluded_twice) =
                (sum(&histograms.hidden_twice), sum(&histograms.excluded_twice));
            match kind as u16 {
                Kind::OWN => own,
                Kind::HIDDEN => hidden - hidden_twice,
                Kind::EXCLUDED => sum(&histograms.all) - own - hidden - excluded_twice,
                kind if kind == Kind::HIDDEN + Kind::TWICE => hidden_twice,
                _ => excluded_twice,
            }
        }
    }

    /// Returns histograms from tuples of `age`, `own`, `hidden`, `excluded` and `twice`. At each age, `hidden_twice` is
    /// `twice`, but at most `hidden`, and `excluded_twice` is `twice`, but at most `excluded`.
    pub(in super::super) fn histograms(ages: &[(usize, u32, u32, u32, u32)]) -> Histograms {
        let mut all = Histograms::EMPTY;
        for &(age, own, hidden, excluded, twice) in ages {
            all.all[age] = own + hidden + excluded;
            (all.own[age], all.hidden[age]) = (own, hidden);
            (all.hidden_twice[age], all.excluded_twice[age]) =
                (twice.min(hidden), twice.min(excluded));
        }
        all
    }

    fn params(width: u32, threshold: u32) -> TaggedParams {
        let config = Config { linear_width: width, threshold, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    proptest! {
        // The test uses the largest threshold that the estimate of a host reaches. No bound may be below this
        // threshold.
        #[test]
        fn no_host_that_reaches_the_threshold_is_ruled_out(
            width in prop_oneof![Just(96u32), Just(1024), Just(4096), Just(32_768)],
            (scale, ages) in (1u32..40, prop::collection::vec(
                (0usize..150, 0u32..8, 0u32..12, 0u32..12, 0u32..4), 0..150)),
            oldest_slices in 1u32..3,
        ) {
            let of_threshold = |threshold| params(width, threshold);
            let scaled = |&(age, own, hidden, excluded, twice): &(usize, u32, u32, u32, u32)| {
                (age, own * scale, hidden * scale, excluded * scale, twice * scale)
            };
            let fine = histograms(&ages.iter().map(scaled).collect::<std::vec::Vec<_>>());
            prop_assume!(fine.all.iter().sum::<u32>() <= width);
            let span = Span { oldest_slices, ..Span::whole(150, 2) };
            let found = estimate(&of_threshold(8), &[Tally::Visible(fine)], span).cardinality;
            let params = of_threshold((found as u32).clamp(8, width));
            let reaches = needs_coarse(&params, &fine, span) || found >= f64::from(params.threshold);
            prop_assert!(!reaches || may_reach(&params, &span, by_group(&fine, span)));
        }
    }

    // The touches of the host and of other hosts are even over 300 ages, in 38 groups of 8. Half of the positions are
    // lost in total: 1.8 % in each group, and 0.2 % at each age.
    #[test]
    fn a_bound_is_two_percent_above_the_estimate_where_half_of_the_positions_are_left() {
        let params = params(32_768, 1024);
        let span = Span::whole(300, 1);
        let ages: std::vec::Vec<_> = (0..300).map(|age| (age, 3, 26, 26, 0)).collect();
        let fine = histograms(&ages);
        let found = estimate(&params, &[Tally::Visible(fine)], span).cardinality;
        let bound = Bound::new(&params, &span, by_group(&fine, span)).hosts.unwrap();
        let share = params.regions.share(0) * f64::from(1 << FRACTION);
        let ratio = bound as f64 / share / found;
        assert!((1.0..1.025).contains(&ratio), "{ratio}");
    }
}
