//! [`Inboxes`]: what each ingesting thread has of its own, so that no two wait for each other.
//!
//! ```text
//! ingest   note the pairs that are not known as recently seen (RecentPairs)
//!          while a batch of 64 is noted: touch it
//! touch    finder: at once; counter: touches into buckets, a full bucket into the recorders
//! drain    touch what is noted, empty all buckets
//! ```
//!
//! What is noted or in a bucket is part of what was ingested: [`Inboxes::drain`] brings it to the
//! recorders before anybody reads them.

use std::sync::{Mutex, MutexGuard};

use srlg_core::finder::Finder;
use srlg_core::{Ages, BATCH, IpPair, View};
use thread_local::ThreadLocal;
use zerocopy::IntoBytes;

use super::arrays::{Arrays, CpuScheme};
use super::recent::RecentPairs;
use super::shards::Buckets;
use crate::vectors::for_wider_vectors;

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
    pub(super) fn ingest(&self, arrays: &Arrays<S>, pairs: &[IpPair], ages: Ages) {
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
    recent: RecentPairs,
    /// The generation that the recent pairs are of.
    generation: u64,
    /// Pairs that wait for a batch, at the front, as numbers of 8 bytes.
    waiting: [u64; 2 * BATCH],
    count: usize,
    /// The age of those that wait.
    ages: Ages,
    buckets: Buckets<S::Counter>,
}

for_wider_vectors! {
    fn ingest<S: CpuScheme>(
        inbox: &mut Inbox<S>,
        arrays: &Arrays<S>,
        pairs: &[IpPair],
        ages: Ages,
    ) {
        inbox.ingest(arrays, pairs, ages);
    }
}

impl<S: CpuScheme> Inbox<S> {
    fn new() -> Self {
        Self {
            recent: RecentPairs::new(),
            generation: 0,
            waiting: [0; 2 * BATCH],
            count: 0,
            ages: Ages::default(),
            buckets: Buckets::new(),
        }
    }

    #[inline]
    fn take(&mut self, arrays: &Arrays<S>, pairs: &[IpPair], ages: Ages, generation: u64) {
        if generation != self.generation {
            self.recent.forget();
            self.generation = generation;
        }
        // A short call costs little more than to note down its pairs.
        if pairs.len() < BATCH && ages == self.ages {
            self.note(pairs);
            if self.count >= BATCH {
                self.take_batches(arrays, &[], ages);
            }
        } else {
            self.take_batches(arrays, pairs, ages);
        }
    }

    /// Out of line: its preparations are not for short calls.
    #[inline(never)]
    fn take_batches(&mut self, arrays: &Arrays<S>, pairs: &[IpPair], ages: Ages) {
        ingest(self, arrays, pairs, ages);
    }

    #[inline(always)]
    fn ingest(&mut self, arrays: &Arrays<S>, pairs: &[IpPair], ages: Ages) {
        if ages != self.ages {
            self.touch_waiting(arrays);
            self.ages = ages;
        }
        if self.count >= BATCH {
            self.touch_noted(arrays);
        }
        for pairs in pairs.chunks(BATCH) {
            if let (0, Some(batch), true) = (self.count, pairs.first_chunk(), self.recent.pauses())
            {
                self.recent.pass_over(BATCH);
                self.touch(arrays, batch, BATCH);
                continue;
            }
            self.note(pairs);
            if self.count >= BATCH {
                self.touch_noted(arrays);
            }
        }
    }

    /// Lets those of at most [`BATCH`] pairs wait that may be unknown, after less than a batch.
    #[inline(always)]
    fn note(&mut self, pairs: &[IpPair]) {
        let room = &mut self.waiting[self.count..];
        self.count += if self.ages == Ages::default() {
            self.recent.sift(pairs, room)
        } else {
            room[..pairs.len()].as_mut_bytes().copy_from_slice(pairs.as_bytes());
            pairs.len()
        };
    }

    /// Touches the first batch of those that wait.
    #[inline(always)]
    fn touch_noted(&mut self, arrays: &Arrays<S>) {
        self.touch_batch(arrays);
        self.waiting.copy_within(BATCH.., 0);
        self.count -= BATCH;
    }

    /// Touches the first batch of those that wait.
    #[inline(always)]
    fn touch_batch(&mut self, arrays: &Arrays<S>) {
        let batch: [u64; BATCH] = *self.waiting.first_chunk().expect("room for a batch");
        self.touch(arrays, zerocopy::transmute_ref!(&batch), self.count.min(BATCH));
    }

    /// Touches a batch, of which only the first `count` pairs need it.
    #[inline(always)]
    fn touch(&mut self, arrays: &Arrays<S>, batch: &[IpPair; BATCH], count: usize) {
        let finder = View::new(S::Finder::params(arrays.params.finder()), arrays.finder.shared());
        S::Finder::touch(finder, batch, self.ages.finder);
        let array = (arrays.counter(), &arrays.shards);
        self.buckets.touch(array, (batch, count), self.ages.counter);
    }

    #[inline(always)]
    fn touch_waiting(&mut self, arrays: &Arrays<S>) {
        if self.count > 0 {
            // A batch that is short is filled up with its first pair: touching twice is once.
            let first = self.waiting[0];
            self.waiting[self.count..BATCH].fill(first);
            self.touch_batch(arrays);
            self.count = 0;
        }
    }

    fn drain(&mut self, arrays: &Arrays<S>) {
        self.touch_waiting(arrays);
        self.buckets.drain(arrays.counter(), &arrays.shards);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
