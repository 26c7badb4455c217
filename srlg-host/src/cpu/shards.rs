//! [`Shards`]: parts of the tagged SLEA that one thread at a time changes.
//!
//! A touch keeps the smaller of two words. Among threads that takes an atomic swap, which costs
//! more than all the rest; alone, a load and a store. So a thread sorts touches into buckets, one
//! per shard, and takes the lock of a shard when its bucket is full: once for some hundred
//! touches, and hardly ever while another holds it.

use std::sync::Mutex;

use srlg_core::{BATCH, Params, Slea, Touch, Touches};

use super::Arrays;
use super::pages::Mappable;

/// Shards, at most; a power of two.
const MOST: u32 = 16;

/// Touches of a bucket: the buckets of all shards fit in the first cache.
const ROOM: usize = 192;

/// The locks of all shards, each in lines of its own.
pub(super) struct Shards(Vec<Lock>);

#[repr(align(128))]
struct Lock(Mutex<()>);

impl Shards {
    pub(super) fn new(params: &Params) -> Self {
        let count = ((params.linear_recorders() - 1) >> shift(params)) + 1;
        Self((0..count).map(|_| Lock(Mutex::new(()))).collect())
    }
}

/// By how much the number of a recorder is shifted to be that of its shard: whole lines.
fn shift(params: &Params) -> u32 {
    let bits = usize::BITS - (params.linear_recorders() - 1).leading_zeros();
    bits.saturating_sub(MOST.ilog2()).max(srlg_core::LINE.ilog2())
}

/// The touches of one thread that wait, by shard.
pub(super) struct Buckets {
    shift: u32,
    counts: [usize; MOST as usize],
    touches: Box<[[Touch; ROOM]; MOST as usize]>,
}

impl Buckets {
    pub(super) fn new(params: &Params) -> Self {
        let touches = vec![[Touch::default(); ROOM]; MOST as usize];
        let touches = touches.try_into().expect("as many buckets as were asked for");
        Self { shift: shift(params), counts: [0; MOST as usize], touches }
    }

    /// Takes the first `count` touches of a batch, and leaves those of full buckets in the
    /// recorders.
    #[inline(always)]
    pub(super) fn sort<R: Mappable>(
        &mut self,
        arrays: &Arrays<R>,
        touches: &Touches,
        count: usize,
    ) {
        for i in 0..count.min(BATCH) {
            let touch = touches.touch(i);
            prefetch_index::prefetch_index(arrays.linear.shared(), touch.place() as usize);
            let shard = (touch.place() >> self.shift) as usize % MOST as usize;
            let count = self.counts[shard];
            self.touches[shard][count] = touch;
            self.counts[shard] = count + 1;
        }
        for shard in 0..MOST as usize {
            // Room for whatever the next batch brings.
            if self.counts[shard] > ROOM - BATCH {
                self.empty(arrays, shard);
            }
        }
    }

    /// Leaves all touches in the recorders.
    pub(super) fn drain<R: Mappable>(&mut self, arrays: &Arrays<R>) {
        for shard in 0..arrays.shards.0.len() {
            if self.counts[shard] > 0 {
                self.empty(arrays, shard);
            }
        }
    }

    #[inline(always)]
    fn empty<R: Mappable>(&mut self, arrays: &Arrays<R>, shard: usize) {
        let touches = &self.touches[shard][..self.counts[shard]];
        let _alone = arrays.shards.0[shard].0.lock().expect("nobody panics with a shard");
        Slea::new(&arrays.params, arrays.linear.shared()).leave_alone(touches);
        self.counts[shard] = 0;
    }
}
