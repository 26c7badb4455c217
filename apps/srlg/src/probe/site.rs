//! Traffic of a probe, which is counted with the latest network version.
//!
//! Invariant: for a live input, contacts before the first slice of a version are not counted with that version. When
//! the probe switches to a new version, it stops counting with the previous version, whose slices the collector
//! rejects.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_host::{Device, SlidingDetector};
use srlg_input::contact::IpNet;
use srlg_input::live::ContactSink;
use srlg_input::{Contact, Status};
use tokio::sync::watch;
use tracing::{info, warn};

use super::outbox::Outbox;
use super::sending::{Sending, Totals};
use crate::measure::set_close_threads;
use crate::measure::site::{Site, SiteView, SliceConsumer, SliceTimes};
use crate::measure::track::Track;
use crate::network::options::Pace;
use crate::network::{NetworkVersion, NetworkView};
use srlg_alerts::exporters::ExporterNames;
use srlg_alerts::status::overview::{DatagramCounts, Overview};
use srlg_alerts::witnesses::WitnessTable;
use srlg_system::now_ms;

/// Time by which the first slice of a version may be ahead of the system clock without a warning, in milliseconds.
const FAR_MS: u64 = 60_000;

/// Time allowed for passing new views to all reader threads, in milliseconds.
const SWAP_MS: u64 = 50;

/// Options that all network versions share.
pub(super) struct SiteOptions {
    pub(super) is_live: bool,
    pub(super) pace: Option<Pace>,
    pub(super) device: Device,
    /// Networks of the permitted exporters.
    pub(super) exporters: Vec<IpNet>,
    /// Time without a datagram after which an exporter is silent, or `None` to derive it from the exporter's pauses.
    pub(super) silent_after: Option<Duration>,
}

/// A site whose slices are sent.
pub(super) struct ProbeSite {
    options: SiteOptions,
    outbox: Arc<Outbox>,
    versions: watch::Receiver<NetworkVersion>,
    pub(super) site: Site<Sending>,
}

impl ProbeSite {
    /// Creates a site that counts with the latest of `versions`, and whose exporters have the given names.
    pub(super) fn new(
        options: SiteOptions,
        mut versions: watch::Receiver<NetworkVersion>,
        names: &ExporterNames,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let version = versions.borrow_and_update().clone();
        let (permitted, slice_ms) = (&options.exporters, version.network.slice_ms);
        let mut exporters = WitnessTable::new(permitted, options.silent_after, slice_ms, now_ms());
        exporters.set_names(names.clone());
        let site = options.site(&version, &outbox, exporters)?;
        let is_ahead = options.is_live && version.first_slice > now_ms() / slice_ms;
        let mut of = Self { options, outbox, versions, site };
        if is_ahead {
            log_start(&version, version.first_slice);
            of.site.start_at(version.first_slice)?;
        }
        Ok(of)
    }

    /// Adds a pipeline for a reader thread of a live input and returns its sink.
    pub(super) fn pipeline(&mut self) -> Result<Box<dyn ContactSink>> {
        self.site.pipeline()
    }

    /// Counts contacts, except those before the first slice.
    pub(super) fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        contacts.iter().try_for_each(|contact| self.site.ingest(contact))
    }

    pub(super) fn observe_input(&mut self, input: &Status, now_ns: u64) {
        self.site.observe_input(input, now_ns);
        self.site.consumer.datagrams = DatagramCounts::of(input);
    }

    /// Switches to a new network version, if there is one, and advances time to `now_ns`, which may close slices.
    pub(super) fn advance(&mut self, now_ns: u64) -> Result<()> {
        if self.versions.has_changed().unwrap_or(false) {
            let version = self.versions.borrow_and_update().clone();
            self.outbox.begin(&version)?;
            self.begin(&version, now_ns)?;
        }
        self.site.advance(now_ns)?;
        self.store_position()
    }

    /// Restarts counting after the system clock was set forward by `step` to `now_ns`. The skipped slices are not sent.
    /// Therefore the collector treats the slices as missing rather than empty, and no alert ends because of the step.
    pub(super) fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        self.site.exporters.set_forward(step.as_millis() as u64, now_ns / 1_000_000);
        let version = self.versions.borrow().clone();
        // If the version is new, the next call of `advance` starts it.
        if version.id == self.outbox.version() { self.begin(&version, now_ns) } else { Ok(()) }
    }

    /// Switches to `version`. Counting starts with the first slice of the version or, if that slice has already
    /// opened, with the next whole slice.
    fn begin(&mut self, version: &NetworkVersion, now_ns: u64) -> Result<()> {
        let exporters = self.site.exporters.clone();
        let exporters = exporters.with_slices_of(version.network.slice_ms);
        let mut site = self.options.site(version, &self.outbox, exporters)?;
        site.consumer.input = self.site.consumer.input.clone().with_slices_of(site.slice_ms());
        let slice_ms = version.network.slice_ms;
        // Creating a detector takes time. The slice that is running when all threads have the new views is incomplete.
        let ready_ms = (now_ns / 1_000_000).max(now_ms()) + SWAP_MS;
        let first = (ready_ms / slice_ms + 1).max(version.first_slice);
        log_start(version, first);
        self.site.replace(site, first)
    }

    /// Stores the last position before which all contacts are in the spool.
    fn store_position(&mut self) -> Result<()> {
        // Later contacts of a stored slice are only in the detector, so a position is stored after each new slice only.
        let Some(slice) = self.site.consumer.sent.take() else { return Ok(()) };
        match self.site.positions.reach(slice) {
            Some(position) => Ok(self.outbox.put_position(position)?),
            None => Ok(()),
        }
    }

    /// Returns the overview of the site with the status of `input`, without the state of the probe itself.
    pub(super) fn overview(&mut self, input: &Status) -> Overview {
        self.site.collect();
        self.site.collect_views();
        let views = self.site.consumer.overviews();
        // The first slice of a version may be ahead.
        let latest = if self.options.is_live { now_ms() } else { u64::MAX };
        Overview {
            now_ms: self.site.now_ms().min(latest),
            is_input_lost: self.options.is_live && self.site.consumer.input.is_lost_at(now_ms()),
            ..self.site.overview(input, views)
        }
    }

    /// Closes the last slices at the end of the input and returns the totals.
    pub(super) fn finish(&mut self) -> Result<Totals> {
        self.site.finish()?;
        self.store_position()?;
        self.site.collect_views();
        let tracks = || self.site.views.iter().map(|view| &view.track);
        // The view with the longest window drops the fewest contacts.
        let too_late = |track: &Track| track.clock().too_late() + track.filter.counts.too_late;
        let too_late = tracks().map(too_late).min().unwrap_or(0);
        let future = tracks().map(|track| track.clock().future()).min().unwrap_or(0);
        let without_port = tracks().map(|track| track.filter.counts.without_port).max();
        let without_port = without_port.unwrap_or(0);
        let totals = mem::take(&mut self.site.consumer.totals);
        Ok(Totals { too_late, future, without_port, ..totals })
    }
}

fn log_start(version: &NetworkVersion, slice: u64) {
    let id = version.id;
    info!("network version {id} starts at slice {slice}; earlier contacts are ignored");
    let start_ms = slice * version.network.slice_ms;
    let ahead_ms = start_ms.saturating_sub(now_ms());
    if ahead_ms > FAR_MS {
        let seconds = ahead_ms / 1000;
        warn!(
            "slice {slice} is {seconds} s ahead of the system clock; check the clocks of this machine and of the collector"
        );
    }
}

impl SiteOptions {
    /// Creates a site with the views of `version`. The slices of a live input wait for delayed contacts.
    fn site(
        &self,
        version: &NetworkVersion,
        outbox: &Arc<Outbox>,
        exporters: WitnessTable,
    ) -> Result<Site<Sending>> {
        let network = &version.network;
        let grace_ms = if self.is_live { network.grace_ms } else { 0 };
        let times = SliceTimes { slice: network.slice(), grace: Duration::from_millis(grace_ms) };
        let sending = Sending::new(version, self.pace, Arc::clone(outbox));
        let view = |(at, view): (usize, &NetworkView)| {
            let (sizes, place) =
                (view.sizes, || format!("cannot create the detector of view {}", view.name));
            let detector = SlidingDetector::sparse(sizes, self.device, network.most_pairs);
            let mut detector = detector.with_context(place)?;
            set_close_threads(&mut detector).with_context(place)?;
            let clock = times.clock(sizes.window)?;
            SiteView::of(&view.view, clock, detector, sizes.seed, sending.rules(at))
        };
        let views = network.views.iter().enumerate().map(view).collect::<Result<_>>()?;
        Ok(Site::new(views, times, exporters, sending))
    }
}

#[cfg(test)]
mod tests;
