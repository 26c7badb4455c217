//! The paper's counter: rows of overlapping linear estimators. The estimate of a host subtracts the average background
//! of other hosts.

pub mod background;
mod params;
#[allow(clippy::module_inception, reason = "the main item of this module is the array `Rows`")]
mod rows;

use super::tagged::{GROUP, InWindow, Selection, Words};
use crate::counter::{Accumulator, Counter, CounterPart, Look, Tally, TouchBatch, TouchQueue};
use crate::epoch::Span;
use crate::ids::Batch;
use crate::recorder::{ReadRecorder, Recorder16};

pub use params::{MAX_ROWS, RowsParams};
pub use rows::{Rows, touch_rows};

/// The paper's counter, with rows of overlapping linear estimators.
#[derive(Clone, Copy, Debug)]
pub struct RowsCounter;

impl Counter for RowsCounter {
    type Params = RowsParams;
    type Recorder = Recorder16;
    type Touch = ();
    type Touches = NoTouches;
    type Accumulator = Weight;

    #[inline(always)]
    fn params(part: &CounterPart) -> &RowsParams {
        part.rows().expect("the params belong to this counter")
    }

    /// Touches the recorders immediately. Even with several threads, a touch of age 0 is a plain store.
    #[inline(always)]
    fn touch(
        rows: Rows<'_, Recorder16>,
        pairs: &impl Batch,
        age: u32,
        _: &mut impl TouchQueue<Self>,
    ) {
        rows.touch_all(pairs, age);
    }

    fn is_empty((): ()) -> bool {
        true
    }

    fn place((): ()) -> u32 {
        0
    }

    fn apply_exclusive(_: Rows<'_, Recorder16>, _: &[()]) {}

    fn apply_changes(_: Rows<'_, Recorder16>, _: &[()]) -> usize {
        0
    }

    #[inline(always)]
    fn count<R: ReadRecorder<Word = u16>>(
        rows: Rows<'_, R>,
        look: &Look,
        _: impl Fn(usize),
        _: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        counted: &mut Weight,
    ) {
        counted.weight += rows.tally(look.host.lo, counted.span, look.positions.clone());
    }
}

/// The deferred touches of this counter. The type is empty, because this counter does not defer touches.
#[derive(Clone, Copy, Debug)]
pub enum NoTouches {}

impl TouchBatch for NoTouches {
    type Touch = ();

    fn touch(&self, _: usize) {
        match *self {}
    }
}

/// The number of positions in a host's union estimator that are within a span.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    span: Span,
    weight: u32,
}

impl Accumulator for Weight {
    type Params = RowsParams;

    fn new(span: Span) -> Self {
        Self { span, weight: 0 }
    }

    fn clear(&mut self) {
        self.weight = 0;
    }

    fn may_reach(&self, _: &RowsParams, _: u32) -> bool {
        true
    }

    fn tally(&self) -> Tally {
        Tally::Union(self.weight)
    }

    fn tally_into(&self, tally: &mut Tally) {
        *tally = self.tally();
    }
}
