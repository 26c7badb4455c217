//! [`Feed`]: ingestion for a thread that receives packets while another thread closes slices.
//!
//! Each feed shares a [`FeedSlot`] with the closing thread. A slot has the locks `share` and `buffer`. `share` contains
//! a share of the backend (an [`Arc`]) while no slice is being closed. A feed locks `share` while it ingests. `buffer`
//! contains the pairs that arrive during a close, with their times. IPv4 pairs of short calls are stored in
//! [`FewPairs`](few::FewPairs) until they fill a batch. `FewPairs` has a separate lock for the thread that ingests
//! these pairs. [`LentBackend`](lent::LentBackend) contains the slots of all feeds, and the [`RunningSlice`], which it
//! shares with the feeds.
//!
//! ```text
//!            wanted: set by the closer, or seen by a feed that must wait
//!   Open ------------------------------------------------------------> Closed
//!    |  ^                                                                |
//!    |  +------------- the closer has aged the recorders ----------------+
//!    +--> Ended: the detector was dropped, or a close panicked     <-----+
//!         (the next close opens the slot again; a panic of the caller's code does not end it)
//! ```
//!
//! A close has these steps:
//! 1. The closer ingests the waiting pairs (from short calls) and the buffered pairs of all feeds, while the feeds
//!    continue to ingest. It writes the number of the next slice to each `buffer`.
//! 2. The closer sets `wanted` in all slots. A feed checks `wanted` before it locks `share`, and appends to `buffer`
//!    while `wanted` is set. A feed divides the pairs of a call into pieces, and the closer waits only for the current
//!    piece of each feed. With each piece, the feed ingests at most [`PAIRS_PER_FEED_CALL`] new pairs, and up to
//!    the same number of buffered pairs of each type.
//! 3. The closer takes back the shares of all slots, so that only its own is left. `Arc::get_mut` then returns the
//!    backend.
//! 4. After its work, the closer lends the shares again. It does not access `buffer`.
//!
//! Buffered pairs are ingested by later calls to the feed and when the feed is dropped, up to [`PAIRS_PER_FEED_CALL`]
//! pairs of each type at a time. Step 1 of the next close ingests all pairs that are still buffered. A thread that
//! reads the recorders between closes also ingests all waiting and buffered pairs
//! ([`settled`](lent::LentBackend::settled)).
//!
//! Invariants:
//! - While a close has the backend, no slot is open and only one reference to the backend exists.
//! - After step 3, the recorders contain the pairs of all calls that returned before the close started. Either these
//!   calls or step 1 ingested the pairs.
//! - Pairs buffered during a close are ingested after it, at the latest by step 1 of the next close. From the end of
//!   the close until then, the slice whose number step 1 wrote is running. The age of pairs with a slice number is
//!   determined when the pairs are ingested.
//! - A call that must not wait acquires only free locks, and never waits for a turn.
//! - Waits are short. If `buffer` is full, a call that may wait waits until the close ends. The call then has its
//!   turn: the next close takes the share back only after the call has ingested its piece.
//! - `buffer` is locked by the thread that appends to it or ingests from it. A feed whose slot is open skips pairs that
//!   another thread is ingesting.
//! - `wanted` is a hint. A feed that reads an outdated value of `wanted` either finds its slot closed, or buffers pairs
//!   that it could have ingested. These pairs are ingested like all other buffered pairs.

mod buffer;
mod few;
pub(crate) mod lent;
mod lock;
mod running;
mod slot;
/// Locks and atomic numbers, which a model checker replaces in a test of `few` and `lock`.
mod sync {
    pub(super) use std::sync::atomic::AtomicU64;
    pub(super) use std::sync::{Mutex, MutexGuard};
}

use std::fmt;
use std::sync::Arc;
use std::thread;

use srlg_core::{BATCH, IpPair, Ipv4Pair};

use crate::backend::Pairs;
use crate::error::Error;
use crate::ingest::pairs::{Pair, PairSlice};
use few::{FewEnd, FewPairs};
pub use running::{Arrival, Taken};
use running::{RunningSlice, Time};
use slot::{FeedSlot, FeedState, Share};

/// Maximum number of new pairs, and of buffered pairs of each type, that a feed ingests while it holds the lock
/// `share`.
///
/// A close may have to wait for these pairs, which takes a few tenths of a millisecond.
const PAIRS_PER_FEED_CALL: usize = 1 << 12;

/// Maximum number of pairs in a short call. Pairs of longer calls do not wait in the feed, because locking takes only a
/// small part of such a call.
const PAIRS_OF_SHORT_CALLS: usize = 16;

/// A handle through which one thread ingests pairs while the detector exists.
///
/// See [`SlidingDetector::feed`](crate::SlidingDetector::feed).
///
/// When a feed is dropped, its buffered pairs are ingested, so no pair is lost. If a slice is being closed at that
/// moment, the pairs are ingested before the next slice closes or a query is answered.
pub struct Feed {
    slot: Arc<FeedSlot>,
    running: Arc<RunningSlice>,
    known: Known,
}

/// Values that a feed stores about its slot, so that it needs no lock to read them.
struct Known {
    /// Whether the buffer may contain pairs.
    may_keep: bool,
    few_end: FewEnd,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("slice", &self.slice()).finish_non_exhaustive()
    }
}

impl Feed {
    fn new(slot: Arc<FeedSlot>, running: Arc<RunningSlice>) -> Self {
        let known = Known { may_keep: false, few_end: FewPairs::<BATCH>::FIRST_END };
        Self { slot, running, known }
    }

    /// Returns the size, in bytes, of a feed's buffer for up to `capacity` pairs of each type.
    ///
    /// The system provides physical memory only for the part that is used. A size that does not fit into a `usize` is
    /// returned as `usize::MAX`.
    #[must_use]
    pub const fn memory_bytes(capacity: usize) -> usize {
        let run = size_of::<(Time, usize)>();
        capacity.saturating_mul(size_of::<Ipv4Pair>() + size_of::<IpPair>() + 2 * run)
    }

    /// Records a contact in the running slice for each of `pairs`, like
    /// [`SlidingDetector::ingest`](crate::SlidingDetector::ingest).
    ///
    /// While another thread closes a slice, pairs are buffered for the next slice. If the buffer is full, the call
    /// blocks until the slice is closed. After the close, each call also ingests some of the buffered pairs.
    ///
    /// A call may pass a single pair. IPv4 pairs from calls that pass up to 16 pairs wait in the feed, and up to 64 of
    /// these pairs are ingested together. The waiting pairs are ingested before a close or a query starts, and when the
    /// feed is dropped.
    ///
    /// # Errors
    /// Returns [`Error::Ipv6InPaper`] if the pairs are `IpPair`s and the detector uses the paper's scheme. Returns
    /// [`Error::DetectorDropped`] if the detector was dropped. Returns a device error if a GPU fails, perhaps while it
    /// processes pairs of earlier calls.
    pub fn ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<(), Error> {
        if self.append_few(pairs) {
            return Ok(());
        }
        self.check::<P>(pairs)?;
        let mut pieces = pairs.chunks(PAIRS_PER_FEED_CALL);
        pieces.try_for_each(|pairs| self.put(Time::Running, pairs).map(drop))
    }

    /// Records a contact in slice number `slice` for each of `pairs`. Returns the position of that slice.
    ///
    /// The number is absolute, so a close just before or during the call does not move the contacts to a different
    /// slice.
    ///
    /// [`Late`](Arrival::Late) pairs are recorded as in
    /// [`SlidingDetector::ingest_late`](crate::SlidingDetector::ingest_late). While a slice is being closed, its pairs
    /// are one slice late, and pairs of the following slice are [`Running`](Arrival::Running). Late and running pairs
    /// are then buffered as in [`ingest`](Self::ingest), and the call blocks if the buffer is full.
    ///
    /// If a slice closes during a call that passes many pairs, the position changes, and the call returns the last
    /// position. Once the position is [`TooLate`](Arrival::TooLate), the remaining pairs are not ingested.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::ingest::Arrival;
    /// # use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    /// let mut detector = SlidingDetector::new(Config { window: 60, ..Config::default() }, Device::Cpu)?;
    /// detector.skip_to(1000)?;
    /// let mut feed = detector.feed(1 << 16)?;
    /// let pairs: Vec<_> = (0..5000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    /// assert_eq!(feed.ingest_at(998, &pairs)?, Arrival::Late { slices: 2 });
    /// assert_eq!(feed.ingest_at(1000, &pairs)?, Arrival::Running);
    /// assert_eq!(feed.ingest_at(940, &pairs)?, Arrival::TooLate); // of 60 slices, 941 is the oldest
    /// assert_eq!(feed.ingest_at(1001, &pairs)?, Arrival::Future); // ingest them again when slice 1001 is running
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ingest`](Self::ingest).
    pub fn ingest_at<P: Pair>(&mut self, slice: u64, pairs: &[P]) -> Result<Arrival, Error> {
        self.check::<P>(pairs)?;
        let mut rest = pairs;
        loop {
            let (piece, later) = rest.split_at(rest.len().min(PAIRS_PER_FEED_CALL));
            let arrival = self.put(Time::Slice(slice), piece)?;
            if later.is_empty() || !arrival.is_ingested() {
                return Ok(arrival);
            }
            rest = later;
        }
    }

    /// Works like [`ingest`](Self::ingest), but ingests only as many of `pairs` as is possible without waiting. Returns
    /// how many were taken.
    ///
    /// During a close, pairs are left over if the buffer is full or another thread is ingesting from it. The caller can
    /// drop and count the remaining pairs, `pairs[taken..]`, or pass them again. On a GPU, the call may wait for pairs
    /// that are being copied.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::ingest::Taken;
    /// # use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    /// # let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    /// # let mut feed = detector.feed(1 << 16)?;
    /// # let pairs = [Ipv4Pair { inside: 1, peer: 2 }; 10];
    /// let mut dropped = 0;
    /// let Taken(taken) = feed.try_ingest(&pairs)?;
    /// dropped += pairs.len() - taken;
    /// assert_eq!(dropped, 0); // no slice is being closed
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ingest`](Self::ingest). After an error, some pairs may have been ingested. It is safe to
    /// pass all pairs again.
    pub fn try_ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<Taken, Error> {
        if self.append_few(pairs) {
            return Ok(Taken(pairs.len()));
        }
        self.try_all(Time::Running, pairs).map(|(_, taken)| Taken(taken))
    }

    /// Works like [`ingest_at`](Self::ingest_at), but ingests only as many of `pairs` as is possible without waiting.
    ///
    /// Returns the position of slice number `slice`, and how many pairs were taken.
    ///
    /// # Errors
    /// Returns the errors of [`try_ingest`](Self::try_ingest).
    pub fn try_ingest_at<P: Pair>(
        &mut self,
        slice: u64,
        pairs: &[P],
    ) -> Result<(Arrival, Taken), Error> {
        self.try_all(Time::Slice(slice), pairs).map(|(arrival, taken)| (arrival, Taken(taken)))
    }

    /// Returns the number of the running slice without locking. During a close, this is the slice that is being closed.
    ///
    /// The value may be outdated when the caller uses it. [`ingest_at`](Self::ingest_at) handles that case correctly.
    #[must_use]
    #[inline]
    pub fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// Stores the pairs of a short call for later ingestion. Returns false if they were not stored.
    #[inline]
    fn append_few<P: Pair>(&self, pairs: &[P]) -> bool {
        let Self { slot, known, .. } = self;
        match P::slice(pairs) {
            PairSlice::V4(pairs) if pairs.len() <= PAIRS_OF_SHORT_CALLS && !known.may_keep => {
                slot.append_few(pairs, &known.few_end)
            }
            _ => false,
        }
    }

    // This check comes first, because a buffered pair that cannot be ingested would make every later query fail.
    fn check<P: Pair>(&self, pairs: &[P]) -> Result<(), Error> {
        P::slice(pairs).family().check(self.running.params())
    }

    fn try_all<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<(Arrival, usize), Error> {
        self.check::<P>(pairs)?;
        let mut taken = 0;
        loop {
            let rest = &pairs[taken..];
            let piece = &rest[..rest.len().min(PAIRS_PER_FEED_CALL)];
            let (arrival, count) = self.try_put(time, piece)?;
            taken += count;
            if count < piece.len() || taken == pairs.len() {
                return Ok((arrival, taken));
            }
        }
    }

    /// Ingests or buffers `pairs`. Waits if the buffer is full.
    fn put<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<Arrival, Error> {
        let Self { slot, running, known } = self;
        if let Some(share) = slot.enter() {
            let done = scan(slot, running, &share, known, time, pairs);
            drop(share);
            if slot.is_wanted() {
                // The closer waits for this call to finish. If there are few cores, the closer also waits for this
                // core.
                thread::yield_now();
            }
            return done;
        }
        let (arrival, kept) = slot.buffer().keep(running, time, pairs);
        known.may_keep |= kept > 0;
        match &pairs[kept..] {
            rest if !rest.is_empty() && arrival.is_ingested() => {
                scan(slot, running, &slot.wait(), known, time, rest)
            }
            _ => Ok(arrival),
        }
    }

    /// Ingests or buffers as many of `pairs` as possible without waiting. Returns the position of their slice and the
    /// number of pairs that were ingested or buffered.
    fn try_put<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<(Arrival, usize), Error> {
        let Self { slot, running, known } = self;
        if let Some(share) = slot.enter() {
            let arrival = scan(slot, running, &share, known, time, pairs)?;
            return Ok((arrival, if arrival.is_ingested() { pairs.len() } else { 0 }));
        }
        let (arrival, kept) = match slot.try_buffer() {
            Some(mut buffer) => buffer.keep(running, time, pairs),
            None => (running.arrival(time, running.slice()), 0),
        };
        known.may_keep |= kept > 0;
        Ok((arrival, kept))
    }
}

/// Ingests the waiting pairs of short calls and some pairs from the buffer of `slot`. Also ingests `pairs` if their
/// `time` is in the window.
fn scan<P: Pair>(
    slot: &FeedSlot,
    running: &RunningSlice,
    share: &Share,
    known: &mut Known,
    time: Time,
    pairs: &[P],
) -> Result<Arrival, Error> {
    let FeedState::Open(backend) = &share.state else { return Err(Error::DetectorDropped) };
    slot.ingest_few(&**backend, &mut known.few_end)?;
    if known.may_keep {
        known.may_keep = match slot.try_buffer() {
            Some(mut buffer) => {
                buffer.hand_in(&**backend, running, PAIRS_PER_FEED_CALL)?;
                !buffer.is_empty()
            }
            None => false, // Another thread is ingesting all of them.
        };
    }
    let arrival = running.arrival(time, running.slice());
    if arrival.is_ingested() {
        backend.scan(Pairs::Plain(P::slice(pairs)), running.ages(time))?;
    }
    Ok(arrival)
}

impl Drop for Feed {
    // Pairs may remain in the buffer because a slice is being closed or the device fails. The next thread that reads
    // the recorders ingests them and receives the error.
    fn drop(&mut self) {
        let Self { slot, running, known } = self;
        let nothing: &[Ipv4Pair] = &[];
        while !slot.is_wanted()
            && scan(slot, running, &slot.share(), known, Time::Running, nothing).is_ok()
            && known.may_keep
        {}
    }
}

#[cfg(test)]
mod tests;
