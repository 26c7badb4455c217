//! The minimum estimate for a host that has touched all its positions, and the thresholds that this estimate reaches.
//!
//! The estimate of a full linear estimator is beyond the range, so it is a lower bound: the sum n minus two standard
//! errors ([`visible`](super::visible)). If this lower bound is below θ, the largest hosts are not reported.
//!
//! Let A be the number of positions at risk at the youngest age. Each own touch of the host uses up one position. At
//! the last age with touches, R positions are at risk, and all are touched. The sum then treats one position as
//! untouched:
//!
//! - The sums over the ages telescope, so `n = η' ln A`, no matter when the contacts occurred. If one pair in k is
//!   counted, only A depends on k, because a peer touches each position in use with probability 1/η'.
//! - The variance of n is `η'² (1/R - 1/A + 1)`. The terms before the last age add up to 1/R - 1/A, and the term of the
//!   last age is 1. If the last age is the only one, R equals A, and the sum is 1. If R is 1, the last age is not
//!   included, and the sum is 1 - 1/A. Otherwise, R is at least 2, and the sum is below 3/2.
//!
//! The lower bound is therefore at least `n - 2 sqrt(3/2 η'² - n)`.
//!
//! # Other hosts
//! Hosts share whole lines. If another host has touched all positions of a shared line more recently, its touches hide
//! all 32 own touches in this line. With k lines per host and M such hosts in an array of N lines, a host has `m = k²
//! M/N` hidden lines on average. Among many hosts, some therefore have a hidden line. About m²/2 of the hosts have two,
//! which is negligible under light load. An estimator must therefore reach θ with one hidden line. Possible false
//! matches at hidden positions reduce A by another 2·32/(T - 1). With at least 64 tags, `A = η'/k - 32 - 64/63`.
//!
//! The false matches also increase the first term of the variance, by at most 64/63/A. If the first age is not the last
//! one, -1/A outweighs this increase. Otherwise, the sum is at most 1.04, because A is at least 30.
//!
//! | η' | largest θ |
//! |---|---|
//! | 32 | none, because A is negative |
//! | 64 | 65 |
//! | 96 | 165 |
//! | 128 and more | 2η', which is the limit for other reasons |
//!
//! From η' = 256, the estimate includes coarse regions, which are not full unless the host has many more than 2η'
//! peers. The rule holds there without them.
//!
//! If the other host is not more recent at all positions of the shared line, A and n depend on chance, and a few of
//! the estimates with a hidden line are below θ.

use super::region::Regions;
use super::sizes::{LEAST_TAGS, LINE};

/// Maximum number of positions that a hidden line takes away.
const HIDDEN_LINE: f64 = LINE as f64 * (1.0 + 2.0 / (LEAST_TAGS - 1) as f64);

/// Maximum variance of the sum for a full linear estimator, in units of η'².
const MOST_VARIANCE: f64 = 1.5;

/// Returns the minimum number of recorders, at least `width`, of a linear estimator that is at least `threshold` when
/// it is full. `width` must be a multiple of [`LINE`] and at least half of `threshold`. One pair in `share` is counted.
pub(super) fn least_width(width: u32, share: u32, threshold: u32) -> u32 {
    let reaches = |width: &u32| least_full_estimate(*width, share) >= f64::from(threshold);
    let longer = (width..).step_by(LINE as usize).find(reaches);
    longer.expect("a full estimator with 128 recorders or more in use reaches twice its length")
}

/// Returns the minimum estimate of a full linear estimator of `width` recorders if one pair in `share` is counted. Other
/// hosts hide one line.
fn least_full_estimate(width: u32, share: u32) -> f64 {
    let used = Regions::new(width, share).fine().width;
    let (width, at_risk) = (f64::from(width), f64::from(used) - HIDDEN_LINE);
    if at_risk <= 1.0 {
        return 0.0;
    }
    let sum = width * libm::log(at_risk);
    sum - 2.0 * libm::sqrt(MOST_VARIANCE * width * width - sum)
}

#[cfg(test)]
mod tests {
    use super::super::histograms::Histograms;
    use super::super::params::TaggedParams;
    use super::super::sizes::{AGES, MOST_POSITIONS};
    use super::super::visible::estimate_run;
    use super::*;
    use crate::Config;
    use crate::counter::estimate::EstimateRange;
    use crate::epoch::Span;
    extern crate std;
    use proptest::prelude::*;

    #[test]
    fn largest_threshold_of_a_length_is_what_a_full_estimator_of_this_length_reaches() {
        // From the table of the module. 64 ln(30.98) - 2 sqrt(6144 - 219.75) = 65.8, which is rounded down.
        for (width, largest) in [(64, 65), (96, 165), (128, 256)] {
            assert_eq!(least_width(width, 1, largest), width);
        }
        assert_eq!([8, 32, 64].map(|threshold| least_width(32, 1, threshold)), [64, 64, 64]);
        assert_eq!([66, 128].map(|threshold| least_width(64, 1, threshold)), [96, 96]);
        assert_eq!([166, 192].map(|threshold| least_width(96, 1, threshold)), [128, 128]);
    }

    #[test]
    fn from_128_recorders_on_any_threshold_up_to_twice_the_length_is_reached() {
        for width in (128..=MOST_POSITIONS).step_by(32) {
            assert_eq!(least_width(width, 1, 2 * width), width);
        }
    }

    #[test]
    fn with_a_share_the_positions_in_use_decide() {
        assert_eq!([1, 2, 4, 8].map(|share| least_width(128, share, 256)), [128, 192, 288, 512]);
        for share in [1, 2, 4, 8, 16, 32] {
            let width = 128 * share;
            assert_eq!(least_width(width, share, 2 * width), width);
        }
    }

    /// Returns the histograms of a host that has touched all `width` positions. Of these touches, `hidden` are hidden at
    /// the youngest age. The others are spread over all ages in proportion to `weights`.
    fn full(width: u32, hidden: u32, weights: &[u32]) -> Histograms {
        let mut histograms = Histograms::EMPTY;
        histograms.hidden[0] = hidden;
        histograms.hidden_twice[0] = hidden;
        let total: u32 = weights.iter().sum();
        let (mut before, mut sum) = (0, 0);
        for (age, weight) in weights.iter().enumerate() {
            sum += weight;
            let until = (width - hidden) * sum / total;
            histograms.own[age] = until - before;
            before = until;
        }
        let mut all = [0; AGES];
        for (age, all) in all.iter_mut().enumerate() {
            *all = histograms.own[age] + histograms.hidden[age];
        }
        Histograms { all, ..histograms }
    }

    fn params(width: u32) -> TaggedParams {
        let config = Config { linear_width: width, threshold: 8, window: 511, ..Config::default() };
        *config.validate().unwrap().counter().tagged().unwrap()
    }

    proptest! {
        // A window of 511 slices has the minimum number of tags. Without coarse regions, the rate is 1/η'.
        #[test]
        fn full_estimators_are_beyond_the_range_and_reach_the_minimum_whenever_the_contacts_were(
            lines in 2u32..8,
            hidden in 0u32..=32,
            weights in prop::collection::vec(0u32..40, 1..100),
            last in 1u32..40,
        ) {
            let width = LINE * lines;
            let (params, width) = (params(width), f64::from(width));
            let weights: std::vec::Vec<_> = weights.into_iter().chain([last]).collect();
            let histograms = full(params.width(), hidden, &weights);
            let found = estimate_run(&params, &histograms, Span::whole(511, 1), width, 1.0 / width);
            let found = found.stated();
            prop_assert_eq!(found.range, EstimateRange::Beyond);
            prop_assert!(found.cardinality >= least_full_estimate(params.width(), 1), "{:?}", found);
        }
    }
}
