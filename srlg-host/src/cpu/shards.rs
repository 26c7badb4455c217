//! [`Shards`]: parts of a counter's array. Only one thread at a time changes the recorders of a shard.
//!
//! A touch keeps the smaller of two words. With several threads, this needs an atomic read-modify-write operation,
//! which costs more than all other steps of ingestion together. A single thread needs only a load and a store. Each
//! thread therefore sorts touches into buckets, one per shard. A thread locks a shard only when the bucket of that
//! shard is full, once per 65 to 128 touches. At that moment, the lock is rarely held by another thread.
//!
//! A thread that is the [only writer](Writers) needs no buckets. It prefetches the lines of a batch while it applies
//! the touches of the previous batch.

use std::mem;
use std::sync::Mutex;

use srlg_core::counter::tagged::LINE;
use srlg_core::counter::{Counter, TouchBatch};
use srlg_core::{ArrayView, BATCH, Batch};

use super::writers::{SoleTurn, WriterId, Writers};

/// Maximum number of shards, a power of two.
const MOST_SHARDS: u32 = 8;

/// Capacity of a bucket, in touches. The buckets of all shards take 12 KB, which leaves room for lines in the
/// first-level cache.
const TOUCHES_PER_BUCKET: usize = 128;

/// Number of buckets that are applied without a check after a check finds that most touches change a recorder.
const WITHOUT_LOOK: u32 = 15;

pub(super) struct Shards {
    pub(super) writers: Writers,
    locks: Vec<Lock>,
    /// Number of bits by which a recorder's index is shifted right to get the index of its shard. Shards consist of
    /// whole lines.
    shift: u32,
}

#[repr(align(128))]
struct Lock(Mutex<Shard>);

#[derive(Default)]
struct Shard {
    /// The inbox whose bucket was applied last.
    last: Option<WriterId>,
    /// Number of further buckets to apply without a check. Buckets of the inbox `last` do not count.
    without_look: u32,
}

impl Shards {
    pub(super) fn new(recorders: usize) -> Self {
        let bits = usize::BITS - (recorders - 1).leading_zeros();
        let shift = bits.saturating_sub(MOST_SHARDS.ilog2()).max(LINE.ilog2());
        let count = ((recorders - 1) >> shift) + 1;
        let locks = (0..count).map(|_| Lock(Mutex::default())).collect();
        Self { writers: Writers::default(), locks, shift }
    }
}

pub(super) type Array<'a, C> = ArrayView<'a, <C as Counter>::Params, <C as Counter>::Recorder>;

/// The waiting touches of one thread, by shard.
pub(super) struct Buckets<C: Counter> {
    counts: [usize; MOST_SHARDS as usize],
    touches: Box<[[C::Touch; TOUCHES_PER_BUCKET]; MOST_SHARDS as usize]>,
    /// The last batch of the only writer, whose lines are being prefetched.
    last: Option<C::Touches>,
}

impl<C: Counter> Buckets<C> {
    pub(super) fn new() -> Self {
        let touches = vec![[C::Touch::default(); TOUCHES_PER_BUCKET]; MOST_SHARDS as usize];
        let touches =
            touches.try_into().map_err(|_| "wrong length").expect("there is one bucket per shard");
        Self { counts: [0; MOST_SHARDS as usize], touches, last: None }
    }

    pub(super) fn writer(&self) -> WriterId {
        WriterId(self.touches.as_ptr().addr())
    }

    /// Returns a turn if this inbox is the only writer and its touches need a turn.
    ///
    /// If the type `Touch` has size zero, the counter applies its touches immediately and atomically, so no turn is
    /// needed.
    pub(super) fn sole_turn<'a>(&self, shards: &'a Shards) -> Option<SoleTurn<'a>> {
        if size_of::<C::Touch>() == 0 {
            return None;
        }
        shards.writers.sole_turn(self.writer())
    }

    /// Touches the recorders of the first `count` pairs of a batch, whose contacts were `age` epochs ago. All further
    /// pairs must be copies of the first `count` pairs, because the recorders of all pairs may be touched.
    ///
    /// Touches that need exclusive access wait: those of the only writer until the next batch, all others until their
    /// bucket is full.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        array: Array<'_, C>,
        shards: &Shards,
        batch: &impl Batch,
        count: usize,
        age: u32,
        is_only_writer: bool,
    ) {
        if !is_only_writer && self.last.is_some() {
            self.sort_last(array, shards);
        }
        C::touch(array, batch, age, |touches| {
            if !is_only_writer {
                return self.sort(array, shards, touches, count);
            }
            for i in 0..BATCH {
                ask_for::<C>(array, touches.touch(i));
                if let Some(last) = &self.last {
                    C::apply_exclusive(array, &[last.touch(i)]);
                }
            }
            self.last = Some(*touches);
        });
    }

    /// Sorts the first `count` of `touches` into buckets and applies the buckets that are full.
    #[inline(always)]
    fn sort(&mut self, array: Array<'_, C>, shards: &Shards, touches: &C::Touches, count: usize) {
        for i in 0..count.min(BATCH) {
            let touch = touches.touch(i);
            ask_for::<C>(array, touch);
            let shard = (C::place(touch) >> shards.shift) as usize % MOST_SHARDS as usize;
            let count = self.counts[shard];
            self.touches[shard][count] = touch;
            self.counts[shard] = count + 1;
        }
        for shard in 0..MOST_SHARDS as usize {
            // Room for one more batch must remain.
            if self.counts[shard] > TOUCHES_PER_BUCKET - BATCH {
                self.empty(array, shards, shard);
            }
        }
    }

    #[cold]
    fn sort_last(&mut self, array: Array<'_, C>, shards: &Shards) {
        if let Some(last) = self.last.take() {
            self.sort(array, shards, &last, BATCH);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none() && self.counts == [0; MOST_SHARDS as usize]
    }

    pub(super) fn drain(&mut self, array: Array<'_, C>, shards: &Shards) {
        self.sort_last(array, shards);
        for shard in 0..shards.locks.len() {
            if self.counts[shard] > 0 {
                self.empty(array, shards, shard);
            }
        }
    }

    #[inline(always)]
    fn empty(&mut self, array: Array<'_, C>, shards: &Shards, shard: usize) {
        let touches = &self.touches[shard][..self.counts[shard]];
        let here = Some(self.writer());
        let mut state =
            shards.locks[shard].0.lock().expect("no thread panics while it locks a shard");
        // Lines last used by another thread are in that thread's caches. Lines that do not change should stay there.
        let is_contended = mem::replace(&mut state.last, here) != here;
        if is_contended && state.without_look == 0 {
            let changes = C::apply_changes(array, touches);
            state.without_look = if 2 * changes > touches.len() { WITHOUT_LOOK } else { 0 };
        } else {
            state.without_look = state.without_look.saturating_sub(is_contended.into());
            C::apply_exclusive(array, touches);
        }
        self.counts[shard] = 0;
    }
}

/// Prefetches the line that `touch` changes.
#[inline(always)]
fn ask_for<C: Counter>(array: Array<'_, C>, touch: C::Touch) {
    prefetch_index::prefetch_index(array.recorders(), C::place(touch) as usize);
}
