//! Passes over all recorders, at the speed of the memory.
//!
//! They come in chunks, for any number of threads, and are compiled for wider vectors too; so are
//! the tallies.

use std::ops::Range;

use prefetch_index::prefetch_index;
use srlg_core::counter::{Counter, Tally};
use srlg_core::{Address, ReadRecorder, Recorder, Span, View, age_all, count_below};

use crate::vectors::for_wider_vectors;

/// Recorders that one thread takes at once.
pub(super) const RECORDERS_PER_CHUNK: usize = 1 << 18;

for_wider_vectors! {
    /// Counts the `recorders` whose word is below `limit`.
    pub(super) fn count<R: ReadRecorder>(recorders: &[R], limit: R::Word) -> u32 {
        count_below(recorders, limit)
    }

    /// Ages all `recorders` by `step`, and counts those whose word was below `limit` before.
    pub(super) fn age_by<R: Recorder>(recorders: &mut [R], step: R::Word, limit: R::Word) -> u32 {
        age_all(recorders, step, limit)
    }

    /// Makes the tally of `host` over `positions`.
    pub(super) fn tally<C: Counter>(
        array: View<'_, C::Params, <C::Recorder as ReadRecorder>::Word>,
        host: Address,
        span: Span,
        positions: Range<u32>,
    ) -> Tally {
        let ahead = |recorder| prefetch_index(array.recorders(), recorder);
        C::tally(array, host, (span, positions), ahead)
    }
}

#[cfg(test)]
mod vector_tests;
