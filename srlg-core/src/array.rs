//! The arrays of a detector, by number: how many recorders of which [`Width`] each has, by how much
//! its words grow as time passes, and which of its words are recent.
//!
//! Code that moves, merges or writes recorders needs no more than that, and loops over the numbers.

use crate::epoch::{Ages, Span};
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::{Width, Word};

/// How many arrays a detector has.
pub const ARRAYS: usize = 2;

/// Number of the array in which hosts are found.
pub const FINDER: usize = 0;

/// Number of the array that counts their peers.
pub const COUNTER: usize = 1;

/// The size of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// Number of recorders.
    pub recorders: usize,
    /// Bits of each.
    pub width: Width,
}

impl ArrayShape {
    /// The shape of an array of `recorders` recorders of type `R`.
    pub(crate) const fn of<R: ReadRecorder>(recorders: usize) -> Self {
        Self { recorders, width: <R::Word as Word>::WIDTH }
    }

    /// Bytes of all recorders.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.recorders * self.width.bytes()
    }
}

/// Which words of an array are recent: those below `recent`, and those that are below `recent` once
/// `echo` is taken off, which may be 0. The sum of both is no larger than the largest word.
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
    /// Whether `word` is recent.
    #[inline(always)]
    #[must_use]
    pub fn holds(self, word: W) -> bool {
        // No branch: its outcome could not be foreseen.
        (word < self.recent) | (word.wrapping_sub(self.echo) < self.recent)
    }
}

impl Params {
    /// Bytes of all recorders.
    #[must_use]
    pub fn recorder_bytes(&self) -> usize {
        let [finder, counter] = self.arrays();
        finder.bytes() + counter.bytes()
    }

    /// By how much the words of each array grow in `ages`.
    #[must_use]
    pub fn age_steps(&self, ages: Ages) -> [u64; ARRAYS] {
        let tags = self.counter_sizes().tags;
        [(ages.finder, self.finder.age_step()), (ages.counter, tags.into())]
            .map(|(epochs, step)| u64::from(epochs).saturating_mul(step))
    }

    /// Which words of each array are those of a touch, or of the echo of a touch, within `span`,
    /// which is no longer than the window.
    ///
    /// In the tagged scheme it may as well be a touch that left the window long ago: an echo's
    /// word is that of an older touch.
    #[must_use]
    pub fn recent_ranges(&self, span: Span) -> [RecentRange; ARRAYS] {
        let ends = |finder, counter| self.age_steps(Ages { finder, counter });
        let recent = ends(span.finder_ages, span.ages);
        let echo = ends(0, self.counter_sizes().echo_delay);
        [FINDER, COUNTER].map(|array| RecentRange { recent: recent[array], echo: echo[array] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn recent_are_the_words_of_recent_ages_and_of_their_echoes() {
        let longer = Config { window: 1000, ..Config::default() };
        for config in [Config::default(), longer, Config::paper()] {
            let params = config.validate().unwrap();
            let delay = params.counter_sizes().echo_delay;
            for slices in [1, 2, config.window] {
                let span = params.span(77, slices);
                let [finder, counter] = params.recent_ranges(span);
                for word in 0..=u16::MAX {
                    let age = u32::from(word) / params.counter_sizes().tags;
                    let echo = delay..delay + span.ages;
                    let expected = age < span.ages || echo.contains(&age);
                    assert_eq!(counter.of_width::<u16>().holds(word), expected, "{word}");
                }
                for age in 0..2 * config.window {
                    let word = u64::from(age) * params.finder().age_step();
                    assert_eq!(finder.holds(word), age < span.finder_ages, "{age}");
                }
                assert!(!finder.holds(u64::MAX));
            }
        }
    }

    #[test]
    fn words_are_as_wide_as_their_width() {
        fn check<W: Word>() {
            assert_eq!(W::WIDTH.bytes(), size_of::<W>());
            assert!((0..size_of::<W>()).all(|number| W::MAX.byte(number) == 0xff));
            let word = W::of_bytes(|number| number as u8 + 1);
            assert!((0..size_of::<W>()).all(|number| word.byte(number) == number as u8 + 1));
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        assert_eq!((0x0102_0304_u32.byte(0), 0x0102_0304_u32.byte(3)), (4, 1));
    }
}
