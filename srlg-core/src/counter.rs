//! Counters: arrays from which the number of distinct peers of a host is estimated.
//!
//! A counter is a type without values. It names its [`Params`](Counter::Params) and its recorders, updates them and
//! reads them. Each host has a linear estimator of η' recorders. Estimators of different hosts overlap, so each also
//! holds touches of other hosts. Counters differ in how they separate these: [`rows`] is the paper's counter, and
//! [`tagged`] is the default.

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

/// The params of the counter of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CounterPart {
    /// Params of the tagged counter.
    Tagged(TaggedParams),
    /// Params of the paper's counter.
    Rows(RowsParams),
}

/// The touches of a batch of pairs.
pub trait TouchBatch: Copy + Send {
    /// Touch of one pair.
    type Touch;

    /// Returns the touch of pair number `i`.
    ///
    /// # Panics
    /// Panics if `i` is not below [`BATCH`](crate::BATCH).
    fn touch(&self, i: usize) -> Self::Touch;
}

/// A way to count peers: its params and recorders, how pairs change them and how they are read.
pub trait Counter: Send + Sync + 'static {
    /// Sizes and keys of the counter.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// Recorder type of the array.
    type Recorder: Recorder;

    /// Returns the params of this counter, which `part` holds.
    ///
    /// # Panics
    /// Panics if `part` belongs to another counter.
    fn params(part: &CounterPart) -> &Self::Params;

    /// The change by a pair, computed before any recorder is read.
    type Touch: Copy + Default + Send;

    /// The touches of a batch.
    type Touches: TouchBatch<Touch = Self::Touch>;

    /// Touches the recorders of `pairs` in `array`, for contacts `age` epochs ago.
    ///
    /// Each implementation uses exactly one of two ways. It touches the recorders at once, as any number of threads
    /// may. Or it passes the touches to `later`, and the caller applies them with
    /// [`apply_exclusive`](Self::apply_exclusive).
    fn touch(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        pairs: &impl Batch,
        age: u32,
        later: impl FnOnce(&Self::Touches),
    );

    /// Returns the number of one recorder that `touch` changes. All other recorders that `touch` changes are in the
    /// same [line](tagged::LINE).
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches` to `array`. No other thread may change their lines meanwhile.
    fn apply_exclusive(array: ArrayView<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);

    /// Applies `touches` as [`apply_exclusive`](Self::apply_exclusive) does, but writes only where something changes.
    /// Returns the number of touches that changed something.
    fn apply_changes(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        touches: &[Self::Touch],
    ) -> usize;

    /// The counts of one host on a CPU.
    type Accumulator: Accumulator<Params = Self::Params>;

    /// Counts the positions of `look` in `array` into `counted`.
    ///
    /// `ahead` is called with a recorder of each line some time before that line is read, to prefetch it. `pick`
    /// selects the positions in the window of a group of lines: [`tagged::pick`] or an equivalent function.
    ///
    /// # Panics
    /// Panics if the counter has lines and the positions are not whole [lines](tagged::LINE).
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
    /// Panics under the same condition as [`count`](Self::count).
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

/// The positions to count in the linear estimator of one host.
#[derive(Clone, Debug)]
pub struct Look {
    /// Host to count.
    pub host: HostId,
    /// Positions to count.
    pub positions: Range<u32>,
    /// Host and first position of the next look, if known, so that they can be prefetched.
    pub next: (HostId, u32),
}

/// The counts of one host so far.
pub trait Accumulator {
    /// Params of the counter.
    type Params;

    /// Returns counts of no positions, over `span`.
    fn new(span: Span) -> Self;

    /// Resets all counts to 0.
    fn clear(&mut self);

    /// Returns whether a host may be a super point by `params`, if these counts are those of its
    /// [glimpse](crate::Params::glimpse_positions).
    fn may_reach(&self, params: &Self::Params) -> bool;

    /// Returns the tally of these counts.
    fn tally(&self) -> Tally;

    /// Writes the tally of these counts into `tally`, which belongs to the same counter and span.
    fn tally_into(&self, tally: &mut Tally);
}

/// The counts of one region of one host, as integers, from which [`Params::estimate`](crate::Params::estimate) computes
/// a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "the crate cannot allocate, and tallies are in small batches"
)]
pub enum Tally {
    /// Counter of the paper: `|USLE|^k`, the positions of the union in the window, from 0 to η'.
    Union(u32),
    /// Tagged counter: the histograms of one region.
    Visible(Histograms),
}
