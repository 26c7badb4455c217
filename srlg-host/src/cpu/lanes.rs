//! [`Lanes`]: what each ingesting thread has of its own, so that no two wait for each other.
//!
//! Pairs go through a lane: those that the thread ingested of late are passed over
//! ([`Recent`]); the rest waits until there is a batch, whose touches are found at once and
//! sorted by [`Shards`]. Whatever waits is part of what was ingested: [`Lanes::drain`] leaves it
//! in the recorders before anybody reads them.

use std::sync::{Mutex, MutexGuard};

use srlg_core::{Ages, BATCH, IpPair, Params, Rsra, Slea, Touches};
use thread_local::ThreadLocal;
use zerocopy::IntoBytes;

use super::Arrays;
use super::pages::Mappable;
use super::recent::Recent;
use super::shards::Buckets;
use crate::vectors::for_wider_vectors;

/// Pairs that are ingested while a lane is locked: some tenths of a millisecond.
const PIECE: usize = 1 << 14;

/// The lanes of all threads that ever ingested; a thread that ends leaves its lane to another.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: ThreadLocal<Mutex<Lane>>,
    /// How often a slice has begun.
    slices: u64,
}

impl Lanes {
    /// Ingests `pairs` by way of the calling thread's lane.
    pub(super) fn ingest<R: Mappable>(&self, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
        let lane = self.lanes.get_or(|| Mutex::new(Lane::new(&arrays.params)));
        // In pieces, so that whoever drains the lane does not wait for all of a long call.
        for pairs in pairs.chunks(PIECE) {
            lock(lane).take(arrays, pairs, (ages, self.slices));
        }
    }

    /// Leaves in the recorders whatever waits in a lane.
    pub(super) fn drain<R: Mappable>(&self, arrays: &Arrays<R>) {
        self.lanes.iter().for_each(|lane| lock(lane).drain(arrays));
    }

    /// Lets every lane forget which pairs it ingested of late: another slice begins.
    pub(super) fn forget(&mut self) {
        self.slices += 1;
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    lane.lock().expect("a lane does not panic")
}

/// What one thread has of its own, in cache lines of its own.
#[repr(align(128))]
struct Lane {
    recent: Recent,
    /// The slice that the recent pairs are of.
    slice: u64,
    /// Pairs that wait for a batch, at the front, as numbers of 8 bytes.
    waiting: [u64; 2 * BATCH],
    count: usize,
    /// The age of those that wait.
    ages: Ages,
    buckets: Buckets,
}

for_wider_vectors! {
    fn ingest<R: Mappable>(lane: &mut Lane, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
        lane.ingest(arrays, pairs, ages);
    }
}

impl Lane {
    fn new(params: &Params) -> Self {
        Self {
            recent: Recent::new(),
            slice: 0,
            waiting: [0; 2 * BATCH],
            count: 0,
            ages: Ages::default(),
            buckets: Buckets::new(params),
        }
    }

    #[inline]
    fn take<R: Mappable>(
        &mut self,
        arrays: &Arrays<R>,
        pairs: &[IpPair],
        (ages, slice): (Ages, u64),
    ) {
        if slice != self.slice {
            self.recent.forget();
            self.slice = slice;
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
    fn take_batches<R: Mappable>(&mut self, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
        ingest(self, arrays, pairs, ages);
    }

    #[inline(always)]
    fn ingest<R: Mappable>(&mut self, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
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
    fn touch_noted<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        self.touch_batch(arrays);
        self.waiting.copy_within(BATCH.., 0);
        self.count -= BATCH;
    }

    /// Touches the first batch of those that wait.
    #[inline(always)]
    fn touch_batch<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        let batch: [u64; BATCH] = *self.waiting.first_chunk().expect("room for a batch");
        self.touch(arrays, zerocopy::transmute_ref!(&batch), self.count.min(BATCH));
    }

    /// Touches a batch, of which only the first `count` pairs need it.
    #[inline(always)]
    fn touch<R: Mappable>(&mut self, arrays: &Arrays<R>, batch: &[IpPair; BATCH], count: usize) {
        let (params, linear) = (&arrays.params, arrays.linear.shared());
        Rsra::new(params, arrays.rough.shared()).touch_all(batch, self.ages.rough);
        if params.is_tagged() {
            let touches = Touches::new(params, batch, self.ages.linear);
            self.buckets.sort(arrays, &touches, count);
        } else {
            Slea::new(params, linear).touch(batch, self.ages.linear);
        }
    }

    #[inline(always)]
    fn touch_waiting<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        if self.count > 0 {
            // A batch that is short is filled up with its first pair: touching twice is once.
            let first = self.waiting[0];
            self.waiting[self.count..BATCH].fill(first);
            self.touch_batch(arrays);
            self.count = 0;
        }
    }

    fn drain<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        self.touch_waiting(arrays);
        self.buckets.drain(arrays);
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod vector_tests;
