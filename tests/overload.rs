//! More load than the search accepts: said, bounded, never silent.

use std::time::Instant;

use srlg::{Config, Device, IpPair, Overload, SliceReport, SlidingDetector};
use srlg_evaluation::traffic::distinct_pairs;

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
