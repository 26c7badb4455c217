//! SLEA, the array of linear estimators: says how many opposite hosts.
//!
//! A host has a linear estimator of η' recorders; estimators of different hosts overlap, so
//! it also holds foreign touches. What a view counts of it depends on the scheme:
//!
//! - Paper (`rows`): `linear_rows` rows of [`Params::linear_row_len`] recorders, in each of
//!   which the estimator is a run. The union estimator USLE keeps, per position, the largest
//!   age of its rows: what the host touched itself cannot be older. A tally is its weight.
//! - Tagged (`lines`): the estimator is scattered lines, a touch leaves an echo in the same
//!   line. A tally is histograms over ages: of all positions, of those where a touch of
//!   the host itself is visible, and of those where one may be hidden.
//!
//! Tallies are inlined by force: only so are they compiled for the vector instructions of a
//! caller that has more of them.

mod block;
mod cells;
mod histograms;
mod lines;
mod rows;
mod touch;

use core::ops::Range;

use crate::epoch::Span;
use crate::hash::by_family;
use crate::pair::{Address, IpPair};
use crate::params::{MAX_LINEAR_ROWS, Params};
use crate::recorder::{Reading, Recorder, count_below};

pub use cells::Cells;
pub use histograms::{AGES, Histograms};
pub use rows::touch_rows;
pub use touch::{BATCH, Touch, Touches, touch_lines};

/// Positions of the paper's union that are looked at together, row after row: few enough for
/// the first cache, many enough for full vectors.
const BLOCK: usize = 1024;

/// Recorders of a line of the tagged scheme: 64 bytes, a line of common caches.
pub const LINE: u32 = 32;

/// What a device returns about one host: integers, from which
/// [`estimate`](crate::estimate) makes a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "no allocation here; tallies live in small batches")]
pub enum Tally {
    /// Paper's scheme: `|USLE|^k`, positions of the union in the window, `0..=η'`.
    Union(u32),
    /// Tagged scheme.
    Visible(Histograms),
}

impl Tally {
    /// The tally of the positions of both; of the tagged scheme alone.
    ///
    /// # Panics
    /// In the paper's scheme, whose tallies are always of all positions.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        let (Self::Visible(histograms), Self::Visible(others)) = (&mut self, others) else {
            panic!("parts of a tally are of the tagged scheme");
        };
        histograms.add(others);
        self
    }
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

impl<'a, R: Reading<Word = u16>> Slea<'a, R> {
    /// A view of `recorders` as the SLEA of `params`.
    ///
    /// # Panics
    /// When `recorders` is not [`Params::linear_recorders`] long.
    #[must_use]
    pub fn new(params: &'a Params, recorders: &'a [R]) -> Self {
        assert_eq!(recorders.len(), params.linear_recorders(), "recorders of a SLEA");
        Self { params, recorders }
    }

    /// Looks at the first `positions` of the linear estimator of `aip` over `span`: all η' of
    /// them, or, in the tagged scheme, the first lines for a glimpse.
    ///
    /// # Panics
    /// In the tagged scheme, when `positions` are not whole lines.
    #[inline(always)]
    #[must_use]
    pub fn tally(self, aip: Address, span: Span, positions: u32) -> Tally {
        self.tally_ahead(aip, span, 0..positions, |_| {})
    }

    /// The same of any positions; `ahead` hears of a recorder of each line a while before it is
    /// looked at, so that the memory can be asked for it.
    ///
    /// # Panics
    /// As [`tally`](Self::tally).
    #[inline(always)]
    #[must_use]
    pub fn tally_ahead(
        self,
        aip: Address,
        span: Span,
        positions: Range<u32>,
        ahead: impl Fn(usize),
    ) -> Tally {
        if self.params.is_tagged() {
            let ends = [positions.start, positions.end];
            assert!(ends.map(|end| end % LINE) == [0; 2], "positions of a tally");
            let Self { params, recorders } = self;
            let histograms = by_family!(params, |params| Slea { params, recorders }
                .histograms(aip, span.ages, positions, ahead));
            Tally::Visible(histograms)
        } else {
            Tally::Union(self.union_weight(aip, span))
        }
    }

    /// Whether `position` of the union estimator of `aip` is within `span`; of the paper's scheme
    /// alone. A tally counts these.
    #[inline]
    #[must_use]
    pub fn in_union(self, aip: Address, span: Span, position: u32) -> bool {
        debug_assert!(!self.params.is_tagged(), "the union is of the paper's scheme");
        let limit = self.limit(span);
        let within = |row| self.run(row, aip)[position as usize].word() < limit;
        // As in `touch_rows`.
        (0..MAX_LINEAR_ROWS as u32).all(|row| row >= self.params.linear_rows || within(row))
    }

    /// Whether recorder `index` of all rows is within `span`.
    #[inline]
    #[must_use]
    pub fn is_within(self, index: usize, span: Span) -> bool {
        self.recorders[index].word() < self.limit(span)
    }

    /// How many recorders of `row` are within `span`.
    #[must_use]
    pub fn row_weight(self, row: u32, span: Span) -> u32 {
        let len = self.params.linear_row_len as usize;
        count_below(&self.recorders[row as usize * len..][..len], self.limit(span))
    }

    /// The least word that is not within `span`.
    #[inline]
    fn limit(self, span: Span) -> u16 {
        R::saturated(self.params.step(span.ages))
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Touches one recorder of every pair in every row, and its echo, `age` epochs ago (Alg. 6,
    /// `alg_SLEA_scan`).
    #[inline(always)]
    pub fn touch(self, pairs: &[IpPair], age: u32) {
        let Self { params, recorders } = self;
        by_family!(params, |params| Slea { params, recorders }.touch_all(pairs, age));
    }

    #[inline(always)]
    fn touch_all(self, pairs: &[IpPair], age: u32) {
        let aged = self.params.step(age);
        // Loops, not closures: only they are sure to be inlined.
        if self.params.is_tagged() {
            for &pair in pairs {
                self.leave(Touch::new(self.params, pair, aged));
            }
        } else {
            let word = R::saturated(aged);
            for &pair in pairs {
                self.touch_rows(pair, word);
            }
        }
    }
}

#[cfg(test)]
mod tests;
