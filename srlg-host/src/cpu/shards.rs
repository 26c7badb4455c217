//! [`Shards`]: parts of a counter's array. Only one thread at a time changes the recorders of a shard.
//!
//! A touch keeps the smaller of two words. With several threads, this needs an atomic read-modify-write operation,
//! which costs more than all other steps of ingestion together. A single thread needs only a load and a store. Each
//! thread therefore sorts touches into buckets, one per shard. A thread locks a shard only when the bucket of that
//! shard is full, once per 65 to 128 touches. At that moment, the lock is rarely held by another thread.
//!
//! A thread that is the [only writer](Writers) needs no buckets. It prefetches the lines of a batch while it applies
//! the touches of the previous batch.

use std::array;

use srlg_core::counter::tagged::LINE;
use srlg_core::counter::{Counter, TouchBatch, TouchQueue};
use srlg_core::{ArrayView, BATCH, Batch};

use super::lock::Lock;
use super::writers::{SoleTurn, WriterId, Writers};

/// Maximum number of shards, a power of two.
const MOST_SHARDS: usize = 8;

/// Capacity of a bucket, in touches. The buckets of all shards take 12 KB, which leaves room for lines in the
/// first-level cache.
const TOUCHES_PER_BUCKET: usize = 128;

/// Capacity of all buckets, in touches.
const TOUCHES: usize = MOST_SHARDS * TOUCHES_PER_BUCKET;

/// Number of buckets that a thread applies without a check after a check finds that more than a quarter of the touches
/// change a recorder.
const WITHOUT_LOOK: u32 = 15;

pub(super) struct Shards {
    pub(super) writers: Writers,
    locks: Vec<Lock>,
    /// Number of bits by which a recorder's index is shifted right to get the index of its shard. Shards consist of
    /// whole lines.
    shift: u32,
}

impl Shards {
    pub(super) fn new(recorders: usize) -> Self {
        let bits = usize::BITS - (recorders - 1).leading_zeros();
        let shift = bits.saturating_sub(MOST_SHARDS.ilog2()).max(LINE.ilog2());
        let count = ((recorders - 1) >> shift) + 1;
        let locks = (0..count).map(|_| Lock::default()).collect();
        Self { writers: Writers::default(), locks, shift }
    }
}

pub(super) type Array<'a, C> = ArrayView<'a, <C as Counter>::Params, <C as Counter>::Recorder>;

/// The waiting touches of one thread, by shard.
pub(super) struct Buckets<C: Counter> {
    /// The end of each bucket, as an index of `touches`.
    ends: [usize; MOST_SHARDS],
    /// The buckets, one after the other.
    touches: Box<[C::Touch; TOUCHES]>,
    /// Number of further buckets to apply without a check.
    without_look: u32,
    /// The last batch of the only writer, whose lines are being prefetched.
    last: Option<C::Touches>,
    /// Further touches of the pairs in a batch. The waiting ones are the first `further_count` entries.
    further: Box<[C::Touch; 2 * BATCH]>,
    further_count: usize,
}

impl<C: Counter> Buckets<C> {
    pub(super) fn new() -> Self {
        let touches = vec![C::Touch::default(); TOUCHES];
        let touches =
            touches.try_into().map_err(|_| "wrong length").expect("the vector has the length");
        let further = Box::new([C::Touch::default(); 2 * BATCH]);
        let ends = array::from_fn(start);
        Self { ends, touches, without_look: 0, last: None, further, further_count: 0 }
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
        let mut queue = Queue { buckets: self, array, shards, count, is_only_writer };
        C::touch(array, batch, age, &mut queue);
        // Room for the further touches of one more batch must remain.
        if self.further_count > BATCH {
            self.apply_further(array, shards, is_only_writer);
        }
    }

    #[cold]
    fn apply_further(&mut self, array: Array<'_, C>, shards: &Shards, is_only_writer: bool) {
        let further = *self.further;
        for touches in further[..self.further_count].chunks(BATCH) {
            if is_only_writer {
                C::apply_exclusive(array, touches);
            } else {
                self.sort(array, shards, |i| touches[i], touches.len());
            }
        }
        self.further_count = 0;
    }

    /// Sorts the first `count` touches into buckets and applies the buckets that are full. `touch` returns the touch
    /// with an index below [`BATCH`].
    #[inline(always)]
    fn sort(
        &mut self,
        array: Array<'_, C>,
        shards: &Shards,
        touch: impl Fn(usize) -> C::Touch,
        count: usize,
    ) {
        for i in 0..count.min(BATCH) {
            let touch = touch(i);
            ask_for::<C>(array, touch);
            let shard = (C::place(touch) >> shards.shift) as usize % MOST_SHARDS;
            let end = self.ends[shard];
            // The end is below `TOUCHES`, because every bucket has room for a batch.
            self.touches[end % TOUCHES] = touch;
            self.ends[shard] = end + usize::from(!C::is_empty(touch));
        }
        for shard in 0..MOST_SHARDS {
            // Room for one more batch must remain.
            if self.ends[shard] > start(shard) + TOUCHES_PER_BUCKET - BATCH {
                self.empty(array, shards, shard);
            }
        }
    }

    #[cold]
    fn sort_last(&mut self, array: Array<'_, C>, shards: &Shards) {
        if let Some(last) = self.last.take() {
            self.sort(array, shards, |i| last.touch(i), BATCH);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none() && self.further_count == 0 && self.ends == array::from_fn(start)
    }

    pub(super) fn drain(&mut self, array: Array<'_, C>, shards: &Shards) {
        self.sort_last(array, shards);
        self.apply_further(array, shards, false);
        for shard in 0..shards.locks.len() {
            if self.ends[shard] > start(shard) {
                self.empty(array, shards, shard);
            }
        }
    }

    #[inline(always)]
    fn empty(&mut self, array: Array<'_, C>, shards: &Shards, shard: usize) {
        let touches = &self.touches[start(shard)..self.ends[shard]];
        let _held = shards.locks[shard].hold();
        // A line that is not written stays in the caches of all threads.
        if self.without_look == 0 {
            let changes = C::apply_changes(array, touches);
            self.without_look = if 4 * changes > touches.len() { WITHOUT_LOOK } else { 0 };
        } else {
            self.without_look -= 1;
            C::apply_exclusive(array, touches);
        }
        self.ends[shard] = start(shard);
    }
}

/// The buckets of one thread while it touches a batch.
struct Queue<'a, 'b, C: Counter> {
    buckets: &'a mut Buckets<C>,
    array: Array<'b, C>,
    shards: &'a Shards,
    count: usize,
    is_only_writer: bool,
}

impl<C: Counter> TouchQueue<C> for Queue<'_, '_, C> {
    #[inline(always)]
    fn add_batch(&mut self, touches: &C::Touches) {
        let Self { buckets, array, shards, count, is_only_writer } = self;
        if !*is_only_writer {
            return buckets.sort(*array, shards, |i| touches.touch(i), *count);
        }
        for i in 0..BATCH {
            ask_for::<C>(*array, touches.touch(i));
            if let Some(last) = &buckets.last {
                C::apply_exclusive(*array, &[last.touch(i)]);
            }
        }
        buckets.last = Some(*touches);
    }

    #[inline(always)]
    fn add(&mut self, touch: C::Touch) {
        ask_for::<C>(self.array, touch);
        let Buckets { further, further_count, .. } = &mut *self.buckets;
        further[*further_count] = touch;
        *further_count += 1;
    }
}

/// Returns the start of the bucket of `shard`.
const fn start(shard: usize) -> usize {
    shard * TOUCHES_PER_BUCKET
}

/// Prefetches the line that `touch` changes.
#[inline(always)]
fn ask_for<C: Counter>(array: Array<'_, C>, touch: C::Touch) {
    prefetch_index::prefetch_index(array.recorders(), C::place(touch) as usize);
}
