//! [`Word`]: the plain integer in a recorder, of one [`Width`].

use core::fmt::Debug;
use core::ops::BitOr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Says how many bits a recorder has.
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

/// Describes an unsigned integer that a recorder can hold: `u8`, `u16`, `u32` or `u64`.
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
    /// Its bits.
    const WIDTH: Width;

    /// The largest one.
    const MAX: Self;

    /// Returns the sum of the word and `other`, or the largest word when the sum does not fit.
    #[must_use]
    fn saturating_add(self, other: Self) -> Self;

    /// Returns the word less `other`, modulo the number of words.
    #[must_use]
    fn wrapping_sub(self, other: Self) -> Self;

    /// Returns the byte that counts `256^number`.
    ///
    /// # Panics
    /// When the word has no such byte.
    #[must_use]
    fn byte(self, number: usize) -> u8;

    /// Returns the word of which each [`byte`](Self::byte) is what `byte` returns for the number of that byte.
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
