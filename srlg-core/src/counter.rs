//! Counters: arrays from which the number of a host's distinct opposite hosts is estimated.
//!
//! A counter is a type without values that names its [`Params`](Counter::Params) and its recorders,
//! updates them and reads them. Each host has a linear estimator of η' recorders; estimators of
//! different hosts overlap, so each also holds foreign touches, and counters differ in how they
//! tell them apart: [`rows`] is the paper's, [`tagged`] the default.

pub mod estimate;
pub mod rows;
mod rules;
pub mod tagged;

use core::ops::Range;

use crate::epoch::Span;
use crate::pair::{Address, BATCH, IpPair};
use crate::recorder::{ReadRecorder, Recorder};
use crate::view::{ArrayParams, View};

use tagged::Histograms;

pub use estimate::{Estimate, EstimateRange};
pub use rows::{Rows, RowsCounter, RowsParams};
pub use tagged::{Lines, Positions, TaggedCounter, TaggedParams};

/// The part of a detector's params that belongs to its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CounterPart {
    /// The tagged counter.
    Tagged(TaggedParams),
    /// The paper's.
    Rows(RowsParams),
}

/// A way of counting opposite hosts.
pub trait Counter: Send + Sync + 'static {
    /// Its sizes and keys.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// What its array consists of.
    type Recorder: Recorder;

    /// Its params, which are `part`.
    ///
    /// # Panics
    /// When `part` belongs to another counter.
    fn params(part: &CounterPart) -> &Self::Params;

    /// What a pair changes, found before any recorder is looked at.
    type Touch: Copy + Default + Send;

    /// Updates what the first `count` of `pairs` change, which were in contact `age` epochs ago:
    /// at once, while any other threads do, or by a call of `later` for each touch that
    /// [`apply_exclusive`](Self::apply_exclusive) has to apply. A counter does one of them always.
    fn touch(
        array: View<'_, Self::Params, Self::Recorder>,
        batch: (&[IpPair; BATCH], usize),
        age: u32,
        later: impl FnMut(Self::Touch),
    );

    /// The number of a recorder that `touch` changes; all others that it changes are in the same
    /// [line](tagged::LINE).
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches`, while no other thread changes recorders of their lines.
    fn apply_exclusive(array: View<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);

    /// Looks at some positions of the linear estimator of `host` over a span, `asked`. Calls `ahead`
    /// with the number of a recorder of each line some time before that line is read, so that the
    /// caller can prefetch it.
    ///
    /// # Panics
    /// When the positions are not whole [lines](tagged::LINE) in a counter that has lines.
    fn tally<R: ReadRecorder<Word = <Self::Recorder as ReadRecorder>::Word>>(
        array: View<'_, Self::Params, R>,
        host: Address,
        asked: (Span, Range<u32>),
        ahead: impl Fn(usize),
    ) -> Tally;
}

/// What a device returns about one host: integers, from which
/// [`Params::estimate`](crate::Params::estimate) makes a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "no allocation here; tallies live in small batches")]
pub enum Tally {
    /// The paper's counter: `|USLE|^k`, positions of the union in the window, `0..=η'`.
    Union(u32),
    /// The tagged counter.
    Visible(Histograms),
}

impl Tally {
    /// The tally of the positions of both, which are of one host and one counter.
    ///
    /// # Panics
    /// When they are of different counters.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        match (&mut self, others) {
            (Self::Union(weight), Self::Union(more)) => *weight += more,
            (Self::Visible(histograms), Self::Visible(more)) => histograms.add(more),
            _ => panic!("tallies of one host are of one counter"),
        }
        self
    }
}
