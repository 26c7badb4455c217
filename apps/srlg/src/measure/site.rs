//! A site, which turns the contacts of one input into closed slices of its views.
//!
//! ```text
//! contact --allowed?--> pair --slice--> detector --closed slice--> SliceConsumer
//!                        `--of tracked hosts--> details
//! ```
//!
//! Contacts of files are counted by the main thread. The reader threads of a live input count their contacts
//! themselves (see `pipeline`), and the main thread closes slices at clock ticks.
//!
//! Invariants:
//! - A consumer receives the slices of each view in order. The views advance in turn, so that all views close a slice
//!   before any view closes the next one, unless time advances by several slices at once.
//! - When a slice closes, its detector contains all pairs that were read before and that the consumer accepts, except
//!   pairs of later slices. In a replay, slices without any candidate do not close in the detector: their pairs wait in
//!   a [`Deferral`], and the consumer receives a report without super points.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use srlg_host::ingest::PairBatch;
use srlg_host::state::Snapshot;
use srlg_host::time::{Deferral, Placement, SliceClock, SliceSink};
use srlg_host::{Config, Device, SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling};
use srlg_input::live::ContactSink;
use srlg_input::{Position, Status as InputStatus, ViewOptions};

use crate::measure::counts::ContactCounts;
use crate::measure::detector;
use crate::measure::pipeline::{PipelineCounts, Pipelines, Pushed, ViewPipeline, ViewPipelines};
use crate::measure::positions::Positions;
use crate::measure::track::Track;
use srlg_alerts::details::Details;
use srlg_alerts::rules::Rules;
use srlg_alerts::status::problems::ProblemKind;
use srlg_alerts::witnesses::WitnessTable;
use srlg_alerts::witnesses::table::last_datagrams;
use srlg_system::now_ms;

/// A consumer of the slices of a site's views. Views are identified by their index.
pub(crate) trait SliceConsumer {
    /// Returns the rules of a view, which determine the contacts that count.
    fn rules(&self, at: usize) -> &Rules;

    /// Opens the first slice of a view.
    fn start(&mut self, view: &mut RunningView<'_>, slice: u64) -> Result<()> {
        self.open(view, slice)
    }

    /// Opens a later slice of a view.
    fn open(&mut self, view: &mut RunningView<'_>, slice: u64) -> Result<()> {
        match view.deferral {
            // The deferral moves the detector when it needs it.
            Some(_) => Ok(()),
            None => Ok(view.detector.skip_to(slice)?),
        }
    }

    /// Notes that `pairs` pairs of `slice` arrive while the slice `running` is running. Returns whether they count.
    /// Pairs of reader threads always count.
    fn accept(&mut self, _at: usize, _pairs: u64, _running: u64, _slice: u64) -> bool {
        true
    }

    /// Notes that a view has placed `contact` in `slice`.
    fn record(&mut self, at: usize, slice: u64, contact: &Contact);

    /// Notes that reader threads have counted contacts up to `newest_ms`, with the given sampling by slice.
    fn record_read(
        &mut self,
        _views: &[SiteView],
        _newest_ms: u64,
        _sampling: &BTreeMap<u64, Sampling>,
    ) {
    }

    /// Closes the running slice of a view. `pushed` describes the pairs that reader threads have pushed since the last
    /// close. If a view closes several slices one after the other, only the last one `is_newest`.
    fn close(&mut self, view: &mut RunningView<'_>, pushed: Pushed, is_newest: bool) -> Result<()>;

    /// Processes the report of the running slice, which has no candidates and does not close in the detector. Called
    /// only after [`Site::defer_pairs`].
    fn close_quiet(&mut self, _view: &mut RunningView<'_>, _report: SliceReport) -> Result<()> {
        Ok(())
    }

    /// Returns the slice that opens after `closed`, when time advances to `slice` and no contact belongs to a slice
    /// between them. This is `closed + 1`, or a later slice up to `slice` if a silence is cut short.
    fn next_slice(&self, at: usize, closed: u64, slice: u64) -> u64;

    /// Processes the slices of a view that a silence skips. The slice after them is running.
    fn skip(&mut self, _view: &mut RunningView<'_>, _skipped: Range<u64>) {}
}

/// The views of one input, and the consumer of their slices.
pub(crate) struct Site<C> {
    pub(crate) views: Vec<SiteView>,
    pub(crate) consumer: C,
    pub(crate) exporters: WitnessTable,
    pub(crate) counts: ContactCounts,
    pub(crate) positions: Positions,
    /// Exporters of the input at the time of the last overview.
    pub(crate) remembered: HashSet<IpAddr>,
    slice_ms: u64,
    /// Time for which a slice waits for contacts after its end.
    grace: Duration,
    /// Start of the first slice whose contacts count, in nanoseconds since the Unix epoch.
    from_ns: u64,
    /// Slice of the newest contact.
    newest: u64,
    /// Pipelines of the reader threads of a live input.
    pipelines: Pipelines,
}

/// A view of a site: the track of its pairs, its detector, and details of some of its hosts.
pub(crate) struct SiteView {
    pub(crate) track: Track,
    pub(crate) detector: SlidingDetector,
    pub(crate) details: Details,
    /// Pairs that the detector has not ingested, or `None` if it ingests them at once.
    pub(crate) deferral: Option<Deferral>,
    /// Running slice, or 0 before the first one opens.
    running: u64,
}

/// A view whose slices open and close.
pub(crate) struct RunningView<'a> {
    pub(crate) at: usize,
    pub(crate) running: &'a mut u64,
    pub(crate) detector: &'a mut SlidingDetector,
    pub(crate) details: &'a mut Details,
    pub(crate) deferral: &'a mut Option<Deferral>,
    pub(crate) exporters: &'a WitnessTable,
    pub(crate) pipelines: ViewPipelines<'a>,
}

/// Times of a site's slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceTimes {
    pub(crate) slice: Duration,
    /// Time for which a slice waits for contacts after its end.
    pub(crate) grace: Duration,
}

impl SliceTimes {
    /// Returns the clock of a view with the given window. Pairs that are later than a whole window do not count.
    pub(crate) fn clock(self, window: u32) -> Result<SliceClock> {
        let clock = SliceClock::new(self.slice, window - 1, Duration::MAX)?;
        Ok(clock.with_grace(self.grace))
    }
}

impl SiteView {
    /// Creates the view `name`, whose slices have the given `times`.
    pub(crate) fn new(
        name: &str,
        view: &ViewOptions,
        sizes: Config,
        device: Device,
        times: SliceTimes,
        rules: &Rules,
    ) -> Result<Self> {
        let detector = detector(name, sizes, device)?;
        Self::of(view, times.clock(sizes.window)?, detector, sizes.seed, rules)
    }

    /// Creates a view with this `detector`, whose slices have the times of `clock`. The sample of its hosts' peers
    /// depends on `seed`.
    pub(crate) fn of(
        view: &ViewOptions,
        clock: SliceClock,
        detector: SlidingDetector,
        seed: u64,
        rules: &Rules,
    ) -> Result<Self> {
        let track = Track::new(view, clock, &detector, rules)?;
        let details = Details::new(seed).with_view(view);
        Ok(Self { track, detector, details, deferral: None, running: 0 })
    }

    /// Replaces the detector's contents by `snapshot`.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.detector.restore(snapshot)?;
        if let Some(deferral) = &mut self.deferral {
            deferral.distrust(self.detector.slice() + 1);
        }
        Ok(())
    }

    /// Makes the detector ingest all pairs that wait in the deferral.
    pub(crate) fn settle(&mut self) -> Result<()> {
        match &mut self.deferral {
            Some(deferral) => Ok(deferral.settle(&mut self.detector, self.running)?),
            None => Ok(()),
        }
    }
}

impl<C: SliceConsumer> Site<C> {
    pub(crate) fn new(
        views: Vec<SiteView>,
        times: SliceTimes,
        exporters: WitnessTable,
        consumer: C,
    ) -> Self {
        Self {
            views,
            consumer,
            exporters,
            counts: ContactCounts::default(),
            positions: Positions::default(),
            remembered: HashSet::new(),
            slice_ms: times.slice.as_millis() as u64,
            grace: times.grace,
            from_ns: 0,
            newest: 0,
            pipelines: Pipelines::default(),
        }
    }

    pub(crate) const fn slice_ms(&self) -> u64 {
        self.slice_ms
    }

    /// Defers the pairs of all views while their slices cannot have candidates. The detectors must be untouched, and
    /// the site must have no reader threads.
    pub(crate) fn defer_pairs(&mut self) {
        for view in &mut self.views {
            view.deferral = Deferral::new(&view.detector);
        }
    }

    /// Returns the end of the last slice that all views have closed, in milliseconds since the Unix epoch, or 0.
    #[cfg(feature = "network")]
    pub(crate) fn now_ms(&self) -> u64 {
        self.views.iter().map(|view| view.running).min().unwrap_or(0) * self.slice_ms
    }

    /// Adds a pipeline for a reader thread of a live input and returns its sink. The thread passes contacts to the sink
    /// instead of calling [`ingest`](Self::ingest).
    pub(crate) fn pipeline(&mut self) -> Result<Box<dyn ContactSink>> {
        let first_slice = self.from_ns / 1_000_000 / self.slice_ms;
        let views = self.view_pipelines()?;
        Ok(self.pipelines.add(self.slice_ms, first_slice, views))
    }

    fn view_pipelines(&self) -> Result<Vec<ViewPipeline>> {
        let pipeline = |(at, view): (usize, &SiteView)| {
            let SiteView { track, detector, details, .. } = view;
            let rules = Arc::new(self.consumer.rules(at).clone());
            Ok(ViewPipeline::new(&track.filter, rules, detector, details)?)
        };
        self.views.iter().enumerate().map(pipeline).collect()
    }

    /// Makes the reader threads apply `rules` to the contacts of a view.
    pub(crate) fn set_rules(&mut self, at: usize, rules: &Rules) {
        self.pipelines.set_rules(at, rules, &mut self.views[at].track.filter.counts);
    }

    /// Replaces this site by `next`, in which the contacts of `first` and later slices count. The reader threads
    /// continue with the views of `next`.
    #[cfg(feature = "network")]
    pub(crate) fn replace(&mut self, mut next: Self, first: u64) -> Result<()> {
        // No thread may push to the former detectors once they are dropped.
        self.pipelines.set_views(next.slice_ms, first, || next.view_pipelines())?;
        next.pipelines = std::mem::take(&mut self.pipelines);
        *self = next;
        self.start_at(first)
    }

    /// Opens `slice` as the first slice. Earlier contacts do not count.
    #[cfg(feature = "network")]
    pub(crate) fn start_at(&mut self, slice: u64) -> Result<()> {
        self.from_ns = slice * self.slice_ms * 1_000_000;
        self.advance(self.from_ns)
    }

    /// Counts a contact in all views.
    #[inline]
    pub(crate) fn ingest(&mut self, contact: &Contact) -> Result<()> {
        if contact.time_ns < self.from_ns {
            return Ok(());
        }
        let Self { views, consumer, exporters, counts, newest, pipelines, .. } = self;
        counts.contacts += 1;
        counts.samplings.record(contact);
        let mut unused = None;
        for (at, view) in views.iter_mut().enumerate() {
            let SiteView { track, detector, details, deferral, running } = view;
            let pairs = track.pairs(contact, consumer.rules(at));
            if !details.is_empty() {
                pairs.clone().for_each(|pair| details.add(pair, contact));
            }
            let view = RunningView {
                at,
                running,
                detector,
                details,
                deferral,
                exporters,
                pipelines: pipelines.of(at),
            };
            let placement =
                track.ingest(contact.time_ns, pairs, &mut ViewSink { view, consumer })?;
            let kind = match placement {
                Placement::TooLate => Some(ProblemKind::TooLate),
                Placement::Future => Some(ProblemKind::Future),
                _ => {
                    let slice = track.clock().slice_of(contact.time_ns);
                    *newest = slice.max(*newest);
                    // This must come last, because the contact must not count for the slices that it closes.
                    consumer.record(at, slice, contact);
                    track.filter.is_portless().then_some(ProblemKind::WithoutPort)
                }
            };
            unused = unused.or(kind);
        }
        if let Some(kind) = unused {
            counts.unused.add(contact.exporter.map(IpAddr::from), kind);
        }
        Ok(())
    }

    /// Adds the counts of the pipelines to those of the site.
    ///
    /// Returns the slices with waiting pairs.
    pub(crate) fn collect(&mut self) -> BTreeSet<u64> {
        let (counts, waiting) = self.pipelines.collect();
        let PipelineCounts { contacts, newest_ns, sampling } = counts;
        self.counts.merge(contacts);
        let newest_ms = newest_ns / 1_000_000;
        self.newest = self.newest.max(newest_ms / self.slice_ms);
        self.consumer.record_read(&self.views, newest_ms, &sampling);
        waiting
    }

    /// Adds the counts that the pipelines have of each view to those of the view.
    pub(crate) fn collect_views(&mut self) {
        for (at, view) in self.views.iter_mut().enumerate() {
            self.pipelines.collect_view(at, &mut view.track.filter.counts);
        }
    }

    /// Notes that all contacts before `position` have been processed.
    pub(crate) fn record_position(&mut self, position: &Position) {
        self.collect();
        self.positions.record(self.newest, position);
    }

    /// Notes when each exporter in `input` last sent a datagram. Logs which exporters have fallen silent by `now_ns` or
    /// are sending again.
    pub(crate) fn observe_input(&mut self, input: &InputStatus, now_ns: u64) {
        self.exporters.update(now_ns / 1_000_000, last_datagrams(input));
    }

    /// Advances time to `now_ns`, which may close slices. The first call or contact determines the first slice.
    pub(crate) fn advance(&mut self, now_ns: u64) -> Result<()> {
        // A slice with waiting pairs is not part of a silence.
        for slice in self.collect() {
            let start_ns = self.start_ns(slice);
            if start_ns < now_ns {
                self.advance_views(start_ns)?;
            }
        }
        self.advance_views(now_ns)
    }

    fn advance_views(&mut self, now_ns: u64) -> Result<()> {
        self.each_view(|track, sink| track.advance(now_ns, sink))
    }

    /// Returns the time at which `slice` opens, in nanoseconds since the Unix epoch. It is the start of the slice plus
    /// the grace period.
    fn start_ns(&self, slice: u64) -> u64 {
        let start_ms = slice.saturating_mul(self.slice_ms);
        start_ms.saturating_mul(1_000_000).saturating_add(self.grace.as_nanos() as u64)
    }

    /// Passes all waiting pairs of opened slices to the detector of a view.
    pub(crate) fn flush(&mut self, at: usize) -> Result<()> {
        self.collect();
        let (track, mut sink) = self.view(at);
        track.flush(&mut sink)?;
        sink.push_waiting()?;
        self.views[at].settle()
    }

    /// Closes the running slice, if there is one, and the slices that have waiting pairs, except slices in the future.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let waiting = self.collect();
        // A contact from the future must not create slices.
        let now_slice = now_ms() / self.slice_ms;
        if let Some(last) = waiting.into_iter().filter(|slice| *slice <= now_slice).max() {
            self.advance(self.start_ns(last))?;
        }
        self.each_view(|track, sink| {
            track.finish(sink)?;
            sink.end_deferral()?;
            if track.clock().is_running() { sink.close(true) } else { Ok(()) }
        })
    }

    /// Calls `f` with each view.
    pub(crate) fn each_view(
        &mut self,
        mut f: impl FnMut(&mut Track, &mut ViewSink<'_, C>) -> Result<()>,
    ) -> Result<()> {
        (0..self.views.len()).try_for_each(|at| {
            let (track, mut sink) = self.view(at);
            f(track, &mut sink)
        })
    }

    /// Returns the track of a view, and the sink of its slices.
    pub(crate) fn view(&mut self, at: usize) -> (&mut Track, ViewSink<'_, C>) {
        let Self { views, consumer, exporters, pipelines, .. } = self;
        let SiteView { track, detector, details, deferral, running } = &mut views[at];
        let pipelines = pipelines.of(at);
        let view = RunningView { at, running, detector, details, deferral, exporters, pipelines };
        (track, ViewSink { view, consumer })
    }
}

/// Sink for the pairs and slices of one view.
pub(crate) struct ViewSink<'a, C> {
    pub(crate) view: RunningView<'a>,
    pub(crate) consumer: &'a mut C,
}

impl<C: SliceConsumer> ViewSink<'_, C> {
    /// Closes the running slice.
    pub(crate) fn close(&mut self, is_newest: bool) -> Result<()> {
        let pushed = self.push_waiting()?;
        let running = *self.view.running;
        let RunningView { detector, deferral, .. } = &mut self.view;
        if let Some(deferral) = deferral {
            if let Some(report) = deferral.quiet_report(detector, running) {
                return self.consumer.close_quiet(&mut self.view, report);
            }
            deferral.settle(detector, running)?;
        }
        self.consumer.close(&mut self.view, pushed, is_newest)
    }

    /// Makes the detector ingest all pairs that wait in the deferral, and all later pairs at once.
    fn end_deferral(&mut self) -> Result<()> {
        match self.view.deferral.take() {
            Some(mut deferral) => Ok(deferral.settle(self.view.detector, *self.view.running)?),
            None => Ok(()),
        }
    }

    /// Passes all pairs of opened slices from the pipelines to the detector.
    fn push_waiting(&mut self) -> Result<Pushed> {
        let RunningView { running, details, pipelines, .. } = &mut self.view;
        pipelines.push_waiting(**running, details)
    }
}

impl<C: SliceConsumer> SliceSink for ViewSink<'_, C> {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        *self.view.running = slice;
        self.consumer.start(&mut self.view, slice)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        let running = *self.view.running;
        let RunningView { at, detector, deferral, .. } = &mut self.view;
        let slice = running - u64::from(slices_late);
        if !self.consumer.accept(*at, pairs.len() as u64, running, slice) {
            return Ok(());
        }
        match deferral {
            Some(deferral) => Ok(deferral.ingest(detector, pairs, running, slices_late)?),
            None => Ok(pairs.ingest_late(detector, slices_late)?),
        }
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        loop {
            let closed = *self.view.running;
            if closed >= slice {
                return Ok(());
            }
            self.close(closed + 1 == slice)?;
            let next = self.consumer.next_slice(self.view.at, closed, slice);
            *self.view.running = next;
            self.consumer.open(&mut self.view, next)?;
            if next > closed + 1 {
                self.consumer.skip(&mut self.view, closed + 1..next);
            }
        }
    }
}
