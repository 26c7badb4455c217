//! [`Shards`]: parts of a counter's array that one thread at a time changes.
//!
//! A touch keeps the smaller of two words. Among threads that takes an atomic swap, which costs
//! more than all the rest; alone, a load and a store. So a thread sorts touches into buckets, one
//! per shard, and takes the lock of a shard when its bucket is full: once for some hundred
//! touches, and hardly ever while another holds it.

use std::sync::Mutex;

use srlg_core::counter::Counter;
use srlg_core::counter::tagged::LINE;
use srlg_core::{ArrayView, BATCH, Batch};

/// Shards, at most; a power of two.
const MOST_SHARDS: u32 = 16;

/// Touches of a bucket: the buckets of all shards fit in the first cache.
const TOUCHES_PER_BUCKET: usize = 192;

/// The locks of all shards, each in lines of its own.
pub(super) struct Shards {
    locks: Vec<Lock>,
    /// By how much the number of a recorder is shifted to be that of its shard: whole lines.
    shift: u32,
}

#[repr(align(128))]
struct Lock(Mutex<()>);

impl Shards {
    /// The shards of an array of `recorders` recorders.
    pub(super) fn new(recorders: usize) -> Self {
        let bits = usize::BITS - (recorders - 1).leading_zeros();
        let shift = bits.saturating_sub(MOST_SHARDS.ilog2()).max(LINE.ilog2());
        let count = ((recorders - 1) >> shift) + 1;
        Self { locks: (0..count).map(|_| Lock(Mutex::new(()))).collect(), shift }
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
        let _alone = shards.locks[shard].0.lock().expect("nobody panics with a shard");
        C::apply_exclusive(array, touches);
        self.counts[shard] = 0;
    }
}
