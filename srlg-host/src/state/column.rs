//! Columns: ascending numbers as gaps, whose bytes are stored in planes.
//!
//! A column consists of runs. The first number of a run is stored as it is, and each further number as the distance
//! from its predecessor, minus 1. Plane i contains byte i of every stored number; byte 0 is the least significant byte.
//! The high bytes of long runs are 0, and compression removes them.

use std::marker::PhantomData;

use crate::error::{FormatError, wrong};

/// An unsigned integer.
pub(super) trait Unsigned: Copy + Ord {
    const BYTES: usize;

    fn byte(self, number: usize) -> u8;

    /// Returns the number whose [`byte`](Self::byte) number i is `byte(i)`.
    fn of_bytes(byte: impl FnMut(usize) -> u8) -> Self;

    /// Returns the distance from the smaller number `before`, minus 1.
    fn gap(self, before: Self) -> Self;

    /// Returns the number with this `gap` to `self`, or `None` if it is too large.
    fn after(self, gap: Self) -> Option<Self>;
}

macro_rules! unsigned {
    ($($of:ty)*) => {$(
        impl Unsigned for $of {
            const BYTES: usize = size_of::<$of>();

            #[inline(always)]
            fn byte(self, number: usize) -> u8 {
                (self >> (8 * number)) as u8
            }

            #[inline(always)]
            fn of_bytes(byte: impl FnMut(usize) -> u8) -> Self {
                <$of>::from_le_bytes(std::array::from_fn(byte))
            }

            #[inline(always)]
            fn gap(self, before: Self) -> Self {
                self - before - 1
            }

            #[inline(always)]
            fn after(self, gap: Self) -> Option<Self> {
                self.checked_add(gap)?.checked_add(1)
            }
        }
    )*};
}

unsigned!(u32 u128);

/// Appends the column of `numbers` to `body`. `runs` are the lengths of its runs.
pub(super) fn write<A: Unsigned>(
    numbers: &[A],
    runs: impl Iterator<Item = u32>,
    body: &mut Vec<u8>,
) {
    let (mut stored, mut rest) = (Vec::with_capacity(numbers.len()), numbers);
    for run in runs {
        let (run, after) = rest.split_at(run as usize);
        rest = after;
        stored.extend(run.first());
        stored.extend(run.windows(2).map(|two| two[1].gap(two[0])));
    }
    for plane in 0..A::BYTES {
        body.extend(stored.iter().map(|number| number.byte(plane)));
    }
}

/// Number of planes of the widest numbers.
const MOST_PLANES: usize = size_of::<u128>();

/// A column whose length has been checked.
pub(super) struct Column<'a, A> {
    planes: [&'a [u8]; MOST_PLANES],
    numbers: PhantomData<A>,
}

impl<'a, A: Unsigned> Column<'a, A> {
    /// Takes a column of `len` numbers from the start of `rest`.
    pub(super) fn take(rest: &mut &'a [u8], len: usize) -> Result<Self, FormatError> {
        let mut planes = [&[][..]; MOST_PLANES];
        for plane in &mut planes[..A::BYTES] {
            let taken = rest.split_off(..len);
            *plane = taken.ok_or(wrong("the state ends before the end of its addresses"))?;
        }
        Ok(Self { planes, numbers: PhantomData })
    }

    /// Returns the number at index `at`. `before` is the number before it, or `None` if a run starts at `at`.
    #[inline(always)]
    pub(super) fn number(&self, at: usize, before: Option<A>) -> Result<A, FormatError> {
        let stored = A::of_bytes(|plane| self.planes[plane][at]);
        match before {
            None => Ok(stored),
            Some(before) => before.after(stored).ok_or(TOO_LARGE),
        }
    }
}

const TOO_LARGE: FormatError = wrong("an address in the state is too large");
