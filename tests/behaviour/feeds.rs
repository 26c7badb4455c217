//! Tests of feeds that state the slice of their pairs. Pairs must be counted in the stated slice, even if slices close
//! at the same time.

mod in_turn;

use std::thread;

use srlg::config::Scheme;
use srlg::ingest::{Arrival, Feed, PairBatch, Taken};
use srlg::{Config, Device, Error, IpPair, Ipv4Pair, SlidingDetector};

use crate::small;

fn detector(config: Config, slice: u64) -> SlidingDetector {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    detector
}

fn pairs(inside: u32, peers: u32) -> Vec<Ipv4Pair> {
    (0..peers).map(|peer| Ipv4Pair { inside, peer: peer.wrapping_mul(0x9e37_79b9) }).collect()
}

fn long(pairs: &[Ipv4Pair]) -> Vec<IpPair> {
    pairs
        .iter()
        .map(|&Ipv4Pair { inside, peer }| IpPair {
            inside: [1, 2, 3, inside],
            peer: [4, 5, 6, peer],
        })
        .collect()
}

/// Returns a configuration with epochs of one slice, one with epochs of two slices, and one of the paper's scheme.
fn configs() -> [Config; 3] {
    [small::tagged(), Config { window: 600, ..small::tagged() }, small::paper()]
}

#[test]
fn late_pairs_of_a_feed_are_those_of_the_detector() {
    for config in configs() {
        for late in 0..config.window.min(20) {
            let (fed, one) = (detector(config, 1000), detector(config, 1000));
            let mut feed = fed.feed(10).unwrap();
            let arrival = feed.ingest_at(1000 - u64::from(late), &pairs(1, 9000)).unwrap();
            let slices = late;
            let expected = if late == 0 { Arrival::Running } else { Arrival::Late { slices } };
            assert_eq!(arrival, expected);
            one.ingest_late(&pairs(1, 9000), late).unwrap();
            assert!(fed.snapshot().unwrap() == one.snapshot().unwrap(), "{late} of {config:?}");
        }
    }
}

#[test]
fn during_a_close_the_next_slice_counts_as_running_and_pairs_keep_theirs() {
    for config in configs() {
        let (mut fed, mut one) = (detector(config, 1500), detector(config, 1500));
        let mut feed = fed.feed(3000).unwrap();
        let mut at = Vec::new();
        let during = |_| {
            assert_eq!(feed.slice(), 1501, "the first of three has closed");
            for slice in [1504, 1503, 1500, 1504 - u64::from(config.window), 1] {
                at.push(feed.ingest_at(slice, &pairs(slice as u32, 100)).unwrap());
            }
            Err(Error::DetectorDropped)
        };
        // If the callback fails, time stops at the first report.
        assert!(fed.advance_to(1503, during).is_err());
        let oldest = Arrival::Late { slices: config.window - 1 };
        let expected = [
            Arrival::Future,
            Arrival::Running,
            Arrival::Late { slices: 3 },
            oldest,
            Arrival::TooLate,
        ];
        assert_eq!(at, expected);
        one.close_slice().unwrap();
        // Pairs of a slice that never started belong to the running slice.
        for (pairs, slice) in [(pairs(1503, 100), 1501), (pairs(1500, 100), 1500)] {
            one.ingest_late(&pairs, (1501 - slice) as u32).unwrap();
        }
        one.ingest_late(&pairs(1504 - config.window, 100), config.window - 3).unwrap();
        assert!(fed.snapshot().unwrap() == one.snapshot().unwrap(), "{config:?}");
    }
}

#[test]
fn pairs_that_are_too_late_or_of_the_future_are_refused() {
    for config in configs() {
        let fed = detector(config, 1000);
        let untouched = fed.snapshot().unwrap();
        let mut feed = fed.feed(10_000).unwrap();
        let oldest = 1001 - u64::from(config.window);
        for (slice, refused) in [
            (0, Arrival::TooLate),
            (oldest - 1, Arrival::TooLate),
            (1001, Arrival::Future),
            (u64::MAX, Arrival::Future),
        ] {
            assert_eq!(feed.ingest_at(slice, &pairs(1, 9000)).unwrap(), refused);
            assert_eq!(feed.try_ingest_at(slice, &pairs(1, 9000)).unwrap(), (refused, Taken(0)));
            assert_eq!(
                feed.ingest_at::<Ipv4Pair>(slice, &[]).unwrap(),
                refused,
                "the same holds for no pairs"
            );
            assert!(!refused.is_ingested());
        }
        assert!(fed.snapshot().unwrap() == untouched);
        assert!(feed.ingest_at(oldest, &pairs(1, 9000)).unwrap().is_ingested());
        assert!(fed.snapshot().unwrap() != untouched);
    }
}

#[test]
fn pairs_of_a_feed_that_is_dropped_keep_their_slices() {
    let (mut fed, mut one) = (detector(small::tagged(), 20), detector(small::tagged(), 20));
    let mut feed = Some(fed.feed(1000).unwrap());
    let on_report = |_| {
        let mut feed = feed.take().unwrap();
        for slice in [20, 21, 17, 21, 15] {
            assert!(feed.ingest_at(slice, &pairs(slice as u32, 60))?.is_ingested());
        }
        Ok::<(), Error>(())
    };
    fed.advance_to(21, on_report).unwrap();
    one.close_slice().unwrap();
    for slice in [20, 21, 17, 15] {
        one.ingest_late(&pairs(slice, 60), 21 - slice).unwrap();
    }
    assert_eq!(fed.close_slice().unwrap(), one.close_slice().unwrap());
    assert!(fed.snapshot().unwrap() == one.snapshot().unwrap());
}

#[test]
fn a_batch_of_both_types_goes_to_its_slice() {
    let (fed, one) = (detector(small::tagged(), 20), detector(small::tagged(), 20));
    let mut batch = PairBatch::new();
    batch.extend((1..200).map(|number| (small::host(number % 7), small::host(number))));
    let mut feed = fed.feed(1000).unwrap();
    assert_eq!(batch.feed_at(&mut feed, 18).unwrap(), Arrival::Late { slices: 2 });
    assert_eq!(batch.feed_at(&mut feed, 21).unwrap(), Arrival::Future);
    batch.ingest_late(&one, 2).unwrap();
    assert!(fed.snapshot().unwrap() == one.snapshot().unwrap());
}

/// Ingests pairs of the next slice, the running slice and the three slices before it. Returns each slice number with
/// its pairs, in ingest order.
fn receive(mut feed: Feed, number: u32) -> Vec<(u64, Vec<Ipv4Pair>)> {
    let mut given = Vec::new();
    for call in 0..2_000 {
        let slice = feed.slice() + 1 - u64::from(call % 5);
        let pairs: Vec<_> =
            (0..call % 40).map(|peer| Ipv4Pair { inside: number << 16 | call, peer }).collect();
        while feed.ingest_at(slice, &pairs).unwrap() == Arrival::Future {
            thread::yield_now();
        }
        given.push((slice, pairs));
    }
    given
}

// At the end, each pair is in its slice, whenever it arrived. The test avoids reports of hosts, because reported hosts
// would be kept.
#[test]
fn pairs_that_threads_feed_beside_closes_land_in_their_slices() {
    let scheme = Scheme::Tagged { cell_bits: 14, lines: 4096, tags: 64 };
    let config = Config { window: 30_000, threshold: 1 << 12, scheme, ..Config::default() };
    let (mut fed, mut one) = (detector(config, 100), detector(config, 95));
    let feeds: Vec<_> = [0, 10, 1 << 16].map(|room| fed.feed(room).unwrap()).into();
    let mut given: Vec<(u64, Vec<Ipv4Pair>)> = thread::scope(|scope| {
        let receivers: Vec<_> = (0..)
            .zip(feeds)
            .map(|(number, feed)| scope.spawn(move || receive(feed, number)))
            .collect();
        while !receivers.iter().all(thread::ScopedJoinHandle::is_finished) {
            fed.close_slice().unwrap();
        }
        receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect()
    });
    given.sort_by_key(|&(slice, _)| slice);
    for (slice, pairs) in given {
        one.skip_to(slice).unwrap();
        one.ingest(&pairs).unwrap();
    }
    one.skip_to(fed.slice()).unwrap();
    assert!(fed.snapshot().unwrap() == one.snapshot().unwrap());
}
