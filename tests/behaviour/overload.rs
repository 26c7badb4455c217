//! More load than the search accepts: said, bounded, never silent.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use srlg::{Config, Device, Hash, IpPair, Overload, SliceReport, SlidingDetector};
use srlg_traffic::synthetic::distinct_pairs;

const SCANNER: u32 = 0x0a00_0001;

/// The report on a scanner of 4000 targets, 50 hosts of 300 and `load` random pairs.
fn report(config: Config, load: u64) -> SliceReport {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    let noise = distinct_pairs(1, 200_000, load);
    let hosts = (0..15_000).map(|i| IpPair { aip: 0x0b00_0000 + i % 50, bip: 0xc000_0000 + i });
    let scanner = (0..4000).map(|bip| IpPair { aip: SCANNER, bip });
    detector.ingest(&noise.chain(hosts).chain(scanner).collect::<Vec<_>>()).unwrap();
    let report = detector.close_slice().unwrap();
    assert_eq!(detector.health(), &report.health);
    report
}

#[test]
fn light_load_is_no_overload() {
    let health = report(Config::default(), 100_000).health;
    assert_eq!((health.overload, health.hot_weight), (None, 3));
    assert!(health.miss_probability < 0.000_2);
}

#[test]
fn too_many_hot_columns_raise_the_hot_weight_and_keep_the_large_super_points() {
    let report = report(Config { hot_limit: 100, ..Config::default() }, 2_000_000);
    assert_eq!(report.health.overload, Some(Overload::RaisedHotWeight));
    assert!(report.health.hot_weight > 3);
    assert!(report.health.miss_probability > 0.000_2);
    assert!(report.super_points.iter().any(|point| point.host.to_bits() == SCANNER));
}

#[test]
fn too_many_candidates_raise_the_hot_weight_too() {
    let calm = report(Config::default(), 2_000_000);
    let limit = calm.candidates as u32 - 1;
    let report = report(Config { candidate_limit: limit, ..Config::default() }, 2_000_000);
    assert_eq!(report.health.overload, Some(Overload::RaisedHotWeight));
    assert!(report.candidates <= limit as usize);
}

// With θ = 8 every opposite host is sampled: 12 M of them fill nearly every recorder, and
// 2^34 tuples of hot columns spell some 2^32 addresses.
#[test]
fn saturated_arrays_are_reported_and_do_not_hang() {
    let config = Config { threshold: 8, oversampling_bits: 1, ..Config::default() };
    let start = Instant::now();
    let report = report(config, 12_000_000);
    assert_eq!(report.health.overload, Some(Overload::Saturated));
    assert_eq!((report.super_points.len(), report.health.miss_probability), (0, 1.0));
    // 200,000 hosts leave a share e^(-200000/131072) = 0.22 of the columns of row 0 empty.
    assert!(report.health.hot_shares[0] > 0.75);
    assert!(start.elapsed().as_secs() < 60);
}

/// The scanner, and hosts of three contacts each, chosen for the seed: each makes its columns hot,
/// so many in the fullest row.
fn crowd(config: Config, columns: usize) -> Vec<IpPair> {
    let params = config.validate().unwrap();
    let peer = |slot| (0..).find(|&bip| params.finder().rsra().slot(bip) == Some(slot)).unwrap();
    let peers = [0, 1, 2].map(peer);
    let mut hot = vec![HashSet::new(); params.finder().rsra().rows() as usize];
    let mut pairs: Vec<IpPair> = (0..4000).map(|bip| IpPair { aip: SCANNER, bip }).collect();
    for aip in std::iter::once(SCANNER).chain(0x1400_0000..) {
        let base = params.finder().rsra().base_column(aip);
        for (row, hot) in (0..).zip(&mut hot) {
            hot.insert(params.finder().rsra().column(row, base, aip));
        }
        pairs.extend(peers.map(|bip| IpPair { aip, bip }));
        if hot.iter().any(|hot| hot.len() == columns) {
            break;
        }
    }
    pairs
}

fn hosts_of(report: &SliceReport) -> Vec<u32> {
    report.super_points.iter().map(|point| point.host.to_bits()).collect()
}

/// The report on `pairs`, and how long it took.
fn timed_report(config: Config, pairs: &[IpPair]) -> (SliceReport, Duration) {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.ingest(pairs).unwrap();
    let start = Instant::now();
    (detector.close_slice().unwrap(), start.elapsed())
}

// Of 2^17 columns 16,384 may be hot. Where all of these have one mask, 2^32 / 8^5 = 131,072
// addresses agree with hot columns in five rows: too many candidates, hence a higher weight as well.
#[test]
fn crowd_of_three_contacts_each_is_reported_and_keeps_the_large_super_points() {
    let config = Config::default();
    let calm = (None, 3);
    let raised = (Some(Overload::RaisedHotWeight), 4);
    for (columns, expected) in [(8000, calm), (16_384, raised), (16_385, raised)] {
        let pairs = crowd(config, columns);
        let (report, took) = timed_report(config, &pairs);
        assert_eq!((report.health.overload, report.health.hot_weight), expected, "{columns}");
        assert!(report.candidates <= config.candidate_limit as usize);
        assert_eq!(hosts_of(&report), [SCANNER]);
        let fullest = report.health.hot_shares.into_iter().fold(0.0, f64::max);
        assert_eq!(fullest * f64::from(1 << 17), columns as f64);
        assert!(took.as_secs() < 60, "{took:?}");
    }
}

// One contact in 64 is sampled: by chance none of the crowd has three of three.
#[test]
fn crowd_that_was_chosen_for_another_seed_makes_nothing_hot() {
    let pairs = crowd(Config::default(), 16_384);
    let secret = Config { hash: Hash::HalfSip13, seed: 0x5eed, ..Config::default() };
    let (report, _) = timed_report(secret, &pairs);
    assert_eq!((report.health.overload, report.candidates), (None, 1));
    assert_eq!(hosts_of(&report), [SCANNER]);
}
