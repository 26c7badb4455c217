//! Short calls, whose pairs wait for others without a lock.

use std::mem;

use super::*;

/// Feeds `pairs` one by one.
fn feed_singly(feed: &mut Feed, pairs: &[IpPair]) {
    pairs.iter().for_each(|&pair| feed.ingest(&[pair]).unwrap());
}

/// A detector, one like it without feeds, and a feed with `peers` pairs of host 1 that wait, which the other detector has
/// ingested.
fn waiting(peers: u32) -> (SlidingDetector, SlidingDetector, Feed) {
    let (fed, plain) = (detector(), detector());
    let mut feed = fed.feed(0).unwrap();
    feed_singly(&mut feed, &pairs(1, peers));
    plain.ingest(&pairs(1, peers)).unwrap();
    assert_eq!(feed.slot.few().copy().unwrap().pairs().len(), peers as usize);
    (fed, plain, feed)
}

/// Which recorders were touched, however long ago.
fn touched(detector: &mut SlidingDetector) -> [Vec<bool>; ARRAYS] {
    words(detector.backend_mut().settled().unwrap()).map(|words| match words {
        Words::W16(words) => words.iter().map(|&word| word != u16::MAX).collect(),
        Words::W64(words) => words.iter().map(|&word| word != u64::MAX).collect(),
        _ => panic!("recorders of 16 and of 64 bits"),
    })
}

#[test]
fn queries_and_closes_see_pairs_that_wait() {
    let (fed, plain, _feed) = waiting(50);
    let estimate = |detector: &SlidingDetector| detector.cardinality(ip(1)).unwrap();
    assert_eq!(estimate(&fed), estimate(&plain));
    let (mut fed, mut plain, _feed) = waiting(50);
    let delta = |detector: &mut SlidingDetector| detector.delta(1).unwrap().to_bytes().unwrap();
    assert_eq!(delta(&mut fed), delta(&mut plain));
    let (mut fed, mut plain, _feed) = waiting(50);
    assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
    assert_equal(&mut fed, &mut plain);
}

// Some slices have fewer pairs than have room, and the feed ingests pairs of an earlier slice while another runs.
#[test]
fn pairs_of_short_calls_are_of_the_slice_in_which_they_came() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(0).unwrap();
    for (slice, peers) in (0..).zip([1, 63, 0, 64, 65, 500, 3, 0, 130, 7, 20, 20]) {
        let pairs = pairs(slice % 3, peers);
        for pairs in pairs.chunks(1 + slice as usize % 5) {
            feed.ingest(pairs).unwrap();
        }
        plain.ingest(&pairs).unwrap();
        if slice % 2 == 0 {
            assert_eq!(fed.cardinality(ip(1)).unwrap(), plain.cardinality(ip(1)).unwrap());
        }
        assert_equal(&mut fed, &mut plain);
    }
}

// A copy was ingested; what the feed does later with the pairs must not bring them into the state of another time.
#[test]
fn pairs_that_came_before_a_restore_do_not_come_back() {
    let (mut fed, mut plain) = (detector(), detector());
    fed.skip_to(5).unwrap();
    let mut feed = fed.feed(0).unwrap();
    feed_singly(&mut feed, &pairs(1, 50));
    plain.skip_to(7).unwrap();
    let state = plain.snapshot().unwrap();
    fed.restore(&state).unwrap();
    feed_singly(&mut feed, &pairs(2, 50));
    plain.ingest(&pairs(2, 50)).unwrap();
    drop(feed);
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn pairs_that_wait_stay_when_their_feed_is_dropped() {
    let (mut fed, mut plain, feed) = waiting(50);
    drop(feed);
    let shared = |detector: &mut SlidingDetector| words(detector.backend_mut().shared());
    assert_eq!(shared(&mut fed), shared(&mut plain), "they wait for nobody");
    let mut feed = fed.feed(0).unwrap();
    feed_singly(&mut feed, &pairs(2, 50));
    let during = fed.backend_mut().exclusive().unwrap();
    drop((feed, during));
    plain.ingest(&pairs(2, 50)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn pairs_that_wait_stay_when_their_thread_panics_or_forgets_the_feed() {
    let (mut fed, mut plain, feed) = waiting(50);
    let receiver = thread::spawn(move || {
        let _feed = feed;
        panic!("as a test")
    });
    receiver.join().unwrap_err();
    assert_equal(&mut fed, &mut plain);
    let (mut fed, mut plain, feed) = waiting(50);
    mem::forget(feed);
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn short_calls_during_a_close_are_of_the_next_slice() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(100).unwrap();
    feed_singly(&mut feed, &pairs(1, 50));
    plain.ingest(&pairs(1, 50)).unwrap();
    let on_report = |_| -> Result<(), Error> {
        feed_singly(&mut feed, &pairs(2, 50));
        Ok(())
    };
    fed.advance_to(1, on_report).unwrap();
    plain.advance_to(1, |_| Ok::<(), Error>(())).unwrap();
    plain.ingest(&pairs(2, 50)).unwrap();
    feed_singly(&mut feed, &pairs(3, 50));
    plain.ingest(&pairs(3, 50)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

// Queries and closes copy all the time. Which slice has a pair is up to chance, but some slice has it.
#[test]
fn no_pair_of_a_short_call_is_lost_between_queries_and_closes() {
    let (mut fed, mut plain) = (detector(), detector());
    thread::scope(|scope| {
        let feeds = [0, 1, 1000].map(|capacity| {
            let (mut feed, pairs) = (fed.feed(capacity).unwrap(), pairs(capacity as u32, 30_000));
            plain.ingest(&pairs).unwrap();
            scope.spawn(move || feed_singly(&mut feed, &pairs))
        });
        while !feeds.iter().all(thread::ScopedJoinHandle::is_finished) {
            fed.cardinality(ip(1)).unwrap();
            if fed.slice() < 6 {
                fed.close_slice().unwrap();
            } else {
                drop(fed.backend_mut().exclusive().unwrap());
            }
        }
    });
    assert!(touched(&mut fed) == touched(&mut plain));
}
