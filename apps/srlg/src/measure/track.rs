//! Assignment of a view's pairs to slices.

use anyhow::{Error, Result};
use srlg_host::SlidingDetector;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host};

use crate::measure::SKEW;
use crate::measure::filter::PairFilter;
use srlg_alerts::rules::Rules;

/// The filter of a view, and the slicer that assigns its pairs to slices.
pub(crate) struct Track {
    pub(crate) filter: PairFilter,
    slicer: Slicer,
}

impl Track {
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

    #[inline(always)]
    pub(crate) fn pairs(
        &mut self,
        contact: &Contact,
        rules: &Rules,
    ) -> impl Iterator<Item = (Host, Host)> + Clone + use<> {
        self.filter.pairs(contact, rules).into_iter().flatten()
    }

    /// Adds `pairs` to the slice that contains `time_ns`, unless the clock rejects this time. Returns the placement.
    /// The clock advances even if there are no pairs.
    #[inline]
    pub(crate) fn ingest<S: SliceSink<Error = Error>>(
        &mut self,
        time_ns: u64,
        pairs: impl Iterator<Item = (Host, Host)>,
        sink: &mut S,
    ) -> Result<Placement> {
        let placement = self.slicer.place(time_ns, pairs, sink)?;
        self.filter.counts.late += u64::from(matches!(placement, Placement::Late { .. }));
        Ok(placement)
    }

    /// Advances time to `now_ns`, which may close slices. If no slice is running yet, the slice that contains `now_ns`
    /// opens first.
    pub(crate) fn advance<S: SliceSink<Error = Error>>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<()> {
        self.slicer.start(now_ns, sink)?;
        self.slicer.advance(now_ns, sink)
    }

    /// Passes all waiting pairs to `sink`, except pairs of slices that have not opened yet.
    pub(crate) fn flush<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.flush(sink)
    }

    /// Passes all waiting pairs to `sink` at the end of an input, and closes all slices before the last one with pairs.
    pub(crate) fn finish<S: SliceSink<Error = Error>>(&mut self, sink: &mut S) -> Result<()> {
        self.slicer.finish(sink)
    }
}
