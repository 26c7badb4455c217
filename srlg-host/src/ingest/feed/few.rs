//! [`FewPairs`]: IPv4 pairs of the short calls of one feed, which wait until there are enough for one call of the backend.
//!
//! The feed alone appends, without a lock. Whoever has locked the share of the slot takes all of them out and ingests them in
//! the running slice: the feed when it has no room, a closer before it takes the shares back, and whoever reads the recorders.
//!
//! A pair that waits belongs to no slice yet. A close takes out the pairs of all calls that returned before it began. Pairs of
//! other calls belong to the slice that runs when they are taken out.
//!
//! Invariants:
//! - Pairs are numbered as they come, and number n is in place `n % ROOM`. The feed gives that place to another pair only after
//!   it has read, under the lock, that the pair was taken out.
//! - The number of pairs that were taken out changes under the lock alone, so no pair is taken out twice.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use srlg_core::{BATCH, IpPair};
use zerocopy::transmute;

/// Pairs that can wait.
const ROOM: usize = BATCH;

/// The pairs that wait, in cache lines of their own.
#[repr(align(128))]
pub(super) struct FewPairs {
    /// The number of the next pair.
    next: AtomicU64,
    /// Pairs of lower numbers were taken out.
    taken: AtomicU64,
    places: [AtomicU64; ROOM],
}

/// The number of the first pair that has no room.
pub(super) struct FewEnd(u64);

impl FewPairs {
    pub(super) fn new() -> Self {
        let [next, taken] = [const { AtomicU64::new(0) }; 2];
        Self { next, taken, places: [const { AtomicU64::new(0) }; ROOM] }
    }

    /// Appends `pairs`, as the feed, if there is room for all of them before `end`. Returns whether there was.
    #[inline]
    pub(super) fn append(&self, pairs: &[IpPair], end: &FewEnd) -> bool {
        let first = self.next.load(Relaxed);
        let next = first + pairs.len() as u64;
        let has_room = next <= end.0;
        if has_room {
            for (number, &pair) in (first..).zip(pairs) {
                self.places[number as usize % ROOM].store(transmute!(pair), Relaxed);
            }
            self.next.store(next, Release);
        }
        has_room
    }

    /// Takes out all pairs if `ingest` succeeds with them, as the thread that has locked the share.
    pub(super) fn take<E>(&self, ingest: impl FnOnce(&[IpPair]) -> Result<(), E>) -> Result<(), E> {
        let (taken, next) = (self.taken.load(Relaxed), self.next.load(Acquire));
        if taken == next {
            return Ok(());
        }
        let mut pairs = [IpPair::default(); ROOM];
        for (number, pair) in (taken..next).zip(&mut pairs) {
            *pair = transmute!(self.places[number as usize % ROOM].load(Relaxed));
        }
        ingest(&pairs[..(next - taken) as usize])?;
        self.taken.store(next, Release);
        Ok(())
    }

    /// Returns where the room ends, as the thread that has locked the share.
    pub(super) fn end(&self) -> FewEnd {
        FewEnd(self.taken.load(Relaxed) + ROOM as u64)
    }

    /// Returns whether all pairs of calls that returned before were taken out and ingested.
    pub(super) fn is_empty(&self) -> bool {
        // In this order: more pairs may come, and be taken out, between the two.
        let taken = self.taken.load(Acquire);
        taken == self.next.load(Acquire)
    }
}
