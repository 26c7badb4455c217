//! The arrays of a detector, by number: how many recorders of which [`Width`] each has, and by how much
//! its words grow as time passes.
//!
//! Code that moves, merges or writes recorders needs no more than that and the
//! [`RecentRange`](crate::RecentRange)s of the arrays, and loops over the numbers.

use crate::epoch::Ages;
use crate::params::Params;
use crate::recorder::ReadRecorder;
use crate::word::{Width, Word};

/// How many arrays a detector has.
pub const ARRAYS: usize = 2;

/// Number of the array in which hosts are found.
pub const FINDER: usize = 0;

/// Number of the array that counts their peers.
pub const COUNTER: usize = 1;

/// Holds the number and the width of the recorders of an array.
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

    /// Returns the number of bytes of all recorders.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.recorders * self.width.bytes()
    }
}

impl Params {
    /// Returns the number of bytes of all recorders.
    #[must_use]
    pub fn recorder_bytes(&self) -> usize {
        let [finder, counter] = self.arrays();
        finder.bytes() + counter.bytes()
    }

    /// Returns by how much the words of each array grow in `ages`.
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
