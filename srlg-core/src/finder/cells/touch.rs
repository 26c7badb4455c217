//! Touches of cells: one pair in 2^τ is sampled and touches one cell of its host.

use super::CellArray;
use super::params::CellsParams;
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::pair::BATCH;
use crate::recorder::{ReadRecorder, Recorder, Recorder64};

/// The touch of a cell by a sampled pair: the number of the cell, and the word of the pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellTouch {
    pub(super) place: u32,
    word: u64,
}

impl CellArray<'_, Recorder64> {
    /// Calls `later` with the touch of each sampled pair in `pairs`, for contacts `age` epochs ago.
    ///
    /// Testing whether a pair is sampled is pure arithmetic, so it vectorises. The result of the test is unpredictable,
    /// so sampled pairs are listed without a branch.
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into both arrays vectorises"
    )]
    pub fn find_touches(self, pairs: &impl Batch, age: u32, mut later: impl FnMut(CellTouch)) {
        by_family!(self.params, |params| {
            let mut hashes = [0u32; BATCH];
            for i in 0..BATCH {
                hashes[i] = params.pair_hash(&pairs.get(i));
            }
            let (mut sampled, mut count) = ([0u8; BATCH], 0);
            for i in 0..BATCH {
                sampled[count] = i as u8;
                count += usize::from(params.is_sampled(hashes[i]));
            }
            for &i in &sampled[..count] {
                let i = usize::from(i);
                let (place, word) = params.touch_of(&pairs.get(i), hashes[i], age);
                later(CellTouch { place, word });
            }
        });
    }

    /// Applies `touches`. Other threads may touch cells at the same time.
    #[inline(always)]
    pub fn apply(self, touches: &[CellTouch]) {
        for touch in touches {
            let cell = &self.recorders[touch.place as usize];
            // The word is read first, because a line that is not written stays in the caches of all threads.
            cell.fetch_min_seen(cell.word(), touch.word);
        }
    }

    /// If `pair` is sampled, touches its cell for a contact `age` epochs ago.
    #[inline]
    pub fn touch(self, pair: &impl PairIds, age: u32) {
        touch_cells(self.params, self.recorders, pair, age);
    }
}

/// If `pair` is sampled, touches its cell in `cells` for a contact `age` epochs ago. `params` are the params of the
/// array. Other threads may touch cells at the same time.
///
/// # Panics
/// Panics if `cells` does not contain the cell that a sampled pair touches.
#[inline(always)]
pub fn touch_cells(params: &CellsParams, cells: &[Recorder64], pair: &impl PairIds, age: u32) {
    let hash = params.pair_hash(pair);
    if params.is_sampled(hash) {
        let (place, word) = params.touch_of(pair, hash, age);
        cells[place as usize].fetch_min_at_once(word);
    }
}
