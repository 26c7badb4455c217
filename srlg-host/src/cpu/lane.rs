//! [`Lane`]: pairs of one type that one thread is ingesting.

use std::mem;

use srlg_core::{Ages, BATCH};

use super::arrays::{Arrays, CpuScheme};
use super::recent::{LanePair, RecentPairs, Slots};
use super::shards::Buckets;
use super::waiting::Waiting;
use crate::vectors::for_wider_vectors;

/// The recorders and the touches that wait to be applied to them.
pub(super) struct Target<'a, S: CpuScheme> {
    pub(super) arrays: &'a Arrays<S>,
    pub(super) waiting: &'a mut Waiting<S::Finder>,
    pub(super) buckets: &'a mut Buckets<S::Counter>,
    /// Whether this is the only thread that writes to the counter's array.
    pub(super) is_only_writer: bool,
}

impl<S: CpuScheme> Target<'_, S> {
    /// Touches the recorders of the first `count` pairs. All further pairs must be copies of the first `count` pairs,
    /// because the recorders of all pairs may be touched.
    #[inline(always)]
    fn touch<P: LanePair>(&mut self, pairs: &[P; BATCH], count: usize, ages: Ages) {
        let Self { arrays, waiting, buckets, is_only_writer } = self;
        let (batch, counter) = (&P::ids(&arrays.params, pairs), arrays.counter());
        waiting.touch(arrays.finder(), batch, ages.finder);
        buckets.touch(counter, &arrays.shards, batch, count, ages.counter, *is_only_writer);
    }
}

/// Recently seen pairs, and pairs that wait until a batch is full.
pub(super) struct Lane<P: LanePair> {
    recent: RecentPairs<P>,
    generation: u64,
    /// The waiting pairs are the first `count` entries.
    waiting: [P::Note; 2 * BATCH],
    count: usize,
    ages: Ages,
}

/// The work that remains after [`Lane::note_few`].
pub(super) enum Rest {
    /// All pairs were noted, and no work remains.
    Nothing,
    /// All pairs were noted, and a batch is full.
    Batch,
    /// No pair was noted, so all pairs must be ingested.
    All,
}

// There are two functions, because a loop that serves both kinds of writers is slower.
for_wider_vectors! {
    /// Ingests `pairs` through `lane` as one of several writers.
    pub(super) fn ingest<P: LanePair, S: CpuScheme>(
        lane: &mut Lane<P>,
        target: Target<'_, S>,
        pairs: &[P],
        ages: Ages,
    ) {
        lane.ingest(&mut Target { is_only_writer: false, ..target }, pairs, ages);
    }

    /// Ingests `pairs` through `lane` as the only writer.
    pub(super) fn ingest_alone<P: LanePair, S: CpuScheme>(
        lane: &mut Lane<P>,
        target: Target<'_, S>,
        pairs: &[P],
        ages: Ages,
    ) {
        lane.ingest(&mut Target { is_only_writer: true, ..target }, pairs, ages);
    }
}

impl<P: LanePair> Lane<P> {
    pub(super) fn new() -> Self {
        Self {
            recent: RecentPairs::new(),
            generation: 0,
            waiting: [P::Note::default(); 2 * BATCH],
            count: 0,
            ages: Ages::default(),
        }
    }

    /// Forgets the recent pairs if `generation` has changed since the last call.
    #[inline(always)]
    pub(super) fn begin(&mut self, generation: u64) {
        if generation != self.generation {
            self.recent.forget();
            self.generation = generation;
        }
    }

    /// Notes `pairs` if there are fewer than [`BATCH`] of them and their ages equal those of the waiting pairs. Returns
    /// the remaining work.
    #[inline(always)]
    pub(super) fn note_few(&mut self, pairs: &[P], ages: Ages) -> Rest {
        if pairs.len() >= BATCH || ages != self.ages {
            return Rest::All;
        }
        self.note(pairs, &mut Slots::new());
        if self.count < BATCH { Rest::Nothing } else { Rest::Batch }
    }

    #[inline(always)]
    fn ingest<S: CpuScheme>(&mut self, target: &mut Target<'_, S>, pairs: &[P], ages: Ages) {
        if ages != self.ages {
            self.touch_waiting(target);
            self.ages = ages;
        }
        if self.count >= BATCH {
            self.touch_noted(target);
        }
        let mut slots = [Slots::new(), Slots::new()];
        let [mut now, mut next] = slots.each_mut();
        let mut left = pairs;
        while !left.is_empty() {
            let (pairs, rest) = left.split_at(left.len().min(BATCH));
            left = rest;
            mem::swap(&mut now, &mut next);
            self.recent.look_ahead(&rest[..rest.len().min(BATCH)], next);
            // Waiting pairs keep waiting, because the order of touches has no effect.
            if let (Some(batch), true) = (pairs.first_chunk(), self.recent.pauses()) {
                self.recent.pass_over(BATCH);
                target.touch(batch, BATCH, ages);
                continue;
            }
            self.note(pairs, now);
            if self.count >= BATCH {
                self.touch_noted(target);
            }
        }
    }

    /// Adds `pairs` to the waiting pairs, except those known to have been ingested. `pairs` must contain at most
    /// [`BATCH`] pairs, and fewer than `BATCH` pairs must be waiting before the call. If `slots` are computed, they must
    /// be those of `pairs`.
    #[inline(always)]
    fn note(&mut self, pairs: &[P], slots: &mut Slots) {
        let room = &mut self.waiting[self.count..];
        self.count += if self.ages == Ages::default() {
            self.recent.sift(pairs, slots, room)
        } else {
            room.iter_mut().zip(pairs).for_each(|(room, pair)| *room = pair.note());
            pairs.len()
        };
    }

    #[inline(always)]
    fn touch_noted<S: CpuScheme>(&mut self, target: &mut Target<'_, S>) {
        self.touch_batch(target);
        self.waiting.copy_within(BATCH..self.count, 0);
        self.count -= BATCH;
    }

    #[inline(always)]
    fn touch_batch<S: CpuScheme>(&mut self, target: &mut Target<'_, S>) {
        let batch = self.waiting.first_chunk().expect("room for a batch");
        target.touch(P::of(batch), self.count.min(BATCH), self.ages);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) fn touch_waiting<S: CpuScheme>(&mut self, target: &mut Target<'_, S>) {
        if self.count > 0 {
            // A short batch is filled with its first pair, because repeated touches have no effect.
            let first = self.waiting[0];
            self.waiting[self.count..BATCH].fill(first);
            self.touch_batch(target);
            self.count = 0;
        }
    }
}

#[cfg(test)]
mod vector_tests;
