//! [`Shards`]: parts of a counter's array that one thread at a time changes.
//!
//! A touch keeps the smaller of two words. Among threads that takes an atomic swap, which costs
//! more than all the rest; alone, a load and a store. So a thread sorts touches into buckets, one
//! per shard, and takes the lock of a shard when its bucket is full: once for some hundred
//! touches, and hardly ever while another holds it.
//!
//! A thread that is the [only writer](Writers) needs no buckets: it asks for the lines of a batch while it applies the touches
//! of the batch before.

use std::mem;
use std::sync::Mutex;

use srlg_core::counter::tagged::LINE;
use srlg_core::counter::{Counter, TouchBatch};
use srlg_core::{ArrayView, BATCH, Batch};

use super::writers::{SoleTurn, WriterId, Writers};

/// Shards, at most; a power of two.
const MOST_SHARDS: u32 = 8;

/// Touches of a bucket. The buckets of all shards, 12 KB, leave room for lines in the first cache.
const TOUCHES_PER_BUCKET: usize = 128;

/// Buckets of a shard that are applied without a look, after one of which most touches changed something.
const WITHOUT_LOOK: u32 = 15;

/// The locks of all shards, each in lines of its own.
pub(super) struct Shards {
    pub(super) writers: Writers,
    locks: Vec<Lock>,
    /// By how much the number of a recorder is shifted to be that of its shard: whole lines.
    shift: u32,
}

#[repr(align(128))]
struct Lock(Mutex<Shard>);

/// The outcome of the last buckets of a shard.
#[derive(Default)]
struct Shard {
    /// The thread that emptied the last bucket.
    last: Option<WriterId>,
    /// Buckets to be applied without a look.
    without_look: u32,
}

impl Shards {
    /// The shards of an array of `recorders` recorders.
    pub(super) fn new(recorders: usize) -> Self {
        let bits = usize::BITS - (recorders - 1).leading_zeros();
        let shift = bits.saturating_sub(MOST_SHARDS.ilog2()).max(LINE.ilog2());
        let count = ((recorders - 1) >> shift) + 1;
        let locks = (0..count).map(|_| Lock(Mutex::default())).collect();
        Self { writers: Writers::default(), locks, shift }
    }
}

/// A counter's array.
pub(super) type Array<'a, C> = ArrayView<'a, <C as Counter>::Params, <C as Counter>::Recorder>;

/// The touches of one thread that wait, by shard.
pub(super) struct Buckets<C: Counter> {
    counts: [usize; MOST_SHARDS as usize],
    touches: Box<[[C::Touch; TOUCHES_PER_BUCKET]; MOST_SHARDS as usize]>,
    /// The last batch of the only writer, whose lines are on their way to the caches.
    last: Option<C::Touches>,
}

impl<C: Counter> Buckets<C> {
    pub(super) fn new() -> Self {
        let touches = vec![[C::Touch::default(); TOUCHES_PER_BUCKET]; MOST_SHARDS as usize];
        let touches = touches.try_into().map_err(|_| "a length").expect("one bucket per shard");
        Self { counts: [0; MOST_SHARDS as usize], touches, last: None }
    }

    /// Returns the inbox that has these buckets.
    pub(super) fn writer(&self) -> WriterId {
        WriterId(self.touches.as_ptr().addr())
    }

    /// Returns the turn of the only writer, if this is the only one, and if it needs a turn: touches without a value are applied
    /// at once, by any number of threads.
    pub(super) fn sole_turn<'a>(&self, shards: &'a Shards) -> Option<SoleTurn<'a>> {
        if size_of::<C::Touch>() == 0 {
            return None;
        }
        shards.writers.sole_turn(self.writer())
    }

    /// Touches the pairs of a batch, of which only the first `count` need it, `age` epochs ago. Touches that have to be alone
    /// wait: those of the only writer until the next batch, others until their bucket is full.
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

    /// Sorts the first `count` of `touches` into buckets, and empties those that are full.
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
            // Room for what the next batch brings.
            if self.counts[shard] > TOUCHES_PER_BUCKET - BATCH {
                self.empty(array, shards, shard);
            }
        }
    }

    /// Sorts the last batch of the only writer into buckets.
    #[cold]
    fn sort_last(&mut self, array: Array<'_, C>, shards: &Shards) {
        if let Some(last) = self.last.take() {
            self.sort(array, shards, &last, BATCH);
        }
    }

    /// Whether no touch waits.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none() && self.counts == [0; MOST_SHARDS as usize]
    }

    /// Applies all touches that wait.
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
        let mut state = shards.locks[shard].0.lock().expect("nobody panics with a shard");
        // Lines that another thread had last are in its caches. Those in which nothing changes should stay there.
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

/// Asks for the line that `touch` changes.
#[inline(always)]
fn ask_for<C: Counter>(array: Array<'_, C>, touch: C::Touch) {
    prefetch_index::prefetch_index(array.recorders(), C::place(touch) as usize);
}
