//! [`Inboxes`]: what each ingesting thread has of its own, so that no two wait for each other.
//!
//! ```text
//! ingest   note the pairs that are not known as recently seen (RecentPairs), each family in a lane
//!          of its own; while a batch of 64 is noted: touch it
//! touch    finder: touches into a list; what is full into the recorders
//!          counter: the last batch into the recorders while only this inbox writes;
//!          after that touches into buckets, and what is full into the recorders
//! drain    touch what is noted, empty the list, the last batch and all buckets
//! ```
//!
//! What is noted or in a bucket is part of what was ingested: [`Inboxes::drain`] brings it to the
//! recorders before anybody reads them.

use std::sync::{Mutex, MutexGuard};

use srlg_core::{Ages, Ip6Pair, IpPair};
use thread_local::ThreadLocal;

use super::arrays::{Arrays, CpuScheme};
use super::lane::{Lane, Rest, Target, ingest, ingest_alone};
use super::recent::LanePair;
use super::shards::Buckets;
use super::waiting::Waiting;

/// Pairs that are ingested while an inbox is locked: some tenths of a millisecond.
const PAIRS_PER_LOCK: usize = 1 << 14;

/// The inboxes of all threads that ever ingested; a thread that ends leaves its inbox to another.
pub(super) struct Inboxes<S: CpuScheme> {
    inboxes: ThreadLocal<Mutex<Inbox<S>>>,
    /// How often recently seen pairs were forgotten.
    generation: u64,
}

impl<S: CpuScheme> Inboxes<S> {
    pub(super) fn new() -> Self {
        Self { inboxes: ThreadLocal::new(), generation: 0 }
    }

    /// Ingests `pairs`, which were in contact `ages` ago, by way of the calling thread's inbox.
    pub(super) fn ingest<P: InboxPair>(&self, arrays: &Arrays<S>, pairs: &[P], ages: Ages) {
        let inbox = self.inboxes.get().unwrap_or_else(|| self.first());
        // In chunks, so that a thread that drains the inbox does not wait for all of a long call.
        for pairs in pairs.chunks(PAIRS_PER_LOCK) {
            lock(inbox).take(arrays, pairs, ages, self.generation);
        }
    }

    /// The calling thread's inbox, at its first call. Out of line: a call of one pair need not make
    /// room for a whole inbox on its stack.
    #[cold]
    fn first(&self) -> &Mutex<Inbox<S>> {
        self.inboxes.get_or(|| Mutex::new(Inbox::new()))
    }

    /// Brings what waits in any inbox to the recorders.
    pub(super) fn drain(&self, arrays: &Arrays<S>) {
        self.inboxes.iter().for_each(|inbox| lock(inbox).drain(arrays));
    }

    /// Lets every inbox forget the recently seen pairs: another slice begins.
    pub(super) fn forget(&mut self) {
        self.generation += 1;
    }
}

fn lock<S: CpuScheme>(inbox: &Mutex<Inbox<S>>) -> MutexGuard<'_, Inbox<S>> {
    inbox.lock().expect("an inbox does not panic")
}

/// What one thread has of its own, in cache lines of its own.
#[repr(align(128))]
struct Inbox<S: CpuScheme> {
    lanes: Lanes,
    waiting: Waiting<S::Finder>,
    buckets: Buckets<S::Counter>,
}

/// The lanes of both families.
pub(super) struct Lanes {
    v4: Lane<IpPair>,
    /// Made for the first such pair.
    v6: Option<Box<Lane<Ip6Pair>>>,
}

/// A pair of a family that has a lane.
pub(super) trait InboxPair: LanePair {
    /// The lane of the family.
    fn lane(lanes: &mut Lanes) -> &mut Lane<Self>;
}

impl InboxPair for IpPair {
    #[inline(always)]
    fn lane(lanes: &mut Lanes) -> &mut Lane<Self> {
        &mut lanes.v4
    }
}

impl InboxPair for Ip6Pair {
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
        // A short call costs little more than to note down its pairs.
        match lane.note_few(pairs, ages) {
            Rest::Nothing => {}
            Rest::Batch => self.take_batches::<P>(arrays, &[], ages),
            Rest::All => self.take_batches(arrays, pairs, ages),
        }
    }

    /// Out of line: its preparations are not for short calls.
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
        // An inbox that is not in use is not a writer.
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
