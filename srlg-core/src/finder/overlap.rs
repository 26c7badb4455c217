//! [`Overlap`]: a test of a pair of columns in rows 0 and 1 against row 2, before the high address bits are known.
//!
//! The pair determines `B(1)`, the low q address bits. These bits determine the low q - δ bits of `B(2)`, and therefore
//! also of the column in row 2. The other bits leave `2^δ` possible columns in row 2. The pair belongs to a candidate
//! only if one of these columns shares at least `hot_weight` touched recorders with both columns of the pair.
//!
//! To test all of these columns at once, a mask is represented by its [`subsets`] of `hot_weight` recorders. Two masks
//! have at least `hot_weight` ones in common if and only if they have a subset in common. A comparison with the union
//! of the subsets of all `2^δ` columns therefore tests all of these columns.

use super::params::RsraParams;

/// Maximum number of subsets of `hot_weight` recorders in an estimator: the binomial coefficient C(8, 3).
const MOST: usize = 56;

/// Returns, for each mask of a rough estimator, the subsets of `hot_weight` recorders that the mask contains. The array
/// is indexed by the mask, and each bit of an element represents one subset.
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

/// Fills `of_row_2`, the array of an [`Overlap`] for `params`. Only columns of row 2 whose masks have at least `weight`
/// ones are included. `masks` are the masks of row 2, and `subsets` is the result of [`subsets()`].
///
/// # Panics
/// Panics if the length of `of_row_2` is not [`overlap_len`].
pub fn fill_overlap(
    params: &RsraParams,
    subsets: &[u64; 256],
    masks: &[u8],
    weight: u32,
    of_row_2: &mut [u64],
) {
    assert_eq!(of_row_2.len(), overlap_len(params), "the length of the array is wrong");
    of_row_2.fill(0);
    for masks in masks.chunks(of_row_2.len()) {
        for (sets, &mask) in of_row_2.iter_mut().zip(masks) {
            *sets |= if mask.count_ones() >= weight { subsets[usize::from(mask)] } else { 0 };
        }
    }
}

/// A test of pairs of columns in rows 0 and 1. A pair passes unless row 2 rules it out.
#[derive(Clone, Copy, Debug)]
pub struct Overlap<'a> {
    of_row_2: &'a [u64],
    bit_stride: u32,
}

impl<'a> Overlap<'a> {
    /// Creates a view of `of_row_2`, an array that [`fill_overlap`] filled for `params`.
    ///
    /// # Panics
    /// Panics if the length of `of_row_2` is not [`overlap_len`].
    #[must_use]
    pub fn new(params: &RsraParams, of_row_2: &'a [u64]) -> Self {
        assert_eq!(of_row_2.len(), overlap_len(params), "the length of the array is wrong");
        Self { of_row_2, bit_stride: params.bit_stride }
    }

    /// Returns whether the pair of `base` in row 0 and `column` in row 1 may belong to a candidate. `sets` are the
    /// [`subsets`] that the masks of both columns contain.
    #[inline(always)]
    #[must_use]
    pub fn admits(self, base: u32, column: u32, sets: u64) -> bool {
        let known = base ^ (base ^ column).unbounded_shr(self.bit_stride);
        self.of_row_2[known as usize & (self.of_row_2.len() - 1)] & sets != 0
    }
}
