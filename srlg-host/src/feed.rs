//! [`Feed`]: the way in for a thread that receives packets while another closes slices.
//!
//! Feeds and the closing thread meet in a [`FeedSlot`] per feed, which has two locks.
//! `lent` holds a share of the backend (an [`Arc`]) while no slice is being closed, and a feed locks
//! it while it ingests; `kept` holds the pairs that came during a close.
//! [`LentBackend`](lent::LentBackend) has the slots of all feeds.
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
//! 1. The closer ingests what any feed still keeps, while feeds go on.
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
//!   during a close are ingested after it, hence of the slice that runs then: step 1 of the next
//!   close is the last occasion.
//! - Nobody waits long. A feed waits when `kept` is full, for one close: the next one takes the
//!   share of a waiting feed only after the feed has had its turn. The closer waits for calls that
//!   are under way. `kept` is locked to append, and by the thread that ingests from it; a feed
//!   whose slot is open skips what another thread ingests.
//! - `wanted` is a hint. A feed that reads an old value finds `Closed`, or keeps pairs that could
//!   have gone in; they are ingested like all that were kept.

pub(crate) mod lent;
mod slot;

use std::sync::Arc;
use std::thread;

use srlg_core::{Ages, IpPair, Params};

use crate::backend::Pairs;
use crate::error::Error;
use crate::pairs::Pair;
use slot::{FeedSlot, FeedState, Lent, PAIRS_PER_FEED_CALL};

/// Ingests pairs from one thread, for as long as the detector is there; see
/// [`SlidingDetector::feed`](crate::SlidingDetector::feed).
///
/// Dropping a feed loses no pair: what it buffered is ingested then, or, where a slice is being
/// closed at that moment, before the next slice closes.
pub struct Feed {
    slot: Arc<FeedSlot>,
    /// Whether some pairs may be kept in the slot.
    may_keep: bool,
    params: Params,
}

impl Feed {
    fn new(slot: Arc<FeedSlot>, params: Params) -> Self {
        Self { slot, may_keep: false, params }
    }

    /// Records that each pair was in contact in the running slice, as
    /// [`SlidingDetector::ingest`](crate::SlidingDetector::ingest) does.
    ///
    /// While another thread closes a slice, pairs are buffered for the next slice; when the buffer
    /// is full, the call blocks until the slice is closed. Later calls ingest what was buffered,
    /// some of it with each.
    ///
    /// # Errors
    /// [`Error::Ip6InPaper`], [`Error::DetectorDropped`], and what the device reports; the CPU reports nothing else.
    pub fn ingest<P: Pair>(&mut self, pairs: &[P]) -> Result<(), Error> {
        // Here: what was kept and cannot be ingested would stand in the way of all later questions.
        P::slice(pairs).family().check(&self.params)?;
        pairs.chunks(PAIRS_PER_FEED_CALL).try_for_each(|pairs| self.ingest_or_keep(pairs))
    }

    fn ingest_or_keep<P: Pair>(&mut self, pairs: &[P]) -> Result<(), Error> {
        let Self { slot, may_keep, .. } = self;
        if !slot.is_wanted() {
            let lent = slot.lent();
            if !matches!(lent.state, FeedState::Closed) {
                let done = scan(slot, &lent, may_keep, pairs);
                drop(lent);
                if slot.is_wanted() {
                    // The closer waits for this call: where cores are few, for this core, too.
                    thread::yield_now();
                }
                return done;
            }
        }
        let kept = slot.keep(pairs);
        *may_keep = true;
        match &pairs[kept..] {
            [] => Ok(()),
            rest => scan(slot, &slot.wait(), may_keep, rest),
        }
    }
}

/// Ingests some of what is kept in `slot`, and `pairs`.
fn scan<P: Pair>(
    slot: &FeedSlot,
    lent: &Lent,
    may_keep: &mut bool,
    pairs: &[P],
) -> Result<(), Error> {
    let FeedState::Open(backend) = &lent.state else { return Err(Error::DetectorDropped) };
    if *may_keep {
        *may_keep = slot.hand_in_some(&**backend)?;
    }
    backend.scan(Pairs::Plain(P::slice(pairs)), Ages::default())
}

impl Drop for Feed {
    // What stays in the slot, since a slice is being closed or the device fails, is left to the
    // thread that next asks for the recorders: it gets the error, too.
    fn drop(&mut self) {
        let Self { slot, may_keep, .. } = self;
        while *may_keep
            && !slot.is_wanted()
            && scan::<IpPair>(slot, &slot.lent(), may_keep, &[]).is_ok()
        {}
    }
}

#[cfg(test)]
mod tests;
