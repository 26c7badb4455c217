//! Tests that the estimates of the tagged scheme are unbiased and that their errors are as stated.

use std::net::Ipv4Addr;

use approx::{abs_diff_eq, assert_abs_diff_eq};
use srlg::config::{Plan, Scheme};
use srlg::report::{Estimate, EstimateRange};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

const TRIALS: u32 = 1000;
const SLICES: u32 = 20;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

const FOREIGN: u32 = 30_000;

/// Returns a plan for 30,000 background pairs. It has only 24,064 recorders, so there are more touches than recorders.
fn plan() -> Plan {
    let plan = Config::for_load(500, SLICES, u64::from(FOREIGN), 80_900).unwrap();
    let Scheme::Tagged { lines: 752, .. } = plan.config.scheme else { panic!("{plan:?}") };
    plan
}

/// Returns the estimate for a host with `peers` peers if all contacts occur in one slice of a window of 300 slices.
/// Every word then has age 0 and one of only 109 tags.
fn trial_of_ties(seed: u64, peers: u32) -> Estimate {
    let config = Config { seed, window: 300, ..plan().config };
    let detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    assert_eq!(detector.params().counter_sizes().tags, 109);
    let foreign: Vec<Ipv4Pair> = distinct_pairs(seed, 3000, FOREIGN.into()).collect();
    detector.ingest(&foreign).unwrap();
    detector.ingest(&own_pairs(seed, 0..peers)).unwrap();
    detector.cardinality(HOST.into()).unwrap()
}

fn own_pairs(seed: u64, peers: impl IntoIterator<Item = u32>) -> Vec<Ipv4Pair> {
    let pair = |peer: u32| Ipv4Pair::new(HOST, (seed as u32 * 65_536 + peer).into());
    peers.into_iter().map(pair).collect()
}

/// Returns the estimate for a host with `peers` peers. If `spread` is set, the host's contacts are spread over
/// the window. Otherwise, all contacts are in the last slice.
fn trial(seed: u64, peers: u32, spread: bool) -> Estimate {
    let mut detector = SlidingDetector::new(Config { seed, ..plan().config }, Device::Cpu).unwrap();
    let foreign: Vec<Ipv4Pair> = distinct_pairs(seed, 3000, FOREIGN.into()).collect();
    for (slice, foreign) in (0..SLICES).zip(foreign.chunks((FOREIGN / SLICES) as usize)) {
        detector.skip_to(slice.into()).unwrap();
        detector.ingest(foreign).unwrap();
        let is_now = |peer: &u32| if spread { peer % SLICES == slice } else { slice + 1 == SLICES };
        detector.ingest(&own_pairs(seed, (0..peers).filter(is_now))).unwrap();
    }
    detector.cardinality(HOST.into()).unwrap()
}

// The load is estimated from 24,064 recorders. Its standard deviation is sqrt((e^1.27 - 1) / 24,064), which is 0.8 % of
// 1.27, and the error grows more slowly than the load.
#[test]
fn the_health_at_the_planned_load_states_the_error_of_the_plan() {
    let plan = plan();
    let mut detector = SlidingDetector::new(plan.config, Device::Cpu).unwrap();
    let foreign: Vec<Ipv4Pair> = distinct_pairs(7, 3000, FOREIGN.into()).collect();
    let empty = detector.health().std_error.unwrap();
    for foreign in foreign.chunks((FOREIGN / SLICES) as usize) {
        detector.ingest(foreign).unwrap();
        detector.close_slice().unwrap();
    }
    let found = detector.health().std_error.unwrap();
    assert!((found / plan.std_error - 1.0).abs() < 4.0 * 0.008, "{found} {plan:?}");
    assert!(empty < 0.5 * found, "{empty}");
}

/// Asserts that the estimates of `trial` are unbiased, and that their errors and intervals are as stated. Each bound is
/// four standard deviations of the tested value. The standard deviation is sd/sqrt(N) for a mean, 1/sqrt(2N) for a
/// relative root mean square, and sqrt(p(1-p)/N) for a share p.
///
/// Returns the root mean square error of the estimates.
fn assert_honest(peers: u32, trial: impl Fn(u64) -> Estimate) -> f64 {
    let truth = f64::from(peers);
    let trials = f64::from(TRIALS);
    let (mut sum, mut squares, mut stated, mut covered) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..TRIALS {
        let estimate = trial(seed.into());
        assert_eq!(estimate.range, EstimateRange::Within);
        let error = estimate.cardinality - truth;
        sum += error;
        squares += error * error;
        stated += estimate.std_error * estimate.std_error;
        let is_covered = abs_diff_eq!(error, 0.0, epsilon = 1.96 * estimate.std_error);
        covered += f64::from(u8::from(is_covered));
    }
    let (mean, deviation) = (sum / trials, (squares / trials).sqrt());
    // The estimates are unbiased, their errors are as stated, and their intervals cover the true value.
    assert_abs_diff_eq!(mean, 0.0, epsilon = 4.0 * deviation / trials.sqrt());
    let ratio = deviation / (stated / trials).sqrt();
    assert_abs_diff_eq!(ratio, 1.0, epsilon = 4.0 / (2.0 * trials).sqrt());
    let coverage = covered / trials;
    let bound = 4.0 * (0.95 * 0.05 / trials).sqrt();
    assert_abs_diff_eq!(coverage, 0.95, epsilon = bound);
    deviation
}

#[test]
fn estimates_of_steady_hosts_err_as_planned_are_unbiased_and_their_intervals_hold() {
    let ratio = assert_honest(500, |seed| trial(seed, 500, true)) / plan().std_error;
    // The bound is four standard deviations, as above. In this test, nothing was touched before the window. Earlier
    // touches would hide a few more touches.
    let bound = 4.0 / f64::from(2 * TRIALS).sqrt();
    assert_abs_diff_eq!(ratio, 1.0, epsilon = bound);
}

#[test]
fn estimates_of_bursts_in_the_last_slice_are_unbiased_and_their_intervals_hold() {
    assert_honest(1500, |seed| trial(seed, 1500, false));
}

#[test]
fn estimates_among_many_ties_are_unbiased_and_their_intervals_hold() {
    assert_honest(1000, |seed| trial_of_ties(seed, 1000));
}
