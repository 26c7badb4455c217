//! [`Site`]: the traffic of a probe, measured by the latest version of the network.
//!
//! Invariant: nothing is measured by a version before its first slice, or by another version from the moment on at which
//! the probe knows it. The collector rejects the slices of former versions anyway.

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
use crate::alerts::witnesses::WitnessTable;
use crate::measure::tap::Taps;
use crate::network::NetworkVersion;
use crate::now_ms;

/// A first slice that is further ahead than this is the fault of a clock, in milliseconds.
const FAR_MS: u64 = 60_000;

/// The longest that it may take to give all threads that read new views, in milliseconds.
const SWAP_MS: u64 = 50;

/// Options of a measurement by any version.
pub(super) struct SiteOptions {
    /// Whether the input is live.
    pub(super) is_live: bool,
    pub(super) pace: Option<Pace>,
    pub(super) device: Device,
    /// Networks of the exporters that may send.
    pub(super) exporters: Vec<IpNet>,
    /// The time without a datagram after which an exporter is silent, unless that follows from its pauses.
    pub(super) silent_after: Option<Duration>,
}

/// The traffic of a probe.
pub(super) struct Site {
    options: SiteOptions,
    outbox: Arc<Outbox>,
    versions: watch::Receiver<NetworkVersion>,
    measurement: Measurement,
    /// The taps of the threads that read a live input, with the views of the measurement.
    taps: Taps,
    /// Start of the first slice, nanoseconds since the Unix epoch; 0 where the first contact starts it.
    from_ns: u64,
}

impl Site {
    /// Makes a site that measures by the latest of `versions`.
    pub(super) fn new(
        options: SiteOptions,
        mut versions: watch::Receiver<NetworkVersion>,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let version = versions.borrow_and_update().clone();
        let (permitted, slice_ms) = (&options.exporters, version.network.slice_ms);
        let exporters = WitnessTable::new(permitted, options.silent_after, slice_ms, now_ms());
        let measurement = options.measurement(&version, &outbox, exporters)?;
        let taps = Taps::default();
        let mut site = Self { options, outbox, versions, measurement, taps, from_ns: 0 };
        if site.options.is_live && version.first_slice > now_ms() / version.network.slice_ms {
            site.start_at(&version, version.first_slice)?;
        }
        Ok(site)
    }

    /// Makes a tap for a thread that reads a live input, and returns its sink. The thread needs no [`take`](Self::take).
    pub(super) fn tap(&mut self) -> Result<Box<dyn ContactSink>> {
        let slice_ms = self.measurement.slice_ms();
        let first_slice = self.from_ns / 1_000_000 / slice_ms;
        Ok(self.taps.add(slice_ms, first_slice, self.measurement.tap()?))
    }

    /// Takes a contact. Contacts before the first slice are ignored.
    #[inline]
    pub(super) fn take(&mut self, contact: &Contact) -> Result<()> {
        if contact.time_ns < self.from_ns {
            return Ok(());
        }
        self.measurement.take(contact, &self.taps)
    }

    /// Notes that all contacts before `position` have been taken.
    pub(super) fn note_position(&mut self, position: &Position) {
        self.measurement.note_position(position, &self.taps);
    }

    /// Takes the times of the exporters of `input` at `now_ns`, and finds silent ones.
    pub(super) fn look_at(&mut self, input: &Status, now_ns: u64) {
        self.measurement.look_at(input, now_ns);
    }

    /// Lets time pass until `now_ns`.
    pub(super) fn pass(&mut self, now_ns: u64) -> Result<()> {
        if self.versions.has_changed().unwrap_or(false) {
            let version = self.versions.borrow_and_update().clone();
            self.outbox.begin(&version)?;
            self.begin(&version, now_ns)?;
        }
        self.measurement.pass(now_ns, &self.taps)
    }

    /// Starts again after the clock was set forward by `step` to `now_ns`. The slices that the clock has skipped are not sent:
    /// they are missing, and not empty, so that the collector ends no alert because of them.
    pub(super) fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        self.measurement.set_forward(step, now_ns);
        let version = self.versions.borrow().clone();
        // A version that is new begins with the next call of `pass`.
        if version.id == self.outbox.version() { self.begin(&version, now_ns) } else { Ok(()) }
    }

    /// Measures by `version` from the next slice on.
    fn begin(&mut self, version: &NetworkVersion, now_ns: u64) -> Result<()> {
        let exporters = self.measurement.exporters().clone();
        let exporters = exporters.with_slices_of(version.network.slice_ms);
        let measurement = self.options.measurement(version, &self.outbox, exporters)?;
        let slice_ms = version.network.slice_ms;
        // A detector takes its time to be made. The slice that runs when all threads have the new views is not whole.
        let ready_ms = (now_ns / 1_000_000).max(now_ms()) + SWAP_MS;
        let first = (ready_ms / slice_ms + 1).max(version.first_slice);
        // No thread may push to a detector that is no more.
        self.taps.set_views(slice_ms, first, || measurement.tap())?;
        self.measurement = measurement;
        self.start_at(version, first)
    }

    /// Starts with `slice`.
    fn start_at(&mut self, version: &NetworkVersion, slice: u64) -> Result<()> {
        let id = version.id;
        info!("version {id} of the network starts at slice {slice}; earlier contacts are ignored");
        let start_ms = slice * version.network.slice_ms;
        let ahead_ms = start_ms.saturating_sub(now_ms());
        if ahead_ms > FAR_MS {
            let seconds = ahead_ms / 1000;
            warn!(
                "slice {slice} is {seconds} s ahead: is a clock wrong, here or at the collector?"
            );
        }
        self.from_ns = start_ms * 1_000_000;
        self.measurement.pass(self.from_ns, &self.taps)
    }

    /// Closes the last slice, if there was any.
    pub(super) fn finish(self) -> Result<Totals> {
        self.measurement.finish(&self.taps)
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
