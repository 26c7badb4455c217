//! Slices of a probe, each with the pairs or a delta of each view, which are put into the outbox.
//!
//! Invariants:
//! - Slices are put into the outbox once and in order. Empty slices are included as heartbeats. If time advances by
//!   more than the longest window at once, the first empty slices are skipped.
//! - Only closed slices are sent, and all parts of a slice are sent together.
//! - A view sends the pairs of a slice if its detector lists them all, and otherwise a delta. If a detector is sparse, the
//!   pairs of a slice are all that the probe has of it.
//! - Slices up to the newest slice that was ever in the spool are skipped, because they have already been spooled.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use srlg_host::Config as Sizes;
use srlg_host::state::SlicePairs;
use srlg_input::contact::{Contact, Sampling};
use tracing::{info, warn};

use super::counts::SiteCounts;
use super::outbox::Outbox;
use super::pace::Pacer;
use crate::measure::completeness::Completeness;
use crate::measure::pipeline::Pushed;
use crate::measure::site::{RunningView, SiteView, SliceConsumer};
use crate::network::options::Pace;
use crate::network::payload::{self, Payload, ViewState};
use crate::network::report::{
    HOSTS_PER_REPORT, HostReport, InputState, SiteReport, WatchedView, Watchlist,
};
use crate::network::{NetworkVersion, NetworkView, VersionId};
use srlg_alerts::details::HostDetails;
use srlg_alerts::notification::{Direction, Unit};
use srlg_alerts::rules::Rules;
use srlg_alerts::status::overview::{DatagramCounts, ViewOverview};
use srlg_alerts::witnesses::TableState;

/// A consumer of slices that puts them into the outbox of a probe.
pub(super) struct Sending {
    version: VersionId,
    views: Vec<SentView>,
    /// Length of the longest window, in slices.
    window: u32,
    pacer: Pacer,
    outbox: Arc<Outbox>,
    part_bytes: usize,
    mark: Option<u64>,
    /// States of slices that have not closed in all views.
    states: BTreeMap<u64, Vec<ViewState>>,
    /// Unsent reports about watched hosts.
    hosts: Vec<HostReport>,
    slice_ms: u64,
    /// Sampling of the contacts in unsent slices, by slice.
    sampling: BTreeMap<u64, Sampling>,
    pub(super) datagrams: DatagramCounts,
    pub(super) input: Completeness,
    /// Newest slice that was put into the spool since the last position was stored.
    pub(super) sent: Option<u64>,
    pub(super) totals: Totals,
}

struct SentView {
    name: String,
    unit: Unit,
    sizes: Sizes,
    rules: Rules,
    /// Number of closed slices.
    closed: u64,
    /// Oldest slice that contains a pair counted since the last delta.
    oldest: Option<u64>,
    /// Number of peers of the hosts, or `None` if the detector of the view is on a GPU and has recorders from the
    /// beginning.
    counts: Option<SiteCounts>,
    /// Whether the detector has recorders, because a slice in the window had too many pairs for a list.
    is_dense: bool,
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

impl Sending {
    /// Creates a consumer of the views of `version`.
    pub(super) fn new(version: &NetworkVersion, pace: Option<Pace>, outbox: Arc<Outbox>) -> Self {
        let NetworkVersion { id: version, network, .. } = version;
        let view = |view: &NetworkView| SentView {
            name: view.name.clone(),
            unit: Unit::of(view.view.peers(), Direction::from(view.view.role)),
            sizes: view.sizes,
            rules: Rules::new(Vec::new(), view.allows.clone()),
            closed: 0,
            oldest: None,
            counts: None,
            is_dense: false,
        };
        Self {
            version: *version,
            views: network.views.iter().map(view).collect(),
            window: network.window(),
            pacer: Pacer::new(pace, network.slice()),
            mark: outbox.mark(*version),
            outbox,
            part_bytes: network.part_bytes,
            states: BTreeMap::new(),
            hosts: Vec::new(),
            slice_ms: network.slice_ms,
            sampling: BTreeMap::new(),
            datagrams: DatagramCounts::default(),
            input: Completeness::new(network.slice_ms),
            sent: None,
            totals: Totals::default(),
        }
    }

    /// Returns the overviews of the views, without the counters of their contacts.
    pub(super) fn overviews(&self) -> Vec<ViewOverview> {
        let view = |view: &SentView| ViewOverview {
            name: view.name.clone(),
            unit: view.unit,
            window_ms: u64::from(view.sizes.window) * self.slice_ms,
            slices: view.closed,
            ..ViewOverview::default()
        };
        self.views.iter().map(view).collect()
    }

    /// Returns whether `slice` has already been spooled.
    fn is_spooled(&self, slice: u64) -> bool {
        Some(slice) <= self.mark
    }

    fn is_last(&self, at: usize) -> bool {
        at + 1 == self.views.len()
    }

    fn send(&mut self, slice: u64) -> Result<()> {
        let sampling = self.sampling_up_to(slice);
        let states = self.states.remove(&slice).unwrap_or_default();
        let parts = Payload { version: self.version, slice, states }.pack(self.part_bytes);
        self.outbox.sleep(self.pacer.wait(Instant::now()))?;
        self.totals.slices += 1;
        self.totals.bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.outbox.put(slice, &parts, sampling)?;
        self.sent = Some(slice);
        Ok(())
    }

    fn report(&mut self, slice: u64, exporters: TableState) {
        let is_lost = self.input.close(slice).is_input_lost;
        let (newest_ms, seen_from_ms) = (self.input.newest_ms(), self.input.seen_from_ms());
        let input = InputState { datagrams: self.datagrams, newest_ms, is_lost, seen_from_ms };
        let (version, spool) = (self.version, self.outbox.spool());
        let report = |hosts: &[HostReport]| {
            let hosts = hosts.to_vec();
            SiteReport { version, slice, spool, input, exporters: None, hosts }
        };
        let mut reports: Vec<_> = self.hosts.chunks(HOSTS_PER_REPORT).map(report).collect();
        if reports.is_empty() {
            reports.push(report(&[]));
        }
        reports[0].exporters = Some(exporters);
        self.hosts.clear();
        self.outbox.reports.send_replace(reports);
    }

    /// Adds what the view has counted since its last slice to the slice that it closes. Returns the pairs if they are
    /// listed, and otherwise an empty list.
    fn add_state(&mut self, view: &mut RunningView<'_>) -> Result<Vec<SlicePairs>> {
        let (at, slice, most) = (view.at, *view.running, payload::state_bytes(self.part_bytes));
        // Late pairs touched earlier slices, back to the oldest slice of a pair. Pairs that pipelines push before the
        // next slice opens will be late.
        let touched = self.views[at].oldest.take().map_or(1, |oldest| slice - oldest + 1);
        let (taken, parts) = match view.detector.take_pairs()? {
            Some(pairs) => {
                let filled = pairs.iter().filter(|pairs| !pairs.is_empty());
                let parts = filled.map(|pairs| pairs.to_parts(most));
                let parts = parts.collect::<Result<Vec<_>, _>>()?.concat();
                (pairs, parts)
            }
            None => {
                let touched = touched.min(view.detector.params().window().into()) as u32;
                (Vec::new(), view.detector.delta(touched)?.into_parts(most)?)
            }
        };
        self.log_recorders(view);
        let parts =
            parts.into_iter().map(|bytes| ViewState { view: at as u8, bytes: bytes.into() });
        self.states.entry(slice).or_default().extend(parts);
        Ok(taken)
    }

    /// Logs whether the detector of the view has recorders, if this has changed.
    fn log_recorders(&mut self, view: &RunningView<'_>) {
        let SentView { name, is_dense, counts, .. } = &mut self.views[view.at];
        let (was, slice) = (*is_dense, *view.running);
        *is_dense = !view.detector.is_sparse();
        let megabytes = view.detector.params().recorder_bytes() as f64 / 1e6;
        match (was, *is_dense) {
            (false, true) if counts.is_some() => info!(
                "slice {slice} of view {name} has too many pairs for a list: its sketch of {megabytes:.1} MB was allocated"
            ),
            (true, false) => {
                info!(
                    "the slices of view {name} are sent as lists again: its sketch of {megabytes:.1} MB was freed"
                );
            }
            _ => {}
        }
    }

    /// Removes and returns the sampling of the contacts in the states of `slice`, including late contacts.
    fn sampling_up_to(&mut self, slice: u64) -> Sampling {
        let later = self.sampling.split_off(&(slice + 1));
        let mut sampling = Sampling::default();
        for (_, of) in std::mem::replace(&mut self.sampling, later) {
            sampling.merge(of);
        }
        sampling
    }
}

impl SliceConsumer for Sending {
    fn rules(&self, at: usize) -> &Rules {
        &self.views[at].rules
    }

    fn start(&mut self, view: &mut RunningView<'_>, slice: u64) -> Result<()> {
        let of = &mut self.views[view.at];
        if view.detector.is_sparse() {
            of.counts = Some(SiteCounts::new(of.sizes)?);
        }
        self.open(view, slice)?;
        self.input.start(slice);
        if let Some(mark) = self.mark.filter(|mark| slice <= *mark && self.is_last(view.at)) {
            info!("skipping slices {slice} to {mark}, which have already been spooled");
        }
        Ok(())
    }

    fn open(&mut self, view: &mut RunningView<'_>, slice: u64) -> Result<()> {
        // Pipelines push pairs to whichever slice is running. Pairs that are pushed to a spooled slice are sent with a
        // later slice. Without pipelines, spooled slices need no detector.
        if !self.is_spooled(slice) || view.pipelines.are_there() {
            view.detector.skip_to(slice)?;
        }
        Ok(())
    }

    fn accept(&mut self, at: usize, pairs: u64, running: u64, slice: u64) -> bool {
        self.totals.pairs += pairs;
        let counts = !self.is_spooled(running);
        if counts {
            let oldest = &mut self.views[at].oldest;
            *oldest = oldest.iter().copied().chain([slice]).min();
        }
        counts
    }

    fn record(&mut self, _: usize, slice: u64, contact: &Contact) {
        self.input.record(contact.time_ns / 1_000_000);
        if contact.exporter.is_some() {
            self.sampling.entry(slice).or_default().add(contact);
        }
    }

    fn record_read(
        &mut self,
        views: &[SiteView],
        newest_ms: u64,
        sampling: &BTreeMap<u64, Sampling>,
    ) {
        // Contacts of earlier slices are too late.
        let running = views.iter().map(|view| view.detector.slice()).min();
        let first = (running.unwrap_or(0) + 1).saturating_sub(self.window.into());
        if newest_ms / self.slice_ms >= first {
            self.input.record(newest_ms);
        }
        for (slice, sampling) in sampling.range(first..) {
            self.sampling.entry(*slice).or_default().merge(*sampling);
        }
    }

    /// Adds the state of the view to the slice. If this is the last view, the slice is then sent with the states of all
    /// views. If several slices close together, reports are sent only for the newest one.
    fn close(&mut self, view: &mut RunningView<'_>, pushed: Pushed, is_newest: bool) -> Result<()> {
        let (at, slice) = (view.at, *view.running);
        self.views[at].closed += 1;
        let oldest = &mut self.views[at].oldest;
        *oldest = oldest.iter().copied().chain(pushed.oldest).min();
        self.totals.pairs += pushed.pairs;
        let is_spooled = self.is_spooled(slice);
        if !is_spooled {
            let pairs = self.add_state(view)?;
            let watchlist = self.outbox.watchlist(self.version).filter(|_| is_newest);
            let end_ms = slice.saturating_add(1).saturating_mul(self.slice_ms);
            let counts = self.views[at].counts.as_mut();
            self.hosts.extend(report_hosts(view, watchlist.as_deref(), end_ms, counts, &pairs)?);
        }
        if !self.is_last(at) {
            return Ok(());
        }
        // The report must come before the slice, because the collector may close the slice as soon as it arrives.
        if is_newest && !is_spooled {
            self.report(slice, view.exporters.state());
        }
        if !is_spooled {
            return self.send(slice);
        }
        self.totals.passed_over += 1;
        // Pairs that pipelines push to a spooled slice are sent with a later slice, which needs their sampling.
        if !view.pipelines.are_there() {
            self.sampling_up_to(slice);
        }
        Ok(())
    }

    /// Sends empty slices as heartbeats, but at most as many as the longest window has.
    fn next_slice(&self, _: usize, closed: u64, slice: u64) -> u64 {
        slice.saturating_sub(self.window.into()).max(closed + 1)
    }

    fn skip(&mut self, view: &mut RunningView<'_>, skipped: Range<u64>) {
        if self.is_last(view.at) {
            let Range { start, end } = skipped;
            let silent = end - start;
            warn!("skipping {silent} silent slices before slice {end}");
            self.totals.silent += silent;
        }
    }
}

/// Collects details of the hosts of `view` on `watchlist` after a slice has closed, and returns reports about these
/// hosts. `pairs` are the listed pairs of the slice.
fn report_hosts(
    view: &mut RunningView<'_>,
    watchlist: Option<&Watchlist>,
    end_ms: u64,
    counts: Option<&mut SiteCounts>,
    pairs: &[SlicePairs],
) -> Result<Vec<HostReport>> {
    let RunningView { at, detector, details, pipelines, running, .. } = view;
    let watched = watchlist.and_then(|list| list.views.get(*at));
    let nothing = WatchedView::default();
    let WatchedView { windows, hosts } = watched.unwrap_or(&nothing);
    if watched.is_some() {
        let hosts: Vec<_> = hosts.iter().copied().collect();
        details.track_hosts(&hosts, end_ms);
        pipelines.track_hosts(&hosts, end_ms);
    }
    let longest = detector.params().window();
    let windows = windows.iter().copied().filter(|window| (1..=longest).contains(window));
    let windows: Vec<u32> = windows.collect();
    let asked = details.hosts().filter(|_| watched.is_some());
    let (hosts, details): (Vec<IpAddr>, Vec<&HostDetails>) = asked.unzip();
    let mut counted = match counts {
        Some(counts) => counts.close(**running, pairs, &hosts, &windows)?,
        None => vec![vec![0.0; windows.len()]; hosts.len()],
    };
    // During a flood, the recorders have counted all pairs since its beginning, and the counts of the site only those
    // that were listed.
    if !detector.is_sparse() {
        for (number, &window) in windows.iter().enumerate() {
            let estimates = detector.cardinalities_within(&hosts, window)?;
            for (counts, estimate) in counted.iter_mut().zip(estimates) {
                counts[number] = counts[number].max(estimate.cardinality);
            }
        }
    }
    let reports = hosts.into_iter().zip(details).zip(counted);
    let report = |((host, details), counts): ((IpAddr, &HostDetails), Vec<f64>)| HostReport {
        view: *at as u8,
        host,
        counts: windows.iter().copied().zip(counts).collect(),
        details: details.clone(),
    };
    Ok(reports.map(report).collect())
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
