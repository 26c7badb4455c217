//! Recorders as words, for states and deltas.

use super::pages::{Mappable, Pages};
use crate::state::entry;

/// Keeps the more recent of each recorder and its word, aged by `step`.
pub(super) fn merge_words<R: Mappable>(pages: &Pages<R>, words: &[u16], step: u32) {
    assert_eq!(pages.shared().len(), words.len(), "states of one fingerprint are of one size");
    for (recorder, &word) in pages.shared().iter().zip(words) {
        recorder.most_recent(R::grown(R::saturated(word.into()), step));
    }
}

/// The words of `pages`, which fit in 16 bits.
pub(super) fn words<R: Mappable>(pages: &Pages<R>) -> Vec<u16> {
    let words = pages.shared().iter().map(|recorder| recorder.word().into());
    words.map(|word: u32| word as u16).collect()
}

/// The recorders of `pages` whose word `is_recent`.
pub(super) fn entries<R: Mappable>(pages: &Pages<R>, is_recent: impl Fn(u32) -> bool) -> Vec<u64> {
    let words = pages.shared().iter().map(|recorder| recorder.word().into()).enumerate();
    words.filter(|&(_, word)| is_recent(word)).map(|(at, word)| entry(at, word)).collect()
}

/// Keeps the more recent of each recorder of `entries` and its word there, aged by `step`.
pub(super) fn merge_entries<R: Mappable>(pages: &Pages<R>, entries: &[u64], step: u32) {
    let recorders = pages.shared();
    for &entry in entries {
        let word = R::grown(R::saturated(entry as u32), step);
        recorders[(entry >> 32) as usize].most_recent(word);
    }
}
