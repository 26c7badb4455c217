//! Tests of pairs from short calls, which wait without a lock.

use super::*;

/// Number of pairs to feed. The pairs fill several batches, and some pairs are still waiting at the end.
const PEERS: u32 = 500;

fn feed_singly(feed: &mut Feed, pairs: &[Ipv4Pair]) {
    pairs.chunks(1).for_each(|pair| feed.ingest(pair).unwrap());
}

fn detector_of(window: u32) -> SlidingDetector {
    let config = Config { threshold: 64, window, ..Config::default() };
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

#[test]
fn a_close_includes_exactly_the_pairs_of_calls_that_returned_before() {
    for window in [1, 8] {
        let (mut fed, mut plain) = (detector_of(window), detector_of(window));
        let mut feed = fed.feed(10_000).unwrap();
        for slice in 0..4 {
            feed_singly(&mut feed, &pairs(slice, PEERS + slice));
            plain.ingest(&pairs(slice, PEERS + slice)).unwrap();
            let report = fed.close_slice().unwrap();
            assert_eq!(report, plain.close_slice().unwrap());
            assert_eq!(report.super_points.len() as u32, window.min(slice + 1));
            assert_equal(&mut fed, &mut plain);
        }
    }
}

#[test]
fn pairs_that_come_during_a_close_are_of_the_next_slice() {
    for window in [1, 8] {
        let (mut fed, mut plain) = (detector_of(window), detector_of(window));
        let mut feed = fed.feed(10_000).unwrap();
        for slice in 0..4 {
            let closing = fed.begin_close().unwrap();
            // Some pairs wait, and the others are buffered.
            feed_singly(&mut feed, &pairs(slice, PEERS));
            assert_eq!(closing.end().unwrap(), plain.close_slice().unwrap());
            plain.ingest(&pairs(slice, PEERS)).unwrap();
        }
        assert_equal(&mut fed, &mut plain);
    }
}

#[test]
fn pairs_that_come_while_time_moves_on_are_of_the_slice_that_runs_then() {
    for (window, to) in [(1, 1), (8, 1), (8, 9), (8, 1000)] {
        let (mut fed, mut plain) = (detector_of(window), detector_of(window));
        let mut feed = fed.feed(10_000).unwrap();
        fed.advance_to(to, |_| {
            feed_singly(&mut feed, &pairs(1, PEERS));
            Ok::<(), Error>(())
        })
        .unwrap();
        plain.skip_to(to).unwrap();
        plain.ingest(&pairs(1, PEERS)).unwrap();
        assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
        assert_equal(&mut fed, &mut plain);
    }
}

#[test]
fn readers_see_the_pairs_that_wait_and_no_slice_has_them_twice() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(10_000).unwrap();
    for slice in 0..4 {
        feed_singly(&mut feed, &pairs(1, 70 + slice));
        plain.ingest(&pairs(1, 70 + slice)).unwrap();
        assert_eq!(fed.cardinality(ip(1)).unwrap(), plain.cardinality(ip(1)).unwrap());
        assert_equal(&mut fed, &mut plain);
    }
}

#[test]
fn pairs_of_a_feed_that_is_dropped_stay() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(0).unwrap();
    feed_singly(&mut feed, &pairs(1, 10));
    drop(feed);
    plain.ingest(&pairs(1, 10)).unwrap();
    let shared = |detector: &mut SlidingDetector| words(detector.backend_mut().shared());
    assert_eq!(shared(&mut fed), shared(&mut plain), "the pairs are ingested at once");
    let mut feed = fed.feed(0).unwrap();
    let during = fed.begin_close().unwrap();
    feed_singly(&mut feed, &pairs(2, 10));
    drop(feed);
    assert_eq!(during.end().unwrap(), plain.close_slice().unwrap());
    // When another feed is created, unneeded slots are removed.
    fed.feed(0).unwrap();
    plain.ingest(&pairs(2, 10)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn a_feed_of_a_dropped_detector_returns_an_error_at_the_next_call() {
    let detector = detector();
    let mut feed = detector.feed(10).unwrap();
    feed_singly(&mut feed, &pairs(1, 3));
    drop(detector);
    assert!(matches!(feed.ingest(&pairs(1, 1)), Err(Error::DetectorDropped)));
    assert!(matches!(feed.try_ingest(&pairs(1, 1)), Err(Error::DetectorDropped)));
}

// No slice closes, so order does not matter.
#[test]
fn no_pair_is_lost_between_short_calls_and_readers_and_closes_that_never_pause() {
    let (mut fed, mut plain) = (detector(), detector());
    thread::scope(|scope| {
        let feeds = [0, 1, 1000].map(|capacity| {
            let (mut feed, pairs) = (fed.feed(capacity).unwrap(), pairs(capacity as u32, 60_000));
            plain.ingest(&pairs).unwrap();
            scope.spawn(move || {
                let mut rest = &pairs[..];
                for count in (1..20).cycle() {
                    let (now, later) = rest.split_at(rest.len().min(count));
                    feed.ingest(now).unwrap();
                    if later.is_empty() {
                        break;
                    }
                    rest = later;
                }
            })
        });
        while !feeds.iter().all(thread::ScopedJoinHandle::is_finished) {
            fed.cardinality(ip(1)).unwrap();
            drop(fed.backend_mut().exclusive().unwrap());
        }
    });
    assert_equal(&mut fed, &mut plain);
}

// Each slice forgets the previous slice. A touch is a minimum, so all slices together contain each touch of each pair.
#[test]
fn no_pair_is_lost_between_short_calls_and_slices_that_end() {
    let (mut fed, mut all, mut plain) = (detector_of(1), detector_of(1), detector_of(1));
    let mut feed = fed.feed(1000).unwrap();
    let pairs = pairs(1, 60_000);
    plain.ingest(&pairs).unwrap();
    let params = Config { threshold: 64, window: 1, ..Config::default() }.validate().unwrap();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || feed_singly(&mut feed, &pairs));
        loop {
            let is_last = receiver.is_finished();
            let mut closing = fed.backend_mut().exclusive().unwrap();
            let mut all = all.backend_mut().exclusive().unwrap();
            for (array, words) in (0..).zip(words(&*closing)) {
                all.merge(array, &words, 0).unwrap();
            }
            let slice = closing.slice();
            closing.age(params.ages_between(slice, slice + 1)).unwrap();
            closing.set_slice(slice + 1);
            if is_last {
                break;
            }
        }
    });
    let all = words(&*all.backend_mut().exclusive().unwrap());
    assert!(all == words(&*plain.backend_mut().exclusive().unwrap()));
}

// A feed must not mistake another thread that takes out waiting pairs for a close. If it did, the buffer would accept
// pairs of the next slice, and the feed would ingest them in this slice.
#[test]
fn no_pair_of_the_next_slice_is_ingested_before_it_runs() {
    let mut fed = detector_of(1);
    let until = Instant::now() + Duration::from_secs(2);
    let feeds = [0, 1].map(|_| fed.feed(1000).unwrap());
    let slots = [0, 1].map(|number| Arc::clone(&feeds[number].slot));
    thread::scope(|scope| {
        for (inside, mut feed) in (0..).zip(feeds) {
            scope.spawn(move || {
                let pair = pairs(inside, 1);
                while Instant::now() < until {
                    feed.ingest(&pair).unwrap();
                    let _early = feed.ingest_at(feed.slice() + 1, &pair).unwrap();
                }
            });
        }
        while Instant::now() < until {
            // Without the work of a close, about a million slices start during the test.
            let next = fed.slice() + 1;
            fed.backend_mut().exclusive_until(next).unwrap().set_slice(next);
        }
    });
    assert_eq!(slots.map(|slot| slot.buffer().early()), [0, 0]);
}
