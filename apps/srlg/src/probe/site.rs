//! [`Site`]: what a probe measures, by one version of the network after the other.
//!
//! Shape: a [`Measurement`] by the version in force; when the broker has a new one, a second by that, from its first slice
//! on. Invariant: each contact is measured by the version that its slice is of, and a slice by one version.

use std::sync::Arc;

use anyhow::Result;
use srlg_host::Device;
use srlg_input::Contact;
use tokio::sync::watch;
use tracing::{info, warn};

use super::measure::{Measurement, Totals};
use super::outbox::Outbox;
use super::pace::Pace;
use crate::network::NetworkVersion;

/// How a probe measures, whatever the version is.
pub(super) struct SiteOptions {
    /// Whether the input is of what happens now.
    pub(super) is_live: bool,
    pub(super) pace: Option<Pace>,
    pub(super) device: Device,
}

/// The measurement of a probe, by one version of the network after the other.
pub(super) struct Site {
    options: SiteOptions,
    outbox: Arc<Outbox>,
    versions: watch::Receiver<NetworkVersion>,
    now: Measurement,
    next: Option<Successor>,
}

/// The measurement by a new version.
struct Successor {
    /// When its first slice begins and ends, nanoseconds since the Unix epoch.
    from_ns: u64,
    until_ns: u64,
    number: u32,
    measurement: Measurement,
}

impl Site {
    /// Measures by the latest of `versions`.
    pub(super) fn new(
        options: SiteOptions,
        mut versions: watch::Receiver<NetworkVersion>,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let now = options.measurement(&versions.borrow_and_update(), &outbox)?;
        Ok(Self { options, outbox, versions, now, next: None })
    }

    /// Takes a contact.
    #[inline]
    pub(super) fn take(&mut self, contact: &Contact) -> Result<()> {
        match &mut self.next {
            Some(next) if contact.time_ns >= next.from_ns => self.take_next(contact),
            _ => self.now.take(contact),
        }
    }

    /// Takes a contact of the next version, whose first slice ends after the last one of the version before.
    fn take_next(&mut self, contact: &Contact) -> Result<()> {
        if self.next.as_ref().is_some_and(|next| contact.time_ns >= next.until_ns) {
            self.advance(contact.time_ns)?;
        }
        match &mut self.next {
            Some(next) => next.measurement.take(contact),
            None => self.now.take(contact),
        }
    }

    /// Lets time pass until `now_ns`.
    pub(super) fn pass(&mut self, now_ns: u64) -> Result<()> {
        if self.versions.has_changed().unwrap_or(false) {
            self.prepare(now_ns)?;
        }
        self.advance(now_ns)
    }

    fn advance(&mut self, now_ns: u64) -> Result<()> {
        self.now.pass(now_ns)?;
        let Some(next) = self.next.take_if(|next| self.now.has_reached(next.from_ns)) else {
            return Ok(());
        };
        self.outbox.begin(next.number)?;
        self.now = next.measurement;
        info!("version {} of the network is measured from now on", next.number);
        self.now.pass(now_ns)
    }

    /// Prepares for a new version.
    fn prepare(&mut self, now_ns: u64) -> Result<()> {
        let version = self.versions.borrow_and_update().clone();
        let NetworkVersion { number, first_slice, .. } = version;
        if !self.options.is_live {
            warn!(
                "the network has version {number} now: a file is measured by the version that it began with, and refused by \
                 the collector"
            );
            return Ok(());
        }
        let slice_ns = version.network.slice_ms * 1_000_000;
        // One whose time has come begins with the next slice.
        let first_slice = first_slice.max(now_ns / slice_ns + 1);
        info!("version {number} of the network begins with slice {first_slice}");
        let measurement = self.options.measurement(&version, &self.outbox)?;
        let from_ns = first_slice.saturating_mul(slice_ns);
        let until_ns = from_ns.saturating_add(slice_ns);
        self.next = Some(Successor { from_ns, until_ns, number, measurement });
        Ok(())
    }

    /// Ends the last slice, if there was any.
    pub(super) fn finish(self) -> Result<Totals> {
        self.now.finish()
    }
}

impl SiteOptions {
    fn measurement(&self, version: &NetworkVersion, outbox: &Arc<Outbox>) -> Result<Measurement> {
        let Self { is_live, pace, device } = *self;
        Measurement::new(version, is_live, pace, device, Arc::clone(outbox))
    }
}
