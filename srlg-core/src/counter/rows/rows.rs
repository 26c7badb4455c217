//! [`Rows`]: the array of the paper's counter, with rows of overlapping linear estimators.

use core::ops::Range;

use super::params::{MAX_ROWS, RowsParams};
use crate::epoch::Span;
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::packed::Packed;
use crate::pair::{Address, BATCH};
use crate::recorder::{ReadRecorder, Recorder, Recorder16};
use crate::view::ArrayView;

/// Number of positions of a union that are processed together, row by row. Their recorders fit into the L1 cache, and
/// the number is a multiple of the length of a vector.
const POSITIONS_PER_BLOCK: usize = 1024;

/// The array of the paper's counter.
pub type Rows<'a, R> = ArrayView<'a, RowsParams, R>;

impl<'a, R: ReadRecorder<Word = u16>> Rows<'a, R> {
    /// Returns `|USLE|^k`: the number of `positions` in the union estimator of `inside` at which the recorders of all
    /// rows are within `span`.
    #[inline(always)]
    #[must_use]
    pub fn tally(self, inside: Address, span: Span, positions: Range<u32>) -> u32 {
        let Self { params, recorders } = self;
        by_family!(params, |params| ArrayView { params, recorders }
            .union_weight(inside, span, positions))
    }

    /// Returns whether `position` of the union estimator of `inside` is within `span`, so that [`tally`](Self::tally)
    /// counts it.
    #[inline]
    #[must_use]
    pub fn in_union(self, inside: Address, span: Span, position: u32) -> bool {
        let limit = R::saturated(span.ages);
        let within = |row| self.run(row, inside)[position as usize].word() < limit;
        // The number of iterations is constant for the same reason as in `for_places`.
        (0..MAX_ROWS as u32).all(|row| row >= self.params.rows || within(row))
    }

    #[inline]
    fn run(self, row: u32, inside: Address) -> &'a [R] {
        let start = start(self.params, row, inside);
        &self.recorders[start..start + self.params.width as usize]
    }

    #[inline(always)]
    fn union_weight(self, inside: Address, span: Span, positions: Range<u32>) -> u32 {
        let limit = R::saturated(span.ages);
        let mut weight = 0;
        for start in positions.clone().step_by(POSITIONS_PER_BLOCK) {
            let (start, end) = (start as usize, positions.end as usize);
            let len = POSITIONS_PER_BLOCK.min(end - start);
            let mut in_union = [true; POSITIONS_PER_BLOCK];
            for row in 0..self.params.rows {
                let run = &self.run(row, inside)[start..start + len];
                for (all, recorder) in in_union.iter_mut().zip(run) {
                    *all &= recorder.word() < limit;
                }
            }
            weight += in_union[..len].iter().map(|&all| u32::from(all)).sum::<u32>();
        }
        weight
    }
}

impl<R: Recorder<Word = u16>> Rows<'_, R> {
    /// For each of `pairs`, touches the pair's recorder in every row, for contacts `age` slices ago (algorithm 6,
    /// `alg_SLEA_scan`). Other threads may touch recorders at the same time.
    #[inline(always)]
    pub fn touch_all(self, pairs: &impl Batch, age: u32) {
        let Self { params, recorders } = self;
        let word = R::saturated(age);
        by_family!(params, |params| {
            // A closure might not be inlined, so this is a loop.
            for i in 0..BATCH {
                for_places(params, &pairs.get(i), |place| recorders[place].fetch_min(word));
            }
        });
    }

    /// Touches the recorder of `pair` in every row, for a contact `age` slices ago. Other threads may touch recorders
    /// at the same time.
    pub fn touch(self, pair: &impl PairIds, age: u32) {
        let word = R::saturated(age);
        for_places(self.params, pair, |place| self.recorders[place].fetch_min(word));
    }
}

/// Touches the recorder of `pair` in every row of `params`, for a contact `age` slices ago. The recorders are packed in
/// `words`. Other threads may touch recorders at the same time.
///
/// # Panics
/// Panics if `words` does not contain all recorders.
#[inline(always)]
pub fn touch_rows(
    params: &RowsParams,
    words: &[Packed<Recorder16>],
    pair: &impl PairIds,
    age: u32,
) {
    let word = Recorder16::saturated(age);
    for_places(params, pair, |place| Packed::fetch_min(words, place, word));
}

/// Calls `touch` with the index of the pair's recorder in each row.
#[inline(always)]
fn for_places(params: &RowsParams, pair: &impl PairIds, touch: impl Fn(usize)) {
    let (host, position) = (pair.host().lo, params.position(pair.peer()) as usize);
    // A loop with a constant number of iterations unrolls, so each iteration knows the place of its key. Without
    // unrolling, a GPU would copy all keys to memory to index them.
    for row in 0..MAX_ROWS as u32 {
        if row < params.rows {
            touch(start(params, row, host) + position);
        }
    }
}

#[inline(always)]
fn start(params: &RowsParams, row: u32, inside: Address) -> usize {
    (row * params.row_len + params.column(row, inside) * params.stride) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder16;
    use crate::{ArrayParams, Config, Ipv4Pair, RsraSizes, Scheme};
    extern crate std;
    use std::vec::Vec;

    fn small() -> RowsParams {
        let config = Config {
            scheme: Scheme::Paper { finder: RsraSizes::PAPER, rows: 3, columns: 50, stride: 2 },
            threshold: 8,
            linear_width: 64,
            ..Config::paper()
        };
        *config.validate().unwrap().counter().rows().unwrap()
    }

    fn untouched(params: &RowsParams) -> Vec<Recorder16> {
        (0..params.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect()
    }

    #[test]
    fn last_estimator_of_a_row_ends_with_the_row() {
        let params = small();
        assert_eq!(params.row_len(), 49 * 2 + 64);
        let recorders = untouched(&params);
        let rows = Rows::new(&params, &recorders);
        for inside in 0..1000 {
            assert_eq!((0..3).map(|row| rows.run(row, inside).len()).sum::<usize>(), 3 * 64);
        }
    }

    #[test]
    fn tally_counts_a_position_only_while_every_row_is_in_the_window() {
        let params = small();
        let mut recorders = untouched(&params);
        let (inside, pair) = (0x0a00_0001, Ipv4Pair { inside: 0x0a00_0001, peer: 77 });
        Rows::new(&params, &recorders).touch(&pair, 0);
        let position = params.position(77);
        let weight = |recorders: &[Recorder16], ages| {
            let span = Span::whole(ages, 1);
            let tally = |positions| Rows::new(&params, recorders).tally(inside, span, positions);
            assert_eq!(tally(0..position) + tally(position + 1..64), 0);
            tally(0..64)
        };
        assert_eq!(weight(&recorders, 1), 1);
        let position = position as usize;
        Rows::new(&params, &recorders).run(2, inside)[position].fetch_min(0);
        recorders.iter_mut().for_each(|r| _ = r.age_by(1));
        for row in 0..2 {
            // Rows 0 and 1 are touched again, so that only row 2 decides.
            Rows::new(&params, &recorders).run(row, inside)[position].fetch_min(0);
        }
        assert_eq!([1, 2].map(|ages| weight(&recorders, ages)), [0, 1]);
    }
}
