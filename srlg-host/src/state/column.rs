//! Columns: ascending numbers as gaps, whose bytes are stored in planes.
//!
//! A column consists of runs. The first number of a run is stored as it is, and each further number as the distance
//! from its predecessor, minus 1. Plane i contains byte i of every stored number; byte 0 is the least significant byte.
//! The high bytes of long runs are 0, and compression removes them.

use crate::error::{FormatError, wrong};

/// An unsigned integer.
pub(super) trait Unsigned: Copy + Ord + Default {
    const BYTES: usize;

    fn byte(self, number: usize) -> u8;

    fn with_byte(self, number: usize, byte: u8) -> Self;

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
            fn with_byte(self, number: usize, byte: u8) -> Self {
                self | <$of>::from(byte) << (8 * number)
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

/// Takes a column of `len` numbers in `runs` from the start of `rest`.
pub(super) fn take<A: Unsigned>(
    rest: &mut &[u8],
    len: usize,
    runs: impl Iterator<Item = u32>,
) -> Result<Vec<A>, FormatError> {
    let Some((planes, after)) = rest.split_at_checked(len * A::BYTES) else {
        return Err(wrong("the state ends before the end of its addresses"));
    };
    *rest = after;
    let mut numbers = vec![A::default(); len];
    for (plane, bytes) in planes.chunks_exact(len.max(1)).enumerate() {
        for (number, &byte) in numbers.iter_mut().zip(bytes) {
            *number = number.with_byte(plane, byte);
        }
    }
    let mut left = &mut numbers[..];
    for run in runs {
        let (run, after) = left.split_at_mut(run as usize);
        left = after;
        for i in 1..run.len() {
            let next = run[i - 1].after(run[i]);
            run[i] = next.ok_or_else(|| wrong("an address in the state is too large"))?;
        }
    }
    Ok(numbers)
}
