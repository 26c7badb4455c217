//! Tests of detectors whose share of the pairs changes.

use std::net::{IpAddr, Ipv4Addr};

use srlg::config::{ConfigError, Scheme};
use srlg::report::{Health, Overload};
use srlg::state::{Delta, Snapshot};
use srlg::{Config, Error, Ipv4Pair, SlidingDetector};
use srlg_traffic::synthetic::mix;

use crate::fixture::{contacts, detector, hosts};

const WINDOW: u32 = 8;
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn config() -> Config {
    let scheme = Scheme::Tagged { cell_bits: 18, lines: 2_304, tags: 64 };
    Config { scheme, window: WINDOW, ..Config::default() }
}

/// Ingests pairs that touch all recorders `load` times if every pair is counted. Hosts have ten peers each, and all
/// hosts differ from those of other slices.
fn ingest_crowd(detector: &SlidingDetector, load: f64) {
    let recorders = f64::from(2_304 * 32);
    let hosts = (load * recorders / 10.0) as u32;
    let pairs = (0..hosts).flat_map(|host| {
        let inside = mix(detector.slice() << 32 | u64::from(host)) as u32;
        (0..10)
            .map(move |peer| Ipv4Pair { inside, peer: mix(u64::from(inside) << 8 | peer) as u32 })
    });
    detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
}

// Every slice adds a load of 2.1 if every pair is counted, so the load of the window is above 4 in the second slice,
// and slices since a change have a load above 2 after one slice, after two, and after four.
#[test]
fn a_crowded_detector_doubles_its_share_until_the_load_falls_and_halves_it_afterwards() {
    let mut detector = detector(config());
    detector.set_most_share(32);
    let mut slice = |load: f64| {
        ingest_crowd(&detector, load);
        detector.ingest(&contacts(HOST, 0..20_000)).unwrap();
        let Health { load, share, finder, .. } = {
            let report = detector.close_slice().unwrap();
            // No other host has more than ten peers.
            assert_eq!(hosts(&report), [IpAddr::V4(HOST)]);
            report.health
        };
        assert!(share >= detector.share() / 2);
        (detector.share(), finder.overload == Some(Overload::Crowded), load)
    };
    let start: Vec<_> = (0..24).map(|_| slice(2.1)).collect();
    println!("{start:?}");
    let shares = start.iter().map(|&(share, ..)| share);
    assert!(shares.eq([&[1][..], &[2; 2], &[4; 4], &[8; 17]].concat()));
    assert!(
        start[1].1 && start[12..].iter().all(|&(_, is_crowded, load)| !is_crowded && load < 4.0)
    );
    assert!(start[16..].iter().all(|&(.., load)| (2.0..2.4).contains(&load)));
    let end: Vec<_> = (0..200).map(|_| slice(0.05)).collect();
    let shares: Vec<u32> = end.iter().map(|&(share, ..)| share).collect();
    // The share has not changed for 60 slices, and then for 60 slices again.
    let changed = 60 - (24 - 7);
    assert_eq!(shares[changed - 1..=changed], [8, 4]);
    assert_eq!(shares[changed + 59..=changed + 60], [4, 2]);
    assert_eq!(shares[changed + 119..=changed + 120], [2, 1]);
    assert_eq!(shares[199], 1);
}

// The slices since a change are whole epochs of 40 slices, so that a burst before the change does not count.
#[test]
fn a_burst_doubles_the_share_of_a_long_window_only_once() {
    let mut detector = detector(Config { window: 20_000, ..config() });
    detector.set_most_share(32);
    let mut largest = 0;
    for slice in 0..200 {
        if slice < 4 {
            ingest_crowd(&detector, 1.5);
        }
        detector.ingest(&contacts(HOST, 0..2_000)).unwrap();
        let health = detector.close_slice().unwrap().health;
        assert_eq!(health.load > 4.0, slice >= 2, "{}", health.load);
        largest = detector.share().max(largest);
    }
    assert_eq!(largest, 2);
}

#[test]
fn only_closes_that_may_change_the_share_do_so_and_a_long_gap_ends_it() {
    let mut detector = detector(config());
    detector.set_share(8).unwrap();
    for _ in 0..100 {
        ingest_crowd(&detector, 0.1);
        detector.close_slice().unwrap();
    }
    detector.skip_to(200).unwrap();
    assert_eq!(detector.share(), 8);
    detector.set_most_share(4);
    detector.skip_to(207).unwrap();
    assert_eq!(detector.share(), 8);
    detector.skip_to(215).unwrap();
    assert_eq!(detector.share(), 1);
}

// The threads of the detector remember pairs that they have ingested in the same slice.
#[test]
fn pairs_that_were_not_counted_are_counted_after_the_share_was_lowered() {
    let pairs = contacts(HOST, 0..5_000);
    let snapshots = [&pairs[..], &[]].map(|before| {
        let detector = &mut detector(config());
        detector.set_share(8).unwrap();
        (0..20).for_each(|_| detector.ingest(before).unwrap());
        detector.set_share(1).unwrap();
        (0..20).for_each(|_| detector.ingest(&pairs).unwrap());
        detector.snapshot().unwrap()
    });
    assert_eq!(snapshots[0], snapshots[1]);
}

// Both thresholds have the same fingerprint, and a share of 16 leaves too few positions for the larger one.
#[test]
fn states_with_a_share_that_the_threshold_excludes_are_refused_and_change_nothing() {
    let of = |threshold| detector(Config { linear_width: 1_056, threshold, ..config() });
    let (mut sender, mut receiver) = (of(1_024), of(2_047));
    sender.set_share(16).unwrap();
    sender.ingest(&contacts(HOST, 0..5_000)).unwrap();
    let before = receiver.snapshot().unwrap();
    let (snapshot, delta) = (sender.snapshot().unwrap(), sender.delta(1).unwrap());
    let read = Snapshot::from_bytes(&snapshot.to_bytes().unwrap(), receiver.params()).unwrap();
    assert_eq!(read, snapshot);
    let results =
        [receiver.restore(&read), receiver.merge_snapshot(&read), receiver.merge_delta(&delta)];
    for result in results {
        let Error::Config(ConfigError::FullEstimator { width, threshold, least, .. }) =
            result.unwrap_err()
        else {
            panic!("a full estimator is expected")
        };
        assert_eq!([width, threshold, least], [1_056, 2_047, 1_536]);
    }
    assert_eq!(receiver.snapshot().unwrap(), before);
}

/// Ingests the peers of one slice: 10,000 in eight slices.
fn ingest_part(detector: &mut SlidingDetector, share: u32, slice: u32) {
    detector.set_share(share).unwrap();
    detector.ingest(&contacts(HOST, slice * 1_250..(slice + 1) * 1_250)).unwrap();
}

/// Returns the detectors of two nodes that have seen a window together, each with other shares, and the deltas of all
/// slices.
fn nodes() -> ([SlidingDetector; 2], Vec<Delta>) {
    let mut nodes = [detector(config()), detector(config())];
    let mut deltas = Vec::new();
    for slice in 0..WINDOW {
        let shares = [[1, 1, 8, 8, 2, 1, 1, 1], [1, 1, 1, 1, 1, 1, 4, 4]];
        let number = slice as usize % 2;
        for (node, shares) in nodes.iter_mut().zip(shares) {
            node.skip_to(slice.into()).unwrap();
            node.set_share(shares[slice as usize]).unwrap();
        }
        let share = shares[number][slice as usize];
        ingest_part(&mut nodes[number], share, slice);
        deltas.extend(nodes.each_mut().map(|node| node.delta(1).unwrap()));
    }
    (nodes, deltas)
}

#[test]
fn detectors_with_different_shares_are_merged_right_in_any_order() {
    let (mut nodes, deltas) = nodes();
    let slice = u64::from(WINDOW) - 1;
    let mut forwards = detector(config());
    let mut backwards = detector(config());
    for collector in [&mut forwards, &mut backwards] {
        collector.skip_to(slice).unwrap();
    }
    deltas.iter().for_each(|delta| forwards.merge_delta(delta).unwrap());
    deltas.iter().rev().for_each(|delta| backwards.merge_delta(delta).unwrap());
    backwards.merge_delta(&deltas[3]).unwrap();
    assert_eq!(forwards.snapshot().unwrap(), backwards.snapshot().unwrap());
    let mut merged = detector(config());
    merged.skip_to(slice).unwrap();
    let snapshots = nodes.each_ref().map(|node| node.snapshot().unwrap());
    snapshots.iter().rev().for_each(|snapshot| merged.merge_snapshot(snapshot).unwrap());
    assert_eq!(merged.snapshot().unwrap(), forwards.snapshot().unwrap());
    let report = merged.close_slice().unwrap();
    assert_eq!((report.health.share, merged.share()), (8, 1));
    let point = &report.super_points[0];
    // A share of 8 has a standard error of 265 peers.
    assert!(point.std_error > 265.0 && point.std_error < 320.0, "{point:?}");
    assert!((point.cardinality - 10_000.0).abs() < 4.0 * point.std_error, "{point:?}");

    let [first, second] = &mut nodes;
    first.merge_snapshot(&snapshots[1]).unwrap();
    assert_eq!(first.close_slice().unwrap(), report);
    // The second node counts one pair in four, which is more than the first one counts now.
    second.merge_snapshot(&snapshots[0]).unwrap();
    assert_eq!(second.close_slice().unwrap(), report);
    // The last slice with a share of 8 leaves the window.
    let shares = [first, second]
        .map(|node| (0..5).map(|_| node.close_slice().unwrap().health.share).collect::<Vec<_>>());
    assert_eq!(shares, [[8, 8, 8, 8, 4], [8, 8, 8, 8, 4]]);
}

#[test]
fn a_restored_detector_continues_with_the_shares_of_the_snapshot() {
    let mut original = detector(config());
    let mut restored = detector(config());
    original.set_most_share(32);
    for slice in 0..30 {
        if slice % 3 == 0 {
            let bytes = original.snapshot().unwrap().to_bytes().unwrap();
            let snapshot = Snapshot::from_bytes(&bytes, restored.params()).unwrap();
            assert_eq!(snapshot, original.snapshot().unwrap());
            restored = detector(config());
            restored.set_most_share(32);
            restored.restore(&snapshot).unwrap();
        }
        for detector in [&original, &restored] {
            ingest_crowd(detector, if slice < 12 { 2.0 } else { 0.05 });
        }
        assert_eq!(original.close_slice().unwrap(), restored.close_slice().unwrap());
        assert_eq!(original.share(), restored.share());
    }
    assert!(original.share() > 1);
}

#[test]
fn shares_that_are_not_valid_are_refused_and_change_nothing() {
    let mut detector = detector(config());
    for share in [0, 3, 64] {
        let error = detector.set_share(share).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error:?}");
    }
    assert_eq!(detector.share(), 1);
}
