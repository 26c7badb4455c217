//! A glimpse: a look at an eighth of a fine region, which spares most candidates the rest.

use super::bins::{Bins, Sums};
use super::histograms::Histograms;
use super::params::{LINE, TaggedParams};
use super::visible::estimate_run;
use crate::epoch::Span;

/// Returns whether a [glimpse](may_reach) with `params` can dismiss any host: below some θ a glimpse tells too little.
#[must_use]
pub fn can_dismiss(params: &TaggedParams) -> bool {
    glimpsed(params) > DEVIATIONS * DEVIATIONS
}

/// Returns the number of positions of a [glimpse](may_reach) in the array of `params`: whole lines.
#[must_use]
pub fn positions(params: &TaggedParams) -> u32 {
    (params.width / 8).next_multiple_of(LINE)
}

/// Returns whether a host with these `histograms` over `span` of a glimpse, its first [`positions`], may
/// have as many opposite hosts as the threshold of `params`: a look at an eighth of the estimator spares
/// most candidates the rest.
///
/// Of θ opposite hosts a Poisson number of mean m falls into the glimpse. However their ages are spread, each
/// is visible with a probability v or more, v being the share of positions at risk at the end of the window,
/// and is then counted 1/v times or less. Of C chances for a false match, Poisson numbers of mean C/(T - 1) in
/// all are taken for own touches, and come off in the mean. So the estimate of a host of θ has a variance of
/// m/v + C/((T - 1) v²) or less, and it falls four deviations of this below m with a probability of e^(-16/2) or
/// less (Chernoff, for sums of Poisson numbers with weights), 3 in 10,000; 1 in 10^5 where m is 128. Such a host
/// is dismissed.
#[must_use]
pub fn may_reach(params: &TaggedParams, histograms: &Histograms, span: Span) -> bool {
    match by_sums(params, Sums::of(histograms, span)) {
        BySums::Decided(may_reach) => may_reach,
        BySums::AtLeast(least) => reaches(params, histograms, span, least),
    }
}

/// The same of positions that are still in their bins: most hosts need no histograms. `scratch` is of their span.
#[inline(always)]
pub(super) fn bins_may_reach(params: &TaggedParams, bins: &Bins, scratch: &mut Histograms) -> bool {
    match by_sums(params, bins.sums()) {
        BySums::Decided(may_reach) => may_reach,
        BySums::AtLeast(least) => {
            bins.fill(scratch);
            reaches(params, scratch, bins.span(), least)
        }
    }
}

/// What sums alone say.
enum BySums {
    /// Whether the host may reach the threshold.
    Decided(bool),
    /// It may if its estimate is so large.
    AtLeast(f64),
}

fn by_sums(params: &TaggedParams, sums: Sums) -> BySums {
    match least(params, sums) {
        None => BySums::Decided(true),
        Some(least) if is_below_by_sums(params, sums, least) => BySums::Decided(false),
        Some(least) => BySums::AtLeast(least),
    }
}

/// The least estimate that is not dismissed; `None` where everything may reach the threshold.
fn least(params: &TaggedParams, sums: Sums) -> Option<f64> {
    let mean = glimpsed(params);
    let visible = sums.at_risk(params, positions(params)) / f64::from(positions(params));
    if visible <= 0.0 {
        return None;
    }
    let false_matches = sums.chances() / f64::from(params.tags - 1);
    let variance = (mean + false_matches / visible) / visible;
    let least = mean - DEVIATIONS * libm::sqrt(variance);
    (least > 0.0).then_some(least)
}

/// Whether the estimate is below `least`, by sums alone: true only if it is.
///
/// At every age at least R positions are [at risk](Sums::at_risk), and no more of all ages show an own touch than O
/// are own. So the cumulative hazard is at most O/(R - O).
fn is_below_by_sums(params: &TaggedParams, sums: Sums, least: f64) -> bool {
    let (at_risk, own) = (sums.at_risk(params, positions(params)), f64::from(sums.own));
    // A little more than the sums give: rounding of a thousand terms does not move the estimate so far.
    at_risk > own + 1.0 && 1.000_001 * f64::from(positions(params)) * own / (at_risk - own) < least
}

/// Whether the estimate is `least` or more, or cannot be told.
fn reaches(params: &TaggedParams, histograms: &Histograms, span: Span, least: f64) -> bool {
    let positions = f64::from(positions(params));
    let glimpse = estimate_run(params, histograms, span, (positions, 1.0 / positions));
    glimpse.is_beyond || glimpse.cardinality >= least
}

/// Deviations by which an estimate has to be too low to be dismissed.
const DEVIATIONS: f64 = 4.0;

/// How many of θ opposite hosts fall into a glimpse, in the mean.
fn glimpsed(params: &TaggedParams) -> f64 {
    let share = f64::from(positions(params)) / f64::from(params.width);
    f64::from(params.threshold) * params.regions.share(0) * share
}

#[cfg(test)]
mod tests {
    use super::super::params::AGES;
    use super::*;
    use crate::Config;
    extern crate std;
    use proptest::prelude::*;

    const WINDOW: Span = Span::whole(150, 2);

    fn params(threshold: u32) -> TaggedParams {
        let config = Config { threshold, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    /// The probability that a host of θ is dismissed whose opposite hosts are all of the oldest age, where
    /// `covered` of the positions of its glimpse were covered by foreigners before.
    fn dismissed(params: &TaggedParams, covered: u32) -> f64 {
        let share = f64::from(covered) / f64::from(positions(params));
        let mean = glimpsed(params) * (1.0 - share);
        let (mut probability, mut dismissed) = (libm::exp(-mean), 0.0);
        for own in 0..params.threshold {
            let mut glimpse = Histograms::EMPTY;
            (glimpse.all[5], glimpse.all[149], glimpse.own[149]) = (covered, own, own);
            // As many false matches as expected: all that show another tag are over in one of T - 1 hidden ones.
            glimpse.own[5] = covered / params.tags;
            dismissed += if may_reach(params, &glimpse, WINDOW) { 0.0 } else { probability };
            probability *= mean / f64::from(own + 1);
        }
        dismissed
    }

    #[test]
    fn glimpse_dismisses_less_than_3_of_10_000_whatever_the_threshold_and_the_load() {
        for threshold in [8, 32, 100, 256, 1024, 4000] {
            let params = params(threshold);
            for covered in [0, 1000, 2000, 3000, 3850] {
                let share = dismissed(&params, covered);
                assert!(share < 3.4e-4, "{threshold} {covered}: {share}");
            }
            assert_eq!(dismissed(&params, 0) > 0.0, can_dismiss(&params), "{threshold}");
        }
        assert!(dismissed(&params(1024), 0) < 1.3e-5);
        assert!(dismissed(&params(1024), 2000) > 1e-9, "not for want of deciding anything");
    }

    proptest! {
        #[test]
        fn sums_dismiss_no_host_that_its_estimate_does_not(
            ages in prop::collection::vec((0usize..150, 0u32..12, 0u32..60, 0u32..60, 0u32..20), 0..150),
            oldest_slices in 1u32..3,
        ) {
            let params = params(1024);
            let mut glimpse = Histograms::EMPTY;
            for (age, own, hidden, excluded, twice) in ages {
                let (hidden_twice, excluded_twice) = (twice.min(hidden), twice.min(excluded));
                glimpse.all[age] = own + hidden + excluded;
                (glimpse.own[age], glimpse.hidden[age]) = (own, hidden);
                glimpse.hidden_twice[age] = hidden_twice;
                glimpse.excluded_twice[age] = excluded_twice;
            }
            let sums = Sums::of(&glimpse, WINDOW);
            prop_assume!(sums.all <= positions(&params));
            let span = Span { oldest_slices, ..WINDOW };
            let least = least(&params, sums);
            let dismissed = least.is_some_and(|least| !reaches(&params, &glimpse, span, least));
            prop_assert!(dismissed || !least.is_some_and(|least| is_below_by_sums(&params, sums, least)));
            prop_assert_eq!(may_reach(&params, &glimpse, span), !dismissed);
        }
    }

    #[test]
    fn glimpse_dismisses_what_is_far_below_the_threshold_and_nothing_that_is_hidden() {
        let params = params(1024);
        // An eighth of θ = 1024 is 128, but for one in 512, and 82.5 are four deviations below.
        let mut glimpse = Histograms::EMPTY;
        for (own, expected) in [(0, false), (30, false), (80, false), (84, true), (128, true)] {
            (glimpse.all[5], glimpse.own[5]) = (own, own);
            assert_eq!(may_reach(&params, &glimpse, WINDOW), expected, "{own}");
        }
        // Hidden by foreigners: cannot be told, and stays.
        glimpse.all = [0; AGES];
        (glimpse.all[0], glimpse.hidden[0]) = (4096, 4096);
        assert!(may_reach(&params, &glimpse, WINDOW));
    }
}
