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
mod lines;
mod rows;

use crate::epoch::Span;
use crate::pair::{Address, IpPair};
use crate::params::Params;
use crate::recorder::{Reading, Recorder, count_below};

/// Positions of the paper's union that are looked at together, row after row: few enough for
/// the first cache, many enough for full vectors.
const BLOCK: usize = 1024;

/// Recorders of a line of the tagged scheme: 64 bytes, a line of common caches.
pub const LINE: u32 = 32;

/// Ages that a [tally](Tally::Visible) tells apart; a window has fewer.
pub const AGES: usize = 512;

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

/// Positions of a host's linear estimator by age, for the ages of a window: the host's own last
/// touch of a position, if there is any, is of that age or older.
///
/// The first three say what was seen, the last two how likely chance shows what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Histograms {
    /// All positions. Those that are missing show that there is no own touch in the window.
    pub all: [u32; AGES],
    /// Positions that show an own touch of that age, or of a foreigner with the host's tag.
    pub own: [u32; AGES],
    /// Positions that show none, and might hide one. At all others, an own touch of that age
    /// would have replaced what is there.
    pub hidden: [u32; AGES],
    /// Those of the hidden at which both places, of the touch and of the echo, have that age.
    pub hidden_twice: [u32; AGES],
    /// Those neither own nor hidden at which both places have that age, and each excludes an
    /// own touch.
    pub excluded_twice: [u32; AGES],
}

#[cfg(test)]
impl Histograms {
    /// No position at any age of the window.
    pub(crate) const EMPTY: Self = Self {
        all: [0; AGES],
        own: [0; AGES],
        hidden: [0; AGES],
        hidden_twice: [0; AGES],
        excluded_twice: [0; AGES],
    };
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
        if self.params.is_tagged() {
            assert!(positions.is_multiple_of(LINE), "positions of a tally");
            Tally::Visible(self.histograms(aip, span.ages, positions))
        } else {
            Tally::Union(self.union_weight(aip, span))
        }
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
        let aged = self.params.step(age);
        // Loops, not closures: only they are sure to be inlined.
        if self.params.is_tagged() {
            for batch in pairs.chunks(lines::BATCH) {
                self.touch_lines(batch, aged);
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
