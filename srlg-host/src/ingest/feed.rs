//! [`Feed`]: the way in for a thread that receives packets while another closes slices.
//!
//! Feeds and the closing thread meet in a [`FeedSlot`] per feed, which has two locks.
//! `share` holds a share of the backend (an [`Arc`]) while no slice is being closed; a feed locks it while it ingests.
//! `buffer` holds the pairs that came during a close, and when they were in contact. IPv4 pairs of short calls wait beside
//! both until they make a batch ([`FewPairs`](few::FewPairs)), which has a lock of its own for the threads that ingest them.
//! [`LentBackend`](lent::LentBackend) has the slots of all feeds, and all know the [`RunningSlice`].
//!
//! ```text
//!            wanted: set by the closer, or seen by a feed that must wait
//!   Open ------------------------------------------------------------> Closed
//!    |  ^                                                                |
//!    |  +------------- the closer has aged the recorders ----------------+
//!    +--> Ended: the detector was dropped, or a close panicked     <-----+
//!         (a close after that one opens it again; a panic of the caller's code ends nothing)
//! ```
//!
//! A close, in this order:
//! 1. The closer ingests the waiting and the buffered pairs of all feeds, while feeds continue, and notes in each `buffer`
//!    which slice will run afterwards.
//! 2. It sets `wanted` in all slots. A feed checks `wanted` before it locks `share`, and appends to `buffer` while it is
//!    set. So the closer waits only for the call that is under way: for [`PAIRS_PER_FEED_CALL`] pairs, and the same number
//!    from the buffer.
//! 3. It takes all shares back, until its own is the only one: `Arc::get_mut` yields the backend.
//! 4. After its work it lends the shares again. It does not touch `buffer`.
//!
//! Buffered pairs are ingested by the feed's own calls, up to [`PAIRS_PER_FEED_CALL`] with each, or when the feed is
//! dropped; by step 1, for feeds that are idle; or by a thread that reads the recorders between closes
//! ([`settled`](lent::LentBackend::settled)).
//!
//! Invariants:
//! - While a close has the backend no slot is open, and there is one reference to the backend.
//! - Pairs of a call that returned before a close began are in the recorders when step 3 is over: either the call
//!   ingested them, or they waited or were in `buffer` before step 1. Pairs that are buffered during a close are ingested after it,
//!   while the slice runs that step 1 noted: step 1 of the next close is the last occasion. Pairs with a slice of their own
//!   are placed by its number, and are ingested as late as they are at that moment.
//! - A feed that must not wait takes only locks that are free, and never has a turn.
//! - Waits are short. Any other feed waits when `buffer` is full, for one close: the next one takes the share of a waiting
//!   feed only after the feed has had its turn. The closer waits for calls that are under way. `buffer` is locked to append,
//!   and by the thread that ingests from it; a feed whose slot is open skips pairs that another thread ingests.
//! - `wanted` is a hint. A feed that reads an old value finds `Closed`, or buffers pairs that it could have ingested; they
//!   are ingested like all others in the buffer.

mod buffer;
mod few;
pub(crate) mod lent;
mod running;
mod slot;

use std::fmt;
use std::sync::Arc;
use std::thread;

use srlg_core::{Ip6Pair, IpPair};

use crate::backend::Pairs;
use crate::error::Error;
use crate::ingest::pairs::{Pair, PairSlice};
use few::FewEnd;
pub use running::Arrival;
use running::{RunningSlice, Time};
use slot::{FeedSlot, FeedState, Share};

/// Pairs that are ingested while a slot is locked, and as many from the buffer: some tenths of a
/// millisecond, for which a close may have to wait.
const PAIRS_PER_FEED_CALL: usize = 1 << 12;

/// Pairs of a call that may wait: in longer calls the locks are a small part of the time.
const PAIRS_OF_SHORT_CALLS: usize = 16;

/// A handle by which one thread ingests pairs, as long as the detector is there; see
/// [`SlidingDetector::feed`](crate::SlidingDetector::feed).
///
/// Dropping a feed loses no pair: its buffer is ingested then. If a slice is being closed at that moment, it is ingested
/// before the next slice closes or a query is answered.
pub struct Feed {
    slot: Arc<FeedSlot>,
    running: Arc<RunningSlice>,
    known: Known,
}

/// What a feed knows of its slot without a lock.
struct Known {
    /// Whether some pairs may be in the buffer.
    may_keep: bool,
    /// Where the room for pairs of short calls ends.
    few_end: FewEnd,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("slice", &self.slice()).finish_non_exhaustive()
    }
}

impl Feed {
    fn new(slot: Arc<FeedSlot>, running: Arc<RunningSlice>) -> Self {
        let known = Known { may_keep: false, few_end: FewEnd::FIRST };
        Self { slot, running, known }
    }

    /// Returns the bytes that a feed takes which keeps up to `capacity` pairs of each type during a close. The system gives memory
    /// to what is used of it.
    #[must_use]
    pub const fn memory_bytes(capacity: usize) -> usize {
        let run = size_of::<(Time, usize)>();
        capacity * (size_of::<IpPair>() + size_of::<Ip6Pair>() + 2 * run)
    }

    /// Records that each of `pairs` was in contact in the running slice, as
    /// [`SlidingDetector::ingest`](crate::SlidingDetector::ingest) does.
    ///
    /// While another thread closes a slice, pairs are buffered for the next slice; when the buffer
    /// is full, the call blocks until the slice is closed. Later calls ingest what was buffered,
    /// some of it with each.
    ///
    /// A call may have a single pair. IPv4 pairs of calls of up to 16 wait in the feed, and 64 of them are ingested together.
    /// Closes, queries and the other readers of the detector ingest the waiting pairs first, and so does dropping the feed.
    ///
    /// # Errors
    /// [`Error::Ip6InPaper`], [`Error::DetectorDropped`], and what the device reports, perhaps about pairs of earlier calls; the
    /// CPU reports nothing else.
    pub fn ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<(), Error> {
        if self.append_few(pairs) {
            return Ok(());
        }
        self.check::<P>(pairs)?;
        let mut pieces = pairs.chunks(PAIRS_PER_FEED_CALL);
        pieces.try_for_each(|pairs| self.put(Time::Running, pairs).map(drop))
    }

    /// Records that each of `pairs` was in contact in the slice of number `slice`, and tells where that
    /// is. As the number is absolute, a close just before or during the call shifts nothing.
    ///
    /// Pairs that are [`Late`](Arrival::Late) are recorded as
    /// [`SlidingDetector::ingest_late`](crate::SlidingDetector::ingest_late) does. Those of a slice that
    /// is being closed are late by one, and those of the next are [`Running`](Arrival::Running): both are
    /// buffered as in [`ingest`](Self::ingest), and the call blocks where that does.
    ///
    /// Where a close comes in the midst of many pairs, the answer is that of the last; nothing more is
    /// ingested of pairs that have become [`TooLate`](Arrival::TooLate).
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::ingest::Arrival;
    /// # use srlg::{Config, Device, IpPair, SlidingDetector};
    /// let mut detector = SlidingDetector::new(Config { window: 60, ..Config::default() }, Device::Cpu)?;
    /// detector.skip_to(1000)?;
    /// let mut feed = detector.feed(1 << 16)?;
    /// let pairs: Vec<_> = (0..5000).map(|opposite| IpPair { inside: 7, opposite }).collect();
    /// assert_eq!(feed.ingest_at(998, &pairs)?, Arrival::Late { slices: 2 });
    /// assert_eq!(feed.ingest_at(1000, &pairs)?, Arrival::Running);
    /// assert_eq!(feed.ingest_at(940, &pairs)?, Arrival::TooLate); // of 60 slices, 941 is the oldest
    /// assert_eq!(feed.ingest_at(1001, &pairs)?, Arrival::Future); // give them again when it runs
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ingest`](Self::ingest).
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

    /// Ingests as many of `pairs` as it can without waiting, as [`ingest`](Self::ingest) does; returns
    /// how many: all of them, unless the buffer is full during a close, or at that moment another
    /// thread ingests what is in it.
    ///
    /// The rest, `pairs[taken..]`, is the caller's, to drop and count or to give again. On a GPU the
    /// call may wait for pairs on their way to it.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, IpPair, SlidingDetector};
    /// # let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    /// # let mut feed = detector.feed(1 << 16)?;
    /// # let pairs = [IpPair { inside: 1, opposite: 2 }; 10];
    /// let mut dropped = 0;
    /// let taken = feed.try_ingest(&pairs)?;
    /// dropped += pairs.len() - taken;
    /// assert_eq!(dropped, 0); // no slice is being closed
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ingest`](Self::ingest). Some pairs may have been ingested before; to give all of them again
    /// does no harm.
    pub fn try_ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<usize, Error> {
        if self.append_few(pairs) {
            return Ok(pairs.len());
        }
        self.try_all(Time::Running, pairs).map(|(_, taken)| taken)
    }

    /// Ingests as many of `pairs`, of the slice of number `slice`, as it can without waiting, as
    /// [`ingest_at`](Self::ingest_at) does; tells where they belong, and how many it took.
    ///
    /// # Errors
    /// As [`try_ingest`](Self::try_ingest).
    pub fn try_ingest_at<P: Pair>(
        &mut self,
        slice: u64,
        pairs: &[P],
    ) -> Result<(Arrival, usize), Error> {
        self.try_all(Time::Slice(slice), pairs)
    }

    /// Returns the number of the running slice, without any lock; while a slice is being closed, its
    /// number still. Another may run when the caller looks at it: [`ingest_at`](Self::ingest_at) does not mind.
    #[must_use]
    #[inline]
    pub fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// Lets the pairs of a short call wait. Returns whether it did.
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

    // First of all: a buffered pair that cannot be ingested would fail every later query.
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

    /// Ingests `pairs`, of `time`, or buffers them; waits if there is no room for all of them.
    fn put<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<Arrival, Error> {
        let Self { slot, running, known } = self;
        if let Some(share) = slot.enter() {
            let done = scan(slot, running, &share, known, time, pairs);
            drop(share);
            if slot.is_wanted() {
                // The closer waits for this call: where cores are few, for this core, too.
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

    /// Ingests or buffers as many of `pairs` as it can without waiting. Returns how many.
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

/// Ingests what waits of short calls, some of the buffer of `slot`, and `pairs`, of `time`, if they belong to the window.
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
            None => false, // another thread ingests all of it
        };
    }
    let arrival = running.arrival(time, running.slice());
    if arrival.is_ingested() {
        backend.scan(Pairs::Plain(P::slice(pairs)), running.ages(time))?;
    }
    Ok(arrival)
}

impl Drop for Feed {
    // Pairs that stay in the buffer, because a slice is being closed or the device fails, are ingested by the thread
    // that next reads the recorders, which gets the error as well.
    fn drop(&mut self) {
        let Self { slot, running, known } = self;
        let nothing: &[IpPair] = &[];
        while !slot.is_wanted()
            && scan(slot, running, &slot.share(), known, Time::Running, nothing).is_ok()
            && known.may_keep
        {}
    }
}

#[cfg(test)]
mod tests;
