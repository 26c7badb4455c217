//! The tagged counter: touches that contain a tag of the host, echoes of the touches, and estimates by survival
//! analysis. See docs/tagged-recorders.md.

mod bins;
pub mod bound;
mod counts;
mod decoder;
pub mod expected;
mod full;
pub mod glimpse;
mod group;
mod histograms;
mod line;
mod lines;
pub(crate) mod load;
mod params;
pub mod pooled;
mod positions;
mod region;
mod sizes;
mod tag;
mod touch;
pub mod visible;

use crate::counter::{Accumulator, Counter, CounterPart, Look, Tally, TouchQueue};
use crate::epoch::Span;
use crate::ids::Batch;
use crate::recorder::{ReadRecorder, Recorder16};

pub use bins::Bins;
pub use group::{GROUP, InWindow, STEP, Selection, Words, pick};
pub use histograms::{Grouping, Histograms, bin_place};
pub use lines::Lines;
pub use params::TaggedParams;
pub(crate) use params::most_share;
pub use positions::Positions;
pub use region::{REGIONS, Region, Regions};
pub use sizes::{AGES, LINE};
pub(crate) use sizes::{LEAST_TAGS, MOST_POSITIONS, MOST_TAGS};
pub use touch::{Touch, Touches, touch_lines};

/// The counter of the default scheme, which recognises the touches of a host by their tags.
#[derive(Clone, Copy, Debug)]
pub struct TaggedCounter;

impl Counter for TaggedCounter {
    type Params = TaggedParams;
    type Recorder = Recorder16;
    type Touch = Touch;
    type Touches = Touches;
    type Accumulator = Bins;

    #[inline(always)]
    fn params(part: &CounterPart) -> &TaggedParams {
        part.tagged().expect("the params belong to this counter")
    }

    #[inline(always)]
    fn touch(
        lines: Lines<'_, Recorder16>,
        pairs: &impl Batch,
        age: u32,
        queue: &mut impl TouchQueue<Self>,
    ) {
        let touches = Touches::new(lines.params, pairs, age);
        queue.add_batch(&touches);
        touches.coarse(lines.params, pairs, age, |touch| queue.add(touch));
    }

    #[inline(always)]
    fn is_empty(touch: Touch) -> bool {
        touch.is_empty()
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
    fn apply_changes(lines: Lines<'_, Recorder16>, touches: &[Touch]) -> usize {
        lines.apply_changes(touches)
    }

    #[inline(always)]
    fn count<R: ReadRecorder<Word = u16>>(
        lines: Lines<'_, R>,
        look: &Look,
        ahead: impl Fn(usize),
        pick: impl Fn(&[Words; GROUP], Selection, &mut InWindow),
        counted: &mut Bins,
    ) {
        lines.count(look, ahead, pick, counted);
    }
}

impl Accumulator for Bins {
    type Params = TaggedParams;

    fn new(span: Span) -> Self {
        Self::new(span)
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.clear();
    }

    #[inline(always)]
    fn may_reach(&self, params: &TaggedParams, positions: u32) -> bool {
        let grouped = self.grouped(Grouping::for_bound(self.span()));
        glimpse::may_reach(params, &self.span(), positions, |kind, group| grouped[kind][group])
    }

    #[inline(always)]
    fn tally(&self) -> Tally {
        Tally::Visible(self.histograms())
    }

    #[inline(always)]
    fn tally_into(&self, tally: &mut Tally) {
        match tally {
            Tally::Visible(histograms) => self.fill(histograms),
            Tally::Union(_) => panic!("the tally belongs to a different counter"),
        }
    }
}

#[cfg(test)]
mod tests;
