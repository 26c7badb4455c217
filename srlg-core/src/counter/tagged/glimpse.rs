//! A glimpse: a look at an eighth of a linear estimator, which spares most candidates the rest.

use super::histograms::Histograms;
use super::params::{AGES, LINE, TaggedParams};
use super::visible::estimate_run;
use crate::counter::estimate::EstimateRange;
use crate::epoch::Span;

/// Whether a [glimpse](may_reach) can dismiss any host: below some θ it tells too little.
#[must_use]
pub fn can_dismiss(params: &TaggedParams) -> bool {
    glimpsed(params) > DEVIATIONS * DEVIATIONS
}

/// Positions of a [glimpse](may_reach): whole lines.
#[must_use]
pub fn positions(params: &TaggedParams) -> u32 {
    (params.width / 8).next_multiple_of(LINE)
}

/// Whether a host with these `histograms` of a glimpse, its first [`positions`], may
/// have as many opposite hosts as the threshold: a look at an eighth of the estimator spares
/// most candidates the rest.
///
/// Of θ opposite hosts a Poisson number of mean m falls into the glimpse, and the estimate of
/// it has a standard error. A host is dismissed when its estimate is five deviations below m:
/// of Poisson numbers no more than e^(-25/2) are (Chernoff), 4 in 10^6.
#[must_use]
pub fn may_reach(params: &TaggedParams, histograms: &Histograms, span: Span) -> bool {
    if is_far_below(params, histograms, span) {
        return false;
    }
    let glimpse = estimate_run(params, histograms, span, positions(params));
    let (mean, error) = (glimpsed(params), glimpse.std_error);
    let least = mean - DEVIATIONS * libm::sqrt(mean + error * error);
    glimpse.range == EstimateRange::Beyond || glimpse.cardinality >= least
}

/// Whether the estimate would dismiss the host, by sums alone: true only if it would.
///
/// Of `width` positions let A be in the window, O of them own and H hidden. At every age at least
/// R = width - A - 2H positions are at risk, and no more show an own touch than are own. So the
/// cumulative hazard is at most O/(R - O), Greenwood's sum at most O/(R(R - O)), and the chance of
/// an epoch that the window cuts adds at most half of the cardinality to the variance.
fn is_far_below(params: &TaggedParams, histograms: &Histograms, span: Span) -> bool {
    let sum = |bins: &[u32; AGES]| {
        let ages = &bins[..span.ages as usize];
        f64::from(ages.iter().sum::<u32>())
    };
    let (all, own, hidden) = (sum(&histograms.all), sum(&histograms.own), sum(&histograms.hidden));
    let width = f64::from(positions(params));
    let at_risk = width - all - 2.0 * hidden;
    if at_risk <= own + 1.0 {
        return false;
    }
    // A little more than the sums give: rounding of a thousand terms moves neither so far.
    let cardinality = 1.000_001 * width * own / (at_risk - own);
    let variance = cardinality * (width / at_risk + 0.5);
    let mean = glimpsed(params);
    cardinality < mean - DEVIATIONS * libm::sqrt(mean + variance)
}

/// Deviations by which an estimate has to be too low to be dismissed.
const DEVIATIONS: f64 = 5.0;

/// How many of θ opposite hosts fall into a glimpse, in the mean.
fn glimpsed(params: &TaggedParams) -> f64 {
    let share = f64::from(positions(params)) / f64::from(params.width);
    f64::from(params.threshold) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    extern crate std;
    use proptest::prelude::*;

    const WINDOW: Span = Span::whole(150, 2);

    // Without foreigners a glimpse sees the positions of a Poisson number of opposite hosts.
    #[test]
    fn glimpse_misses_less_than_4_in_a_million_whatever_the_threshold() {
        for threshold in [8, 32, 100, 256, 1024, 4000] {
            let config = Config { threshold, ..Config::default() };
            let params = *config.validate().unwrap().counter().tagged().unwrap();
            let mean = f64::from(threshold) / 8.0;
            let (mut probability, mut missed) = (libm::exp(-mean), 0.0);
            for own in 0..threshold {
                let mut glimpse = Histograms::EMPTY;
                (glimpse.all[5], glimpse.own[5]) = (own, own);
                missed += if may_reach(&params, &glimpse, WINDOW) { 0.0 } else { probability };
                probability *= mean / f64::from(own + 1);
            }
            assert!(missed < 4e-6, "{threshold}: {missed}");
            assert_eq!(missed > 0.0, can_dismiss(&params), "{threshold}");
        }
    }

    proptest! {
        #[test]
        fn sums_dismiss_no_host_that_its_estimate_does_not(
            ages in prop::collection::vec((0usize..150, 0u32..12, 0u32..60, 0u32..60, 0u32..20), 0..150),
            oldest_slices in 1u32..3,
        ) {
            let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
            let mut glimpse = Histograms::EMPTY;
            for (age, own, hidden, excluded, twice) in ages {
                let (hidden_twice, excluded_twice) = (twice.min(hidden), twice.min(excluded));
                glimpse.all[age] = own + hidden + excluded;
                (glimpse.own[age], glimpse.hidden[age]) = (own, hidden);
                glimpse.hidden_twice[age] = hidden_twice;
                glimpse.excluded_twice[age] = excluded_twice;
            }
            prop_assume!(glimpse.all.iter().sum::<u32>() <= positions(&params));
            let span = Span { oldest_slices, ..WINDOW };
            let estimate = estimate_run(&params, &glimpse, span, positions(&params));
            let mean = glimpsed(&params);
            let least = mean - DEVIATIONS * libm::sqrt(mean + estimate.std_error * estimate.std_error);
            let dismissed = estimate.range != EstimateRange::Beyond && estimate.cardinality < least;
            prop_assert!(dismissed || !is_far_below(&params, &glimpse, span));
            prop_assert_eq!(may_reach(&params, &glimpse, span), !dismissed);
        }
    }

    #[test]
    fn glimpse_dismisses_what_is_far_below_the_threshold_and_nothing_that_is_hidden() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        // An eighth of θ = 1024 is 128, and 72 are five deviations below.
        let mut glimpse = Histograms::EMPTY;
        for (own, expected) in [(0, false), (30, false), (68, false), (73, true), (128, true)] {
            (glimpse.all[5], glimpse.own[5]) = (own, own);
            assert_eq!(may_reach(&params, &glimpse, WINDOW), expected, "{own}");
        }
        // Hidden by foreigners: cannot be told, and stays.
        glimpse.all = [0; AGES];
        (glimpse.all[0], glimpse.hidden[0]) = (4096, 4096);
        assert!(may_reach(&params, &glimpse, WINDOW));
    }
}
