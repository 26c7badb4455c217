//! Tests of the sliding window: its contents, the expiry of contacts, and jumps in time.

use std::net::{IpAddr, Ipv4Addr};

use approx::{abs_diff_eq, assert_abs_diff_eq};
use srlg::config::Scheme;
use srlg::{Config, Error, SlidingDetector};

use crate::fixture::{self, contacts, hosts};

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn detector(window: u32) -> SlidingDetector {
    fixture::detector(Config { threshold: 256, window, ..Config::default() })
}

// With at least 200 tags, only 163 ages are left for 300 slices, so epochs have 2 slices. If a window starts within an
// epoch, half of the epoch is counted, whichever of its two slices contained the contacts.
#[test]
fn host_leaves_the_window_after_exactly_k_slices() {
    for window in [1, 2, 7] {
        let mut detector = detector(window);
        detector.ingest(&contacts(HOST, 0..1000)).unwrap();
        for slice in 0..window + 3 {
            let report = detector.close_slice().unwrap();
            assert_eq!(report.slice, u64::from(slice));
            let expected = if slice < window { vec![IpAddr::from(HOST)] } else { vec![] };
            assert_eq!(hosts(&report), expected, "window {window} slice {slice}");
        }
    }
}

#[test]
fn edge_of_a_window_of_epochs_is_known_to_the_slice() {
    for seen in [10, 11] {
        for (last, share) in [(308, 1.0), (309, 1.0), (310, 0.5), (311, 0.0)] {
            let scheme = Scheme::Tagged { cell_bits: 12, lines: 10_000, tags: 200 };
            let config = Config { threshold: 256, scheme, ..Config::default() };
            let mut detector = fixture::detector(config);
            assert_eq!(detector.params().counter_sizes().epoch_slices, 2);
            detector.skip_to(seen).unwrap();
            detector.ingest(&contacts(HOST, 0..1000)).unwrap();
            detector.skip_to(last).unwrap();
            let estimate = detector.cardinality(HOST.into()).unwrap();
            let expected = share * 1000.0;
            let bound = 5.0 * estimate.std_error;
            let is_near = abs_diff_eq!(estimate.cardinality, expected, epsilon = bound);
            assert!(is_near, "{seen} {last}: {estimate:?}");
        }
    }
}

#[test]
fn peers_of_several_slices_add_up_and_repeats_do_not() {
    let mut detector = detector(3);
    let mut last = 0.0;
    for slice in 0..3 {
        for _ in 0..5 {
            detector.ingest(&contacts(HOST, slice * 400..slice * 400 + 400)).unwrap();
        }
        last = detector.close_slice().unwrap().super_points[0].cardinality;
    }
    // Linear counting of 1200 peers with 32768 recorders has a standard error of sqrt(η'(e^t - t - 1)) = 4.7.
    assert_abs_diff_eq!(last, 1200.0, epsilon = 5.0 * 4.7);
}

#[test]
fn late_pairs_leave_with_their_own_slice() {
    let mut detector = detector(5);
    detector.skip_to(10).unwrap();
    detector.ingest_late(&contacts(HOST, 0..1000), 3).unwrap();
    let found: Vec<usize> =
        (0..4).map(|_| detector.close_slice().unwrap().super_points.len()).collect();
    assert_eq!(found, [1, 1, 0, 0]);
}

#[test]
fn pairs_later_than_the_window_change_no_answer() {
    let mut detector = detector(5);
    detector.ingest_late(&contacts(HOST, 0..1000), 5).unwrap();
    detector.ingest_late(&contacts(HOST, 0..1000), u32::MAX).unwrap();
    assert_eq!(detector.close_slice().unwrap().candidates, 0);
}

#[test]
fn shorter_windows_are_answered_from_the_same_recorders() {
    let mut detector = detector(5);
    for slice in 0..5 {
        detector.ingest(&contacts(HOST, slice * 300..slice * 300 + 300)).unwrap();
        if slice < 4 {
            detector.close_slice().unwrap();
        }
    }
    for window in 1..=5 {
        let estimate = detector.cardinality_within(HOST.into(), window).unwrap().cardinality;
        let expected = f64::from(300 * window);
        // By the same formula, the standard error for 1500 peers is below 8.5.
        assert_abs_diff_eq!(estimate, expected, epsilon = 5.0 * 8.5);
    }
    assert_eq!(
        detector.cardinality(HOST.into()).unwrap(),
        detector.cardinality_within(HOST.into(), 5).unwrap()
    );
    for window in [0, 6] {
        let error = detector.cardinality_within(HOST.into(), window).unwrap_err();
        assert!(matches!(error, Error::QueryWindow { max: 5, .. }), "{error}");
    }
}

#[test]
fn advancing_reports_what_closing_by_hand_reports() {
    let (mut jumper, mut walker) = (detector(20), detector(20));
    for (slice, peers) in [(0, 0..600), (3, 300..900), (60, 0..500), (1_000_000, 5..700)] {
        let (mut jumped, mut walked) = (Vec::new(), Vec::new());
        jumper
            .advance_to(slice, |report| {
                jumped.push((report.slice, report.super_points));
                Ok::<(), Error>(())
            })
            .unwrap();
        let end = slice.min(walker.slice() + 100);
        while walker.slice() < end {
            let report = walker.close_slice().unwrap();
            walked.push((report.slice, report.super_points));
        }
        walker.skip_to(slice).unwrap();
        walked.retain(|(_, points)| !points.is_empty());
        jumped.retain(|(_, points)| !points.is_empty());
        assert_eq!(jumped, walked);
        assert_eq!(jumper.snapshot().unwrap(), walker.snapshot().unwrap());
        jumper.ingest(&contacts(HOST, peers.clone())).unwrap();
        walker.ingest(&contacts(HOST, peers)).unwrap();
    }
}

#[test]
fn gap_longer_than_the_window_forgets_everything_without_a_loop() {
    let mut detector = detector(300);
    detector.ingest(&contacts(HOST, 0..1000)).unwrap();
    let mut reports = 0;
    let count = |_| {
        reports += 1;
        Ok::<(), Error>(())
    };
    detector.advance_to(u64::MAX - 1, count).unwrap();
    // The oldest epoch leaves the window with its last slice. The former super point is estimated once more, and the
    // next report is empty.
    assert!(reports <= 301 + detector.params().finder().epoch_slices(), "{reports}");
    assert_eq!(detector.close_slice().unwrap().candidates, 0);
    assert!(matches!(detector.skip_to(5), Err(Error::SliceInPast { .. })));
}
