//! [`FewPairs`]: waiting IPv4 pairs from short calls to one feed.
//!
//! The pairs wait until there are enough of them for one call to the backend.
//!
//! Only the feed appends pairs, and it needs no lock. A thread that holds the lock of `taken` takes out all pairs and
//! ingests them in the running slice. This happens in the feed, in a closer before it takes the shares back, and in
//! each thread that reads the recorders.
//!
//! A waiting pair belongs to the slice that is running when the pair is taken out. Before a slice is closed, the pairs
//! of all calls that have already returned are taken out.
//!
//! Pairs are numbered in order of arrival, and pair number n is stored in `places[n % ROOM]`. The feed overwrites a
//! pair only after it has checked, under the lock, that the pair was taken out.

use std::array;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use srlg_core::{BATCH, Ipv4Pair};

use super::lock::{lock, try_lock};
use super::sync::{AtomicU64, Mutex};

/// Up to `ROOM` waiting pairs.
#[repr(align(128))]
pub(super) struct FewPairs<const ROOM: usize = BATCH> {
    next: AtomicU64,
    /// Number of pairs that have been taken out, which is also the number of the first waiting pair.
    taken: Mutex<u64>,
    places: [AtomicU64; ROOM],
}

/// The number of the first pair for which there is no room.
pub(super) struct FewEnd(u64);

impl<const ROOM: usize> FewPairs<ROOM> {
    /// The end while no pair has been taken out.
    pub(super) const FIRST_END: FewEnd = FewEnd(ROOM as u64);

    pub(super) fn new() -> Self {
        let places = array::from_fn(|_| AtomicU64::new(0));
        Self { next: AtomicU64::new(0), taken: Mutex::new(0), places }
    }

    /// Appends `pairs` and returns true if there is room for all of them before `end`. Only the feed may call this.
    #[inline]
    pub(super) fn append(&self, pairs: &[Ipv4Pair], end: &FewEnd) -> bool {
        let first = self.next.load(Relaxed);
        let next = first + pairs.len() as u64;
        let has_room = next <= end.0;
        if has_room {
            for (number, &pair) in (first..).zip(pairs) {
                self.places[number as usize % ROOM].store(packed(pair), Relaxed);
            }
            self.next.store(next, Release);
        }
        has_room
    }

    /// Passes all pairs to `ingest` and takes them out if `ingest` succeeds.
    pub(super) fn take<E>(
        &self,
        ingest: impl FnOnce(&[Ipv4Pair]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.take_from(&mut lock(&self.taken), ingest)
    }

    /// Works like [`take`](Self::take) and then updates `end`, but does nothing while another thread is taking pairs.
    ///
    /// Only the feed may call this.
    pub(super) fn try_take<E>(
        &self,
        end: &mut FewEnd,
        ingest: impl FnOnce(&[Ipv4Pair]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(mut taken) = try_lock(&self.taken) else { return Ok(()) };
        self.take_from(&mut taken, ingest)?;
        *end = FewEnd(*taken + ROOM as u64);
        Ok(())
    }

    fn take_from<E>(
        &self,
        taken: &mut u64,
        ingest: impl FnOnce(&[Ipv4Pair]) -> Result<(), E>,
    ) -> Result<(), E> {
        let next = self.next.load(Acquire);
        if *taken == next {
            return Ok(());
        }
        let mut pairs = [Ipv4Pair::default(); ROOM];
        for (number, pair) in (*taken..next).zip(&mut pairs) {
            *pair = unpacked(self.places[number as usize % ROOM].load(Relaxed));
        }
        ingest(&pairs[..(next - *taken) as usize])?;
        *taken = next;
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        *lock(&self.taken) == self.next.load(Acquire)
    }
}

/// Returns `pair` as one word, so that it is stored atomically.
fn packed(Ipv4Pair { inside, peer }: Ipv4Pair) -> u64 {
    u64::from(peer) << 32 | u64::from(inside)
}

const fn unpacked(word: u64) -> Ipv4Pair {
    Ipv4Pair { inside: word as u32, peer: (word >> 32) as u32 }
}
