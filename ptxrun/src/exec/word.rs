//! [`Word`], the content of a data register.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

/// Arithmetic of registers of one width. All operations wrap.
pub(super) trait Word:
    Copy
    + Default
    + Ord
    + Into<u64>
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The signed type of this width.
    type Signed: Copy + Ord + Shr<u32, Output = Self::Signed>;

    const BITS: u32;

    /// Returns the low bits of `value`.
    fn truncated(value: u64) -> Self;
    fn signed(self) -> Self::Signed;
    fn unsigned(value: Self::Signed) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn negated(self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Returns the high half of the unsigned product.
    fn high_of_product(self, other: Self) -> Self;
    /// Returns the high half of the signed product.
    fn high_of_signed_product(self, other: Self) -> Self;
    /// Returns the unsigned quotient. A divisor of 0 counts as 1.
    fn quotient(self, other: Self) -> Self;
    /// Returns the unsigned remainder. A divisor of 0 counts as 1.
    fn remainder(self, other: Self) -> Self;
    /// Returns the signed quotient. A divisor of 0 counts as 1.
    fn signed_quotient(self, other: Self) -> Self;
    /// Returns the signed remainder. A divisor of 0 counts as 1.
    fn signed_remainder(self, other: Self) -> Self;
}

macro_rules! word {
    ($word:ident, $signed:ident, $wide:ident, $wide_signed:ident) => {
        impl Word for $word {
            type Signed = $signed;

            const BITS: u32 = $word::BITS;

            #[inline(always)]
            fn truncated(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn signed(self) -> $signed {
                self as $signed
            }

            #[inline(always)]
            fn unsigned(value: $signed) -> Self {
                value as Self
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn high_of_product(self, other: Self) -> Self {
                ($wide::from(self) * $wide::from(other) >> $word::BITS) as Self
            }

            #[inline(always)]
            fn high_of_signed_product(self, other: Self) -> Self {
                let (a, b) = (self as $signed, other as $signed);
                ($wide_signed::from(a) * $wide_signed::from(b) >> $word::BITS) as Self
            }

            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                self / other.max(1)
            }

            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                self % other.max(1)
            }

            #[inline(always)]
            fn signed_quotient(self, other: Self) -> Self {
                let divisor = if other == 0 { 1 } else { other as $signed };
                (self as $signed).wrapping_div(divisor) as Self
            }

            #[inline(always)]
            fn signed_remainder(self, other: Self) -> Self {
                let divisor = if other == 0 { 1 } else { other as $signed };
                (self as $signed).wrapping_rem(divisor) as Self
            }
        }
    };
}

word!(u16, i16, u32, i32);
word!(u32, i32, u64, i64);
word!(u64, i64, u128, i128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_a_high_half() {
        assert_eq!(0xffffu16.high_of_product(0xffff), 0xfffe);
        assert_eq!(0xffff_ffffu32.high_of_signed_product(2), 0xffff_ffff);
        assert_eq!((1u64 << 63).high_of_product(6), 3);
    }

    #[test]
    fn divisions_never_panic() {
        assert_eq!(7u32.quotient(0), 7);
        assert_eq!(7u32.remainder(0), 0);
        assert_eq!((1u16 << 15).signed_quotient(u16::MAX), 1 << 15);
        assert_eq!(7u64.negated().signed_quotient(2), 3u64.negated());
        assert_eq!(7u64.negated().signed_remainder(2), 1u64.negated());
    }
}
