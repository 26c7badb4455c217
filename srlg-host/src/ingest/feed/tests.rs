mod few;
mod speed;
mod tries;

use srlg_traffic::family::{ip, number};
use std::panic::AssertUnwindSafe;
use std::thread;
use std::time::{Duration, Instant};

use srlg_core::{ARRAYS, COUNTER, FINDER, Ipv4Pair};

use super::slot::FeedState;
use super::*;
use crate::backend::Backend;
use crate::state::Words;
use crate::{Config, Device, SlidingDetector};

fn detector() -> SlidingDetector {
    let config = Config { threshold: 64, window: 8, ..Config::default() };
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

fn pairs(inside: u32, peers: u32) -> Vec<Ipv4Pair> {
    (0..peers).map(|peer| Ipv4Pair { inside, peer: peer.wrapping_mul(0x9e37_79b9) }).collect()
}

fn words(backend: &dyn Backend) -> [Words; ARRAYS] {
    [FINDER, COUNTER].map(|array| backend.export(array).unwrap())
}

fn assert_equal(fed: &mut SlidingDetector, plain: &mut SlidingDetector) {
    let bytes = |detector: &SlidingDetector| detector.snapshot().unwrap().to_bytes().unwrap();
    assert!(bytes(fed) == bytes(plain));
    assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
}

/// Returns a detector whose feed has buffered `peers` pairs, a detector that has ingested the same pairs, and the feed.
fn kept(peers: u32) -> (SlidingDetector, SlidingDetector, Feed) {
    let (mut fed, plain) = (detector(), detector());
    let mut feed = fed.feed(peers as usize).unwrap();
    let during = fed.backend_mut().exclusive().unwrap();
    feed.ingest(&pairs(1, peers)).unwrap();
    drop(during);
    plain.ingest(&pairs(1, peers)).unwrap();
    (fed, plain, feed)
}

#[test]
fn pairs_of_feeds_are_those_of_the_detector() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feeds: Vec<Feed> = (0..3).map(|_| fed.feed(10).unwrap()).collect();
    for slice in 0..6 {
        thread::scope(|scope| {
            for (number, feed) in (0..).zip(&mut feeds) {
                let pairs = pairs(number, 300 * (slice + 1));
                plain.ingest(&pairs).unwrap();
                scope.spawn(move || pairs.chunks(7).for_each(|p| feed.ingest(p).unwrap()));
            }
        });
        assert_equal(&mut fed, &mut plain);
        feeds.truncate(3 - slice as usize / 2);
    }
}

#[test]
fn pairs_that_come_during_a_close_are_of_the_next_slice() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(5000).unwrap();
    feed.ingest(&pairs(1, 500)).unwrap();
    plain.ingest(&pairs(1, 500)).unwrap();
    let during = fed.backend_mut().exclusive().unwrap();
    feed.ingest(&pairs(2, 500)).unwrap();
    assert_eq!(words(&*during), words(plain.backend_mut().shared()));
    drop(during);
    plain.ingest(&pairs(2, 500)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn pairs_that_an_idle_feed_keeps_are_in_the_next_report_and_in_that_slice() {
    let (mut fed, mut plain, mut feed) = kept(500);
    assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
    assert_equal(&mut fed, &mut plain);
    feed.ingest(&pairs(2, 500)).unwrap();
    plain.ingest(&pairs(2, 500)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn readers_see_what_an_idle_feed_keeps() {
    let (fed, plain, _feed) = kept(500);
    let estimate = |detector: &SlidingDetector| detector.cardinality(ip(1)).unwrap();
    assert_eq!(estimate(&fed), estimate(&plain));
    let (mut fed, mut plain, _feed) = kept(500);
    let delta = |detector: &mut SlidingDetector| detector.delta(1).unwrap().to_bytes().unwrap();
    assert_eq!(delta(&mut fed), delta(&mut plain));
}

#[test]
fn pairs_of_a_feed_that_is_dropped_stay() {
    let (mut fed, mut plain, feed) = kept(10_000);
    drop(feed);
    let shared = |detector: &mut SlidingDetector| words(detector.backend_mut().shared());
    assert_eq!(shared(&mut fed), shared(&mut plain), "the pairs are ingested at once");
    let mut feed = fed.feed(500).unwrap();
    let during = fed.backend_mut().exclusive().unwrap();
    feed.ingest(&pairs(2, 500)).unwrap();
    drop((feed, during));
    fed.feed(0).unwrap();
    plain.ingest(&pairs(2, 500)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

// A close leaves buffered pairs to the feed, which ingests some of them in each call.
#[test]
fn a_feed_hands_in_what_it_kept_and_no_call_takes_long() {
    let (mut fed, mut plain, mut feed) = kept(10_000);
    let mut left = Vec::new();
    for peer in 0..4 {
        left.push((feed.slot.buffer().len(), feed.known.may_keep));
        feed.ingest(&[Ipv4Pair { inside: 2, peer }]).unwrap();
        plain.ingest(&[Ipv4Pair { inside: 2, peer }]).unwrap();
    }
    let expected = [(10_000, true), (10_000 - 4096, true), (10_000 - 2 * 4096, true), (0, false)];
    assert_eq!(left, expected);
    assert_equal(&mut fed, &mut plain);
}

// This test would hang if the feed locked the share.
#[test]
fn a_feed_whose_share_is_wanted_leaves_the_lock_to_the_closer() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(10_000).unwrap();
    let slot = Arc::clone(&feed.slot);
    slot.want();
    let closer = slot.share();
    for peers in [17, 500, 9_000] {
        feed.ingest(&pairs(1, peers)).unwrap();
    }
    assert_eq!(slot.buffer().len(), 9_517);
    assert!(matches!(closer.state, FeedState::Open(_)));
    drop(closer);
    plain.ingest(&pairs(1, 9_000)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn feed_without_room_waits_until_the_slice_is_closed() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(100).unwrap();
    let during = fed.backend_mut().exclusive().unwrap();
    let receiver = thread::spawn(move || feed.ingest(&pairs(1, 500)));
    thread::sleep(Duration::from_millis(50));
    assert!(!receiver.is_finished());
    drop(during);
    receiver.join().unwrap().unwrap();
    plain.ingest(&pairs(1, 500)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn a_feed_that_waits_has_its_turn_before_the_next_close() {
    let (mut fed, mut plain) = (detector(), detector());
    plain.ingest(&pairs(1, 500)).unwrap();
    for _ in 0..5 {
        let mut feed = fed.feed(0).unwrap();
        let slot = Arc::clone(&feed.slot);
        let during = fed.backend_mut().exclusive().unwrap();
        let receiver = thread::spawn(move || feed.ingest(&pairs(1, 500)));
        while !slot.share().is_awaited() {
            thread::yield_now();
        }
        drop(during);
        let next = fed.backend_mut().exclusive().unwrap();
        assert_eq!(words(&*next), words(plain.backend_mut().shared()));
        drop(next);
        receiver.join().unwrap().unwrap();
        fed.skip_to(fed.slice() + 100).unwrap();
    }
}

// No slice closes, so order does not matter. No pair may be lost.
#[test]
fn no_pair_is_lost_between_feeds_and_closes_that_never_pause() {
    let (mut fed, mut plain) = (detector(), detector());
    thread::scope(|scope| {
        let feeds = [0, 1, 1000, 1 << 20].map(|capacity| {
            let (mut feed, pairs) = (fed.feed(capacity).unwrap(), pairs(capacity as u32, 60_000));
            plain.ingest(&pairs).unwrap();
            scope.spawn(move || {
                // Calls have 1, 2, 4, ... pairs, and some of them are split into pieces.
                let mut rest = &pairs[..];
                for bits in (0..14).cycle() {
                    let (now, later) = rest.split_at(rest.len().min(1 << bits));
                    feed.ingest(now).unwrap();
                    if later.is_empty() {
                        break;
                    }
                    rest = later;
                }
            })
        });
        while !feeds.iter().all(thread::ScopedJoinHandle::is_finished) {
            drop(fed.backend_mut().exclusive().unwrap());
        }
    });
    assert_equal(&mut fed, &mut plain);
}

// Pairs that arrive during the call belong to the slice that is running at its end.
#[test]
fn pairs_that_come_while_time_moves_on_are_of_the_slice_that_runs_then() {
    let mut fed = detector();
    let mut feed = fed.feed(5000).unwrap();
    let on_report = |_| feed.ingest(&pairs(1, 500));
    fed.advance_to(1000, on_report).unwrap();
    let report = fed.close_slice().unwrap();
    assert_eq!((report.slice, number(report.super_points[0].host)), (1000, 1));
}

#[test]
fn feeds_end_when_a_close_panics() {
    let mut fed = detector();
    let mut feed = fed.feed(10).unwrap();
    let work = AssertUnwindSafe(|| {
        let _during = fed.backend_mut().exclusive().unwrap();
        panic!("as a test")
    });
    assert!(std::panic::catch_unwind(work).is_err());
    assert!(matches!(feed.ingest(&pairs(1, 500)), Err(Error::DetectorDropped)));
}

// The window is consistent while the caller's code runs, both between two slices and while a `Closing` exists.
#[test]
fn feeds_outlive_a_panic_of_the_callers_code_during_a_close() {
    let mut fed = detector();
    let mut feed = fed.feed(10).unwrap();
    let advance = AssertUnwindSafe(|| {
        fed.advance_to(3, |_| -> Result<(), Error> { panic!("as a test") }).unwrap();
    });
    assert!(std::panic::catch_unwind(advance).is_err());
    feed.ingest(&pairs(1, 500)).unwrap();
    let close = AssertUnwindSafe(|| {
        let _closing = fed.begin_close().unwrap();
        panic!("as a test")
    });
    assert!(std::panic::catch_unwind(close).is_err());
    feed.ingest(&pairs(2, 500)).unwrap();
    let report = fed.close_slice().unwrap();
    assert_eq!((report.slice, report.super_points.len()), (1, 2));
}

struct CloseOnDrop<'a>(&'a mut SlidingDetector);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close_slice().unwrap();
    }
}

#[test]
fn feeds_outlive_a_close_by_a_thread_that_panicked_before() {
    let mut fed = detector();
    let mut feed = fed.feed(10).unwrap();
    let work = AssertUnwindSafe(|| {
        let _closing = CloseOnDrop(&mut fed);
        panic!("as a test")
    });
    assert!(std::panic::catch_unwind(work).is_err());
    assert_eq!(fed.slice(), 1);
    feed.ingest(&pairs(1, 500)).unwrap();
}

#[test]
fn a_feed_of_a_dropped_detector_returns_an_error() {
    let (fed, _, mut feed) = kept(10);
    drop(fed);
    assert!(matches!(feed.ingest(&pairs(1, 1)), Err(Error::DetectorDropped)));
}

#[test]
fn too_large_a_capacity_is_an_error() {
    assert!(matches!(detector().feed(usize::MAX), Err(Error::FeedMemory { .. })));
    assert_eq!(Feed::memory_bytes(usize::MAX), usize::MAX);
}

#[test]
fn slots_of_dropped_feeds_are_at_most_as_many_as_those_of_feeds() {
    let mut fed = detector();
    let feeds: Vec<Feed> = (0..100).map(|_| fed.feed(0).unwrap()).collect();
    for _ in 0..1000 {
        drop(fed.feed(0).unwrap());
        assert!(fed.backend_mut().slots() <= 2 * feeds.len() + 3);
    }
    drop(feeds);
    drop(fed.backend_mut().exclusive().unwrap());
    assert_eq!(fed.backend_mut().slots(), 0);
}

// Time outside the stages means that the system gave the core to another process. This does not happen in every close.
#[test]
fn stages_of_a_close_make_up_all_of_it() {
    let is_all = || {
        let (mut fed, _, _feed) = kept(50_000);
        let start = Instant::now();
        let stages = fed.close_slice().unwrap().stages;
        let (total, elapsed) = (stages.total(), start.elapsed());
        assert!(total <= elapsed, "{stages:?} of {elapsed:?}");
        stages.hand_in > stages.wait && elapsed - total < elapsed / 20
    };
    assert!((0..20).any(|_| is_all()));
}
