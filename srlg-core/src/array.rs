//! The arrays of a detector: the number of recorders in each, their [`Width`], and the amount by which their words grow
//! over time.
//!
//! Code that moves, merges or writes recorders needs only this module and the [`RecentRange`](crate::RecentRange) of
//! each array.

use crate::epoch::Ages;
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::{Width, Word};

/// Number of arrays in a detector.
pub const ARRAYS: usize = 2;

/// Index of the finder's array.
pub const FINDER: usize = 0;

/// Index of the counter's array.
pub const COUNTER: usize = 1;

/// The number and the width of the recorders in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// Number of recorders.
    pub recorders: usize,
    /// Width of each recorder.
    pub width: Width,
}

impl ArrayShape {
    pub(crate) const fn of<R: ReadRecorder>(recorders: usize) -> Self {
        Self { recorders, width: <R::Word as Word>::WIDTH }
    }

    /// Returns the size of all recorders, in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.recorders * self.width.bytes()
    }
}

impl Params {
    /// Returns the size of all recorders of both arrays, in bytes.
    #[must_use]
    pub fn recorder_bytes(&self) -> usize {
        let [finder, counter] = self.arrays();
        finder.bytes() + counter.bytes()
    }

    /// Returns the amount by which the words of each array grow when the recorders age by `ages`.
    #[doc(hidden)]
    #[must_use]
    pub fn age_steps(&self, ages: Ages) -> [u64; ARRAYS] {
        let tags = self.counter_sizes().tags;
        [(ages.finder, self.finder.age_step()), (ages.counter, tags.into())]
            .map(|(epochs, step)| u64::from(epochs).saturating_mul(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
