//! [`Overlap`]: what row 2 says of a pair of columns in rows 0 and 1, before the high bits of an
//! address are known.
//!
//! The pair determines `B(1)`, the low q address bits, and these determine the low q - δ bits of
//! `B(2)`, hence of the column in row 2. Of the `2^δ` columns with these bits one has to share
//! enough recorders with the pair. To tell that of all of them at once, a mask is seen as the set
//! of all [`subsets`] of `hot_weight` recorders that it holds: masks have `hot_weight` ones in common
//! exactly when their sets meet, and the union of sets stands for all columns.

use super::params::RsraParams;

/// Sets of `hot_weight` recorders of an estimator, at most: 3 of 8.
const MOST: usize = 56;

/// Returns per mask of a rough estimator the sets of `hot_weight` recorders, as `params` have it, that the mask holds,
/// one bit each.
#[must_use]
pub fn subsets(params: &RsraParams) -> [u64; 256] {
    let mut sets = [0u8; MOST];
    let least = (0..=u8::MAX).filter(|set| set.count_ones() == params.hot_weight);
    let of_estimator = least.filter(|set| u32::from(*set) >> params.width == 0);
    let mut count = 0;
    for (place, set) in sets.iter_mut().zip(of_estimator) {
        *place = set;
        count += 1;
    }
    core::array::from_fn(|mask| {
        let held = |&(_, &set): &(usize, &u8)| mask as u8 & set == set;
        sets[..count].iter().enumerate().filter(held).fold(0, |bits, (i, _)| bits | 1 << i)
    })
}

/// Returns the length of the array of an [`Overlap`] for `params`.
#[must_use]
pub const fn overlap_len(params: &RsraParams) -> usize {
    1 << params.column_bits.saturating_sub(params.bit_stride)
}

/// Fills `of_row_2`, the array of an [`Overlap`] for `params`, for a search at `weight`: `masks` are those of row 2,
/// and `subsets` are what [`subsets()`] returns.
///
/// # Panics
/// When `of_row_2` is not [`overlap_len`] long.
pub fn fill_overlap(
    params: &RsraParams,
    subsets: &[u64; 256],
    masks: &[u8],
    weight: u32,
    of_row_2: &mut [u64],
) {
    assert_eq!(of_row_2.len(), overlap_len(params), "low bits of a column");
    of_row_2.fill(0);
    for masks in masks.chunks(of_row_2.len()) {
        for (sets, &mask) in of_row_2.iter_mut().zip(masks) {
            *sets |= if mask.count_ones() >= weight { subsets[usize::from(mask)] } else { 0 };
        }
    }
}

/// Tests pairs of columns in rows 0 and 1, which pass when row 2 does not rule them out.
#[derive(Clone, Copy, Debug)]
pub struct Overlap<'a> {
    of_row_2: &'a [u64],
    bit_stride: u32,
}

impl<'a> Overlap<'a> {
    /// Returns a view of `of_row_2`, an array that [`fill_overlap`] filled for `params`.
    ///
    /// # Panics
    /// When it is not [`overlap_len`] long.
    #[must_use]
    pub fn new(params: &RsraParams, of_row_2: &'a [u64]) -> Self {
        assert_eq!(of_row_2.len(), overlap_len(params), "low bits of a column");
        Self { of_row_2, bit_stride: params.bit_stride }
    }

    /// Returns whether the pair of `base` in row 0 and `column` in row 1, whose masks have all of `sets`
    /// in common, may be that of a candidate.
    #[inline(always)]
    #[must_use]
    pub fn admits(self, base: u32, column: u32, sets: u64) -> bool {
        let known = base ^ (base ^ column).unbounded_shr(self.bit_stride);
        self.of_row_2[known as usize & (self.of_row_2.len() - 1)] & sets != 0
    }
}
