//! Counters, which estimate the number of distinct peers of a host from an array of recorders.
//!
//! A [`Counter`] is a type without data, whose functions update and read the recorders of an array. Each host has a
//! linear estimator of η' recorders. Estimators of different hosts overlap, so each also contains touches of other
//! hosts. Counters differ in how they separate the touches of different hosts. [`rows`] is the paper's counter, and
//! [`tagged`] is the default counter.

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

/// The params of a detector's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum CounterPart {
    /// Params of the tagged counter.
    Tagged(TaggedParams),
    /// Params of the paper's counter.
    Rows(RowsParams),
}

/// The touches of a batch, one for each pair.
pub trait TouchBatch: Copy + Send {
    /// Touch of one pair.
    type Touch;

    /// Returns the touch of pair `i` of the batch.
    ///
    /// # Panics
    /// Panics if `i` is not below [`BATCH`](crate::BATCH).
    fn touch(&self, i: usize) -> Self::Touch;
}

/// Touches that wait to be applied with [`Counter::apply_exclusive`].
pub trait TouchQueue<C: Counter + ?Sized> {
    /// Adds the touches of a batch.
    fn add_batch(&mut self, touches: &C::Touches);

    /// Adds a further touch of a pair in the batch that was added last.
    fn add(&mut self, touch: C::Touch);
}

/// A method of counting peers: the types of its params and recorders, and functions that update and read the recorders.
pub trait Counter: Send + Sync + 'static {
    /// Sizes and keys of the counter.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// Recorder type of the array.
    type Recorder: Recorder;

    /// Returns the params in `part`, which must be those of this counter.
    ///
    /// # Panics
    /// Panics if `part` belongs to a different counter.
    fn params(part: &CounterPart) -> &Self::Params;

    /// The change that a pair makes, computed before any recorder is read.
    type Touch: Copy + Default + Send;

    /// The touches of a batch.
    type Touches: TouchBatch<Touch = Self::Touch>;

    /// Touches the recorders of `pairs` in `array`, for contacts that were `age` epochs ago.
    ///
    /// If an implementation touches the recorders immediately, it adds nothing to `queue`, and any number of threads
    /// may call this function concurrently. Every other implementation adds all touches to `queue`.
    fn touch(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        pairs: &impl Batch,
        age: u32,
        queue: &mut impl TouchQueue<Self>,
    );

    /// Returns whether `touch` cannot change any recorder.
    fn is_empty(touch: Self::Touch) -> bool;

    /// Returns the index of one recorder that `touch` changes. All other recorders that `touch` changes are in the
    /// [line](tagged::LINE) of this recorder.
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches` to `array`. No other thread may change the lines of these touches at the same time.
    fn apply_exclusive(array: ArrayView<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);

    /// Applies `touches` as [`apply_exclusive`](Self::apply_exclusive) does, but writes only where something changes.
    /// Returns the number of touches that changed something.
    fn apply_changes(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        touches: &[Self::Touch],
    ) -> usize;

    /// Accumulator of the counts of one host, for use on a CPU.
    type Accumulator: Accumulator<Params = Self::Params>;

    /// Counts the positions in `array` that `look` selects, and adds the counts to `counted`.
    ///
    /// Some time before the function reads a line, it calls `ahead` with the index of a recorder in that line, to
    /// prefetch the line. From a group of lines, `pick` selects the positions in the window. `pick` is
    /// [`tagged::pick`] or an equivalent function.
    ///
    /// # Panics
    /// Panics if the counter uses [lines](tagged::LINE) and the positions do not start and end at line boundaries.
    fn count<R: ReadRecorder<Word = <Self::Recorder as ReadRecorder>::Word>>(
        array: ArrayView<'_, Self::Params, R>,
        look: &Look,
        ahead: impl Fn(usize),
        pick: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        counted: &mut Self::Accumulator,
    );

    /// Counts the `positions` of `host` in `array` over `span`, and returns their tally.
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
    /// Host whose peers are counted.
    pub host: HostId,
    /// Positions to count.
    pub positions: Range<u32>,
    /// Host and first position of the next `Look`, so that its lines can be prefetched.
    pub next: (HostId, u32),
}

/// The running counts of one host's positions.
pub trait Accumulator {
    /// Params of the counter.
    type Params;

    /// Creates an accumulator for `span`, with all counts 0.
    fn new(span: Span) -> Self;

    /// Resets all counts to 0.
    fn clear(&mut self);

    /// Returns whether a host may be a super point. These are the counts of its first `positions` positions, at the end
    /// of a [stage](crate::Params::glimpse_stages) of its glimpse.
    fn may_reach(&self, params: &Self::Params, positions: u32) -> bool;

    /// Returns the tally of these counts.
    fn tally(&self) -> Tally;

    /// Writes the tally of these counts to `tally`, which must belong to the same counter and span.
    fn tally_into(&self, tally: &mut Tally);
}

/// The counts of one region of one host, as integers, from which [`Params::estimate`](crate::Params::estimate) computes
/// a cardinality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "the crate cannot allocate, and tallies are stored in small batches"
)]
pub enum Tally {
    /// Paper's counter: `|USLE|^k`, the number of positions of the union that are in the window, from 0 to η'.
    Union(u32),
    /// Tagged counter: the histograms of one region.
    Visible(Histograms),
}
