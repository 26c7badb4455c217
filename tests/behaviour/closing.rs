//! Tests that close a slice in two steps. Queries between the two steps refer to the window of the report.

use std::panic::AssertUnwindSafe;
use std::thread;
use std::time::Duration;

use srlg::config::Scheme;
use srlg::ingest::Taken;
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector, SuperPoint};

use crate::fixture::{contacts, detector};
use crate::small;

/// Returns the pairs of 20 hosts in `slice`. The first host has 40 peers and the last one has 420. Half of the peers of
/// each host are also its peers in the previous slice.
fn pairs(slice: u32) -> Vec<Ipv4Pair> {
    let of = |inside: u32| {
        (0..40 + inside * 20).map(move |peer| (inside, slice * (20 + inside * 10) + peer))
    };
    let pairs = (0..20).flat_map(of);
    pairs.map(|(inside, peer)| Ipv4Pair { inside, peer: peer.wrapping_mul(0x9e37_79b9) }).collect()
}

/// Returns a configuration with epochs of one slice, one with epochs of two slices, and one of the paper's scheme.
fn configs() -> [Config; 3] {
    let tagged = Config { threshold: 64, ..Config::default() };
    [tagged, Config { window: 600, ..tagged }, Config { threshold: 64, ..small::paper() }]
}

#[test]
fn a_report_equals_that_of_the_next_close_and_changes_nothing() {
    let crowded = Config { threshold: 64, ..small::tagged() };
    for config in configs().into_iter().chain([crowded]) {
        let (mut tested, mut plain) = (detector(config), detector(config));
        if config == crowded {
            for detector in [&mut tested, &mut plain] {
                detector.set_most_share(2);
            }
        }
        for slice in 0..12 {
            tested.ingest(&pairs(slice)).unwrap();
            plain.ingest(&pairs(slice)).unwrap();
            let before = tested.snapshot().unwrap();
            let reports = [0, 1].map(|_| tested.report().unwrap());
            assert_eq!(tested.snapshot().unwrap(), before);
            let closed = plain.close_slice().unwrap();
            assert_eq!(reports, [closed.clone(), closed.clone()]);
            assert_eq!(tested.close_slice().unwrap(), closed);
        }
    }
    let mut sparse = SlidingDetector::sparse(configs()[0], Device::Cpu, 100_000).unwrap();
    sparse.ingest(&pairs(0)).unwrap();
    assert_eq!(sparse.report().unwrap(), sparse.close_slice().unwrap());
}

#[test]
fn answers_are_those_of_the_report_and_of_the_running_slice() {
    for config in configs() {
        let (mut tested, mut plain) = (detector(config), detector(config));
        for slice in 0..12 {
            tested.ingest(&pairs(slice)).unwrap();
            plain.ingest(&pairs(slice)).unwrap();
            let mut closing = tested.begin_close().unwrap();
            assert_eq!(closing.slice(), u64::from(slice));
            for window in [1, 3, config.window] {
                for host in (0..20).map(small::host) {
                    let asked = closing.cardinality_within(host, window);
                    let expected = plain.cardinality_within(host, window);
                    // The paper's scheme does not support IPv6.
                    assert_eq!(asked.is_ok(), expected.is_ok());
                    if let (Ok(asked), Ok(expected)) = (asked, expected) {
                        assert_eq!(asked, expected, "{host} in {window}");
                    }
                }
                let hosts = (0..20).map(small::host);
                let hosts: Vec<_> = hosts
                    .filter(|host| closing.cardinality_within(*host, window).is_ok())
                    .collect();
                let together = plain.cardinalities_within(&hosts, window).unwrap();
                let alone = hosts.iter().map(|host| closing.cardinality_within(*host, window));
                assert_eq!(together, alone.collect::<Result<Vec<_>, _>>().unwrap());
                for threshold in [f64::from(config.threshold), 200.0] {
                    let points = closing.super_points_within(window, threshold).unwrap();
                    assert!(points.is_sorted_by(|a, b| a.cardinality >= b.cardinality));
                    let within = |point: &&SuperPoint| {
                        let estimate = plain.cardinality_within(point.host, window).unwrap();
                        estimate.cardinality.min(point.cardinality) >= threshold
                    };
                    let reaching = closing.super_points().iter().filter(within);
                    assert_eq!(points.len(), reaching.count());
                }
                if window == config.window {
                    let points = closing.super_points_within(window, 0.0).unwrap();
                    assert_eq!(points, closing.super_points());
                }
            }
            let first = closing.super_points()[0].clone();
            assert_eq!(closing.sample_peers(first.host).unwrap(), first.peers);
            let (report, expected) = (closing.end().unwrap(), plain.close_slice().unwrap());
            assert_eq!(report, expected);
            assert_eq!((report.super_points[0].clone(), tested.health()), (first, &report.health));
        }
        assert!(tested.snapshot().unwrap() == plain.snapshot().unwrap());
    }
}

#[test]
fn a_shorter_window_has_fewer_super_points() {
    let mut detector = detector(configs()[0]);
    for slice in 0..5 {
        detector.ingest(&pairs(slice)).unwrap();
        detector.close_slice().unwrap();
    }
    // Earlier pairs count only in the long window.
    detector.ingest(&pairs(5)[..40]).unwrap();
    let mut closing = detector.begin_close().unwrap();
    assert_eq!(closing.super_points().len(), 20);
    assert_eq!(closing.super_points_within(1, 64.0).unwrap(), []);
    let within = closing.super_points_within(2, 64.0).unwrap();
    assert!((17..20).contains(&within.len()), "{}", within.len());
}

#[test]
fn an_abandoned_close_changes_nothing() {
    let mut detector = detector(configs()[0]);
    let mut feed = detector.feed(1_000).unwrap();
    feed.ingest(&pairs(0)).unwrap();
    let before = detector.snapshot().unwrap();
    let closing = detector.begin_close().unwrap();
    // The feed keeps these pairs for the next slice, which never starts.
    assert_eq!(feed.try_ingest(&pairs(1)[..500]).unwrap(), Taken(500));
    drop(closing);
    assert_eq!(detector.slice(), 0);
    let mut expected = self::detector(configs()[0]);
    expected.restore(&before).unwrap();
    expected.ingest(&pairs(1)[..500]).unwrap();
    assert!(detector.snapshot().unwrap() == expected.snapshot().unwrap());
    assert_eq!(detector.close_slice().unwrap(), expected.close_slice().unwrap());
}

// The host has 3,000 peers in slice 0 and 3,000 other peers in slice 4.
#[test]
fn sample_peers_of_a_shorter_window_were_seen_in_it() {
    let mut detector = detector(Config { threshold: 1000, ..Config::default() });
    detector.ingest(&contacts(7.into(), 0..3000)).unwrap();
    detector.skip_to(4).unwrap();
    detector.ingest(&contacts(7.into(), 3000..6000)).unwrap();
    let mut closing = detector.begin_close().unwrap();
    for (window, oldest) in [(1, 4), (4, 1), (5, 0), (300, 0)] {
        let points = closing.super_points_within(window, 1000.0).unwrap();
        assert!(points[0].peers.len() > 20, "{window}");
        let last = points[0].peers.iter().map(|peer| peer.last_seen).min();
        assert_eq!(last, Some(if oldest == 0 { 0 } else { 4 }), "{window}");
    }
}

#[test]
fn a_close_of_the_last_slice_fails_and_leaves_detector_and_feeds_as_they_were() {
    let mut detector = detector(configs()[0]);
    detector.skip_to(u64::MAX).unwrap();
    let mut feed = detector.feed(0).unwrap();
    feed.ingest(&pairs(0)).unwrap();
    let closing = detector.begin_close().unwrap();
    assert_eq!(closing.super_points().len(), 20 - 2);
    assert!(matches!(closing.end(), Err(Error::LastSlice { .. })));
    assert_eq!(detector.slice(), u64::MAX);
    feed.ingest(&pairs(1)).unwrap();
    let expected = self::detector(configs()[0]);
    expected.ingest(&[pairs(0), pairs(1)].concat()).unwrap();
    let host = small::host(19);
    let asked = [&detector, &expected].map(|it| it.cardinality_within(host, 1).unwrap());
    assert_eq!(asked[0], asked[1]);
}

// The loop is the same as in the documentation of `advance_to` for callers with queries.
#[test]
fn closes_in_a_loop_are_those_of_advancing() {
    // The arrays are small, because there are many closes.
    let scheme = Scheme::Tagged { cell_bits: 14, lines: 1 << 13, tags: 64 };
    for mut config in configs() {
        if matches!(config.scheme, Scheme::Tagged { .. }) {
            config.scheme = scheme;
        }
        let (mut tested, mut plain) = (detector(config), detector(config));
        for end in [3, 5, 1_000, 5_000] {
            tested.ingest(&pairs(1)).unwrap();
            plain.ingest(&pairs(1)).unwrap();
            let (mut reports, mut expected) = (Vec::new(), Vec::new());
            while tested.slice() < end {
                let report = tested.begin_close().unwrap().end().unwrap();
                if report.is_silent() {
                    tested.skip_to(end).unwrap();
                }
                reports.push(report);
            }
            let on_report = |report| {
                expected.push(report);
                Ok::<(), Error>(())
            };
            plain.advance_to(end, on_report).unwrap();
            assert_eq!(reports, expected);
        }
        assert!(tested.snapshot().unwrap() == plain.snapshot().unwrap());
    }
}

#[test]
fn a_full_feed_waits_until_the_close_is_dropped() {
    for ends in [true, false] {
        let mut detector = detector(configs()[0]);
        let mut feed = detector.feed(0).unwrap();
        let closing = detector.begin_close().unwrap();
        let receiver = thread::spawn(move || feed.ingest(&pairs(3)));
        thread::sleep(Duration::from_millis(20));
        assert!(!receiver.is_finished());
        if ends {
            closing.end().unwrap();
        } else {
            drop(closing);
        }
        receiver.join().unwrap().unwrap();
        let report = detector.close_slice().unwrap();
        assert_eq!((report.slice, report.super_points.len()), (u64::from(ends), 18));
    }
}

// If a thread panics between the steps of a close, the feeds must not wait forever.
#[test]
fn a_closing_that_is_leaked_or_panics_ends_with_the_next_close() {
    let mut detector = detector(configs()[0]);
    let mut feed = detector.feed(10_000).unwrap();
    std::mem::forget(detector.begin_close().unwrap());
    feed.ingest(&pairs(3)).unwrap();
    assert_eq!(detector.close_slice().unwrap().super_points.len(), 18);
    let work = AssertUnwindSafe(|| {
        let _closing = detector.begin_close().unwrap();
        panic!("as a test")
    });
    assert!(std::panic::catch_unwind(work).is_err());
    assert_eq!(detector.slice(), 1);
    detector.close_slice().unwrap();
    feed.ingest(&pairs(3)).unwrap();
    assert_eq!(detector.close_slice().unwrap().slice, 2);
}
