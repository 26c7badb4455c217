//! [`RecentRange`]: the recorders of an array that the last slices touched, as far as their words show it.
//!
//! The smaller the word of a touch, the more recent it is. An echo looks older than any touch of the window. So does a
//! touch that has left the window: once it is as old as an echo looks, its word is that of a fresh echo.
//!
//! The line separates the two cases. An echo is in the same line as its touch, and the place of that touch holds its
//! word or a smaller one. Therefore a line without a recent touch has no recent echo, and a word that looks like one is
//! an old touch. In a line with a recent touch, old touches are taken for echoes. Too many recorders may be selected,
//! but never too few.

use crate::array::{ARRAYS, COUNTER, FINDER};
use crate::counter::tagged::LINE;
use crate::epoch::{Ages, Span};
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::Word;

/// The range of words that are recent in an array. Words of touches are below `recent`. Words of their echoes are below
/// `recent` after `echo` is subtracted. The sum of both does not exceed the largest word.
///
/// If `echo` is 0, the array has no echoes, and every recent word is a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRange<W = u64> {
    /// Upper end of the words of touches, exclusive.
    pub recent: W,
    /// Difference between the word of an echo and the word of its touch.
    pub echo: W,
}

impl RecentRange {
    /// Returns the same range for words of type `W`, which must have the width of the array.
    #[must_use]
    pub fn of_width<W: Word>(self) -> RecentRange<W> {
        RecentRange { recent: W::saturated(self.recent), echo: W::saturated(self.echo) }
    }
}

impl<W: Word> RecentRange<W> {
    /// Returns whether recorder number `at` of `recorders` is recent. `recorders` are an array or whole lines of it.
    ///
    /// # Panics
    /// Panics if `recorders` do not contain that recorder.
    #[inline(always)]
    #[must_use]
    pub fn holds<R: ReadRecorder<Word = W>>(self, recorders: &[R], at: usize) -> bool {
        let word = recorders[at].word();
        let line = || recorders.iter().skip(at - at % LINE as usize).take(LINE as usize);
        self.is_touch(word) || self.looks_recent(word) && self.has_touch(line())
    }

    /// Returns whether a recorder of `line` is a recent touch. If not, no recorder of the line is recent.
    #[inline(always)]
    #[must_use]
    pub fn has_touch<'a, R: ReadRecorder<Word = W> + 'a>(
        self,
        line: impl IntoIterator<Item = &'a R>,
    ) -> bool {
        // The loop does not stop early, so that it vectorises.
        line.into_iter().fold(false, |has, recorder| has | self.is_touch(recorder.word()))
    }

    /// Returns whether `word` looks like a recent touch or its echo. In a line that [has a touch](Self::has_touch), it
    /// is recent.
    #[inline(always)]
    #[must_use]
    pub fn looks_recent(self, word: W) -> bool {
        // The result is unpredictable, so this does not branch.
        self.is_touch(word) | (word.wrapping_sub(self.echo) < self.recent)
    }

    #[inline(always)]
    fn is_touch(self, word: W) -> bool {
        word < self.recent
    }
}

impl Params {
    /// Returns the range of words of each array that belong to a touch, or to the echo of a touch, within `span`. The
    /// span must not be longer than the window.
    #[must_use]
    pub fn recent_ranges(&self, span: Span) -> [RecentRange; ARRAYS] {
        let ends = |finder, counter| self.age_steps(Ages { finder, counter });
        let recent = ends(span.finder_ages, span.ages);
        let echo = ends(0, self.counter_sizes().echo_delay);
        [FINDER, COUNTER].map(|array| RecentRange { recent: recent[array], echo: echo[array] })
    }
}

#[cfg(test)]
mod tests;
