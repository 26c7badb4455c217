//! The recovery of host addresses from hot columns, by a meet-in-the-middle search.
//!
//! The paper extends candidate tuples row by row and tries all combinations of hot columns in the first three rows.
//! However, the columns in rows 0 and 1 alone leave only a few possible addresses. If v0 and v1 are columns of one host
//! in rows 0 and 1, `v0 xor v1` is `B(1)`, the low q address bits. Then `v0 xor T0(B(1))` is `T1` of the high bits.
//! [`HighTable`], the inverse of T1, lists the few values of the high bits that have this `T1`. Each address found in
//! this way satisfies `RHFG[0](inside) = v0` by construction. An address is a candidate only if its columns in rows 2
//! and above are also hot.
//!
//! A host touches recorders with the same numbers in its columns of all rows. A candidate's union estimator USRE, the
//! bitwise AND of the masks of its columns in all rows, must therefore have at least `hot_weight` ones. If the masks of
//! two columns have fewer than `hot_weight` ones in common, no candidate has both columns. A test of the ones in common
//! therefore never loses a candidate.

use super::params::RsraParams;
use crate::hash::by_family;
use crate::pair::{ADDRESS_BITS, Address};

/// The inverse of `T1`: a map from each column to the high address bits whose `T1` is that column.
///
/// The map consists of three flat arrays, so that it can be stored on a device. The values `highs[starts[c]..starts[c +
/// 1]]` have `T1 = c`. Bit `c` of `present` is set if any value of the high bits has `T1 = c`. At q = 17, 22 % of the
/// bits are set. The bitmap `present` fits into a small cache.
#[derive(Clone, Copy, Debug)]
pub struct HighTable<'a> {
    starts: &'a [u32],
    highs: &'a [u32],
    present: &'a [u32],
}

/// Returns the lengths of the arrays of a [`HighTable`] for `params`: starts, highs and present.
#[must_use]
pub const fn high_table_lens(params: &RsraParams) -> [usize; 3] {
    let columns = 1 << params.column_bits;
    [columns + 1, 1 << (ADDRESS_BITS - params.column_bits), columns / 32]
}

/// Fills the arrays `starts`, `highs` and `present` of a [`HighTable`] for `params`, by counting sort.
///
/// # Panics
/// Panics if the lengths of the arrays are not [`high_table_lens`].
pub fn fill_high_table(params: &RsraParams, [starts, highs, present]: [&mut [u32]; 3]) {
    assert_eq!([starts.len(), highs.len(), present.len()], high_table_lens(params));
    starts.fill(0);
    present.fill(0);
    for high in 0..highs.len() as u32 {
        let column = params.high_entry(high) as usize;
        starts[column] += 1;
        present[column / 32] |= 1 << (column % 32);
    }
    let mut end = 0;
    for start in starts.iter_mut() {
        end += *start;
        *start = end;
    }
    // While the values of a column are stored, its entry in `starts` moves down from its end to its start.
    for high in (0..highs.len() as u32).rev() {
        let column = params.high_entry(high) as usize;
        starts[column] -= 1;
        highs[starts[column] as usize] = high;
    }
}

impl<'a> HighTable<'a> {
    /// Creates a view of the arrays `starts`, `highs` and `present` that [`fill_high_table`] filled for `params`.
    ///
    /// # Panics
    /// Panics if the lengths of the arrays are not [`high_table_lens`].
    #[must_use]
    pub fn new(params: &RsraParams, [starts, highs, present]: [&'a [u32]; 3]) -> Self {
        // A comparison of arrays would compile to a call of `memcmp`, so the lengths are compared one by one.
        let [of_starts, of_highs, of_present] = high_table_lens(params);
        assert!(
            starts.len() == of_starts && highs.len() == of_highs,
            "the length of `starts` or `highs` is wrong"
        );
        assert_eq!(present.len(), of_present, "the length of `present` is wrong");
        Self { starts, highs, present }
    }

    /// Moves to the front those `columns` of row 1 that a host with the column `base` in row 0 may have. Returns their
    /// number.
    #[inline(always)]
    pub fn keep_held(self, params: &RsraParams, base: u32, columns: &mut [u32]) -> usize {
        by_family!(params, |params| {
            let mut count = 0;
            for place in 0..columns.len() {
                let column = columns[place];
                let entry = base ^ params.low_entry(base ^ column);
                // One column in five is kept. The choice is unpredictable, so the loop does not branch.
                columns[count] = column;
                count += (self.present[entry as usize / 32] >> (entry % 32) & 1) as usize;
            }
            count
        })
    }

    #[inline]
    fn highs_of(self, column: u32) -> &'a [u32] {
        let column = column as usize;
        if self.present[column / 32] >> (column % 32) & 1 == 0 {
            return &[];
        }
        &self.highs[self.starts[column] as usize..self.starts[column + 1] as usize]
    }
}

/// Returns whether the [`RsraParams::hot_limit`] of `params` permits a search, given the `hot` column counts of rows 0
/// and 1. Neither count may exceed the limit. In addition, the number of addresses whose columns in both rows are hot
/// must not exceed the square of the limit. If q is below 16, an average of `2^(32 - 2q)` addresses share the same two
/// columns.
#[must_use]
pub fn is_searchable(params: &RsraParams, hot: [u32; 2]) -> bool {
    let limit = u64::from(params.hot_limit);
    let spelled = ADDRESS_BITS.saturating_sub(2 * params.column_bits);
    let [first, second] = hot.map(u64::from);
    let pairs = first * second; // Each factor is at most 2^24.
    first <= limit && second <= limit && pairs << spelled <= limit * limit
}

/// Returns the candidates with these `columns` in rows 0 and 1 of the RSRA of `params`. A candidate is a host whose
/// union estimator has a weight of at least `weight`. `table` must belong to `params`.
///
/// `masks` contains the mask of every rough estimator, row after row, in `rows x 2^q` bytes.
#[inline]
pub fn candidates<'a>(
    params: &'a RsraParams,
    table: HighTable<'a>,
    masks: &'a [u8],
    columns: [u32; 2],
    weight: u32,
) -> impl Iterator<Item = Address> + 'a {
    let [base, column] = columns;
    let low = base ^ column;
    let highs = table.highs_of(base ^ params.low_entry(low));
    let hosts = highs.iter().map(move |high| high << params.column_bits | low);
    hosts.filter(move |&host| union_mask(params, masks, base, host).count_ones() >= weight)
}

/// Returns the union estimator USRE of `host`: the bitwise AND of the masks of its columns in all rows.
#[inline]
fn union_mask(params: &RsraParams, masks: &[u8], base: u32, host: Address) -> u8 {
    (0..params.rows).fold(u8::MAX, |mask, row| {
        let column = params.column(row, base, host);
        mask & masks[(row << params.column_bits | column) as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, HashFamily, RsraSizes};
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;
    use std::{vec, vec::Vec as List};

    struct Fixture {
        params: RsraParams,
        arrays: [Vec<u32>; 3],
        masks: Vec<u8>,
    }

    impl Fixture {
        fn new(config: Config) -> Self {
            let params = *config.validate().unwrap().finder().rsra().unwrap();
            let mut arrays = high_table_lens(&params).map(|len| vec![0; len]);
            fill_high_table(&params, arrays.each_mut().map(|array| &mut array[..]));
            let masks = vec![0; params.estimators()];
            Self { params, arrays, masks }
        }

        fn mark(&mut self, host: Address, mask: u8) {
            let base = self.params.base_column(host);
            for row in 0..self.params.rows() {
                let column = self.params.column(row, base, host);
                self.masks[(row << self.params.column_bits() | column) as usize] |= mask;
            }
        }

        fn regain(&self, host: Address, weight: u32) -> List<Address> {
            let table =
                HighTable::new(&self.params, self.arrays.each_ref().map(|array| &array[..]));
            let base = self.params.base_column(host);
            let columns = [base, self.params.column(1, base, host)];
            candidates(&self.params, table, &self.masks, columns, weight).collect()
        }
    }

    #[test]
    fn inverse_table_lists_every_high_chunk_under_its_entry_once() {
        let fixture = Fixture::new(Config::paper());
        let table =
            HighTable::new(&fixture.params, fixture.arrays.each_ref().map(|array| &array[..]));
        let mut seen = vec![false; table.highs.len()];
        for column in 0..fixture.params.columns() {
            for &high in table.highs_of(column) {
                assert_eq!(fixture.params.high_entry(high), column);
                assert!(!core::mem::replace(&mut seen[high as usize], true));
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
    }

    #[test]
    fn candidate_needs_the_same_recorders_in_every_row() {
        let mut fixture = Fixture::new(Config::paper());
        let host = 0xc0a8_0101;
        fixture.mark(host, 0b0001_1100);
        assert_eq!(fixture.regain(host, 3), [host]);
        assert_eq!(fixture.regain(host, 4), []);
        let base = fixture.params.base_column(host);
        let column = fixture.params.column(4, base, host);
        fixture.masks[(4 << 17 | column) as usize] = 0b1000_1100;
        assert_eq!(fixture.regain(host, 3), []);
        assert_eq!(fixture.regain(host, 2), [host]);
    }

    fn layouts() -> impl Strategy<Value = Config> {
        let sizes = prop_oneof![
            Just((17, 5, 5)),
            Just((12, 10, 4)),
            Just((14, 3, 8)),
            Just((24, 8, 3)),
            Just((17, 16, 16)),
        ];
        let hash = prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)];
        (sizes, hash, any::<u64>()).prop_map(|((column_bits, bit_stride, rows), hash, seed)| {
            let sizes = RsraSizes { column_bits, bit_stride, rows, ..RsraSizes::PAPER };
            Config { hash, seed, ..Config::paper_with(sizes) }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_address_is_regained_from_its_columns(
            config in layouts(),
            hosts in prop::collection::vec(any::<u32>(), 1..40),
        ) {
            let mut fixture = Fixture::new(config);
            hosts.iter().for_each(|&host| fixture.mark(host, 0b111));
            for &host in &hosts {
                prop_assert!(fixture.regain(host, 3).contains(&host));
            }
        }
    }

    #[test]
    fn every_single_bit_of_an_address_is_regained() {
        let mut fixture = Fixture::new(Config::paper());
        for host in (0..32).map(|bit| 1 << bit).chain([0, u32::MAX]) {
            fixture.masks.fill(0);
            fixture.mark(host, 0xff);
            assert_eq!(fixture.regain(host, 8), [host]);
        }
    }
}
