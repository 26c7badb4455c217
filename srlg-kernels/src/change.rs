//! Changing the recorders of either array as a whole: growing older, merging, and what the last
//! slices touched.

use core::sync::atomic::AtomicU64;

use crate::{Grid, List};
use srlg_core::Recorder;

/// Ages all recorders by `step`; no other kernel may run.
#[inline(always)]
pub fn age<R: Recorder>(grid: Grid, recorders: &[R], step: u32) {
    for at in grid.of_all(recorders.len()) {
        recorders[at].set(R::aged(recorders[at].word(), R::saturated(step)));
    }
}

/// Merges `words`, aged by `step`, into the recorders from number `first` on.
#[inline(always)]
pub fn merge<R: Recorder>(grid: Grid, recorders: &[R], first: u32, words: &[u16], step: u32) {
    for at in grid.of_all(words.len()) {
        merge_word(&recorders[first as usize + at], words[at].into(), step);
    }
}

/// Lists the recorders whose word `is_recent`: number above word, 32 bits each.
#[inline(always)]
pub fn extract<R: Recorder>(
    grid: Grid,
    recorders: &[R],
    is_recent: impl Fn(u32) -> bool,
    recent: List<'_, AtomicU64>,
) {
    for at in grid.of_all(recorders.len()) {
        let word: u64 = recorders[at].word().into();
        if is_recent(word as u32) {
            recent.add((at as u64) << 32 | word);
        }
    }
}

/// Merges `entries` of such a list, aged by `step`. Those beyond the recorders are left out.
#[inline(always)]
pub fn apply<R: Recorder>(grid: Grid, recorders: &[R], entries: &[u64], step: u32) {
    for at in grid.of_all(entries.len()) {
        if let Some(recorder) = recorders.get((entries[at] >> 32) as usize) {
            merge_word(recorder, entries[at] as u32, step);
        }
    }
}

#[inline(always)]
fn merge_word<R: Recorder>(recorder: &R, word: u32, step: u32) {
    recorder.fetch_min(R::aged(R::saturated(word), R::saturated(step)));
}
