//! [`FewPairs`]: IPv4 pairs of the short calls of one feed, which wait until there are enough for one call of the backend.
//!
//! The feed alone appends, without a lock. The thread that has the lock of `taken` takes all of them out and ingests them in the
//! running slice: the feed when it has no room, a closer before it takes the shares back, or a thread that reads the recorders.
//!
//! A pair that waits belongs to no slice yet. A close takes out the pairs of all calls that returned before it began. Pairs of
//! other calls belong to the slice that runs when they are taken out.
//!
//! Invariant: pairs are numbered as they come, and number n is in place `n % ROOM`. The feed gives that place to another pair
//! only after it has read, under the lock, that the pair was taken out.

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use srlg_core::{BATCH, IpPair};
use zerocopy::transmute;

use super::slot::{lock, try_lock};

/// Pairs that can wait.
const ROOM: usize = BATCH;

/// The pairs that wait, in cache lines of their own.
#[repr(align(128))]
pub(super) struct FewPairs {
    /// The number of the next pair.
    next: AtomicU64,
    /// Pairs of lower numbers were taken out.
    taken: Mutex<u64>,
    places: [AtomicU64; ROOM],
}

/// The number of the first pair that has no room.
pub(super) struct FewEnd(u64);

impl FewEnd {
    /// Where the room ends while no pair was taken out.
    pub(super) const FIRST: Self = Self(ROOM as u64);
}

impl FewPairs {
    pub(super) fn new() -> Self {
        let places = [const { AtomicU64::new(0) }; ROOM];
        Self { next: AtomicU64::new(0), taken: Mutex::new(0), places }
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

    /// Takes out all pairs if `ingest` succeeds with them.
    pub(super) fn take<E>(&self, ingest: impl FnOnce(&[IpPair]) -> Result<(), E>) -> Result<(), E> {
        self.take_from(&mut lock(&self.taken), ingest)
    }

    /// Takes out all pairs, as the feed, unless another thread does, and moves `end` to where the room ends then.
    pub(super) fn try_take<E>(
        &self,
        end: &mut FewEnd,
        ingest: impl FnOnce(&[IpPair]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(mut taken) = try_lock(&self.taken) else { return Ok(()) };
        self.take_from(&mut taken, ingest)?;
        *end = FewEnd(*taken + ROOM as u64);
        Ok(())
    }

    fn take_from<E>(
        &self,
        taken: &mut u64,
        ingest: impl FnOnce(&[IpPair]) -> Result<(), E>,
    ) -> Result<(), E> {
        let next = self.next.load(Acquire);
        if *taken == next {
            return Ok(());
        }
        let mut pairs = [IpPair::default(); ROOM];
        for (number, pair) in (*taken..next).zip(&mut pairs) {
            *pair = transmute!(self.places[number as usize % ROOM].load(Relaxed));
        }
        ingest(&pairs[..(next - *taken) as usize])?;
        *taken = next;
        Ok(())
    }

    /// Returns whether all pairs of calls that returned before were taken out and ingested.
    pub(super) fn is_empty(&self) -> bool {
        *lock(&self.taken) == self.next.load(Acquire)
    }
}
