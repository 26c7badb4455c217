//! Measurement of a probe, which turns contacts into slices that contain one delta per view.
//!
//! Each view has a [`Track`], which sorts pairs into slices by their time, and a detector, which counts the pairs. For
//! a live input, the pipelines of the reader threads sort the pairs instead. [`Slices`] sends a slice when all views
//! have closed it. The views advance in turn, so that they close the same slices.
//!
//! Invariants:
//! - Slices are put into the outbox once and in order. Empty slices are included as heartbeats. If time advances by
//!   more than the longest window at once, the first empty slices are skipped.
//! - Only closed slices are sent, and all parts of a slice are sent together.
//! - Slices up to the newest slice that was ever in the spool are skipped, because they have already been spooled.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use bytes::Bytes;
use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink};
use srlg_host::{Device, SlidingDetector};
use srlg_input::contact::{Contact, Sampling};
use srlg_input::{Position, Status};
use tracing::{info, warn};

use super::outbox::Outbox;
use super::pace::{Pace, Pacer};
use crate::measure::counts::ContactCounts;
use crate::measure::pipeline::{
    PipelineCounts, Pipelines, PushedWaiting, ViewPipeline, ViewPipelines,
};
use crate::measure::positions::Positions;
use crate::measure::track::Track;
use crate::network::payload::{self, ViewDelta};
use crate::network::report::{HOSTS_PER_REPORT, HostReport, SiteReport, WatchedView, Watchlist};
use crate::network::{NetworkVersion, NetworkView, VersionId};
use srlg_alerts::details::{Details, HostDetails};
use srlg_alerts::rules::Rules;
use srlg_alerts::status::overview::DatagramCounts;
use srlg_alerts::status::problems::ProblemKind;
use srlg_alerts::witnesses::WitnessTable;
use srlg_alerts::witnesses::table::last_datagrams;
use srlg_system::now_ms;
use srlg_system::pacing::Every;

/// Minimum time between two log lines about dropped contacts, and between two about missing ports.
const SILENCE: Duration = Duration::from_secs(60);

pub(super) struct Measurement {
    views: Vec<SiteView>,
    slices: Slices,
    /// Time for which a slice waits for contacts after its end.
    grace: Duration,
    pairs: u64,
    log_dropped: Every,
    log_portless: Every,
}

struct SiteView {
    track: Track,
    rules: Rules,
    measured: ViewSlices,
}

struct ViewSlices {
    view: u8,
    detector: SlidingDetector,
    /// Running slice, or `None` if no slice has opened yet.
    running: Option<u64>,
    /// Oldest slice that contains a pair counted since the last delta.
    oldest: Option<u64>,
    /// Number of pairs that pipelines have pushed.
    pushed: u64,
    details: Details,
}

/// Slices of all views, and the outbox to which they are sent.
struct Slices {
    version: VersionId,
    /// Number of the last view.
    last: u8,
    /// Length of the longest window, in slices.
    window: u32,
    pacer: Pacer,
    outbox: Arc<Outbox>,
    part_bytes: usize,
    mark: Option<u64>,
    /// Deltas of slices that have not closed in all views.
    deltas: BTreeMap<u64, Vec<ViewDelta>>,
    /// Unsent reports about watched hosts.
    hosts: Vec<HostReport>,
    slice_ms: u64,
    /// Sampling of the contacts in unsent slices, by slice.
    sampling: BTreeMap<u64, Sampling>,
    exporters: WitnessTable,
    datagrams: DatagramCounts,
    /// Slice of the newest contact.
    newest: u64,
    positions: Positions,
    totals: Totals,
}

/// Sink for the slices of one view.
struct Sink<'a> {
    of: &'a mut ViewSlices,
    slices: &'a mut Slices,
    pipelines: ViewPipelines<'a>,
}

/// Totals of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) pairs: u64,
    pub(super) slices: u64,
    /// Number of slices that were skipped because they had already been spooled.
    pub(super) passed_over: u64,
    /// Number of slices that were skipped because of a long silence.
    pub(super) silent: u64,
    pub(super) bytes: u64,
    pub(super) too_late: u64,
    pub(super) future: u64,
    /// Number of contacts without a port, in the view of ports that has the most of them.
    pub(super) without_port: u64,
}

impl Measurement {
    /// Creates a measurement for the views of `version`. If `is_live` is set, slices wait for delayed contacts before
    /// they close.
    pub(super) fn new(
        version: &NetworkVersion,
        is_live: bool,
        pace: Option<Pace>,
        device: Device,
        outbox: Arc<Outbox>,
        exporters: WitnessTable,
    ) -> Result<Self> {
        let NetworkVersion { id: version, network, .. } = version;
        let grace = if is_live { Duration::from_millis(network.grace_ms) } else { Duration::ZERO };
        let view = |(number, view): (u8, &NetworkView)| {
            // Pairs that are later than a whole window do not count.
            let clock = SliceClock::new(network.slice(), view.sizes.window - 1, Duration::MAX)?;
            let detector = SlidingDetector::new(view.sizes, device)
                .with_context(|| format!("cannot create the detector of view {}", view.name))?;
            let rules = Rules::new(Vec::new(), view.allows.clone());
            let track = Track::new(&view.view, clock.with_grace(grace), &detector, &rules)?;
            let details = Details::new(view.sizes.seed).with_view(&view.view);
            let measured = ViewSlices {
                view: number,
                detector,
                running: None,
                oldest: None,
                pushed: 0,
                details,
            };
            Ok(SiteView { track, rules, measured })
        };
        let views = (0..).zip(&network.views).map(view).collect::<Result<Vec<_>>>()?;
        let slices = Slices {
            last: (views.len() - 1) as u8,
            window: network.window(),
            pacer: Pacer::new(pace, network.slice()),
            version: *version,
            mark: outbox.mark(*version),
            outbox,
            part_bytes: network.part_bytes,
            deltas: BTreeMap::new(),
            hosts: Vec::new(),
            slice_ms: network.slice_ms,
            sampling: BTreeMap::new(),
            exporters,
            datagrams: DatagramCounts::default(),
            newest: 0,
            positions: Positions::default(),
            totals: Totals::default(),
        };
        Ok(Self {
            views,
            slices,
            grace,
            pairs: 0,
            log_dropped: Every::new(SILENCE),
            log_portless: Every::new(SILENCE),
        })
    }

    /// Returns one pipeline per view for a reader thread of a live input. [`advance`](Self::advance) closes the slices
    /// of the pipelines.
    pub(super) fn pipeline(&self) -> Result<Vec<ViewPipeline>> {
        let pipeline = |SiteView { track, rules, measured }: &SiteView| {
            let ViewSlices { detector, details, .. } = measured;
            Ok(ViewPipeline::new(&track.filter, Arc::new(rules.clone()), detector, details)?)
        };
        self.views.iter().map(pipeline).collect()
    }

    /// Adds the counts and sampling of `pipelines` to the measurement. Logs dropped contacts and missing ports.
    fn collect(&mut self, pipelines: &Pipelines) {
        let too_late = self.dropped().too_late;
        let PipelineCounts { contacts: ContactCounts { unused, .. }, newest_ns, sampling } =
            pipelines.collect();
        for (at, view) in self.views.iter_mut().enumerate() {
            pipelines.collect_view(at, &mut view.track.filter.counts);
        }
        let slices = &mut self.slices;
        slices.newest = slices.newest.max(newest_ns / 1_000_000 / slices.slice_ms);
        // Contacts of earlier slices are too late.
        let running = self.views.iter().filter_map(|view| view.measured.running).min();
        let first = (running.unwrap_or(0) + 1).saturating_sub(slices.window.into());
        for (slice, sampling) in sampling.range(first..) {
            slices.sampling.entry(*slice).or_default().merge(*sampling);
        }
        if self.dropped().too_late > too_late {
            self.log_dropped("too late");
        }
        if unused.count(ProblemKind::WithoutPort) > 0 {
            self.log_portless();
        }
    }

    /// Counts a contact in all views.
    pub(super) fn ingest(&mut self, contact: &Contact, pipelines: &Pipelines) -> Result<()> {
        let Self { views, slices, pairs: count, .. } = self;
        let (mut slice, mut dropped, mut is_portless) = (None, None, false);
        for (at, SiteView { track, rules, measured }) in views.iter_mut().enumerate() {
            let pairs = track.pairs(contact, rules);
            if !measured.details.is_empty() {
                pairs.clone().for_each(|pair| measured.details.add(pair, contact));
            }
            let pairs = pairs.inspect(|_| *count += 1);
            let sink = &mut Sink { of: measured, slices, pipelines: pipelines.of(at) };
            match track.ingest(contact.time_ns, pairs, sink)? {
                Placement::TooLate => dropped = Some("too late"),
                Placement::Future => dropped = Some("from the future"),
                _ => slice = Some(track.clock().slice_of(contact.time_ns)),
            }
            is_portless |= track.filter.is_portless();
        }
        if is_portless {
            self.log_portless();
        }
        let slices = &mut self.slices;
        slices.newest = slices.newest.max(slice.unwrap_or(0));
        if let (Some(slice), Some(_)) = (slice, contact.exporter) {
            slices.sampling.entry(slice).or_default().add(contact);
        }
        if let (None, Some(why)) = (slice, dropped) {
            self.log_dropped(why);
        }
        Ok(())
    }

    /// Notes that [`ingest`](Self::ingest) or `pipelines` have processed all contacts before `position`.
    pub(super) fn record_position(&mut self, position: &Position, pipelines: &Pipelines) {
        self.collect(pipelines);
        self.slices.positions.record(self.slices.newest, position);
    }

    /// Updates the exporters of `input` at `now_ns` and detects silent exporters.
    pub(super) fn observe_input(&mut self, input: &Status, now_ns: u64) {
        self.slices.exporters.update(now_ns / 1_000_000, last_datagrams(input));
        self.slices.datagrams = DatagramCounts::of(input);
    }

    /// Notes that the system clock was set forward by `step` to `now_ns`. The step does not make an exporter silent.
    pub(super) fn set_forward(&mut self, step: Duration, now_ns: u64) {
        self.slices.exporters.set_forward(step.as_millis() as u64, now_ns / 1_000_000);
    }

    pub(super) const fn slice_ms(&self) -> u64 {
        self.slices.slice_ms
    }

    pub(super) const fn exporters(&self) -> &WitnessTable {
        &self.slices.exporters
    }

    /// Logs dropped contacts, because a wrong clock may cause all contacts of a live input to be dropped.
    fn log_dropped(&mut self, why: &str) {
        if self.log_dropped.is_due() {
            let Totals { too_late: late, future, .. } = self.dropped();
            warn!(
                "dropping contacts that are {why}: {late} too late and {future} from the future so far; check the clocks of the exporters and of this machine"
            );
        }
    }

    fn log_portless(&mut self) {
        if self.log_portless.is_due() {
            warn!(
                "recent contacts have no ports, so views of ports do not count them; configure the input to report protocols and destination ports"
            );
        }
    }

    /// Advances time to `now_ns`, which may close slices. The first call or contact determines the first slice.
    pub(super) fn advance(&mut self, now_ns: u64, pipelines: &Pipelines) -> Result<()> {
        self.collect(pipelines);
        // A slice with waiting pairs is not part of a silence.
        for slice in pipelines.waiting() {
            let start_ns = self.start_ns(slice);
            if start_ns < now_ns {
                self.advance_views(start_ns, pipelines)?;
            }
        }
        self.advance_views(now_ns, pipelines)
    }

    fn advance_views(&mut self, now_ns: u64, pipelines: &Pipelines) -> Result<()> {
        let Self { views, slices, .. } = self;
        for (at, SiteView { track, measured, .. }) in views.iter_mut().enumerate() {
            track
                .advance(now_ns, &mut Sink { of: measured, slices, pipelines: pipelines.of(at) })?;
        }
        Ok(())
    }

    /// Returns the time at which `slice` opens, in nanoseconds since the Unix epoch. It is the start of the slice plus
    /// the grace period.
    fn start_ns(&self, slice: u64) -> u64 {
        let start_ms = slice.saturating_mul(self.slices.slice_ms);
        start_ms.saturating_mul(1_000_000).saturating_add(self.grace.as_nanos() as u64)
    }

    /// Closes the running slice, if there is one, and the slices that have waiting pairs, except slices in the future.
    /// Returns the totals.
    pub(super) fn finish(mut self, pipelines: &Pipelines) -> Result<Totals> {
        self.collect(pipelines);
        // A contact from the future must not create slices.
        let now_slice = now_ms() / self.slices.slice_ms;
        if let Some(last) =
            pipelines.waiting().into_iter().filter(|slice| *slice <= now_slice).max()
        {
            self.advance(self.start_ns(last), pipelines)?;
        }
        let Self { views, slices, .. } = &mut self;
        for (at, SiteView { track, measured, .. }) in views.iter_mut().enumerate() {
            let mut sink = Sink { of: measured, slices, pipelines: pipelines.of(at) };
            track.finish(&mut sink)?;
            sink.end(true)?;
        }
        let pushed: u64 = self.views.iter().map(|view| view.measured.pushed).sum();
        let (pairs, without_port) = (self.pairs + pushed, self.without_port());
        let Totals { too_late, future, .. } = self.dropped();
        Ok(Totals { pairs, too_late, future, without_port, ..self.slices.totals })
    }

    fn without_port(&self) -> u64 {
        self.views.iter().map(|view| view.track.filter.counts.without_port).max().unwrap_or(0)
    }

    /// Returns the numbers of contacts that all views have dropped. Each number is the minimum over the views, because
    /// the view with the longest window drops the fewest contacts.
    fn dropped(&self) -> Totals {
        let tracks = || self.views.iter().map(|view| &view.track);
        let too_late = |track: &Track| track.clock().too_late() + track.filter.counts.too_late;
        Totals {
            too_late: tracks().map(too_late).min().unwrap_or(0),
            future: tracks().map(|track| track.clock().future()).min().unwrap_or(0),
            ..Totals::default()
        }
    }
}

impl ViewSlices {
    /// Collects details of the hosts on `watchlist` after a slice has closed, and returns reports about these hosts.
    fn track_hosts(
        &mut self,
        watchlist: Option<&Watchlist>,
        end_ms: u64,
        pipelines: ViewPipelines<'_>,
    ) -> Result<Vec<HostReport>> {
        let view = watchlist.and_then(|list| list.views.get(usize::from(self.view)));
        let Some(WatchedView { windows, hosts }) = view else { return Ok(Vec::new()) };
        let hosts: Vec<_> = hosts.iter().copied().collect();
        self.details.track_hosts(&hosts, end_ms);
        pipelines.track_hosts(&hosts, end_ms);
        let longest = self.detector.params().window();
        let windows = windows.iter().filter(|window| (1..=longest).contains(*window));
        let (hosts, details): (Vec<IpAddr>, Vec<&HostDetails>) = self.details.hosts().unzip();
        let mut counts = vec![Vec::new(); hosts.len()];
        for &window in windows {
            let estimates = self.detector.cardinalities_within(&hosts, window)?;
            for (counts, estimate) in counts.iter_mut().zip(estimates) {
                counts.push((window, estimate.cardinality));
            }
        }
        let reports = hosts.into_iter().zip(details).zip(counts);
        let report = |((host, details), counts): ((IpAddr, &HostDetails), Vec<_>)| HostReport {
            view: self.view,
            host,
            counts,
            details: details.clone(),
        };
        Ok(reports.map(report).collect())
    }
}

impl SliceSink for Sink<'_> {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        self.begin(slice)?;
        if let Some(mark) = self.slices.mark.filter(|mark| slice <= *mark && self.is_last()) {
            info!("skipping slices {slice} to {mark}, which have already been spooled");
        }
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        if self.is_passed_over() {
            return Ok(());
        }
        let slice = self.of.running.map(|running| running - u64::from(slices_late));
        self.of.oldest = self.of.oldest.into_iter().chain(slice).min();
        Ok(pairs.ingest_late(&self.of.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        let Some(running) = self.of.running else { return Ok(()) };
        self.end(running + 1 == slice)?;
        let window = u64::from(self.slices.window);
        let first = slice.saturating_sub(window).max(running + 1);
        if first > running + 1 && self.is_last() {
            let silent = first - running - 1;
            warn!("skipping {silent} silent slices before slice {first}");
            self.slices.totals.silent += silent;
        }
        for silent in first..slice {
            self.begin(silent)?;
            self.end(silent + 1 == slice)?;
        }
        self.begin(slice)
    }
}

impl Sink<'_> {
    fn begin(&mut self, slice: u64) -> Result<()> {
        self.of.running = Some(slice);
        // Pipelines push pairs to whichever slice is running. Pairs that are pushed to a skipped slice are sent with a
        // later slice.
        if !self.is_passed_over() || self.pipelines.are_there() {
            self.of.detector.skip_to(slice)?;
        }
        Ok(())
    }

    /// Closes the running slice of the view, if there is one. If this is the last view, the slice is then sent with the
    /// deltas of all views. If several slices close together, reports are sent only for the newest one.
    fn end(&mut self, is_newest: bool) -> Result<()> {
        let Some(slice) = self.of.running else { return Ok(()) };
        let Self { of, slices, pipelines } = self;
        let PushedWaiting { pushed, .. } = pipelines.push_waiting(slice, &mut of.details)?;
        of.pushed += pushed.pairs;
        of.oldest = of.oldest.into_iter().chain(pushed.oldest).min();
        let is_passed_over = of.running <= slices.mark;
        if !is_passed_over {
            // Late pairs touched earlier slices, back to the oldest slice of a pair. Pairs that pipelines push before
            // the next slice opens will be late.
            let touched = of.oldest.take().map_or(1, |oldest| slice - oldest + 1);
            let touched = touched.min(of.detector.params().window().into()) as u32;
            let delta = of.detector.delta(touched)?;
            let parts = delta.into_parts(payload::delta_bytes(slices.part_bytes))?;
            let parts = parts.into_iter().map(Bytes::from);
            let deltas = parts.map(|bytes| ViewDelta { view: of.view, bytes });
            slices.deltas.entry(slice).or_default().extend(deltas);
            if is_newest {
                let end_ms = slice.saturating_add(1).saturating_mul(slices.slice_ms);
                let watchlist = slices.outbox.watchlist(slices.version);
                slices.hosts.extend(of.track_hosts(watchlist.as_deref(), end_ms, *pipelines)?);
            }
        }
        if !self.is_last() {
            return Ok(());
        }
        if is_passed_over && !self.pipelines.are_there() {
            self.slices.sampling_up_to(slice);
        }
        // The report must come before the slice, because the collector may close the slice as soon as it arrives.
        if is_newest && !is_passed_over {
            self.slices.report(slice);
        }
        self.slices.send(slice, is_passed_over)
    }

    fn is_last(&self) -> bool {
        self.of.view == self.slices.last
    }

    /// Returns whether the running slice has already been spooled.
    fn is_passed_over(&self) -> bool {
        self.of.running <= self.slices.mark
    }
}

impl Slices {
    fn send(&mut self, slice: u64, is_passed_over: bool) -> Result<()> {
        if is_passed_over {
            self.totals.passed_over += 1;
            return Ok(());
        }
        let sampling = self.sampling_up_to(slice);
        let deltas = self.deltas.remove(&slice).unwrap_or_default();
        let parts = payload::pack(self.version, &deltas, self.part_bytes);
        thread::sleep(self.pacer.wait(Instant::now()));
        self.totals.slices += 1;
        self.totals.bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.outbox.put(slice, &parts, sampling)?;
        if let Some(position) = self.positions.reach(slice) {
            self.outbox.put_position(position)?;
        }
        Ok(())
    }

    fn report(&mut self, slice: u64) {
        let (version, spool, datagrams) = (self.version, self.outbox.spool(), self.datagrams);
        let report = |hosts: &[HostReport]| {
            let hosts = hosts.to_vec();
            SiteReport { version, slice, spool, datagrams, exporters: None, hosts }
        };
        let mut reports: Vec<_> = self.hosts.chunks(HOSTS_PER_REPORT).map(report).collect();
        if reports.is_empty() {
            reports.push(report(&[]));
        }
        reports[0].exporters = Some(self.exporters.state());
        self.hosts.clear();
        self.outbox.reports.send_replace(reports);
    }

    /// Removes and returns the sampling of the contacts in the delta of `slice`, including late contacts.
    fn sampling_up_to(&mut self, slice: u64) -> Sampling {
        let later = self.sampling.split_off(&(slice + 1));
        let mut sampling = Sampling::default();
        for (_, of) in std::mem::replace(&mut self.sampling, later) {
            sampling.merge(of);
        }
        sampling
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, slices, passed_over, silent, bytes, too_late, future, without_port } =
            self;
        write!(
            f,
            "{pairs} pairs; {slices} slices and {bytes} bytes sent, {passed_over} already spooled, {silent} silent; {too_late} contacts too late, {future} from the future"
        )?;
        match without_port {
            0 => Ok(()),
            count => write!(f, ", {count} without a port"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
