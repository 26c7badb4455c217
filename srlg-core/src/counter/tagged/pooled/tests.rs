use super::*;
use crate::Config;
use crate::counter::estimate::EstimateRange;
use crate::counter::tagged::AGES;
use crate::counter::tagged::bound::tests::by_group;
use crate::counter::tagged::glimpse::{may_reach, stages};
use crate::counter::tagged::visible::estimate_run;
extern crate std;
use approx::{abs_diff_eq, assert_abs_diff_eq};
use proptest::prelude::*;
use std::vec::Vec;

fn params(width: u32) -> TaggedParams {
    let threshold = width.min(1024);
    let config = Config { linear_width: width, threshold, ..Config::default() };
    *config.validate().unwrap().counter().tagged().unwrap()
}

/// Returns the expected tally, rounded to whole numbers, of a region of `width` positions that other hosts do not
/// touch. At each of `ages` ages, peers touch each position with probability `1 - e^-rate`.
fn even(width: u32, rate: f64, ages: usize) -> Tally {
    let mut histograms = Histograms::EMPTY;
    let gone = |age: usize| (f64::from(width) * -libm::expm1(-rate * age as f64)) as u32;
    for age in 0..ages {
        histograms.own[age] = gone(age + 1) - gone(age);
        histograms.all[age] = histograms.own[age];
    }
    Tally::Visible(histograms)
}

// The contacts in this test are even over the window. Rounding changes an increment by one or two positions, as
// sampling would.
#[test]
fn hosts_with_ten_million_peers_are_estimated_within_their_error() {
    for (width, worst, most) in [(32_768, 0.015, 1e7), (8192, 0.025, 1e7), (4096, 0.025, 6e6)] {
        let params = params(width);
        for n in [1e5, 2e5, 4e5, 1e6, 3e6, 6e6, 1e7].into_iter().filter(|&n| n <= most) {
            let regions = params.regions.as_slice().iter().enumerate();
            let tallies: Vec<Tally> = regions
                .map(|(number, region)| {
                    even(region.width, n / 300.0 * params.regions.rate(number), 300)
                })
                .collect();
            let Tally::Visible(fine) = &tallies[0] else { unreachable!() };
            let span = Span::whole(300, 1);
            let found = estimate(&params, &tallies, span);
            let is_near = abs_diff_eq!(found.cardinality, n, epsilon = 2.0 * found.std_error);
            assert!(is_near, "{width} {n}: {found:?}");
            assert!(found.std_error < worst * n, "{width} {n}: {found:?}");
            assert_eq!(found.range, EstimateRange::Within, "{width} {n}: {found:?}");
            assert!(needs_coarse(&params, fine, span), "{width} {n}");
        }
    }
}

#[test]
fn what_fills_all_regions_is_beyond_range_and_a_bound() {
    let params = params(32_768);
    let full = |width: u32| {
        let mut histograms = Histograms::EMPTY;
        (histograms.all[0], histograms.own[0]) = (width, width);
        Tally::Visible(histograms)
    };
    let found = estimate(&params, &[full(32_768), full(32_768), full(8192)], Span::whole(300, 1));
    assert_eq!(found.range, EstimateRange::Beyond);
    // One of 8,192 positions remains in the region of one peer in 512. The bound is 8,192 ln 8,192 times 512, minus
    // twice 8,192 times 512.
    let expected = 8192.0 * 512.0 * (libm::log(8192.0) - 2.0);
    assert_abs_diff_eq!(found.cardinality / expected, 1.0, epsilon = 0.01);
}

fn histograms(width: u32) -> impl Strategy<Value = Histograms> {
    let age = prop_oneof![0usize..4, 0usize..AGES];
    let large = prop_oneof![4 => 0u32..40, 1 => 0..=width];
    let count = (age, large, 0u32..100, 0u32..100, (any::<u8>(), any::<u8>()));
    prop::collection::vec(count, 0..60).prop_map(move |counts| {
        let (mut histograms, mut left) = (Histograms::EMPTY, width);
        for (age, all, own, hidden, (hidden_twice, excluded_twice)) in counts {
            let all = all.min(left);
            left -= all;
            let own = all * own / 100;
            let hidden = (all - own) * hidden / 100;
            let share = |all: u32, of: u8| (u64::from(all) * u64::from(of) / 255) as u32;
            histograms.all[age] += all;
            histograms.own[age] += own;
            histograms.hidden[age] += hidden;
            histograms.hidden_twice[age] += share(hidden, hidden_twice);
            histograms.excluded_twice[age] += share(all - own - hidden, excluded_twice);
        }
        histograms
    })
}

fn span() -> impl Strategy<Value = Span> {
    let ages = prop_oneof![1u32..5, 1..=AGES as u32];
    (ages, 1u32..200).prop_flat_map(|(ages, length)| {
        (1..=length).prop_map(move |oldest_slices| Span {
            oldest_slices,
            oldest_length: length,
            ..Span::whole(ages, length)
        })
    })
}

proptest! {
    // Set PROPTEST_CASES=1000000 for a million cases.
    #[test]
    fn every_estimate_is_a_number_with_an_error_of_at_least_0(
        (width, fine, coarse) in prop_oneof![Just(96u32), Just(256), Just(4096), Just(8192), Just(32_768)]
            .prop_flat_map(|width| {
                let regions = params(width).regions;
                let coarse: Vec<_> = regions.as_slice()[1..].iter().map(|region| histograms(region.width)).collect();
                (Just(width), histograms(width), coarse)
            }),
        span in span(),
    ) {
        let params = params(width);
        let mut tallies = std::vec![Tally::Visible(fine)];
        tallies.extend(coarse.into_iter().map(Tally::Visible));
        for tallies in [&tallies[..1], &tallies] {
            let found = estimate(&params, tallies, span);
            prop_assert!(found.cardinality.is_finite() && found.cardinality >= 0.0, "{:?}", found);
            prop_assert!(found.std_error.is_finite() && found.std_error >= 0.0, "{:?}", found);
        }
        for positions in stages(&params) {
            if fine.all.iter().sum::<u32>() <= positions {
                let _: bool = may_reach(&params, &span, positions, by_group(&fine, span));
            }
        }
    }

    // For one region, the equations for several regions are equivalent to the equations in `visible`, except for
    // increments that stay at the first guess. The tolerance is the sum of the errors of these guesses, plus the
    // rounding errors of a thousand terms.
    #[test]
    fn one_region_is_estimated_as_alone(fine in histograms(4096), span in span()) {
        let params = params(4096);
        let rate = params.regions.rate(0);
        let (mut at_risk, mut missed, mut added) = (4096.0, 0.0, 0.0);
        for age in 0..span.ages as usize {
            let AtRisk { risk, touched, .. } = AtRisk::at_age(&params, &fine, age, at_risk);
            if risk <= 1.0 {
                break;
            }
            let touched = touched.min(risk - 1.0);
            let exact = -libm::log1p(-touched / risk);
            let guess = touched / (risk - 0.5 * touched);
            missed += if guess <= SMALL { (guess - exact).abs() } else { 0.0 };
            added += exact.abs();
            at_risk -= f64::from(fine.all[age]);
        }
        let alone = estimate_run(&params, &fine, span, 4096.0, rate);
        let pooled = estimate_all(&params, &[Tally::Visible(fine)], span);
        let most = (missed + 1e-12 * (1.0 + added)) / rate;
        let is_equal = abs_diff_eq!(alone.cardinality, pooled.cardinality, epsilon = most);
        prop_assert!(is_equal, "{:?} {:?} {}", alone, pooled, most);
        prop_assert_eq!(alone.is_beyond, pooled.is_beyond);
    }
}
