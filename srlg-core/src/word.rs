//! [`Word`]: the plain integer in a recorder, with its [`Width`].

use core::fmt::Debug;
use core::ops::BitOr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The number of bits of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// Returns the number of bytes of a recorder.
    #[must_use]
    pub const fn bytes(self) -> usize {
        1 << self as usize
    }
}

/// An unsigned integer that a recorder can contain: `u8`, `u16`, `u32` or `u64`.
pub trait Word:
    Copy
    + Ord
    + Debug
    + Default
    + BitOr<Output = Self>
    + Into<u64>
    + TryFrom<u64>
    + Send
    + Sync
    + 'static
    + FromBytes
    + IntoBytes
    + Immutable
{
    /// Width of the word.
    const WIDTH: Width;

    /// Largest word.
    const MAX: Self;

    /// Returns the sum of this word and `other`, or the largest word if the sum does not fit.
    #[must_use]
    fn saturating_add(self, other: Self) -> Self;

    /// Returns this word minus `other`, wrapping around at the boundary of the type.
    #[must_use]
    fn wrapping_sub(self, other: Self) -> Self;

    /// Returns byte number `number`. Byte 0 is the least significant byte.
    ///
    /// # Panics
    /// Panics if overflow checks are enabled and the word has no byte with this number.
    #[must_use]
    fn byte(self, number: usize) -> u8;

    /// Returns the word whose [`byte`](Self::byte) number i is `byte(i)`.
    #[must_use]
    fn of_bytes(byte: impl FnMut(usize) -> u8) -> Self;
}

macro_rules! words {
    ($($word:ident: $width:ident),*) => {
        $(impl Word for $word {
            const WIDTH: Width = Width::$width;
            const MAX: Self = Self::MAX;

            #[inline(always)]
            fn saturating_add(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn byte(self, number: usize) -> u8 {
                (self >> (8 * number)) as u8
            }

            #[inline(always)]
            fn of_bytes(byte: impl FnMut(usize) -> u8) -> Self {
                Self::from_le_bytes(core::array::from_fn(byte))
            }
        })*
    };
}

words!(u8: W8, u16: W16, u32: W32, u64: W64);
