//! [`Door`]: how pieces of calls go in by a slot, at once or kept for later.

use std::sync::Arc;
use std::thread;

use srlg_core::IpPair;

use super::arrival::Arrival;
use super::running::{Running, Time};
use super::slot::{FeedSlot, FeedState, Lent};
use crate::backend::Pairs;
use crate::error::Error;
use crate::ingest::pairs::Pair;

/// A feed's side of its slot. Dropped, it ingests what is kept.
pub(super) struct Door {
    pub(super) slot: Arc<FeedSlot>,
    running: Arc<Running>,
    /// Whether some pairs may be kept in the slot.
    pub(super) may_keep: bool,
}

impl Door {
    pub(super) fn new(slot: Arc<FeedSlot>, running: Arc<Running>) -> Self {
        Self { slot, running, may_keep: false }
    }

    #[inline]
    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// Ingests `pairs`, of `time`, or keeps them; waits where there is no room for all of them.
    pub(super) fn put<P: Pair>(&mut self, time: Time, pairs: &[P]) -> Result<Arrival, Error> {
        let Self { slot, running, may_keep } = self;
        if let Some(lent) = slot.enter() {
            let done = scan((slot, running), &lent, may_keep, (time, pairs));
            drop(lent);
            if slot.is_wanted() {
                // The closer waits for this call: where cores are few, for this core, too.
                thread::yield_now();
            }
            return done;
        }
        let (arrival, kept) = slot.keep(running, time, pairs);
        *may_keep |= kept > 0;
        match &pairs[kept..] {
            rest if !rest.is_empty() && arrival.is_ingested() => {
                scan((slot, running), &slot.wait(), may_keep, (time, rest))
            }
            _ => Ok(arrival),
        }
    }

    /// Ingests or keeps as many of `pairs` as it can without waiting; how many.
    pub(super) fn try_put<P: Pair>(
        &mut self,
        time: Time,
        pairs: &[P],
    ) -> Result<(Arrival, usize), Error> {
        let Self { slot, running, may_keep } = self;
        if let Some(lent) = slot.enter() {
            let arrival = scan((slot, running), &lent, may_keep, (time, pairs))?;
            return Ok((arrival, if arrival.is_ingested() { pairs.len() } else { 0 }));
        }
        let busy = || (running.arrival(time, running.slice()), 0);
        let (arrival, kept) = slot.try_keep(running, time, pairs).unwrap_or_else(busy);
        *may_keep |= kept > 0;
        Ok((arrival, kept))
    }
}

/// Ingests some of what is kept in `slot`, and `pairs`, of `time`, where they belong to the window.
fn scan<P: Pair>(
    (slot, running): (&FeedSlot, &Running),
    lent: &Lent,
    may_keep: &mut bool,
    (time, pairs): (Time, &[P]),
) -> Result<Arrival, Error> {
    let FeedState::Open(backend) = &lent.state else { return Err(Error::DetectorDropped) };
    if *may_keep {
        *may_keep = slot.hand_in_some(&**backend, running)?;
    }
    let arrival = running.arrival(time, running.slice());
    if arrival.is_ingested() {
        backend.scan(Pairs::Plain(P::slice(pairs)), running.ages(time))?;
    }
    Ok(arrival)
}

impl Drop for Door {
    // What stays in the slot, since a slice is being closed or the device fails, is left to the
    // thread that next asks for the recorders: it gets the error, too.
    fn drop(&mut self) {
        let Self { slot, running, may_keep } = self;
        let nothing: (Time, &[IpPair]) = (Time::Running, &[]);
        while *may_keep
            && !slot.is_wanted()
            && scan((slot, running), &slot.lent(), may_keep, nothing).is_ok()
        {}
    }
}
