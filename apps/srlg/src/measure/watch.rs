//! A view of the local traffic, with its pairs, its detector and its slices.
//!
//! ```text
//! contact --allowed?--> pair --slice--> detector --ClosedSlice--> ViewAlerts
//!                        `--of hosts with an alert--> details
//! ```
//!
//! Invariant: [`ViewAlerts`] receives the slices in order. It receives every slice, except that the first slices of a
//! long silence are skipped.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use srlg_host::ingest::PairBatch;
use srlg_host::state::Snapshot;
use srlg_host::time::{Placement, SliceClock, SliceSink};
use srlg_host::{Config, SliceReport, SlidingDetector};
use srlg_input::Position;
use srlg_input::contact::{Contact, PeerKey, Sampling, SamplingWindow};

use crate::config::General;
use crate::measure::filter::FilterCounts;
use crate::measure::pipeline::{ViewPipeline, ViewPipelines};
use crate::measure::positions::Positions;
use crate::measure::track::Track;
use srlg_alerts::Condition;
use srlg_alerts::Witnesses;
use srlg_alerts::details::{Details, HostExporters};
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::manager::view_alerts::{ClosedSlice, ViewAlerts};
use srlg_alerts::notification::Evidence;
use srlg_alerts::rules::Rules;
use srlg_alerts::status::overview::ViewOverview;
use srlg_alerts::status::problems::ProblemKind;
use srlg_alerts::witnesses::{AlertedHost, TableState, WitnessTable};

/// Time without any contact after which the input counts as lost, so that silence does not end an alert.
const LOST_MS: u64 = 60_000;

/// Maximum of the key `of`, the number of recent slices that decide whether an alert starts.
const MOST_HITS: u32 = 32;

/// Number of contacts after which a view without any inside host is reported. Fewer contacts may be outside by chance.
const MANY_OUTSIDE: u64 = 1_000;

/// Time that must be closed before a view without any inside host is reported.
const SURE_MS: u64 = 10_000;

/// A view: the track of its pairs, and its detector.
pub(crate) struct Watch {
    track: Track,
    slices: Slices,
}

/// Detector of a view, and the completeness of its slices.
struct Slices {
    detector: SlidingDetector,
    slice_ms: u64,
    sampling: SamplingWindow,
    /// Time of the newest contact, in milliseconds since the Unix epoch.
    newest_input_ms: u64,
    /// First slice after the last slice with missing contacts.
    seen_from: u64,
    details: Details,
}

/// Attachment of a checkpoint: state of the view and of its input that the detector does not contain.
#[derive(Debug, Serialize, Deserialize)]
struct Attachment {
    /// Sampling of the contacts in each slice of the window.
    sampling: Vec<(u64, Sampling)>,
    /// Exporters that saw the hosts with alerts.
    hosts: Vec<HostExporters>,
    exporters: TableState,
    /// Parts of a contact that form the hosts and the peers of the view.
    #[serde(default)]
    keys: [PeerKey; 2],
    /// Position in the input. The detector contains all contacts before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
}

#[derive(Debug)]
pub(crate) struct InputState {
    pub(crate) exporters: TableState,
    pub(crate) position: Option<Position>,
}

struct Entries<'a> {
    slices: &'a mut Slices,
    view_alerts: &'a mut ViewAlerts,
    exporters: &'a WitnessTable,
    /// Pipelines of the reader threads, or `None` while the main thread processes contacts.
    pipelines: Option<ViewPipelines<'a>>,
}

impl Watch {
    pub(crate) fn new(config: &ViewConfig, general: &General, seed: u64) -> Result<Self> {
        let ViewConfig { name, view, sizes, rules, .. } = config;
        let clock = SliceClock::new(general.slice, sizes.window - 1, Duration::MAX)?
            .with_grace(general.grace);
        let detector = SlidingDetector::new(Config { seed, ..*sizes }, general.device)
            .with_context(|| format!("cannot create the detector of view {name}"))?;
        let track = Track::new(view, clock, &detector, rules)?;
        let slices = Slices {
            detector,
            slice_ms: general.slice.as_millis() as u64,
            sampling: SamplingWindow::new(sizes.window),
            newest_input_ms: 0,
            seen_from: 0,
            details: Details::new(seed).with_view(view),
        };
        Ok(Self { track, slices })
    }

    pub(crate) fn detector(&self) -> &SlidingDetector {
        &self.slices.detector
    }

    pub(crate) fn pipeline(&self, view_alerts: &ViewAlerts) -> Result<ViewPipeline> {
        let Self { track, slices } = self;
        let rules = Arc::new(view_alerts.rules().clone());
        Ok(ViewPipeline::new(&track.filter, rules, &slices.detector, &slices.details)?)
    }

    pub(crate) const fn counts(&mut self) -> &mut FilterCounts {
        &mut self.track.filter.counts
    }

    /// Notes that pipelines have counted contacts up to `newest_ms` and merges the `sampling` of each slice.
    pub(crate) fn record_input(&mut self, newest_ms: u64, sampling: &BTreeMap<u64, Sampling>) {
        let window = u64::from(self.detector().params().window());
        let first = (self.detector().slice() + 1).saturating_sub(window);
        let slices = &mut self.slices;
        // Contacts of slices before `first` are too late and count nowhere. Their sampling would accumulate until the
        // next close.
        if newest_ms / slices.slice_ms >= first {
            slices.newest_input_ms = slices.newest_input_ms.max(newest_ms);
        }
        for (slice, sampling) in sampling.range(first..) {
            slices.sampling.merge(*slice, *sampling);
        }
    }

    /// Returns the time of the newest contact, in milliseconds since the Unix epoch. If the first slice starts later,
    /// returns its start.
    pub(crate) const fn newest_input_ms(&self) -> u64 {
        self.slices.newest_input_ms
    }

    /// Adapts the counts of allow-list hits to the rules `next`, which replace the `former` rules.
    pub(crate) fn reload(&mut self, former: &Rules, next: &Rules) {
        let hits = &mut self.counts().hits;
        *hits = next.hits_after(former, hits);
    }

    /// Processes a contact. Returns the [`ProblemKind`] that prevents it from counting, if there is one.
    #[inline]
    pub(crate) fn ingest(
        &mut self,
        contact: &Contact,
        view_alerts: &mut ViewAlerts,
        exporters: &WitnessTable,
    ) -> Result<Option<ProblemKind>> {
        let Self { track, slices } = self;
        let pairs = track.pairs(contact, view_alerts.rules());
        if !slices.details.is_empty() {
            pairs.clone().for_each(|pair| slices.details.add(pair, contact));
        }
        let entries = &mut Entries { slices, view_alerts, exporters, pipelines: None };
        let placement = track.ingest(contact.time_ns, pairs, entries)?;
        match placement {
            Placement::TooLate => return Ok(Some(ProblemKind::TooLate)),
            Placement::Future => return Ok(Some(ProblemKind::Future)),
            _ => {}
        }
        // This must come last, because the contact must not count for the slices that it closes.
        slices.newest_input_ms = slices.newest_input_ms.max(contact.time_ns / 1_000_000);
        slices.sampling.add(track.clock().slice_of(contact.time_ns), contact);
        Ok(track.filter.is_portless().then_some(ProblemKind::WithoutPort))
    }

    pub(crate) fn advance(
        &mut self,
        now_ns: u64,
        view_alerts: &mut ViewAlerts,
        exporters: &WitnessTable,
        pipelines: ViewPipelines<'_>,
    ) -> Result<()> {
        let Self { track, slices } = self;
        track.advance(
            now_ns,
            &mut Entries { slices, view_alerts, exporters, pipelines: Some(pipelines) },
        )
    }

    /// At the end of an input, passes waiting pairs to the detector and closes the last slice. Then advances time by
    /// one window, but at most by [`MOST_HITS`] slices. No alert ends during this time.
    pub(crate) fn finish(
        &mut self,
        view_alerts: &mut ViewAlerts,
        exporters: &WitnessTable,
    ) -> Result<()> {
        let mut entries =
            Entries { slices: &mut self.slices, view_alerts, exporters, pipelines: None };
        self.track.finish(&mut entries)?;
        if !self.track.clock().is_running() {
            return Ok(());
        }
        entries.close()?;
        entries.slices.seen_from = u64::MAX;
        let window = entries.slices.detector.params().window();
        for _ in 0..window.min(MOST_HITS) {
            // The time after the end of a file is not a data gap.
            entries.slices.newest_input_ms += entries.slices.slice_ms;
            entries.close()?;
        }
        Ok(())
    }

    pub(crate) fn peers_within(&mut self, hosts: &[IpAddr], slices: u32) -> Result<Vec<f64>> {
        peers_within(&mut self.slices.detector, hosts, slices)
    }

    /// Passes all waiting pairs of opened slices to the detector and returns a snapshot of the detector. The attachment
    /// of the snapshot includes the last of `positions` before which all contacts are in the detector.
    pub(crate) fn snapshot(
        &mut self,
        view_alerts: &mut ViewAlerts,
        exporters: &WitnessTable,
        positions: &mut Positions,
        pipelines: ViewPipelines<'_>,
    ) -> Result<Snapshot> {
        let entries = &mut Entries {
            slices: &mut self.slices,
            view_alerts,
            exporters,
            pipelines: Some(pipelines),
        };
        self.track.flush(entries)?;
        entries.push_waiting()?;
        // Pairs of later slices still wait.
        let position = positions.reach(self.detector().slice()).cloned();
        let attachment = Attachment {
            sampling: self.slices.sampling.slices().collect(),
            hosts: self.slices.details.all_exporters(),
            exporters: exporters.state(),
            keys: view_alerts.rules().keys(),
            position,
        };
        let attachment = serde_json::to_vec(&attachment)?;
        Ok(self.detector().snapshot()?.with_attachment(attachment))
    }

    /// Restores `snapshot` and returns the input state that it contains. If the hosts or peers of the snapshot were
    /// formed from other parts of a contact than `now`, restores nothing and returns `None`.
    pub(crate) fn restore(
        &mut self,
        snapshot: &Snapshot,
        now: [PeerKey; 2],
    ) -> Result<Option<InputState>> {
        let Attachment { sampling, hosts, exporters, keys, position } =
            serde_json::from_slice(snapshot.attachment())
                .context("cannot restore the checkpoint: it was not written by `srlg run`; use another state folder")?;
        if keys != now {
            return Ok(None);
        }
        self.slices.detector.restore(snapshot)?;
        for (slice, sampling) in sampling {
            self.slices.sampling.merge(slice, sampling);
        }
        self.slices.details.resume(hosts);
        Ok(Some(InputState { exporters, position }))
    }

    /// Records a data gap that lasts until the first slice opens. A window that includes the gap cannot end an alert.
    pub(crate) fn miss_contacts(&mut self) {
        // The end of the gap is known when the first slice opens.
        self.slices.seen_from = u64::MAX;
    }

    /// Notes that the clock was set forward by `step_ms` to `now_ns`. Contacts are missing up to and including the
    /// slice of `now_ns`.
    pub(crate) fn set_forward(&mut self, step_ms: u64, now_ns: u64, view_alerts: &mut ViewAlerts) {
        let slice = self.track.clock().slice_of(now_ns);
        self.slices.seen_from = self.slices.seen_from.max(slice + 1);
        // A pipeline may have counted contacts since the step.
        let newest_ms = self.slices.newest_input_ms + step_ms;
        self.slices.newest_input_ms = newest_ms.min(now_ns / 1_000_000);
        view_alerts.set_forward(step_ms, slice);
    }

    /// Returns the number of contacts in `closed` slices if none has an inside host and there are enough to be sure,
    /// otherwise 0.
    pub(crate) fn outside(&self, closed: u64) -> u64 {
        let FilterCounts { has_inside, outside, .. } = self.track.filter.counts;
        let is_long = closed.saturating_mul(self.slices.slice_ms) >= SURE_MS;
        if !has_inside && outside >= MANY_OUTSIDE && is_long { outside } else { 0 }
    }

    #[must_use]
    pub(crate) fn overview(&self, view_alerts: &ViewAlerts) -> ViewOverview {
        let (detector, clock) = (self.detector(), self.track.clock());
        let counts = &self.track.filter.counts;
        ViewOverview {
            threshold: detector.params().threshold(),
            memory_bytes: detector.memory_bytes() as u64,
            load: detector.health().load,
            late: counts.late,
            allowed: counts.allowed,
            without_port: counts.without_port,
            too_late: clock.too_late() + counts.too_late,
            future: clock.future(),
            ..view_alerts.overview(&counts.hits)
        }
    }
}

/// Returns the peer count of each host in `hosts` within the last `slices` closed slices of `detector`, or within its
/// window if that is shorter.
pub(crate) fn peers_within(
    detector: &mut SlidingDetector,
    hosts: &[IpAddr],
    slices: u32,
) -> Result<Vec<f64>> {
    // The running slice counts as one more slice of the window.
    let window = detector.params().window().min(slices.saturating_add(1));
    let estimates = detector.cardinalities_within(hosts, window)?;
    Ok(estimates.iter().map(|estimate| estimate.cardinality).collect())
}

impl Slices {
    fn condition(&self, slice: u64) -> Condition {
        let end_ms = slice.saturating_add(1).saturating_mul(self.slice_ms);
        Condition {
            is_input_lost: end_ms.saturating_sub(self.newest_input_ms) >= LOST_MS,
            whole_slices: u32::try_from((slice + 1).saturating_sub(self.seen_from))
                .unwrap_or(u32::MAX),
        }
    }

    /// If the input was lost in `slice`, records that contacts of `slice` are missing.
    fn record_gap(&mut self, condition: Condition, slice: u64) {
        if condition.is_input_lost {
            self.seen_from = self.seen_from.max(slice + 1);
        }
    }

    fn witnesses(&self, exporters: &WitnessTable, alerted: AlertedHost) -> Witnesses {
        exporters.witnesses(self.details.exporters(alerted.host), alerted)
    }
}

impl Entries<'_> {
    fn close(&mut self) -> Result<SliceReport> {
        let Self { slices, view_alerts, exporters, pipelines } = self;
        let mut closing = slices.detector.begin_close()?;
        let sightings = view_alerts.sightings(&mut closing)?;
        let report = closing.end()?;
        let condition = slices.condition(report.slice);
        slices.record_gap(condition, report.slice);
        let slice = ClosedSlice {
            condition,
            sampling: slices.sampling.at(report.slice),
            newest_input_ms: slices.newest_input_ms,
            missing_sites: Vec::new(),
            report,
            sightings,
        };
        let end_ms = slice.report.slice.saturating_add(1).saturating_mul(slices.slice_ms);
        let rates = |hosts: &[IpAddr]| slices.details.rates(hosts, end_ms);
        let evidence = |hosts: &[IpAddr], _| Evidence {
            detail: slices.details.of(hosts),
            rates: rates(hosts),
            ..Evidence::default()
        };
        view_alerts.close(&slice, evidence, |alerted| slices.witnesses(exporters, alerted));
        view_alerts.follow_rates(rates);
        let hosts = view_alerts.hosts_with_alerts(&slice.report);
        slices.details.track_hosts(&hosts, view_alerts.now_ms());
        pipelines.iter().for_each(|pipelines| pipelines.track_hosts(&hosts, view_alerts.now_ms()));
        Ok(slice.report)
    }

    /// Passes all pairs of opened slices from the pipelines to the detector. Returns the next slice with waiting pairs.
    fn push_waiting(&mut self) -> Result<Option<u64>> {
        let Self { slices, pipelines, .. } = self;
        let running = slices.detector.slice();
        let Some(pipelines) = pipelines else { return Ok(None) };
        Ok(pipelines.push_waiting(running, &mut slices.details)?.next)
    }

    /// Closes slices until `slice` is the running slice. No pairs of the slices to be closed may be waiting.
    fn close_until(&mut self, slice: u64) -> Result<()> {
        while self.slices.detector.slice() < slice && !self.close()?.is_silent() {}
        let Self { slices, view_alerts, exporters, .. } = self;
        slices.detector.skip_to(slice)?;
        let witnesses = |alerted| slices.witnesses(exporters, alerted);
        let condition = |slice| slices.condition(slice);
        view_alerts.be_silent_until(slice, slices.newest_input_ms, condition, witnesses);
        let now_ms = view_alerts.now_ms();
        view_alerts.follow_rates(|hosts| slices.details.rates(hosts, now_ms));
        if let Some(last) = slice.checked_sub(1) {
            slices.record_gap(slices.condition(last), last);
        }
        Ok(())
    }
}

impl SliceSink for Entries<'_> {
    type Error = anyhow::Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        let Self { slices, view_alerts, .. } = self;
        let running = slices.detector.slice();
        slices.detector.skip_to(slice).with_context(|| {
            format!("cannot continue: the state has reached slice {running}, but the input is at slice {slice}; use another --state for this input")
        })?;
        view_alerts.skip_to(slice);
        let start_ms = slice.saturating_mul(slices.slice_ms);
        slices.newest_input_ms = slices.newest_input_ms.max(start_ms);
        if slices.seen_from == u64::MAX {
            // The first slice may have started before its first contact.
            slices.seen_from = slice + 1;
        }
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.slices.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        while let Some(next) = self.push_waiting()?.filter(|next| *next < slice) {
            self.close_until(next)?;
        }
        self.close_until(slice)
    }
}
