//! The RHFG (reversible hash functions group), which maps a host to its columns in the RSRA.
//!
//! In row 0, the column is `T0(low q bits) xor T1(high bits)`. This is simple tabulation hashing over two chunks of the
//! address, with table entries that are computed from keys. In row `i > 0`, the column is that of row 0 xor `B(i)`, the
//! q address bits from bit `(i-1)·δ` on. Two columns of one host therefore reveal bits of its address. Because `B(1)`
//! is the low chunk, the columns in rows 0 and 1 also reveal `T1` of the high bits. [`regain`](super::regain) inverts
//! these steps.

use super::params::RsraParams;
use crate::pair::Address;

impl RsraParams {
    /// Returns `RHFG[0](inside)`, in `0..2^q`.
    #[inline]
    #[must_use]
    pub fn base_column(&self, inside: Address) -> u32 {
        self.low_entry(inside & (self.columns() - 1)) ^ self.high_entry(inside >> self.column_bits)
    }

    /// Returns the column of `inside` in `row`, given its [`base_column`](Self::base_column), by equation 6
    /// (`eqt_RHFG_restHashes`) with a shift of `(row - 1)·δ`.
    ///
    /// With the shift `row·δ` that the paper prints, no `B(row)` contains the low δ bits of the address. See
    /// docs/paper-notes.md#rhfg-shift.
    #[inline]
    #[must_use]
    pub fn column(&self, row: u32, base_column: u32, inside: Address) -> u32 {
        match row {
            0 => base_column,
            _ => base_column ^ self.address_bits(row, inside),
        }
    }

    /// Returns `B(row)` for a `row` of at least 1: the q bits of the address `inside` from bit `(row - 1)·δ` on. Bits
    /// beyond the address are 0.
    #[inline]
    #[must_use]
    pub fn address_bits(&self, row: u32, inside: Address) -> u32 {
        let shifted = inside.checked_shr((row - 1) * self.bit_stride).unwrap_or(0);
        shifted & (self.columns() - 1)
    }

    /// Returns `T0` of the low q address bits.
    #[inline]
    pub(crate) fn low_entry(&self, low: u32) -> u32 {
        self.hash.of(low, self.low_key) >> (32 - self.column_bits)
    }

    /// Returns `T1` of the address bits above the low q bits.
    #[inline]
    pub(crate) fn high_entry(&self, high: u32) -> u32 {
        self.hash.of(high, self.high_key) >> (32 - self.column_bits)
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    // The expected values come from an independent Python implementation (seed 0, Config::paper()).
    #[test]
    fn columns_equal_the_pinned_vectors() {
        let params = *Config::paper().validate().unwrap().finder().rsra().unwrap();
        for (inside, columns) in [
            (0x0a00_0001, [83_053, 83_052, 83_053, 115_821, 86_125]),
            (0xc0a8_0101, [33_086, 32_831, 114_998, 43_838, 65_646]),
            (0xffff_ffff, [81_432, 49_639, 49_639, 49_639, 49_639]),
            (0, [129_711; 5]),
        ] {
            let base = params.base_column(inside);
            for (row, column) in (0..).zip(columns) {
                assert_eq!(params.column(row, base, inside), column, "{inside:#x} row {row}");
            }
        }
    }

    // The paper prints a shift of row·δ. With this shift, no `B(row)` contains the low δ bits of the address.
    #[test]
    fn shift_of_row_minus_one_covers_every_address_bit_and_the_printed_one_does_not() {
        let params = *Config::paper().validate().unwrap().finder().rsra().unwrap();
        let covered = |shift: fn(u32) -> u32| {
            (1..params.rows()).fold(0u32, |bits, row| {
                bits | ((params.columns() - 1) << (shift(row) * params.bit_stride()))
            })
        };
        assert_eq!(covered(|row| row - 1), u32::MAX);
        assert_eq!(covered(|row| row), !0b1_1111);
    }
}
