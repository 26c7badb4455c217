//! The paper's counter: rows of overlapping linear estimators, and estimates that subtract what
//! others touched on average.

pub mod background;
mod params;
#[allow(clippy::module_inception, reason = "the rows of the counter `rows`")]
mod rows;

use core::ops::Range;

use crate::counter::{Counter, CounterPart, Tally};
use crate::epoch::Span;
use crate::pair::{Address, BATCH, IpPair};
use crate::recorder::{ReadRecorder, Recorder16};

pub use params::{MAX_ROWS, RowsParams};
pub use rows::{Rows, touch_rows};

/// The paper's counter.
#[derive(Clone, Copy, Debug)]
pub struct RowsCounter;

impl Counter for RowsCounter {
    type Params = RowsParams;
    type Recorder = Recorder16;
    type Touch = ();

    #[inline(always)]
    fn params(part: &CounterPart) -> &RowsParams {
        part.rows().expect("params of this counter")
    }

    /// Touches at once: among threads, too, a touch of age 0 is a plain store.
    #[inline(always)]
    fn touch(
        rows: Rows<'_, Recorder16>,
        (pairs, _): (&[IpPair; BATCH], usize),
        age: u32,
        _: impl FnMut(()),
    ) {
        rows.touch(pairs, age);
    }

    fn place((): ()) -> u32 {
        0
    }

    fn apply_exclusive(_: Rows<'_, Recorder16>, _: &[()]) {}

    #[inline(always)]
    fn tally<R: ReadRecorder<Word = u16>>(
        rows: Rows<'_, R>,
        host: Address,
        (span, positions): (Span, Range<u32>),
        _: impl Fn(usize),
    ) -> Tally {
        Tally::Union(rows.tally(host, span, positions))
    }
}
