//! [`RecentRange`]: which recorders of an array the last slices touched, as far as their words tell.
//!
//! The smaller the word of a touch, the more recent it is. An echo looks older than any touch of the
//! window. So does a touch that left the window: once it is as old as echoes look, its word is that
//! of a fresh echo. Its line tells them apart. An echo is in the line of its touch, and in the place of
//! that is its word or a smaller one. So a line without the word of a recent touch has no recent
//! echo, and what looks like one there is an old touch. In a line that has one, old touches are
//! taken for echoes: a recorder too many, never one too few.

use crate::array::{ARRAYS, COUNTER, FINDER};
use crate::counter::tagged::LINE;
use crate::epoch::{Ages, Span};
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::Word;

/// Says which words of an array are recent: those of touches, which are below `recent`, and those of their
/// echoes, which are below `recent` once `echo` is taken off. The sum of both is no larger than the largest word.
///
/// `echo` is 0 where there are no echoes: what looks like one is a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRange<W = u64> {
    /// Touches are below it.
    pub recent: W,
    /// By how much the word of an echo is larger than that of its touch.
    pub echo: W,
}

impl RecentRange {
    /// Returns the same range, for words `W`, which are as wide as those that the range is of.
    #[must_use]
    pub fn of_width<W: Word>(self) -> RecentRange<W> {
        RecentRange { recent: W::saturated(self.recent), echo: W::saturated(self.echo) }
    }
}

impl<W: Word> RecentRange<W> {
    /// Returns whether recorder number `at` of `recorders`, which are an array or whole lines of it, is recent.
    ///
    /// # Panics
    /// When there is no such recorder.
    #[inline(always)]
    #[must_use]
    pub fn holds<R: ReadRecorder<Word = W>>(self, recorders: &[R], at: usize) -> bool {
        let word = recorders[at].word();
        let line = || recorders.iter().skip(at - at % LINE as usize).take(LINE as usize);
        self.is_touch(word) || self.looks_recent(word) && self.has_touch(line())
    }

    /// Returns whether a recorder of `line` is a recent touch. Otherwise none of them is recent.
    #[inline(always)]
    #[must_use]
    pub fn has_touch<'a, R: ReadRecorder<Word = W> + 'a>(
        self,
        line: impl IntoIterator<Item = &'a R>,
    ) -> bool {
        // All are looked at: that vectorises.
        line.into_iter().fold(false, |has, recorder| has | self.is_touch(recorder.word()))
    }

    /// Returns whether `word` looks like that of a recent touch or of its echo: in a line that
    /// [has a touch](Self::has_touch) it is recent.
    #[inline(always)]
    #[must_use]
    pub fn looks_recent(self, word: W) -> bool {
        // No branch: its outcome could not be foreseen.
        self.is_touch(word) | (word.wrapping_sub(self.echo) < self.recent)
    }

    #[inline(always)]
    fn is_touch(self, word: W) -> bool {
        word < self.recent
    }
}

impl Params {
    /// Returns which words of each array are those of a touch, or of the echo of a touch, within
    /// `span`, which is no longer than the window.
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
