//! SLEA, the array of overlapping linear estimators: says how many opposite hosts.
//!
//! A view over `linear_rows` rows of [`Params::linear_row_len`] recorders. The linear
//! estimator of a host is a run of η' recorders in every row; runs of different hosts
//! overlap, so a run also holds foreign touches. Recorders that are in the window in
//! all of a host's runs form its union estimator USLE.

use crate::pair::{Address, IpPair};
use crate::params::Params;
use crate::recorder::{Reading, Recorder};

/// Positions of the union that are looked at together, row after row: few enough for
/// the first cache, many enough for full vectors.
const BLOCK: usize = 1024;

/// What a device returns about one host: integers, from which
/// [`estimate`](crate::estimate) makes a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// `|USLE|^k`: positions of the host's union estimator in the window, `0..=η'`.
    pub union_weight: u32,
}

/// A view of the recorders of a SLEA; copying it copies two pointers.
#[derive(Debug)]
pub struct Slea<'a, R> {
    params: &'a Params,
    recorders: &'a [R],
}

impl<R> Clone for Slea<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Slea<'_, R> {}

impl<'a, R: Reading> Slea<'a, R> {
    /// A view of `recorders` as the SLEA of `params`.
    ///
    /// # Panics
    /// When `recorders` is not [`Params::linear_recorders`] long.
    #[must_use]
    pub fn new(params: &'a Params, recorders: &'a [R]) -> Self {
        assert_eq!(recorders.len(), params.linear_recorders(), "recorders of a SLEA");
        Self { params, recorders }
    }

    /// The η' recorders of the linear estimator of `aip` in `row`.
    #[inline]
    #[must_use]
    pub fn estimator(self, row: u32, aip: Address) -> &'a [R] {
        let start = self.start(row, aip);
        &self.recorders[start..start + self.params.linear_width as usize]
    }

    /// Counts the union estimator USLE of `aip` over the last `window` slices.
    ///
    /// The union keeps the largest age of the rows: a position is in it when its
    /// recorders are within the window in every row.
    #[must_use]
    pub fn tally(self, aip: Address, window: u32) -> Tally {
        let limit = R::limit(window);
        let width = self.params.linear_width as usize;
        let starts = (0..width).step_by(BLOCK);
        let union_weight = starts.map(|start| {
            let block = start..width.min(start + BLOCK);
            let mut in_union = [true; BLOCK];
            for row in 0..self.params.linear_rows {
                let recorders = &self.estimator(row, aip)[block.clone()];
                for (all, recorder) in in_union.iter_mut().zip(recorders) {
                    *all &= recorder.word() < limit;
                }
            }
            in_union[..block.len()].iter().map(|&all| u32::from(all)).sum::<u32>()
        });
        Tally { union_weight: union_weight.sum() }
    }

    /// The recorders of `row`.
    #[must_use]
    pub fn row(self, row: u32) -> &'a [R] {
        let len = self.params.linear_row_len as usize;
        &self.recorders[row as usize * len..][..len]
    }

    #[inline]
    fn start(self, row: u32, aip: Address) -> usize {
        let column = self.params.linear_column(row, aip);
        (row * self.params.linear_row_len + column * self.params.linear_stride) as usize
    }
}

impl<R: Recorder> Slea<'_, R> {
    /// Touches one recorder in every row, `late` slices ago (Alg. 6, `alg_SLEA_scan`).
    #[inline]
    pub fn touch(self, pair: IpPair, late: u32) {
        let position = self.params.linear_position(pair.bip) as usize;
        for row in 0..self.params.linear_rows {
            self.recorders[self.start(row, pair.aip) + position].touch(late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::recorder::Age16;
    extern crate std;
    use std::vec::Vec;

    fn small() -> Params {
        let config = Config {
            threshold: 8,
            linear_rows: 3,
            linear_columns: 50,
            linear_width: 64,
            linear_stride: 2,
            ..Config::paper()
        };
        config.validate().unwrap()
    }

    fn untouched(params: &Params) -> Vec<Age16> {
        (0..params.linear_recorders()).map(|_| Age16::new(Age16::UNTOUCHED)).collect()
    }

    #[test]
    fn last_estimator_of_a_row_ends_with_the_row() {
        let params = small();
        assert_eq!(params.linear_row_len(), 49 * 2 + 64);
        let recorders = untouched(&params);
        let slea = Slea::new(&params, &recorders);
        for aip in 0..1000 {
            assert_eq!((0..3).map(|row| slea.estimator(row, aip).len()).sum::<usize>(), 3 * 64);
        }
    }

    #[test]
    fn tally_counts_a_position_only_while_every_row_is_in_the_window() {
        let params = small();
        let mut recorders = untouched(&params);
        let (aip, pair) = (0x0a00_0001, IpPair { aip: 0x0a00_0001, bip: 77 });
        Slea::new(&params, &recorders).touch(pair, 0);
        let weight = |recorders: &[Age16], window| {
            Slea::new(&params, recorders).tally(aip, window).union_weight
        };
        assert_eq!(weight(&recorders, 1), 1);
        let position = params.linear_position(77) as usize;
        Slea::new(&params, &recorders).estimator(2, aip)[position].touch(0);
        recorders.iter_mut().for_each(|r| r.grow(1));
        for row in 0..2 {
            // Rows 0 and 1 are touched again: row 2 alone decides.
            Slea::new(&params, &recorders).estimator(row, aip)[position].touch(0);
        }
        assert_eq!([1, 2].map(|window| weight(&recorders, window)), [0, 1]);
    }
}
