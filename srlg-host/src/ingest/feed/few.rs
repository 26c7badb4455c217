//! [`FewPairs`]: IPv4 pairs of the short calls of one feed, which wait for one call of the backend.
//!
//! The feed alone appends, without a lock. It ingests all that wait when there is no room, when another slice runs, and when
//! it is dropped. Before that, each thread that closes a slice or reads the recorders ingests a copy.
//!
//! Pairs are numbered in the order in which they came; number n is in place `n % ROOM`. All pairs that wait are of `slice`, so
//! that a pair which both sides ingest is touched twice for one slice, which is the same as once.
//!
//! A copy is made while the feed may go on. It is made again if another slice runs meanwhile, so that all its pairs are of one slice.
//! It has every pair of a call that returned before, unless the feed has ingested that pair. A place that the feed has filled anew
//! meanwhile holds a newer pair of the same slice.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

use srlg_core::{BATCH, IpPair};

use super::running::{RunningSlice, Time};
use crate::backend::{Backend, Pairs};
use crate::error::Error;
use crate::ingest::pairs::Sealed as Pair;

/// Pairs that may wait.
pub(super) const ROOM: usize = BATCH;

/// The pairs that wait, and their numbers.
pub(super) struct FewPairs {
    /// The slice of all pairs that wait.
    slice: AtomicU64,
    /// The number of the next pair.
    next: AtomicU64,
    /// Pairs of lower numbers were ingested by the feed.
    ingested: AtomicU64,
    /// Pairs of lower numbers were ingested by other threads, one of which at a time ingests a copy.
    copied: AtomicU64,
    pairs: [AtomicU64; ROOM],
}

/// A copy of the pairs that wait.
pub(super) struct FewCopy {
    pub(super) time: Time,
    pairs: [IpPair; ROOM],
    count: usize,
    /// The number of the next pair when the copy was made.
    next: u64,
}

impl FewPairs {
    /// No pairs.
    pub(super) fn new() -> Self {
        let [slice, next, ingested, copied] = [const { AtomicU64::new(0) }; 4];
        Self { slice, next, ingested, copied, pairs: [const { AtomicU64::new(0) }; ROOM] }
    }

    /// Whether `count` pairs of `slice` have room, as the feed asks.
    #[inline]
    pub(super) fn has_room(&self, slice: u64, count: usize) -> bool {
        let waiting = (self.next.load(Relaxed) - self.ingested.load(Relaxed)) as usize;
        waiting == 0 || slice == self.slice.load(Relaxed) && count <= ROOM - waiting
    }

    /// Appends `pairs` of `slice`, which have room, as the feed.
    #[inline]
    pub(super) fn append(&self, slice: u64, pairs: &[IpPair]) {
        let next = self.next.load(Relaxed);
        // A copy that sees this slice sees what was ingested before, and does not take those pairs; one that sees a pair of it in a
        // place sees this slice.
        self.slice.store(slice, Release);
        fence(Release);
        for (number, &pair) in (next..).zip(pairs) {
            self.pairs[number as usize % ROOM].store(zerocopy::transmute!(pair), Relaxed);
        }
        self.next.store(next + pairs.len() as u64, Release);
    }

    /// Returns a copy of the pairs that neither the feed nor another thread has ingested, if there are any.
    pub(super) fn copy(&self) -> Option<FewCopy> {
        loop {
            let slice = self.slice.load(Acquire);
            let copy = self.copy_of(slice);
            fence(Acquire);
            if self.slice.load(Relaxed) == slice {
                return copy;
            }
        }
    }

    /// Returns a copy of the pairs, which are of `slice` unless another one is found to run afterwards.
    fn copy_of(&self, slice: u64) -> Option<FewCopy> {
        let first = self.ingested.load(Acquire).max(self.copied.load(Acquire));
        let next = self.next.load(Acquire);
        // The feed has ingested whatever is no longer in its place.
        let count = next.saturating_sub(first).min(ROOM as u64);
        let mut pairs = [IpPair::default(); ROOM];
        for (number, pair) in (next - count..next).zip(&mut pairs) {
            *pair = zerocopy::transmute!(self.pairs[number as usize % ROOM].load(Relaxed));
        }
        let copy = FewCopy { time: Time::Slice(slice), pairs, count: count as usize, next };
        (count > 0).then_some(copy)
    }

    /// Notes, as the feed, that all pairs were ingested.
    pub(super) fn clear(&self) {
        self.ingested.store(self.next.load(Relaxed), Release);
    }

    /// Notes that this thread, which is not the feed's, has ingested `copy`.
    pub(super) fn set_copied(&self, copy: &FewCopy) {
        self.copied.store(copy.next, Release);
    }
}

impl FewCopy {
    pub(super) fn pairs(&self) -> &[IpPair] {
        &self.pairs[..self.count]
    }

    /// Ingests the pairs, if their slice is in the window.
    pub(super) fn hand_in(
        &self,
        backend: &dyn Backend,
        running: &RunningSlice,
    ) -> Result<(), Error> {
        if running.arrival(self.time, running.slice()).is_ingested() {
            backend.scan(Pairs::Plain(Pair::slice(self.pairs())), running.ages(self.time))?;
        }
        Ok(())
    }
}
