//! [`Inboxes`]: the private state of each ingesting thread, so that threads do not wait for each other.
//!
//! ```text
//! ingest   note pairs that were not recently seen (RecentPairs), each family in its own lane;
//!          when a batch of 64 is noted, touch it
//! touch    finder: append touches to a list; when it is full, apply it to the recorders
//!          counter: if this is the only writer, apply the previous batch to the recorders;
//!          otherwise, append touches to buckets, and apply full buckets
//! drain    touch noted pairs, and apply the list, the previous batch and all buckets
//! ```
//!
//! Noted pairs and waiting touches count as ingested. [`Inboxes::drain`] therefore applies them before any thread reads
//! the recorders.

use std::sync::{Mutex, MutexGuard};

use srlg_core::{Ages, IpPair, Ipv4Pair};
use thread_local::ThreadLocal;

use super::arrays::{Arrays, CpuScheme};
use super::lane::{Lane, Rest, Target, ingest, ingest_alone};
use super::recent::LanePair;
use super::shards::Buckets;
use super::waiting::Waiting;

/// Maximum number of pairs that are ingested under one lock of an inbox. Ingesting this number of pairs takes a few
/// tenths of a millisecond.
const PAIRS_PER_LOCK: usize = 1 << 14;

/// One inbox for each thread that has ingested. A new thread reuses the inbox of a thread that has ended.
pub(super) struct Inboxes<S: CpuScheme> {
    inboxes: ThreadLocal<Mutex<Inbox<S>>>,
    /// Number of times the recently seen pairs have been forgotten.
    generation: u64,
}

impl<S: CpuScheme> Inboxes<S> {
    pub(super) fn new() -> Self {
        Self { inboxes: ThreadLocal::new(), generation: 0 }
    }

    pub(super) fn ingest<P: InboxPair>(&self, arrays: &Arrays<S>, pairs: &[P], ages: Ages) {
        let inbox = self.inboxes.get().unwrap_or_else(|| self.first());
        // Long calls are split, so that a thread that drains the inbox does not wait for a whole call.
        for pairs in pairs.chunks(PAIRS_PER_LOCK) {
            lock(inbox).take(arrays, pairs, ages, self.generation);
        }
    }

    /// Creates the inbox of the calling thread.
    ///
    /// This is a separate function, so that a call with one pair does not reserve stack space for an inbox.
    #[cold]
    fn first(&self) -> &Mutex<Inbox<S>> {
        self.inboxes.get_or(|| Mutex::new(Inbox::new()))
    }

    /// Applies the waiting pairs and touches of all inboxes to the recorders.
    pub(super) fn drain(&self, arrays: &Arrays<S>) {
        self.inboxes.iter().for_each(|inbox| lock(inbox).drain(arrays));
    }

    /// Makes every inbox forget its recently seen pairs. This is needed whenever the recorders are aged.
    pub(super) fn forget(&mut self) {
        self.generation += 1;
    }
}

fn lock<S: CpuScheme>(inbox: &Mutex<Inbox<S>>) -> MutexGuard<'_, Inbox<S>> {
    inbox.lock().expect("no thread panics while it holds the lock of an inbox")
}

#[repr(align(128))]
struct Inbox<S: CpuScheme> {
    lanes: Lanes,
    waiting: Waiting<S::Finder>,
    buckets: Buckets<S::Counter>,
}

pub(super) struct Lanes {
    v4: Lane<Ipv4Pair>,
    /// `None` until the first [`IpPair`] arrives.
    v6: Option<Box<Lane<IpPair>>>,
}

pub(super) trait InboxPair: LanePair {
    fn lane(lanes: &mut Lanes) -> &mut Lane<Self>;
}

impl InboxPair for Ipv4Pair {
    #[inline(always)]
    fn lane(lanes: &mut Lanes) -> &mut Lane<Self> {
        &mut lanes.v4
    }
}

impl InboxPair for IpPair {
    #[inline(always)]
    fn lane(lanes: &mut Lanes) -> &mut Lane<Self> {
        lanes.v6.get_or_insert_with(|| Box::new(Lane::new()))
    }
}

impl<S: CpuScheme> Inbox<S> {
    fn new() -> Self {
        let lanes = Lanes { v4: Lane::new(), v6: None };
        Self { lanes, waiting: Waiting::new(), buckets: Buckets::new() }
    }

    #[inline]
    fn take<P: InboxPair>(&mut self, arrays: &Arrays<S>, pairs: &[P], ages: Ages, generation: u64) {
        let lane = P::lane(&mut self.lanes);
        lane.begin(generation);
        // A short call costs little more than noting its pairs.
        match lane.note_few(pairs, ages) {
            Rest::Nothing => {}
            Rest::Batch => self.take_batches::<P>(arrays, &[], ages),
            Rest::All => self.take_batches(arrays, pairs, ages),
        }
    }

    /// Ingests pairs in batches. This function is not inlined, because its setup is too expensive for short calls.
    #[inline(never)]
    fn take_batches<P: InboxPair>(&mut self, arrays: &Arrays<S>, pairs: &[P], ages: Ages) {
        let Self { lanes, waiting, buckets } = self;
        let turn = buckets.sole_turn(&arrays.shards);
        let target = Target { arrays, waiting, buckets, is_only_writer: turn.is_some() };
        let lane = P::lane(lanes);
        if target.is_only_writer {
            ingest_alone(lane, target, pairs, ages);
        } else {
            ingest(lane, target, pairs, ages);
        }
    }

    fn is_empty(&self) -> bool {
        let Self { lanes: Lanes { v4, v6 }, waiting, buckets } = self;
        let is_v6_empty = v6.as_ref().is_none_or(|v6| v6.is_empty());
        v4.is_empty() && is_v6_empty && waiting.is_empty() && buckets.is_empty()
    }

    fn drain(&mut self, arrays: &Arrays<S>) {
        // An inbox that is not in use does not count as a writer.
        if self.is_empty() {
            return;
        }
        let Self { lanes: Lanes { v4, v6 }, waiting, buckets } = self;
        let turn = buckets.sole_turn(&arrays.shards);
        let mut target = Target { arrays, waiting, buckets, is_only_writer: turn.is_some() };
        v4.touch_waiting(&mut target);
        if let Some(v6) = v6 {
            v6.touch_waiting(&mut target);
        }
        waiting.drain(arrays.finder());
        buckets.drain(arrays.counter(), &arrays.shards);
    }
}

#[cfg(test)]
mod tests;
