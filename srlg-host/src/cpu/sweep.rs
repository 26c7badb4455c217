//! Passes over all recorders, at the speed of the memory.
//!
//! They come in pieces, for any number of threads, and are compiled for wider vectors too; so are
//! the tallies.

use std::ops::Range;

use prefetch_index::prefetch_index;
use srlg_core::{
    Address, Params, ReadRecorder, Recorder, Rsra, Slea, Span, Tally, age_all, count_below,
};
use srlg_kernels::survey::WEIGHTS;

use crate::vectors::for_wider_vectors;

/// Recorders of a piece.
pub(super) const PIECE: usize = 1 << 18;

for_wider_vectors! {
    /// The masks of rough estimators, from number `first` on.
    pub(super) fn masks<R: ReadRecorder>(
        rsra: Rsra<'_, R>,
        ages: u32,
        first: usize,
        masks: &mut [u8],
    ) {
        rsra.masks(ages, first, masks);
    }

    /// How many of a row of `masks` have weight 0, 1, ... 8, of those with at least `hot_weight`.
    pub(super) fn weights(masks: &[u8], hot_weight: u32) -> [u32; WEIGHTS] {
        let mut weights = [0; WEIGHTS];
        for (weight, total) in (0..).zip(&mut weights).skip(hot_weight as usize) {
            // Counters as narrow as the masks keep all lanes busy; 255 cannot overflow them.
            for masks in masks.chunks(255) {
                let mut count = 0u8;
                for mask in masks {
                    count += u8::from(mask.count_ones() == weight);
                }
                *total += u32::from(count);
            }
        }
        weights
    }

    /// How many of `recorders` have a word below `limit`.
    pub(super) fn count(recorders: &[u16], limit: u16) -> u32 {
        count_below(recorders, limit)
    }

    /// Ages all `recorders` by `step`; how many had a word below `limit` before.
    pub(super) fn age_by<R: Recorder>(recorders: &mut [R], step: R::Word, limit: R::Word) -> u32 {
        age_all(recorders, step, limit)
    }

    /// Tally of `host`.
    pub(super) fn tally(
        params: &Params,
        recorders: &[u16],
        host: Address,
        span: Span,
        positions: Range<u32>,
    ) -> Tally {
        let ahead = |recorder| prefetch_index(recorders, recorder);
        Slea::new(params, recorders).tally_ahead(host, span, positions, ahead)
    }
}
