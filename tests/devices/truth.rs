//! Tests that the reports of a device are close to the exact answer.

use approx::abs_diff_eq;
use srlg::report::EstimateRange;
use srlg::{Config, Device, Ipv4Pair, SliceReport};
use srlg_traffic::family::{Family, FamilyPairs, number};
use srlg_traffic::oracle::ExactWindow;

use crate::device::detector;
use crate::traffic::{backbone, flood};

on_every_device!(
    super_points_of_backbone_traffic,
    super_points_of_both_families,
    victims_of_floods,
);

const THRESHOLD: u32 = 256;

/// Asserts that every estimate is within five standard errors, and that every host with at least 1.2 θ peers is
/// reported. Returns the number of super points.
fn assert_near(report: &SliceReport, exact: &ExactWindow) -> usize {
    for point in &report.super_points {
        let truth = f64::from(exact.cardinality(number(point.host)));
        assert_eq!(point.range, EstimateRange::Within);
        let is_near = abs_diff_eq!(point.cardinality, truth, epsilon = 5.0 * point.std_error);
        assert!(is_near, "{point:?} has {truth}");
    }
    // A host with 1.2 θ peers is never missed, and the error of its estimate is below 0.05 θ.
    for (host, truth) in exact.super_points(THRESHOLD * 6 / 5) {
        let is_reported = report.super_points.iter().any(|point| number(point.host) == host);
        assert!(is_reported, "{host:#x} has {truth}");
    }
    report.super_points.len()
}

/// Calls [`assert_near`] for every slice of `traffic`. Returns the number of super points in all reports.
fn compare(device: Device, family: Family, traffic: &[Vec<Ipv4Pair>], window: u32) -> usize {
    let config = Config { threshold: THRESHOLD, window, ..Config::default() };
    let (mut tested, mut exact) = (detector(device, config), ExactWindow::new(window));
    let (mut compared, mut split) = (0, FamilyPairs::default());
    for packets in traffic {
        family.split(packets, &mut split);
        tested.ingest(&split.v4).unwrap();
        tested.ingest(&split.v6).unwrap();
        packets.iter().for_each(|&pair| exact.touch(pair));
        let report = tested.close_slice().unwrap();
        compared += assert_near(&report, &exact);
        exact.skip(1);
    }
    compared
}

fn super_points_of_backbone_traffic(device: Device) {
    let compared = compare(device, Family::V4, &backbone(41, 12, 300_000), 8);
    assert!(compared > 300, "{compared}");
}

fn super_points_of_both_families(device: Device) {
    let compared = compare(device, Family::Mixed, &backbone(42, 10, 200_000), 8);
    assert!(compared > 150, "{compared}");
}

fn victims_of_floods(device: Device) {
    let compared = compare(device, Family::V4, &flood(), 20);
    assert!(compared > 100, "{compared}");
}
