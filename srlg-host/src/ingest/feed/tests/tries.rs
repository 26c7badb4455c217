//! Tests of feeds that never wait.
//!
//! Each test would hang if a feed waited, because the feed would wait for the thread that calls it.

use super::*;

#[test]
fn a_feed_that_does_not_wait_takes_what_it_has_room_for_during_a_close() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(5_000).unwrap();
    let during = fed.backend_mut().exclusive_until(1).unwrap();
    assert_eq!(feed.try_ingest(&pairs(1, 9_000)).unwrap(), Taken(5_000));
    assert_eq!(feed.try_ingest(&pairs(1, 9_000)).unwrap(), Taken(0));
    assert_eq!(feed.try_ingest_at(1, &pairs(1, 9_000)).unwrap(), (Arrival::Running, Taken(0)));
    assert_eq!(
        feed.try_ingest_at(0, &pairs(1, 9_000)).unwrap(),
        (Arrival::Late { slices: 1 }, Taken(0))
    );
    drop(during);
    assert_eq!(
        feed.try_ingest(&pairs(2, 9_000)).unwrap(),
        Taken(9_000),
        "the backend is available again"
    );
    plain.ingest(&pairs(1, 9_000)[..5_000]).unwrap();
    plain.ingest(&pairs(2, 9_000)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn a_feed_that_does_not_wait_leaves_all_locks_to_who_has_them() {
    let (mut fed, mut plain, mut feed) = kept(500);
    let slot = Arc::clone(&feed.slot);
    let closer = slot.share();
    let reader = slot.buffer();
    assert_eq!(feed.try_ingest(&pairs(2, 300)).unwrap(), Taken(0));
    assert_eq!(feed.try_ingest_at(1, &pairs(2, 300)).unwrap(), (Arrival::Future, Taken(0)));
    drop(closer);
    assert_eq!(feed.try_ingest(&pairs(3, 300)).unwrap(), Taken(300), "buffered pairs can wait");
    drop(reader);
    plain.ingest(&pairs(3, 300)).unwrap();
    assert_equal(&mut fed, &mut plain);
}

// Over many closes, exactly the pairs that were reported as taken are counted.
#[test]
fn pairs_accepted_without_waiting_are_exactly_those_counted() {
    let (mut fed, mut plain) = (detector(), detector());
    let mut feed = fed.feed(700).unwrap();
    let taken = thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let calls = (0..3_000).map(|inside| (inside, pairs(inside, inside % 400)));
            calls
                .map(|(inside, pairs)| (inside, feed.try_ingest(&pairs).unwrap()))
                .collect::<Vec<_>>()
        });
        while !receiver.is_finished() {
            drop(fed.backend_mut().exclusive().unwrap());
        }
        receiver.join().unwrap()
    });
    for (inside, Taken(taken)) in taken {
        plain.ingest(&pairs(inside, inside % 400)[..taken]).unwrap();
    }
    assert_equal(&mut fed, &mut plain);
}

#[test]
fn a_nonblocking_feed_reports_a_dropped_detector() {
    let (fed, _, mut feed) = kept(10);
    drop(fed);
    assert!(matches!(feed.try_ingest(&pairs(1, 1)), Err(Error::DetectorDropped)));
    assert!(matches!(feed.try_ingest_at(0, &pairs(1, 1)), Err(Error::DetectorDropped)));
}
