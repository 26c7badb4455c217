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
use super::sweep::for_wider_vectors;

/// Pairs that are ingested while a lane is locked: some tenths of a millisecond.
const PIECE: usize = 1 << 14;

/// The lanes of all threads that ever ingested; a thread that ends leaves its lane to another.
#[derive(Default)]
pub(super) struct Lanes(ThreadLocal<Mutex<Lane>>);

impl Lanes {
    /// Ingests `pairs` by way of the calling thread's lane.
    pub(super) fn ingest<R: Mappable>(&self, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
        let lane = self.0.get_or(|| Mutex::new(Lane::new(&arrays.params)));
        // In pieces, so that whoever drains the lane does not wait for all of a long call.
        for pairs in pairs.chunks(PIECE) {
            lock(lane).take(arrays, pairs, ages);
        }
    }

    /// Leaves in the recorders whatever waits in a lane.
    pub(super) fn drain<R: Mappable>(&self, arrays: &Arrays<R>) {
        self.0.iter().for_each(|lane| lock(lane).drain(arrays));
    }

    /// Forgets which pairs were ingested of late: another slice begins.
    pub(super) fn forget(&mut self) {
        self.0.iter().for_each(|lane| lock(lane).recent.forget());
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    lane.lock().expect("a lane does not panic")
}

/// What one thread has of its own.
struct Lane {
    recent: Recent,
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
            waiting: [0; 2 * BATCH],
            count: 0,
            ages: Ages::default(),
            buckets: Buckets::new(params),
        }
    }

    #[inline]
    fn take<R: Mappable>(&mut self, arrays: &Arrays<R>, pairs: &[IpPair], ages: Ages) {
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
                self.touch(arrays, batch);
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
        self.touch(arrays, zerocopy::transmute_ref!(&batch));
    }

    /// Touches a batch.
    #[inline(always)]
    fn touch<R: Mappable>(&mut self, arrays: &Arrays<R>, batch: &[IpPair; BATCH]) {
        let (params, linear) = (&arrays.params, arrays.linear.shared());
        Rsra::new(params, arrays.rough.shared()).touch_all(batch, self.ages.rough);
        if params.is_tagged() {
            let touches = Touches::new(params, batch, self.ages.linear);
            self.buckets.sort(arrays, &touches);
        } else {
            Slea::new(params, linear).touch(batch, self.ages.linear);
        }
    }

    #[inline(never)]
    fn touch_waiting<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        if self.count > 0 {
            // A short batch is filled up with its first pair: touching twice is touching once.
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
mod tests {
    use proptest::prelude::*;
    use srlg_core::{Config, Hash, Reading, Recorder, Recorder8, Recorder16, Scheme};

    use super::*;
    use crate::cpu::pages::Pages;
    use crate::cpu::shards::Shards;

    fn params(seed: u64, lines: u32, hash: Hash) -> Params {
        let scheme = Scheme::Tagged { lines, tags: 64 };
        let (rough_column_bits, bit_stride, rough_rows) = (12, 10, 4);
        let sizes = Config { rough_column_bits, bit_stride, rough_rows, ..Config::default() };
        Config { scheme, threshold: 16, linear_width: 512, seed, hash, ..sizes }.validate().unwrap()
    }

    fn arrays(params: Params) -> Arrays<Recorder8> {
        let rough = Pages::new(params.rough_recorders()).unwrap();
        let linear = Pages::new(params.linear_recorders()).unwrap();
        Arrays { params, rough, linear, shards: Shards::new(&params) }
    }

    fn words<R: Recorder>(recorders: &[R]) -> Vec<R::Word> {
        recorders.iter().map(Reading::word).collect()
    }

    /// A run of pairs: where their numbers start, how many differ, how many come, how late, and
    /// in batches of how many.
    type Run = (u32, u32, usize, u32, usize);

    fn pairs(&(start, differing, count, ..): &Run) -> Vec<IpPair> {
        let number = |i: u32| start + (i.wrapping_mul(0x9e37_79b9) >> 8) % differing;
        let pair = |number: u32| IpPair { aip: number % 11, bip: number };
        (0..count as u32).map(number).map(pair).collect()
    }

    fn runs() -> impl Strategy<Value = Vec<Run>> {
        let differing = prop_oneof![Just(1), 1u32..100, Just(1 << 20)];
        let count = prop_oneof![0usize..200, 0usize..40_000];
        let late = prop_oneof![4 => Just(0u32), 1 => 1u32..4];
        let batch = prop_oneof![Just(1usize), 1usize..200, Just(1 << 15)];
        prop::collection::vec((0..1u32 << 20, differing, count, late, batch), 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        // The same pairs one by one through srlg-core, which knows no lane, shard or slot.
        #[test]
        fn lanes_leave_what_every_pair_leaves_by_itself(
            seed: u64,
            lines in prop_oneof![16u32..40, Just(5000)],
            keyed: bool,
            threads in prop::collection::vec(runs(), 1..4),
        ) {
            let hash = if keyed { Hash::HalfSip13 } else { Hash::Murmur };
            let params = params(seed, lines, hash);
            let (ours, expected) = (arrays(params), arrays(params));
            let lanes = Lanes::default();
            std::thread::scope(|scope| {
                for runs in &threads {
                    let (lanes, ours) = (&lanes, &ours);
                    scope.spawn(move || for run in runs {
                        let ages = Ages { rough: run.3, linear: run.3 };
                        pairs(run).chunks(run.4).for_each(|pairs| lanes.ingest(ours, pairs, ages));
                    });
                }
            });
            lanes.drain(&ours);
            for run in threads.iter().flatten() {
                let pairs = pairs(run);
                let rsra = Rsra::new(&params, expected.rough.shared());
                pairs.iter().for_each(|&pair| rsra.touch(pair, run.3));
                Slea::<Recorder16>::new(&params, expected.linear.shared()).touch(&pairs, run.3);
            }
            prop_assert_eq!(words(ours.rough.shared()), words(expected.rough.shared()));
            prop_assert_eq!(words(ours.linear.shared()), words(expected.linear.shared()));
        }
    }
}
