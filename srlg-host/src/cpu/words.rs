//! Recorders as words, for snapshots and deltas.

use super::pages::{Mappable, Pages};
use crate::state::{Section, StateWord, Words};

/// The words of `pages`.
pub(super) fn words<R: Mappable>(pages: &Pages<R>) -> Words {
    R::Word::wrap(pages.shared().iter().map(R::word).collect())
}

/// Keeps the more recent of each recorder of `pages` and its one of `words`, aged by `step`.
pub(super) fn merge_words<R: Mappable>(pages: &mut Pages<R>, words: &Words, step: u64) {
    let (words, step) = (words.of::<R::Word>(), R::saturated(step));
    pages.exclusive(|recorders| {
        assert_eq!(recorders.len(), words.len(), "snapshots of equal sizes have equal lengths");
        for (recorder, &word) in recorders.iter_mut().zip(words) {
            *recorder = R::new(recorder.word().min(R::aged(word, step)));
        }
    });
}

/// Keeps the more recent of each recorder in `section` and its word there, aged by `step`.
pub(super) fn merge_section<R: Mappable>(pages: &mut Pages<R>, section: &Section<'_>, step: u64) {
    let step = R::saturated(step);
    pages.exclusive(|recorders| {
        let merged = section.walk(|place, word| {
            let (word, recorder) = (R::aged(word, step), &mut recorders[place]);
            if word < recorder.word() {
                *recorder = R::new(word);
            }
        });
        merged.expect("sections are walked over when they are read");
    });
}
