//! Checks `few`, the waiting pairs of a feed, in all interleavings of two threads.
//!
//! The sources are those of srlg-host, with the locks and atomic numbers of the model checker loom. Two faults are
//! planted by replacing them with weaker ones, and the checker must find both.

#![allow(clippy::duplicate_mod, reason = "each model has its own locks")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Defines the source of srlg-host and a model of a feed and a closer, for the `sync` and `lock` beside this macro.
macro_rules! model {
    () => {
        #[allow(dead_code, reason = "the model has no drop")]
        #[path = "../../../srlg-host/src/ingest/feed/few.rs"]
        mod few;

        use std::convert::Infallible;
        use std::sync::atomic::Ordering::{Acquire, Release};

        use few::FewPairs;
        use loom::sync::{Arc, Mutex, atomic::AtomicUsize};
        use srlg_core::Ipv4Pair;

        /// The pairs reuse places, because there is room for two at a time.
        const ROOM: usize = 2;
        const PAIRS: u32 = 6;

        /// The pairs that have been ingested, by the feed or by the closer.
        type Ingested = Arc<Mutex<Vec<u32>>>;

        fn ingest(ingested: &Ingested, pairs: &[Ipv4Pair]) -> Result<(), Infallible> {
            let mut ingested = ingested.lock().unwrap();
            for pair in pairs {
                assert_eq!(pair.inside, 7 * pair.peer, "a pair is whole");
                ingested.push(pair.peer);
            }
            Ok(())
        }

        pub(crate) fn check() {
            let few = Arc::new(FewPairs::<ROOM>::new());
            let (ingested, returned) = (Ingested::default(), Arc::new(AtomicUsize::new(0)));
            let feed = loom::thread::spawn({
                let (few, ingested, returned) = (few.clone(), ingested.clone(), returned.clone());
                move || {
                    let mut end = FewPairs::<ROOM>::FIRST_END;
                    for peer in 1..=PAIRS {
                        let pair = Ipv4Pair { inside: 7 * peer, peer };
                        if !few.append(&[pair], &end) {
                            let taken = few.try_take(&mut end, |pairs| ingest(&ingested, pairs));
                            taken.unwrap();
                            if !few.append(&[pair], &end) {
                                // Another thread is taking pairs out, so the feed takes the long way.
                                few.take(|pairs| ingest(&ingested, pairs)).unwrap();
                                ingest(&ingested, &[pair]).unwrap();
                            }
                        }
                        returned.store(peer as usize, Release);
                    }
                }
            });
            let before = returned.load(Acquire);
            few.take(|pairs| ingest(&ingested, pairs)).unwrap();
            let taken = ingested.lock().unwrap().len();
            assert!(taken >= before, "a closer has the pairs of all calls that returned before");
            feed.join().unwrap();
            few.take(|pairs| ingest(&ingested, pairs)).unwrap();
            assert!(few.is_empty());
            let peers: Vec<u32> = (1..=PAIRS).collect();
            assert_eq!(
                *ingested.lock().unwrap(),
                peers,
                "each pair is ingested once, in its order"
            );
        }
    };
}

mod right;
mod without_exclusion;
mod without_order;

#[test]
fn a_feed_and_a_closer_ingest_each_pair_once_in_every_interleaving() {
    loom::model(right::check);
}

#[test]
fn pairs_that_are_not_published_are_found() {
    assert!(fails(without_order::check));
}

#[test]
fn pairs_that_two_threads_take_are_found() {
    assert!(fails(without_exclusion::check));
}

/// Returns whether an assertion of `check` fails in some interleaving. The model without a fault shows that it is not too
/// large for the checker.
fn fails(check: fn()) -> bool {
    catch_unwind(AssertUnwindSafe(|| loom::model(check))).is_err()
}
