//! [`Params`]: a checked [`Config`](crate::Config) with everything derived from it.
//!
//! Plain 32-bit words in a fixed layout, so that a GPU kernel can take it by value.
//! [`Config::validate`](crate::Config::validate) is the only constructor, hence no
//! accessor can fail: every index that is built from these sizes is in range.

use crate::hash::{self, Hash, Key};
use crate::pair::Address;

/// Rows that a SLEA can have at most.
pub const MAX_LINEAR_ROWS: usize = 8;

/// The sizes and keys of one detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Params {
    pub(crate) threshold: u32,
    pub(crate) window: u32,
    pub(crate) rough_rows: u32,
    pub(crate) rough_column_bits: u32,
    pub(crate) rough_width: u32,
    pub(crate) bit_stride: u32,
    pub(crate) lsb_threshold: u32,
    pub(crate) hot_weight: u32,
    pub(crate) linear_rows: u32,
    pub(crate) linear_columns: u32,
    pub(crate) linear_width: u32,
    pub(crate) linear_stride: u32,
    pub(crate) linear_row_len: u32,
    pub(crate) hot_limit: u32,
    pub(crate) candidate_limit: u32,
    pub(crate) tags: u32,
    pub(crate) echo_delay: u32,
    pub(crate) epoch_slices: u32,
    pub(crate) rough_epoch_slices: u32,
    pub(crate) hash: Hash,
    pub(crate) opposite_key: Key,
    pub(crate) position_key: Key,
    pub(crate) low_key: Key,
    pub(crate) high_key: Key,
    pub(crate) column_keys: [Key; MAX_LINEAR_ROWS],
    pub(crate) line_key: Key,
    pub(crate) tag_key: Key,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[inline] #[must_use] pub const fn $name(&self) -> u32 { self.$name })*
    };
}

impl Params {
    getters! {
        /// θ, in distinct opposite hosts.
        threshold,
        /// k, in slices.
        window,
        /// r: rows of the RSRA.
        rough_rows,
        /// q: a row of the RSRA has `2^q` columns.
        rough_column_bits,
        /// η: recorders of a rough estimator.
        rough_width,
        /// δ: address bits between two rows of the RHFG.
        bit_stride,
        /// τ of Eq. 1: opposite hosts with `LSB(H1(bip)) < τ` are not sampled.
        lsb_threshold,
        /// `ceil(ρη)`: weight from which a rough estimator is hot.
        hot_weight,
        /// r': rows of the SLEA; 1 in the tagged scheme.
        linear_rows,
        /// Linear estimators in a row of the SLEA; lines of the SLEA in the tagged scheme.
        linear_columns,
        /// η': recorders of a linear estimator.
        linear_width,
        /// δ': recorders between neighbouring linear estimators, or of a line.
        linear_stride,
        /// Recorders in a row of the SLEA: `(columns - 1)·δ' + η'`, or of all lines.
        linear_row_len,
        /// Hot columns per row that one search accepts.
        hot_limit,
        /// Candidates that one search accepts.
        candidate_limit,
        /// Tags of the SLEA's recorders: a word is `age * tags + tag`. 1 in the paper's scheme,
        /// whose words are ages.
        tags,
        /// Ages by which the echo of a touch looks older than the touch: the most ages that a
        /// window holds, so that no echo hides a touch in the window.
        echo_delay,
        /// Slices per epoch of the SLEA; 1 in the paper's scheme.
        epoch_slices,
        /// Slices per epoch of the RSRA; 1 in the paper's scheme.
        rough_epoch_slices,
    }

    /// Columns of a row of the RSRA, `2^q`.
    #[inline]
    #[must_use]
    pub const fn rough_columns(&self) -> u32 {
        1 << self.rough_column_bits
    }

    /// Rough estimators of the whole RSRA.
    #[must_use]
    pub const fn rough_estimators(&self) -> usize {
        (self.rough_rows as usize) << self.rough_column_bits
    }

    /// Recorders of the whole RSRA.
    #[must_use]
    pub const fn rough_recorders(&self) -> usize {
        self.rough_estimators() * self.rough_width as usize
    }

    /// Recorders of the whole SLEA.
    #[must_use]
    pub const fn linear_recorders(&self) -> usize {
        self.linear_rows as usize * self.linear_row_len as usize
    }

    /// The recorder `H2(bip)` of a rough estimator that `bip` touches, in `0..η`;
    /// `None` when `bip` is not sampled, `LSB(H1(bip)) < τ` (Alg. 1).
    ///
    /// H1 is the low and H2 the high bits of one hash: together at most its 32.
    #[inline]
    #[must_use]
    pub fn rough_slot(&self, bip: Address) -> Option<u32> {
        let hash = self.hash(bip, self.opposite_key);
        (hash::lsb(hash) >= self.lsb_threshold).then(|| hash::reduce(hash, self.rough_width))
    }

    /// Whether `bip` is sampled: whether there is a [`rough_slot`](Self::rough_slot).
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_sampled(&self, bip: Address) -> bool {
        // LSB >= τ in a form that vectorises; τ is less than the 32 bits of a hash.
        self.hash(bip, self.opposite_key) & ((1 << self.lsb_threshold) - 1) == 0
    }

    /// `H3(bip)`: the recorder of a linear estimator that `bip` touches, in `0..η'`.
    #[inline(always)]
    #[must_use]
    pub fn linear_position(&self, bip: Address) -> u32 {
        hash::reduce(self.hash(bip, self.position_key), self.linear_width)
    }

    /// `LH_row(aip)`: the linear estimator of `aip` in `row`.
    ///
    /// # Panics
    /// When the SLEA has no such row.
    #[inline(always)]
    #[must_use]
    pub fn linear_column(&self, row: u32, aip: Address) -> u32 {
        hash::reduce(self.hash(aip, self.column_key(row)), self.linear_columns)
    }

    /// The key of `row`, by choices instead of a look-up, for which a GPU would copy all keys to
    /// memory where a loop over rows stays a loop.
    #[inline(always)]
    fn column_key(&self, row: u32) -> Key {
        assert!(row < self.linear_rows, "rows of a SLEA");
        let mut key = self.column_keys[0];
        for other in 1..MAX_LINEAR_ROWS {
            if row as usize == other {
                key = self.column_keys[other];
            }
        }
        key
    }

    /// Whether recorders of the SLEA carry a tag of their toucher.
    #[inline]
    #[must_use]
    pub const fn is_tagged(&self) -> bool {
        self.tags > 1
    }

    /// The family of every hash.
    #[must_use]
    pub const fn hash_family(&self) -> Hash {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    // Expected values: an independent Python implementation (seed 0, Config::paper()).
    #[test]
    fn hashes_of_the_paper_config_equal_the_pinned_vectors() {
        let params = Config::paper().validate().unwrap();
        let expected = [
            (0x0a00_0001, 8064, None, [18_478, 43_071, 103_366, 111_804, 69_514]),
            (0xc0a8_0101, 227, None, [41_981, 32_155, 4_306, 21_935, 106_903]),
            (0xffff_ffff, 5041, None, [96_020, 24_666, 86_361, 34_142, 33_305]),
        ];
        for (address, position, slot, columns) in expected {
            assert_eq!(params.linear_position(address), position);
            assert_eq!(params.rough_slot(address), slot);
            for (row, column) in (0..).zip(columns) {
                assert_eq!(params.linear_column(row, address), column);
            }
        }
    }

    #[test]
    fn slots_of_sampled_addresses_equal_the_pinned_vectors() {
        let params = Config::paper().validate().unwrap();
        let sampled = [(0x0a00_0069, 1), (0x0a00_02cb, 5), (0x0a00_035f, 3), (0x0a00_03dd, 1)];
        for (address, slot) in sampled {
            assert_eq!(params.rough_slot(address), Some(slot), "{address:#x}");
        }
    }

    #[test]
    fn one_address_in_two_to_the_tau_is_sampled_and_slots_are_even() {
        let params = Config::paper().validate().unwrap();
        let mut slots = [0u32; 8];
        for slot in (0..1 << 20).filter_map(|address| params.rough_slot(address)) {
            slots[slot as usize] += 1;
        }
        // Binomial(2^20, 2^-7 / 8): mean 1024, standard deviation 32; six of them.
        assert!(slots.iter().all(|&n| n.abs_diff(1024) < 6 * 32), "{slots:?}");
    }
}
