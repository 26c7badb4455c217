//! Recorders as words, for snapshots and deltas: [`WordArray`].

use srlg_core::RecentRange;

use super::pages::{Mappable, Pages};
use crate::state::{Coder, Section, StateWord, Words, code};

/// An array of recorders of whichever width.
pub(super) trait WordArray {
    /// All words.
    fn words(&self) -> Words;

    /// The words of the recorders numbered `places`.
    fn gather(&self, places: &[u32]) -> Words;

    /// Keeps the more recent of each recorder and its one of `words`, aged by `step`.
    fn merge(&mut self, words: &Words, step: u64);

    /// Writes to `coder` the recorders that `range` holds.
    fn recent(&mut self, range: RecentRange, coder: &mut Coder);

    /// Keeps the more recent of each recorder in `section` and its word there, aged by `step`.
    fn apply(&mut self, section: &Section<'_>, step: u64);
}

impl<R: Mappable> WordArray for Pages<R> {
    fn words(&self) -> Words {
        R::Word::wrap(self.shared().iter().map(R::word).collect())
    }

    fn gather(&self, places: &[u32]) -> Words {
        let recorders = self.shared();
        R::Word::wrap(places.iter().map(|&place| recorders[place as usize].word()).collect())
    }

    fn merge(&mut self, words: &Words, step: u64) {
        let (words, step) = (R::Word::of(words), R::saturated(step));
        self.exclusive(|recorders| {
            assert_eq!(recorders.len(), words.len(), "snapshots of equal sizes have equal lengths");
            for (ours, &word) in R::freeze(recorders).iter_mut().zip(words) {
                *ours = (*ours).min(R::aged(word, step));
            }
        });
    }

    fn recent(&mut self, range: RecentRange, coder: &mut Coder) {
        self.frozen(|words| code(words, range, coder));
    }

    fn apply(&mut self, section: &Section<'_>, step: u64) {
        let step = R::saturated(step);
        self.exclusive(|recorders| {
            let merged = section.walk(|place, word| {
                let (word, recorder) = (R::aged(word, step), &mut recorders[place]);
                if word < recorder.word() {
                    *recorder = R::new(word);
                }
            });
            merged.expect("sections are walked over when they are read");
        });
    }
}
