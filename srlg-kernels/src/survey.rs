//! Counting both arrays at the end of a slice.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::{Grid, List};
use srlg_core::{Params, Recorder, Recorder16, Rsra, Slea, Span};

/// Number of weights that a rough estimator can have: 0 to 8.
pub const WEIGHTS: usize = 9;

/// Writes the mask of every rough estimator, row after row, and counts the hot ones: per row
/// and weight one of `weights`, `rough_rows x 9`.
#[inline(always)]
pub fn survey<R: Recorder>(
    grid: Grid,
    params: &Params,
    span: Span,
    rough: &[R],
    (masks, weights): (&[AtomicU8], &[AtomicU32]),
) {
    let rsra = Rsra::new(params, rough);
    for index in grid.of_all(masks.len()) {
        let mask = rsra.mask_at(index, span.rough_ages);
        masks[index].store(mask, Relaxed);
        if mask.count_ones() >= params.hot_weight() {
            let row = index >> params.rough_column_bits();
            weights[row * WEIGHTS + mask.count_ones() as usize].fetch_add(1, Relaxed);
        }
    }
}

/// Sums per row of the SLEA that [`weigh`] leaves: were there one, all threads would wait for it.
pub const SUMS: usize = 64;

/// Counts, per row of the SLEA, the recorders within `span`: the sum of [`SUMS`] `weights`.
#[inline(always)]
pub fn weigh(
    grid: Grid,
    params: &Params,
    span: Span,
    linear: &[Recorder16],
    weights: &[AtomicU32],
) {
    let slea = Slea::new(params, linear);
    let row_len = params.linear_row_len() as usize;
    for (row, weights) in weights.chunks_exact(SUMS).enumerate() {
        let indices = grid.of_all(row_len).map(|at| row * row_len + at);
        let within = indices.map(|index| u32::from(slea.is_within(index, span))).sum();
        weights[grid.block as usize % SUMS].fetch_add(within, Relaxed);
    }
}

/// Lists the columns of `row` whose masks have at least `weight`.
#[inline(always)]
pub fn hot(
    grid: Grid,
    params: &Params,
    (row, weight): (u32, u32),
    masks: &[u8],
    columns: List<'_, AtomicU32>,
) {
    let first = row << params.rough_column_bits();
    for column in grid.of_all(params.rough_columns() as usize) {
        if masks[first as usize + column].count_ones() >= weight {
            columns.add(column as u32);
        }
    }
}
