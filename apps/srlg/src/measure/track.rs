//! A view of contacts, whose pairs go into the slices that they are of.

use anyhow::{Error, Result};
use srlg_host::SlidingDetector;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host};

use crate::alerts::rules::Rules;
use crate::measure::SKEW;
use crate::measure::filter::PairFilter;

/// The pairs of a view.
pub(crate) struct Track {
    pub(crate) filter: PairFilter,
    slicer: Slicer,
}

impl Track {
    /// Makes a track of `view`, whose pairs `detector` counts in the slices of `clock`; `rules` are those that it will
    /// be asked by.
    pub(crate) fn new(
        view: &ViewOptions,
        clock: SliceClock,
        detector: &SlidingDetector,
        rules: &Rules,
    ) -> Result<Self> {
        let batch = detector.pair_batch(Slicer::BATCH)?;
        let slicer = Slicer::with_batch(clock.with_skew(SKEW), batch);
        Ok(Self { filter: PairFilter::new(view, rules)?, slicer })
    }

    /// Returns the clock, which counts what it has refused.
    pub(crate) const fn clock(&self) -> &SliceClock {
        self.slicer.clock()
    }

    /// Returns the pairs of `contact` that count by `rules`: hosts of the view, with their peers.
    #[inline(always)]
    pub(crate) fn pairs(
        &mut self,
        contact: &Contact,
        rules: &Rules,
    ) -> impl Iterator<Item = (Host, Host)> + Clone + use<> {
        self.filter.pairs(contact, rules).into_iter().flatten()
    }

    /// Puts `pairs` into the slice of `time_ns`, and returns whether they count. Time passes without pairs, too.
    #[inline]
    pub(crate) fn take<S: SliceSink<Error = Error>>(
        &mut self,
        time_ns: u64,
        pairs: impl Iterator<Item = (Host, Host)>,
        sink: &mut S,
    ) -> Result<Placement> {
        let placement = self.slicer.take(time_ns, pairs, sink)?;
        self.filter.counts.late += u64::from(matches!(placement, Placement::Late { .. }));
        Ok(placement)
    }

    /// Lets time pass until `now_ns`, by which slices end. The first slice is that of the first call.
    pub(crate) fn pass<S: SliceSink<Error = Error>>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<()> {
        self.slicer.start(now_ns, sink)?;
        self.slicer.pass(now_ns, sink)
    }

    /// Hands on all pairs that wait, but for those of slices that do not run yet.
    pub(crate) fn flush<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.flush(sink)
    }

    /// Hands on all pairs that wait, at the end of an input.
    pub(crate) fn finish<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.finish(sink)
    }
}
