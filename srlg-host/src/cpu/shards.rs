//! [`Shards`]: parts of a counter's array that one thread at a time changes.
//!
//! A touch keeps the smaller of two words. Among threads that takes an atomic swap, which costs
//! more than all the rest; alone, a load and a store. So a thread sorts touches into buckets, one
//! per shard, and takes the lock of a shard when its bucket is full: once for some hundred
//! touches, and hardly ever while another holds it.

use std::mem;
use std::sync::Mutex;

use srlg_core::counter::Counter;
use srlg_core::counter::tagged::LINE;
use srlg_core::{ArrayView, BATCH, Batch};

/// Shards, at most; a power of two.
const MOST_SHARDS: u32 = 8;

/// Touches of a bucket. The buckets of all shards, 12 KB, leave room for lines in the first cache.
const TOUCHES_PER_BUCKET: usize = 128;

/// Buckets of a shard that are applied without a look, after one of which most touches changed something.
const WITHOUT_LOOK: u32 = 15;

/// The locks of all shards, each in lines of its own.
pub(super) struct Shards {
    locks: Vec<Lock>,
    /// By how much the number of a recorder is shifted to be that of its shard: whole lines.
    shift: u32,
}

#[repr(align(128))]
struct Lock(Mutex<Shard>);

/// The outcome of the last buckets of a shard.
#[derive(Default)]
struct Shard {
    /// Address of the buckets of the thread that emptied the last one.
    last: usize,
    /// Buckets to be applied without a look.
    without_look: u32,
}

impl Shards {
    /// The shards of an array of `recorders` recorders.
    pub(super) fn new(recorders: usize) -> Self {
        let bits = usize::BITS - (recorders - 1).leading_zeros();
        let shift = bits.saturating_sub(MOST_SHARDS.ilog2()).max(LINE.ilog2());
        let count = ((recorders - 1) >> shift) + 1;
        Self { locks: (0..count).map(|_| Lock(Mutex::default())).collect(), shift }
    }
}

/// A counter's array.
pub(super) type Array<'a, C> = ArrayView<'a, <C as Counter>::Params, <C as Counter>::Recorder>;

/// The touches of one thread that wait, by shard.
pub(super) struct Buckets<C: Counter> {
    counts: [usize; MOST_SHARDS as usize],
    touches: Box<[[C::Touch; TOUCHES_PER_BUCKET]; MOST_SHARDS as usize]>,
}

impl<C: Counter> Buckets<C> {
    pub(super) fn new() -> Self {
        let touches = vec![[C::Touch::default(); TOUCHES_PER_BUCKET]; MOST_SHARDS as usize];
        let touches = touches.try_into().map_err(|_| "a length").expect("one bucket per shard");
        Self { counts: [0; MOST_SHARDS as usize], touches }
    }

    /// Touches the first `count` pairs of a batch, `age` epochs ago; touches that have to be alone
    /// wait until their bucket is full.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        array: Array<'_, C>,
        shards: &Shards,
        batch: &impl Batch,
        count: usize,
        age: u32,
    ) {
        C::touch(array, batch, count, age, |touch| {
            prefetch_index::prefetch_index(array.recorders(), C::place(touch) as usize);
            let shard = (C::place(touch) >> shards.shift) as usize % MOST_SHARDS as usize;
            let count = self.counts[shard];
            self.touches[shard][count] = touch;
            self.counts[shard] = count + 1;
        });
        for shard in 0..MOST_SHARDS as usize {
            // Room for what the next batch brings.
            if self.counts[shard] > TOUCHES_PER_BUCKET - BATCH {
                self.empty(array, shards, shard);
            }
        }
    }

    /// Applies all touches that wait.
    pub(super) fn drain(&mut self, array: Array<'_, C>, shards: &Shards) {
        for shard in 0..shards.locks.len() {
            if self.counts[shard] > 0 {
                self.empty(array, shards, shard);
            }
        }
    }

    #[inline(always)]
    fn empty(&mut self, array: Array<'_, C>, shards: &Shards, shard: usize) {
        let touches = &self.touches[shard][..self.counts[shard]];
        let here = self.touches.as_ptr().addr();
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
