//! The paper's SLEA: rows of overlapping runs, and a union without tags.

use super::{BLOCK, Slea};
use crate::epoch::Span;
use crate::packed::Packed;
use crate::pair::{Address, IpPair};
use crate::params::{MAX_LINEAR_ROWS, Params};
use crate::recorder::{Reading, Recorder, Recorder16};

impl<'a, R: Reading<Word = u16>> Slea<'a, R> {
    /// The η' recorders of the linear estimator of `aip` in `row`.
    #[inline]
    pub(super) fn run(self, row: u32, aip: Address) -> &'a [R] {
        let start = start(self.params, row, aip);
        &self.recorders[start..start + self.params.linear_width as usize]
    }

    /// `|USLE|^k`: positions at which every row is within `span`.
    #[inline(always)]
    pub(super) fn union_weight(self, aip: Address, span: Span) -> u32 {
        let limit = self.limit(span);
        let width = self.params.linear_width as usize;
        let mut weight = 0;
        for start in (0..width).step_by(BLOCK) {
            let len = BLOCK.min(width - start);
            let mut in_union = [true; BLOCK];
            for row in 0..self.params.linear_rows {
                let run = &self.run(row, aip)[start..start + len];
                for (all, recorder) in in_union.iter_mut().zip(run) {
                    *all &= recorder.word() < limit;
                }
            }
            weight += in_union[..len].iter().map(|&all| u32::from(all)).sum::<u32>();
        }
        weight
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Touches one recorder in every row.
    #[inline(always)]
    pub(super) fn touch_rows(self, pair: IpPair, word: u16) {
        for_places(self.params, pair, |place| self.recorders[place].most_recent(word));
    }
}

/// Touches one recorder of `pair` in every row, `age` epochs ago in the SLEA of `params`, whose
/// recorders are packed in `words`: the work of one thread among many, in the paper's scheme.
///
/// # Panics
/// When `words` do not hold all recorders of the SLEA.
#[inline(always)]
pub fn touch_rows(params: &Params, words: &[Packed<Recorder16>], pair: IpPair, age: u32) {
    let word = Recorder16::saturated(params.step(age));
    for_places(params, pair, |place| Packed::keep_min(words, place, word));
}

/// Calls `touch` with the number of the recorder of `pair` in every row.
#[inline(always)]
fn for_places(params: &Params, pair: IpPair, touch: impl Fn(usize)) {
    let position = params.linear_position(pair.bip) as usize;
    // A constant number of rounds unrolls, and each then knows the place of its key: a GPU
    // would copy all keys to memory to look one up.
    for row in 0..MAX_LINEAR_ROWS as u32 {
        if row < params.linear_rows {
            touch(start(params, row, pair.aip) + position);
        }
    }
}

/// Returns where the linear estimator of `aip` begins in `row`.
#[inline(always)]
fn start(params: &Params, row: u32, aip: Address) -> usize {
    let column = params.linear_column(row, aip);
    (row * params.linear_row_len + column * params.linear_stride) as usize
}
