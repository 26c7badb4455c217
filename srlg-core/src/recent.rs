//! [`RecentRange`]: the range of words by which recently touched recorders of an array are recognised.
//!
//! The smaller the word of a touch, the more recent the touch. An echo looks older than any touch in the window. A
//! touch that has left the window can look like an echo: once it is old enough, its word can equal the word of a recent
//! echo.
//!
//! The other words of the line distinguish a recent echo from an old touch. An echo is in the same line as its touch,
//! and the recorder of the touch contains the word of the touch or a smaller word. In a line without a recent touch, a
//! word that looks like a recent echo is therefore an old touch. In a line with a recent touch, a word that looks like
//! a recent echo is treated as one. Some old touches may therefore be treated as recent, but no recent touch or echo is
//! missed.

use crate::array::{ARRAYS, COUNTER, FINDER};
use crate::counter::tagged::LINE;
use crate::epoch::{Ages, Span};
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::Word;

/// The range of words that are recent in an array. The word of a recent touch is below `recent`. The word of a recent
/// echo minus `echo` is below `recent`. The sum of `recent` and `echo` does not exceed the largest word.
///
/// If `echo` is 0, the array has no echoes, and every recent word is a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRange<W = u64> {
    /// Exclusive upper bound for the words of recent touches.
    pub recent: W,
    /// Difference between the word of an echo and the word of its touch.
    pub echo: W,
}

impl RecentRange {
    /// Returns this range for words of type `W`, which must have the width of the array.
    #[must_use]
    pub fn of_width<W: Word>(self) -> RecentRange<W> {
        RecentRange { recent: W::saturated(self.recent), echo: W::saturated(self.echo) }
    }
}

impl<W: Word> RecentRange<W> {
    /// Returns whether recorder number `at` of `recorders` is recent. `recorders` must be a whole array, or whole lines
    /// of an array.
    ///
    /// # Panics
    /// Panics if `recorders` does not contain that recorder.
    #[inline(always)]
    #[must_use]
    pub fn holds<R: ReadRecorder<Word = W>>(self, recorders: &[R], at: usize) -> bool {
        let word = recorders[at].word();
        let line = || recorders.iter().skip(at - at % LINE as usize).take(LINE as usize);
        self.is_touch(word) || self.looks_recent(word) && self.has_touch(line())
    }

    /// Returns whether any recorder of `line` contains a recent touch. If the result is false, no recorder of the line
    /// is recent.
    #[inline(always)]
    #[must_use]
    pub fn has_touch<'a, R: ReadRecorder<Word = W> + 'a>(
        self,
        line: impl IntoIterator<Item = &'a R>,
    ) -> bool {
        // The loop visits all recorders, so that it vectorises.
        line.into_iter().fold(false, |has, recorder| has | self.is_touch(recorder.word()))
    }

    /// Returns whether `word` looks like a recent touch or the echo of a recent touch. Such a word is recent if its
    /// line [has a recent touch](Self::has_touch).
    #[inline(always)]
    #[must_use]
    pub fn looks_recent(self, word: W) -> bool {
        // The result is unpredictable, so this expression does not branch.
        self.is_touch(word) | (word.wrapping_sub(self.echo) < self.recent)
    }

    #[inline(always)]
    fn is_touch(self, word: W) -> bool {
        word < self.recent
    }
}

impl Params {
    /// Returns the range of word values that a touch within `span`, or its echo, can have in each array. The span must
    /// not be longer than the window.
    #[doc(hidden)]
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
