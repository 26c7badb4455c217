//! The tagged counter: touches with a tag of the host and their echoes, in scattered lines, and
//! estimates by survival analysis. docs/tagged-recorders.md explains it.

mod block;
mod decoder;
pub mod expected;
pub mod glimpse;
mod histograms;
mod line;
mod lines;
mod params;
mod positions;
mod tag;
mod touch;
pub mod visible;

use core::ops::Range;

use crate::counter::{Counter, CounterPart, Tally};
use crate::epoch::Span;
use crate::pair::{Address, BATCH, IpPair};
use crate::recorder::{ReadRecorder, Recorder16};

pub use histograms::Histograms;
pub use lines::Lines;
pub(crate) use params::LEAST_TAGS;
pub use params::{AGES, LINE, TaggedParams};
pub use positions::Positions;
pub use touch::{Touch, Touches, touch_lines};

/// The tagged counter.
#[derive(Clone, Copy, Debug)]
pub struct TaggedCounter;

impl Counter for TaggedCounter {
    type Params = TaggedParams;
    type Recorder = Recorder16;
    type Touch = Touch;

    #[inline(always)]
    fn params(part: &CounterPart) -> &TaggedParams {
        part.tagged().expect("params of this counter")
    }

    #[inline(always)]
    fn touch(
        lines: Lines<'_, Recorder16>,
        (pairs, count): (&[IpPair; BATCH], usize),
        age: u32,
        mut later: impl FnMut(Touch),
    ) {
        let touches = Touches::new(lines.params, pairs, age);
        for i in 0..count.min(BATCH) {
            later(touches.touch(i));
        }
    }

    #[inline(always)]
    fn place(touch: Touch) -> u32 {
        touch.place()
    }

    #[inline(always)]
    fn apply_exclusive(lines: Lines<'_, Recorder16>, touches: &[Touch]) {
        lines.apply_exclusive(touches);
    }

    #[inline(always)]
    fn tally<R: ReadRecorder<Word = u16>>(
        lines: Lines<'_, R>,
        host: Address,
        (span, positions): (Span, Range<u32>),
        ahead: impl Fn(usize),
    ) -> Tally {
        Tally::Visible(lines.tally(host, span, positions, ahead))
    }
}

#[cfg(test)]
mod tests;
