//! Traffic of a probe, which is counted with the latest network version.
//!
//! Invariant: for a live input, contacts before the first slice of a version are not counted with that version. When
//! the probe switches to a new version, it stops counting with the previous version, whose slices the collector
//! rejects.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use srlg_host::Device;
use srlg_input::contact::IpNet;
use srlg_input::live::ContactSink;
use srlg_input::{Contact, Position, Status};
use tokio::sync::watch;
use tracing::{info, warn};

use super::measure::{Measurement, Totals};
use super::outbox::Outbox;
use super::pace::Pace;
use crate::measure::pipeline::Pipelines;
use crate::network::NetworkVersion;
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

pub(super) struct Site {
    options: SiteOptions,
    outbox: Arc<Outbox>,
    versions: watch::Receiver<NetworkVersion>,
    measurement: Measurement,
    /// Pipelines of the reader threads of a live input.
    pipelines: Pipelines,
    /// Start of the first slice, in nanoseconds since the Unix epoch, or 0 if the first contact determines the first
    /// slice.
    from_ns: u64,
}

impl Site {
    /// Creates a site that counts with the latest of `versions`.
    pub(super) fn new(
        options: SiteOptions,
        mut versions: watch::Receiver<NetworkVersion>,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let version = versions.borrow_and_update().clone();
        let (permitted, slice_ms) = (&options.exporters, version.network.slice_ms);
        let exporters = WitnessTable::new(permitted, options.silent_after, slice_ms, now_ms());
        let measurement = options.measurement(&version, &outbox, exporters)?;
        let pipelines = Pipelines::default();
        let mut site = Self { options, outbox, versions, measurement, pipelines, from_ns: 0 };
        if site.options.is_live && version.first_slice > now_ms() / version.network.slice_ms {
            site.start_at(&version, version.first_slice)?;
        }
        Ok(site)
    }

    /// Adds a pipeline for a reader thread of a live input and returns its sink. The thread passes contacts to the sink
    /// instead of calling [`ingest`](Self::ingest).
    pub(super) fn pipeline(&mut self) -> Result<Box<dyn ContactSink>> {
        let slice_ms = self.measurement.slice_ms();
        let first_slice = self.from_ns / 1_000_000 / slice_ms;
        Ok(self.pipelines.add(slice_ms, first_slice, self.measurement.pipeline()?))
    }

    /// Counts a contact. Contacts before the first slice are ignored.
    #[inline]
    pub(super) fn ingest(&mut self, contact: &Contact) -> Result<()> {
        if contact.time_ns < self.from_ns {
            return Ok(());
        }
        self.measurement.ingest(contact, &self.pipelines)
    }

    pub(super) fn record_position(&mut self, position: &Position) {
        self.measurement.record_position(position, &self.pipelines);
    }

    pub(super) fn observe_input(&mut self, input: &Status, now_ns: u64) {
        self.measurement.observe_input(input, now_ns);
    }

    /// Switches to a new network version, if there is one, and advances time to `now_ns`, which may close slices.
    pub(super) fn advance(&mut self, now_ns: u64) -> Result<()> {
        if self.versions.has_changed().unwrap_or(false) {
            let version = self.versions.borrow_and_update().clone();
            self.outbox.begin(&version)?;
            self.begin(&version, now_ns)?;
        }
        self.measurement.advance(now_ns, &self.pipelines)
    }

    /// Restarts counting after the system clock was set forward by `step` to `now_ns`. The skipped slices are not sent.
    /// Therefore the collector treats the slices as missing rather than empty, and no alert ends because of the step.
    pub(super) fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        self.measurement.set_forward(step, now_ns);
        let version = self.versions.borrow().clone();
        // If the version is new, the next call of `advance` starts it.
        if version.id == self.outbox.version() { self.begin(&version, now_ns) } else { Ok(()) }
    }

    /// Switches to `version`. Counting starts with the first slice of the version or, if that slice has already
    /// opened, with the next whole slice.
    fn begin(&mut self, version: &NetworkVersion, now_ns: u64) -> Result<()> {
        let exporters = self.measurement.exporters().clone();
        let exporters = exporters.with_slices_of(version.network.slice_ms);
        let measurement = self.options.measurement(version, &self.outbox, exporters)?;
        let slice_ms = version.network.slice_ms;
        // Creating a detector takes time. The slice that is running when all threads have the new views is incomplete.
        let ready_ms = (now_ns / 1_000_000).max(now_ms()) + SWAP_MS;
        let first = (ready_ms / slice_ms + 1).max(version.first_slice);
        // No thread may push to the former detectors once they are dropped.
        self.pipelines.set_views(slice_ms, first, || measurement.pipeline())?;
        self.measurement = measurement;
        self.start_at(version, first)
    }

    fn start_at(&mut self, version: &NetworkVersion, slice: u64) -> Result<()> {
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
        self.from_ns = start_ms * 1_000_000;
        self.measurement.advance(self.from_ns, &self.pipelines)
    }

    pub(super) fn finish(self) -> Result<Totals> {
        self.measurement.finish(&self.pipelines)
    }
}

impl SiteOptions {
    fn measurement(
        &self,
        version: &NetworkVersion,
        outbox: &Arc<Outbox>,
        exporters: WitnessTable,
    ) -> Result<Measurement> {
        let Self { is_live, pace, device, .. } = *self;
        Measurement::new(version, is_live, pace, device, Arc::clone(outbox), exporters)
    }
}

#[cfg(test)]
mod tests;
