//! RSRA, the reversible array of rough estimators: says which columns are hot.
//!
//! A view over `rough_rows x 2^q x η` recorders, row after row, column after column.
//! A rough estimator samples opposite hosts (one in `2^τ`) into its η recorders; it is
//! hot, "probably at least θ", when at least `hot_weight` of them are in the window.

use crate::pair::IpPair;
use crate::params::Params;
use crate::recorder::Recorder;

/// A view of the recorders of an RSRA; copying it copies two pointers.
#[derive(Debug)]
pub struct Rsra<'a, R> {
    params: &'a Params,
    recorders: &'a [R],
}

impl<R> Clone for Rsra<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Rsra<'_, R> {}

impl<'a, R: Recorder> Rsra<'a, R> {
    /// A view of `recorders` as the RSRA of `params`.
    ///
    /// # Panics
    /// When `recorders` is not [`Params::rough_recorders`] long.
    #[must_use]
    pub fn new(params: &'a Params, recorders: &'a [R]) -> Self {
        assert_eq!(recorders.len(), params.rough_recorders(), "recorders of an RSRA");
        Self { params, recorders }
    }

    /// Touches one recorder in every row, `late` slices ago (Alg. 3, `alg_UpdateRSRA_oneIPpair`).
    #[inline]
    pub fn touch(self, pair: IpPair, late: u32) {
        let Some(slot) = self.params.rough_slot(pair.bip) else { return };
        let base = self.params.base_column(pair.aip);
        for row in 0..self.params.rough_rows {
            let column = self.params.rough_column(row, base, pair.aip);
            self.recorders[self.start(row, column) + slot as usize].touch(late);
        }
    }

    /// Which recorders of one rough estimator are within the last `window` slices:
    /// bit `i` for recorder `i`. Its weight `|SRE|^k` is the number of ones.
    #[inline]
    #[must_use]
    pub fn mask(self, row: u32, column: u32, window: u32) -> u8 {
        let start = self.start(row, column);
        let estimator = &self.recorders[start..start + self.params.rough_width as usize];
        estimator
            .iter()
            .rev()
            .fold(0, |mask, recorder| mask << 1 | u8::from(recorder.within(window)))
    }

    fn start(self, row: u32, column: u32) -> usize {
        let estimator = (row << self.params.rough_column_bits | column) as usize;
        estimator * self.params.rough_width as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Age16;
    use crate::{Config, Params};
    extern crate std;
    use std::vec::Vec;

    fn small() -> Params {
        let config =
            Config { rough_rows: 4, rough_column_bits: 12, bit_stride: 10, ..Config::paper() };
        config.validate().unwrap()
    }

    fn untouched(params: &Params) -> Vec<Age16> {
        (0..params.rough_recorders()).map(|_| Age16::new(Age16::UNTOUCHED)).collect()
    }

    #[test]
    fn sampled_pair_touches_one_recorder_per_row_and_an_unsampled_one_none() {
        let params = small();
        let (mut sampled, mut unsampled) = (0, 0);
        for bip in 0..1000 {
            let recorders = untouched(&params);
            let rsra = Rsra::new(&params, &recorders);
            rsra.touch(IpPair { aip: 0x0a00_0001, bip }, 0);
            let touched = recorders.iter().filter(|r| r.within(1)).count();
            match params.rough_slot(bip) {
                Some(slot) => {
                    let base = params.base_column(0x0a00_0001);
                    assert_eq!(touched, 4);
                    for row in 0..4 {
                        let column = params.rough_column(row, base, 0x0a00_0001);
                        assert_eq!(rsra.mask(row, column, 1), 1 << slot);
                    }
                    sampled += 1;
                }
                None => {
                    assert_eq!(touched, 0);
                    unsampled += 1;
                }
            }
        }
        assert!(sampled > 0 && unsampled > 0);
    }

    #[test]
    fn mask_forgets_a_recorder_when_its_age_reaches_the_window() {
        let params = small();
        let mut recorders = untouched(&params);
        recorders[8 * 5 + 2].touch(0);
        recorders[8 * 5 + 7].touch(3);
        recorders.iter_mut().for_each(|r| r.grow(2));
        let masks = [1, 2, 3, 5, 6].map(|window| Rsra::new(&params, &recorders).mask(0, 5, window));
        assert_eq!(masks, [0, 0, 0b100, 0b100, 0b1000_0100]);
    }
}
