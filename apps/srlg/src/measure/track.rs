//! Pairs of a view, which are sorted into slices.

use anyhow::{Error, Result};
use srlg_host::SlidingDetector;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host};

use crate::alerts::rules::Rules;
use crate::measure::SKEW;
use crate::measure::filter::PairFilter;

/// Pairs of a view, sorted into slices by their time.
pub(crate) struct Track {
    pub(crate) filter: PairFilter,
    slicer: Slicer,
}

impl Track {
    /// Creates a track of `view` for use with `rules`. `detector` counts its pairs in the slices of `clock`.
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

    /// Returns the clock, which also counts the contacts that it rejects.
    pub(crate) const fn clock(&self) -> &SliceClock {
        self.slicer.clock()
    }

    /// Returns the pairs of `contact` that count under `rules`. A pair is a host of the view with its peer.
    #[inline(always)]
    pub(crate) fn pairs(
        &mut self,
        contact: &Contact,
        rules: &Rules,
    ) -> impl Iterator<Item = (Host, Host)> + Clone + use<> {
        self.filter.pairs(contact, rules).into_iter().flatten()
    }

    /// Adds `pairs` to the slice of `time_ns` and returns their placement. Time advances even without pairs.
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

    /// Advances time to `now_ns`, which may close slices. The first call determines the first slice.
    pub(crate) fn pass<S: SliceSink<Error = Error>>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<()> {
        self.slicer.start(now_ns, sink)?;
        self.slicer.pass(now_ns, sink)
    }

    /// Passes all waiting pairs to `sink`, except pairs of slices that have not opened yet.
    pub(crate) fn flush<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.flush(sink)
    }

    /// Passes all waiting pairs to `sink` at the end of an input.
    pub(crate) fn finish<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.finish(sink)
    }
}
