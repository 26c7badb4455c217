//! The RSRA (reversible array of rough estimators), from which the hot columns are read.
//!
//! The array has `rows x 2^q x η` recorders, ordered by row and then by column. A rough estimator has η recorders and
//! samples one peer in `2^τ`. The estimator is *hot* if at least `hot_weight` of its recorders were touched in the
//! window. The hosts of a hot estimator probably have at least θ distinct peers in total.

use super::params::RsraParams;
use super::{Finder, FinderPart};
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::packed::Packed;
use crate::pair::BATCH;
use crate::recorder::{ReadRecorder, Recorder, Recorder16, gathered};
use crate::view::ArrayView;

/// The array of the paper's finder.
pub type Rsra<'a, R> = ArrayView<'a, RsraParams, R>;

impl<'a, R: ReadRecorder> Rsra<'a, R> {
    /// Returns the mask of the rough estimator of `column` in `row`. Bit `i` is set if the age of recorder `i` is below
    /// `ages`. The number of ones is the estimator's weight `|SRE|^k`.
    #[inline]
    #[must_use]
    pub fn mask(self, row: u32, column: u32, ages: u32) -> u8 {
        self.mask_at((row << self.params.column_bits | column) as usize, ages)
    }

    /// Returns the [mask](Self::mask) of rough estimator number `index` for ages below `ages`. Estimators are numbered
    /// row after row.
    #[inline]
    #[must_use]
    pub fn mask_at(self, index: usize, ages: u32) -> u8 {
        let width = self.params.width as usize;
        mask_of(&self.recorders[index * width..][..width], ages)
    }

    /// Fills `masks` with the [masks](Self::mask) of rough estimators from number `first` on, for ages below `ages`.
    /// Estimators are numbered row after row.
    ///
    /// # Panics
    /// Panics if the array has too few rough estimators.
    #[inline(always)]
    pub fn masks(self, ages: u32, first: usize, masks: &mut [u8]) {
        let (limit, width) = (R::saturated(ages), self.params.width as usize);
        let recorders = &self.recorders[first * width..][..masks.len() * width];
        if width == 8 {
            // Only a constant width vectorises, so the usual width has a separate branch.
            for (mask, estimator) in masks.iter_mut().zip(recorders.as_chunks().0) {
                *mask = gather(estimator, limit);
            }
        } else {
            let estimators = recorders.chunks_exact(width);
            masks.iter_mut().zip(estimators).for_each(|(mask, e)| *mask = mask_of(e, ages));
        }
    }
}

impl<R: Recorder> Rsra<'_, R> {
    /// Touches the recorders of all sampled `pairs`, for contacts `age` epochs ago.
    ///
    /// Testing whether a pair is sampled is pure arithmetic, so it vectorises.
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into both arrays vectorises"
    )]
    pub fn touch_all(self, pairs: &impl Batch, age: u32) {
        let mut sampled = [0u8; BATCH];
        by_family!(self.params, |params| {
            for i in 0..BATCH {
                sampled[i] = params.is_sampled(pairs.get(i).peer()).into();
            }
        });
        for (sampled, first) in sampled.chunks_exact(8).zip((0..).step_by(8)) {
            // Usually, none of the eight pairs is sampled, and one comparison skips them all.
            if sampled != [0; 8] {
                let sampled = sampled.iter().zip(first..).filter(|&(&sampled, _)| sampled != 0);
                sampled.for_each(|(_, i)| self.touch(&pairs.get(i), age));
            }
        }
    }

    /// If `pair` is sampled, touches one recorder in every row for a contact `age` epochs ago (algorithm 3,
    /// `alg_UpdateRSRA_oneIPpair`).
    #[inline]
    pub fn touch(self, pair: &impl PairIds, age: u32) {
        let word = R::saturated(age);
        for_places(self.params, pair, |place| {
            let recorder = &self.recorders[place];
            // The word is read first, because a line that is not written stays in the caches of all threads.
            if word < recorder.word() {
                recorder.fetch_min(word);
            }
        });
    }
}

/// If `pair` is sampled, touches one recorder in every row of the RSRA of `params` for a contact `age` epochs ago. The
/// recorders are packed in `words`. Other threads may touch recorders at the same time.
///
/// # Panics
/// Panics if `words` does not contain a recorder that a sampled pair touches.
#[inline(always)]
pub fn touch_rsra(
    params: &RsraParams,
    words: &[Packed<Recorder16>],
    pair: &impl PairIds,
    age: u32,
) {
    let word = Recorder16::saturated(age);
    for_places(params, pair, |place| Packed::fetch_min(words, place, word));
}

/// If `pair` is sampled, calls `touch` for every row with the number of the recorder that the pair touches.
#[inline(always)]
fn for_places(params: &RsraParams, pair: &impl PairIds, touch: impl Fn(usize)) {
    let Some(slot) = params.slot(pair.peer()) else { return };
    let host = pair.host().lo;
    let base = params.base_column(host);
    for row in 0..params.rows {
        let estimator = row << params.column_bits | params.column(row, base, host);
        touch((estimator * params.width + slot) as usize);
    }
}

/// The paper's finder, whose array is an RSRA.
#[derive(Clone, Copy, Debug)]
pub struct RsraFinder;

impl Finder for RsraFinder {
    type Params = RsraParams;
    type Recorder = Recorder16;

    #[inline(always)]
    fn params(part: &FinderPart) -> &RsraParams {
        part.rsra().expect("the params belong to this finder")
    }

    /// Deferred touch of this finder: the unit type, because recorders are touched immediately.
    type Touch = ();

    #[inline(always)]
    fn touch(rsra: Rsra<'_, Recorder16>, pairs: &impl Batch, age: u32, _: impl FnMut(())) {
        rsra.touch_all(pairs, age);
    }

    fn place((): ()) -> u32 {
        0
    }

    fn apply(_: Rsra<'_, Recorder16>, _: &[()]) {}
}

/// Returns the mask of `estimator`, which has at most eight recorders. Bit i is set if the age of recorder i is below
/// `ages`.
#[inline]
fn mask_of<R: ReadRecorder>(estimator: &[R], ages: u32) -> u8 {
    let limit = R::saturated(ages);
    match estimator.first_chunk::<8>() {
        Some(estimator) => gather(estimator, limit),
        None => {
            let bits = estimator.iter().rev().map(|recorder| u8::from(recorder.word() < limit));
            bits.fold(0, |mask, bit| mask << 1 | bit)
        }
    }
}

#[inline(always)]
fn gather<R: ReadRecorder>(estimator: &[R; 8], limit: R::Word) -> u8 {
    gathered(estimator.each_ref().map(|recorder| u8::from(recorder.word() < limit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder16;
    use crate::{ArrayParams, Config, Ipv4Pair, RsraSizes};
    extern crate std;
    use std::vec::Vec;

    fn small() -> RsraParams {
        let sizes = RsraSizes { rows: 4, column_bits: 12, bit_stride: 10, ..RsraSizes::PAPER };
        *Config::paper_with(sizes).validate().unwrap().finder().rsra().unwrap()
    }

    fn untouched(params: &RsraParams) -> Vec<Recorder16> {
        (0..params.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect()
    }

    #[test]
    fn sampled_pair_touches_one_recorder_per_row_and_an_unsampled_one_none() {
        let params = small();
        let (mut sampled, mut unsampled) = (0, 0);
        for peer in 0..1000 {
            let recorders = untouched(&params);
            let rsra = Rsra::new(&params, &recorders);
            rsra.touch(&Ipv4Pair { inside: 0x0a00_0001, peer }, 0);
            let touched = recorders.iter().filter(|r| r.word() < 1).count();
            match params.slot(peer) {
                Some(slot) => {
                    let base = params.base_column(0x0a00_0001);
                    assert_eq!(touched, 4);
                    for row in 0..4 {
                        let column = params.column(row, base, 0x0a00_0001);
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
        recorders[8 * 5 + 2].fetch_min(0);
        recorders[8 * 5 + 7].fetch_min(3);
        recorders.iter_mut().for_each(|r| _ = r.age_by(2));
        let masks = [1, 2, 3, 5, 6].map(|window| Rsra::new(&params, &recorders).mask(0, 5, window));
        assert_eq!(masks, [0, 0, 0b100, 0b100, 0b1000_0100]);
    }

    #[test]
    fn every_set_of_recorders_has_its_own_mask() {
        for expected in 0..=u8::MAX {
            let age = |bit: u32| if expected >> bit & 1 == 1 { 4 } else { 5 };
            let recorders: Vec<Recorder16> = (0..8).map(|bit| Recorder16::new(age(bit))).collect();
            assert_eq!(mask_of(&recorders, 5), expected);
            assert_eq!(mask_of(&recorders[..4], 5), expected & 0x0f);
            assert_eq!(mask_of(&recorders[..2], 5), expected & 0x03);
        }
    }
}
