//! [`RowsParams`]: the checked sizes and keys of the paper's counter.
//!
//! `RowsParams` consists of 32-bit words in a fixed layout, so that a GPU kernel can take it by value.
//! [`RowsParams::new`] is the only constructor and checks all sizes, so every index that is computed from the params is
//! in range.

use crate::config::Config;
use crate::counter::rules::{check_recorders, check_width};
use crate::error::ConfigError;
use crate::getters::getters;
use crate::hash::{self, HashFamily, Key, Keys, hashing};
use crate::pair::Address;
use crate::view::ArrayParams;

/// Maximum number of rows.
pub const MAX_ROWS: usize = 8;

/// The sizes and keys of an array of rows, in which linear estimators overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RowsParams {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) width: u32,
    pub(crate) stride: u32,
    pub(crate) row_len: u32,
    pub(crate) hash: HashFamily,
    pub(crate) position_key: Key,
    pub(crate) column_keys: [Key; MAX_ROWS],
}

impl RowsParams {
    pub(crate) fn new(
        [rows, columns, stride]: [u32; 3],
        config: &Config,
        keys: &Keys,
    ) -> Result<Self, ConfigError> {
        let Config { linear_width: width, hash, .. } = *config;
        if config.share != 1 {
            return Err(ConfigError::Share { share: config.share, max: 1 });
        }
        check_width(config)?;
        if !(1..=MAX_ROWS as u32).contains(&rows) {
            return Err(ConfigError::LinearRows { rows });
        }
        if columns == 0 {
            return Err(ConfigError::LinearColumns);
        }
        if stride == 0 || stride > width {
            return Err(ConfigError::LinearStride { stride, width });
        }
        let row_len = u64::from(columns - 1) * u64::from(stride) + u64::from(width);
        check_recorders(row_len.saturating_mul(u64::from(rows)))?;
        Ok(Self {
            rows,
            columns,
            width,
            stride,
            row_len: row_len as u32,
            hash,
            position_key: keys.position,
            column_keys: keys.columns,
        })
    }
}

hashing!(RowsParams);

impl ArrayParams for RowsParams {
    fn recorders(&self) -> usize {
        self.rows as usize * self.row_len as usize
    }
}

impl RowsParams {
    getters! {
        /// Returns r', the number of rows.
        rows,
        /// Returns the number of linear estimators in a row.
        columns,
        /// Returns η', the number of recorders in a linear estimator.
        width,
        /// Returns δ', the distance between the starts of neighbouring linear estimators, in recorders.
        stride,
        /// Returns the number of recorders in a row, `(columns - 1)·δ' + η'`.
        row_len,
    }

    /// Returns `H3(peer)`, the index in `0..η'` of the recorder that `peer` touches in a linear
    /// estimator.
    #[inline(always)]
    #[must_use]
    pub fn position(&self, peer: Address) -> u32 {
        hash::reduce(self.hash.of(peer, self.position_key), self.width)
    }

    /// Returns `LH_row(inside)`, the index of the linear estimator of `inside` in `row`.
    ///
    /// # Panics
    /// Panics if `row` is not below the number of rows.
    #[inline(always)]
    #[must_use]
    pub fn column(&self, row: u32, inside: Address) -> u32 {
        hash::reduce(self.hash.of(inside, self.column_key(row)), self.columns)
    }

    /// Selects the key of `row` with comparisons. For an indexed access in a loop, a GPU would copy all keys to memory.
    #[inline(always)]
    fn column_key(&self, row: u32) -> Key {
        assert!(row < self.rows, "the row must exist");
        let mut key = self.column_keys[0];
        for other in 1..MAX_ROWS {
            if row as usize == other {
                key = self.column_keys[other];
            }
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    // The expected values come from an independent Python implementation (seed 0, Config::paper()).
    #[test]
    fn positions_and_columns_equal_the_pinned_vectors() {
        let params = Config::paper().validate().unwrap();
        let rows = params.counter().rows().unwrap();
        for (address, position, columns) in [
            (0x0a00_0001, 8064, [18_478, 43_071, 103_366, 111_804, 69_514]),
            (0xc0a8_0101, 227, [41_981, 32_155, 4_306, 21_935, 106_903]),
            (0xffff_ffff, 5041, [96_020, 24_666, 86_361, 34_142, 33_305]),
        ] {
            assert_eq!(rows.position(address), position);
            assert_eq!([0, 1, 2, 3, 4].map(|row| rows.column(row, address)), columns);
        }
    }
}
