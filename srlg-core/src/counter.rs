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
use crate::ids::{Batch, HostId};
use crate::recorder::{ReadRecorder, Recorder};
use crate::view::{ArrayParams, ArrayView};

use tagged::{GROUP, Histograms, InWindow, Selection, Words};

pub use estimate::{Estimate, EstimateRange};
pub use rows::{Rows, RowsCounter, RowsParams};
pub use tagged::{Lines, Positions, TaggedCounter, TaggedParams};

/// Holds the part of a detector's params that belongs to its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CounterPart {
    /// The tagged counter.
    Tagged(TaggedParams),
    /// The paper's.
    Rows(RowsParams),
}

/// The touches of a batch.
pub trait TouchBatch: Copy + Send {
    /// One of them.
    type Touch;

    /// Returns the touch of pair number `i`.
    ///
    /// # Panics
    /// When `i` is not below [`BATCH`](crate::BATCH).
    fn touch(&self, i: usize) -> Self::Touch;
}

/// Describes a way of counting opposite hosts: its params and recorders, how pairs change them and how they are read.
pub trait Counter: Send + Sync + 'static {
    /// Its sizes and keys.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// What its array consists of.
    type Recorder: Recorder;

    /// Returns the params of this counter, which `part` holds.
    ///
    /// # Panics
    /// When `part` belongs to another counter.
    fn params(part: &CounterPart) -> &Self::Params;

    /// What a pair changes, found before any recorder is looked at.
    type Touch: Copy + Default + Send;

    /// The touches of a batch.
    type Touches: TouchBatch<Touch = Self::Touch>;

    /// Touches the recorders in `array` of `pairs`, which were in contact `age` epochs ago. Each counter either touches
    /// them at once, as any number of threads may, or calls `later` with the touches, which
    /// [`apply_exclusive`](Self::apply_exclusive) then applies.
    fn touch(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        pairs: &impl Batch,
        age: u32,
        later: impl FnOnce(&Self::Touches),
    );

    /// Returns the number of a recorder that `touch` changes; all other recorders that `touch` changes are in the same
    /// [line](tagged::LINE).
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches` to `array`, while no other thread changes recorders of their lines.
    fn apply_exclusive(array: ArrayView<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);

    /// Does what [`apply_exclusive`](Self::apply_exclusive) does, and writes only where something changes. Returns how
    /// many touches changed something.
    fn apply_changes(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        touches: &[Self::Touch],
    ) -> usize;

    /// What is counted of one host on a CPU.
    type Accumulator: Accumulator<Params = Self::Params>;

    /// Counts the positions of `look` in `array` into `counted`. Calls `ahead` with the number of a recorder of each
    /// line some time before that line is read, so that the caller can prefetch the line, and picks what is in the
    /// window of a group of lines by `pick`: [`tagged::pick`], or what does the same.
    ///
    /// # Panics
    /// When the positions are not whole [lines](tagged::LINE) in a counter that has lines.
    fn count<R: ReadRecorder<Word = <Self::Recorder as ReadRecorder>::Word>>(
        array: ArrayView<'_, Self::Params, R>,
        look: &Look,
        ahead: impl Fn(usize),
        pick: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        counted: &mut Self::Accumulator,
    );

    /// Returns the tally of `positions` of `host` in `array` over `span`.
    ///
    /// # Panics
    /// As [`count`](Self::count).
    fn tally<R: ReadRecorder<Word = <Self::Recorder as ReadRecorder>::Word>>(
        array: ArrayView<'_, Self::Params, R>,
        host: HostId,
        span: Span,
        positions: Range<u32>,
    ) -> Tally {
        let mut counted = Self::Accumulator::new(span);
        let next = (host, positions.end);
        Self::count(array, &Look { host, positions, next }, |_| {}, tagged::pick, &mut counted);
        counted.tally()
    }
}

/// Names the positions of the linear estimator of one host that are to be counted.
#[derive(Clone, Debug)]
pub struct Look {
    /// The host.
    pub host: HostId,
    /// Its positions.
    pub positions: Range<u32>,
    /// The host and the first position that are looked at next, as far as is known: they are asked for ahead.
    pub next: (HostId, u32),
}

/// Holds what was counted of one host so far.
pub trait Accumulator {
    /// The counter's.
    type Params;

    /// Returns a count over `span` of no positions yet.
    fn new(span: Span) -> Self;

    /// Forgets what was counted.
    fn clear(&mut self);

    /// Returns whether a host of whose [glimpse](crate::Params::glimpse_positions) this was counted may be a
    /// super point by `params`.
    fn may_reach(&self, params: &Self::Params) -> bool;

    /// Returns the tally of what was counted.
    fn tally(&self) -> Tally;

    /// Makes `tally`, which is of the same counter and over the same span, that of what was counted.
    fn tally_into(&self, tally: &mut Tally);
}

/// Holds what a device returns about one region of one host: integers, from which
/// [`Params::estimate`](crate::Params::estimate) makes a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "no allocation here; tallies live in small batches")]
pub enum Tally {
    /// The paper's counter: `|USLE|^k`, positions of the union in the window, `0..=η'`.
    Union(u32),
    /// The tagged counter, one of its regions.
    Visible(Histograms),
}
