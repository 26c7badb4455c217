//! Passes over recorders, and examination of single hosts, compiled for several vector widths.
//!
//! A pass runs at memory bandwidth. Callers split the recorders into chunks, so that several threads can share a pass.

use multiversion::target::match_target;
use prefetch_index::prefetch_index;
use srlg_core::counter::{Accumulator, Counter, Look, Tally, tagged};
use srlg_core::{ArrayView, ReadRecorder, Recorder, age_all, count_below};

#[cfg(target_arch = "x86_64")]
use super::picking;
use crate::vectors::for_wider_vectors;

/// Number of recorders that one thread takes at a time.
pub(super) const RECORDERS_PER_CHUNK: usize = 1 << 18;

for_wider_vectors! {
    pub(super) fn count<R: ReadRecorder>(recorders: &[R], limit: R::Word) -> u32 {
        count_below(recorders, limit)
    }

    /// Ages all `recorders` by `step`. Returns the number of words that were below `limit` before ageing.
    pub(super) fn age_by<R: Recorder>(recorders: &mut [R], step: R::Word, limit: R::Word) -> u32 {
        age_all(recorders, step, limit)
    }

    /// Counts the positions in `array` that `look` selects, and adds the counts to `counted`.
    pub(super) fn look_at<C: Counter>(
        array: ArrayView<'_, C::Params, <C::Recorder as ReadRecorder>::Word>,
        look: &Look,
        counted: &mut C::Accumulator,
    ) {
        let ahead = |recorder| prefetch_index(array.recorders(), recorder);
        let pick = match_target! {
            "x86_64+avx512f+avx512bw+avx512vbmi2" => |group: &_, wanted, found: &mut _| {
                picking::avx512(group, wanted, found);
            },
            "x86_64+avx2" => |group: &_, wanted, found: &mut _| picking::avx2(group, wanted, found),
            _ => tagged::pick,
        };
        C::count(array, look, ahead, pick, counted);
    }

    /// Returns whether a host may be a super point. `counted` contains the counts of its first `positions` positions,
    /// at the end of a stage of its glimpse.
    pub(super) fn may_reach<C: Counter>(
        params: &C::Params,
        positions: u32,
        counted: &C::Accumulator,
    ) -> bool {
        counted.may_reach(params, positions)
    }

    /// Writes the tally of `counted` to `tally`, which must belong to the same counter and span.
    pub(super) fn tally_into<C: Counter>(counted: &C::Accumulator, tally: &mut Tally) {
        counted.tally_into(tally);
    }
}

#[cfg(test)]
mod vector_tests;
