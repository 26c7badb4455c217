//! The kernels that survey the rough estimators, list hot columns and count recent recorders when a slice closes.

use core::sync::atomic::Ordering::Relaxed;

use crate::{Body, Count, Grid, Hot, KernelRecorder, Slices, Survey, add};
use srlg_core::finder::Rsra;

/// Number of possible weights of a rough estimator, which range from 0 to 8.
pub const WEIGHTS: usize = 9;

/// Number of sums per row that [`Count`] writes. A GPU serialises additions to the same word, but performs additions to
/// neighbouring words in parallel.
pub const SUMS: usize = 4096;

impl Body for Survey<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let rsra = Rsra::new(&self.params, self.rough);
        for index in grid.of_all(self.masks.len()) {
            let mask = rsra.mask_at(index, self.span.finder_ages);
            self.masks[index].store(mask, Relaxed);
            if mask.count_ones() >= self.params.hot_weight() {
                let row = index >> self.params.column_bits();
                self.weights[row * WEIGHTS + mask.count_ones() as usize].fetch_add(1, Relaxed);
            }
        }
    }
}

impl<R: KernelRecorder> Body for Count<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let (row_len, limit) = (self.row_len as usize, R::saturated(self.limit));
        for (row, sums) in self.sums.chunks_exact(SUMS).enumerate() {
            let is_below = |at: usize| self.recorders[row * row_len + at].word() < limit;
            let below = grid.of_all(row_len).map(|at| u32::from(is_below(at))).sum();
            sums[grid.number() % SUMS].fetch_add(below, Relaxed);
        }
    }
}

impl Body for Hot<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let first = (self.row << self.params.column_bits()) as usize;
        for column in grid.of_all(self.params.columns() as usize) {
            if self.masks[first + column].count_ones() >= self.weight {
                add(self.columns, &self.count[0], column as u32);
            }
        }
    }
}
