//! [`Feed`]: the way in for a thread that receives packets while another closes slices.
//!
//! Feeds and the closing thread meet in a [`FeedSlot`] per feed, which has two locks.
//! `lent` holds a share of the backend (an [`Arc`]) while no slice is being closed, and a feed locks
//! it while it ingests; `kept` holds the pairs that came during a close, and when they were in contact.
//! [`LentBackend`](lent::LentBackend) has the slots of all feeds, and all know the [`Running`] slice.
//!
//! ```text
//!            wanted: set by the closer, or seen by a feed that must wait
//!   Open ------------------------------------------------------------> Closed
//!    |  ^                                                                |
//!    |  +------------- the closer has aged the recorders ----------------+
//!    +--> Ended: the detector was dropped, or a close panicked     <-----+
//!         (a close after that one opens it again)
//! ```
//!
//! A close, in this order:
//! 1. The closer ingests what any feed still keeps, while feeds go on, and leaves word in `kept`
//!    which slice will run afterwards.
//! 2. It sets `wanted` in all slots. A feed looks at that before it locks `lent`, and while it is
//!    set appends to `kept` instead, so the closer waits for the call that is under way and for no
//!    other: [`PAIRS_PER_FEED_CALL`] pairs, and as many that were kept.
//! 3. It takes all shares back, until its own is the only one: `Arc::get_mut` yields the backend.
//! 4. After its work it lends the shares again. It does not touch `kept`.
//!
//! Kept pairs go in by the feed's own calls, up to [`PAIRS_PER_FEED_CALL`] with each, or when the
//! feed is dropped; or in step 1, for feeds that are idle, which nobody else waits for; or by
//! a thread that reads the recorders between closes ([`settled`](lent::LentBackend::settled)).
//!
//! Invariants:
//! - While a close has the backend no slot is open, and there is one reference to the backend.
//! - Pairs of a call that returned before a close began are in the recorders when step 3 is over:
//!   either the call ingested them, or they were in `kept` before step 1. Pairs that are kept
//!   during a close are ingested after it, while the slice runs that step 1 left word of: step 1 of the
//!   next close is the last occasion. What has a slice of its own is told by that slice to be
//!   running, late or refused, and is ingested as late as it is when it is ingested.
//! - A feed asked not to wait takes no lock but those that are free, and never has a turn.
//! - Nobody waits long. Any other feed waits when `kept` is full, for one close: the next one takes the
//!   share of a waiting feed only after the feed has had its turn. The closer waits for calls that
//!   are under way. `kept` is locked to append, and by the thread that ingests from it; a feed
//!   whose slot is open skips what another thread ingests.
//! - `wanted` is a hint. A feed that reads an old value finds `Closed`, or keeps pairs that could
//!   have gone in; they are ingested like all that were kept.

mod arrival;
mod door;
mod kept;
pub(crate) mod lent;
mod running;
mod slot;

use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::ingest::pairs::Pair;
pub use arrival::Arrival;
use door::Door;
use running::{Running, Time};
use slot::{FeedSlot, PAIRS_PER_FEED_CALL};

/// Ingests pairs from one thread, for as long as the detector is there; see
/// [`SlidingDetector::feed`](crate::SlidingDetector::feed).
///
/// Dropping a feed loses no pair: what it buffered, of whichever slice, is ingested then, or, where a
/// slice is being closed at that moment, before the next slice closes or a query is answered.
pub struct Feed {
    door: Door,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("slice", &self.slice()).finish_non_exhaustive()
    }
}

impl Feed {
    fn new(slot: Arc<FeedSlot>, running: Arc<Running>) -> Self {
        Self { door: Door::new(slot, running) }
    }

    /// Records that each of `pairs` was in contact in the running slice, as
    /// [`SlidingDetector::ingest`](crate::SlidingDetector::ingest) does.
    ///
    /// While another thread closes a slice, pairs are buffered for the next slice; when the buffer
    /// is full, the call blocks until the slice is closed. Later calls ingest what was buffered,
    /// some of it with each.
    ///
    /// # Errors
    /// [`Error::Ip6InPaper`], [`Error::DetectorDropped`], and what the device reports; the CPU reports nothing else.
    pub fn ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<(), Error> {
        self.check::<P>(pairs)?;
        let mut pieces = pairs.chunks(PAIRS_PER_FEED_CALL);
        pieces.try_for_each(|pairs| self.door.put(Time::Running, pairs).map(drop))
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
            let arrival = self.door.put(Time::Slice(slice), piece)?;
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
        self.door.running().slice()
    }

    // At the door: what was kept and cannot be ingested would stand in the way of all later questions.
    fn check<P: Pair>(&self, pairs: &[P]) -> Result<(), Error> {
        P::slice(pairs).family().check(self.door.running().params())
    }

    fn try_all<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<(Arrival, usize), Error> {
        self.check::<P>(pairs)?;
        let mut taken = 0;
        loop {
            let rest = &pairs[taken..];
            let piece = &rest[..rest.len().min(PAIRS_PER_FEED_CALL)];
            let (arrival, count) = self.door.try_put(time, piece)?;
            taken += count;
            if count < piece.len() || taken == pairs.len() {
                return Ok((arrival, taken));
            }
        }
    }
}

#[cfg(test)]
mod tests;
