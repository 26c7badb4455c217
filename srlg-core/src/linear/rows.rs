//! The paper's SLEA: rows of overlapping runs, and a union without tags.

use super::{BLOCK, Slea};
use crate::epoch::Span;
use crate::pair::{Address, IpPair};
use crate::params::MAX_LINEAR_ROWS;
use crate::recorder::{ReadRecorder, Recorder};

impl<'a, R: ReadRecorder<Word = u16>> Slea<'a, R> {
    /// The η' recorders of the linear estimator of `aip` in `row`.
    #[inline]
    pub(super) fn run(self, row: u32, aip: Address) -> &'a [R] {
        let start = self.start(row, aip);
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

    #[inline(always)]
    fn start(self, row: u32, aip: Address) -> usize {
        let column = self.params.linear_column(row, aip);
        (row * self.params.linear_row_len + column * self.params.linear_stride) as usize
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Touches one recorder in every row.
    #[inline(always)]
    pub(super) fn touch_rows(self, pair: IpPair, word: u16) {
        let position = self.params.linear_position(pair.bip) as usize;
        // A constant number of rounds unrolls, and each then knows the place of its key: a GPU
        // would copy all keys to memory to look one up.
        for row in 0..MAX_LINEAR_ROWS as u32 {
            if row < self.params.linear_rows {
                self.recorders[self.start(row, pair.aip) + position].fetch_min(word);
            }
        }
    }
}
