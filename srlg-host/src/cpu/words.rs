//! Recorders as words, for snapshots and deltas.

use super::pages::{Mappable, Pages};
use crate::state::Section;

/// The words of `pages`, which fit in 16 bits.
pub(super) fn words<R: Mappable>(pages: &Pages<R>) -> Vec<u16> {
    let words = pages.shared().iter().map(|recorder| recorder.word().into());
    words.map(|word: u32| word as u16).collect()
}

/// Gives the recorders of `pages` these words.
pub(super) fn set_words<R: Mappable>(pages: &mut Pages<R>, words: &[u16]) {
    pages.exclusive(|recorders| {
        assert_eq!(recorders.len(), words.len(), "snapshots of equal sizes have equal lengths");
        for (recorder, &word) in recorders.iter_mut().zip(words) {
            *recorder = R::new(R::saturated(word.into()));
        }
    });
}

/// Keeps the more recent of each recorder and its word, aged by `step`.
pub(super) fn merge_words<R: Mappable>(pages: &mut Pages<R>, words: &[u16], step: u32) {
    pages.exclusive(|recorders| {
        assert_eq!(recorders.len(), words.len(), "snapshots of equal sizes have equal lengths");
        for (recorder, &word) in recorders.iter_mut().zip(words) {
            let word = R::aged(R::saturated(word.into()), step);
            *recorder = R::new(recorder.word().min(word));
        }
    });
}

/// Keeps the more recent of each recorder of `section` and its word there, aged by `step`.
pub(super) fn merge_section<R: Mappable>(pages: &mut Pages<R>, section: &Section<'_>, step: u32) {
    pages.exclusive(|recorders| {
        let merged = section.walk(|place, word| {
            let (word, recorder) =
                (R::aged(R::saturated(word.into()), step), &mut recorders[place]);
            if word < recorder.word() {
                *recorder = R::new(word);
            }
        });
        merged.expect("sections are walked over when they are read");
    });
}
