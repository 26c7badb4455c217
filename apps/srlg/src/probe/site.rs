//! [`Site`]: the traffic of a probe, measured by one version of the network after the other.
//!
//! Shape: a [`Measurement`] by the version in force; when the broker has a new one, a second by that, from its first slice
//! on. Invariant: each contact is measured by the version that its slice is of, and a slice by one version.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use srlg_host::Device;
use srlg_input::Contact;
use tokio::sync::watch;
use tracing::info;

use super::measure::{Measurement, Totals};
use super::outbox::Outbox;
use super::pace::Pace;
use crate::measure::SKEW;
use crate::network::{NetworkVersion, VersionId};

/// Options of a measurement by any version.
pub(super) struct SiteOptions {
    /// Whether the input is live.
    pub(super) is_live: bool,
    pub(super) pace: Option<Pace>,
    pub(super) device: Device,
}

/// The measurement of a probe, by one version of the network after the other.
pub(super) struct Site {
    options: SiteOptions,
    outbox: Arc<Outbox>,
    versions: watch::Receiver<NetworkVersion>,
    /// The measurement by the version in force; none before the first slice of the first one.
    now: Option<Measurement>,
    next: Option<Successor>,
}

/// The measurement by a new version.
struct Successor {
    id: VersionId,
    /// Start and end of its first slice, nanoseconds since the Unix epoch.
    from_ns: u64,
    until_ns: u64,
    measurement: Measurement,
}

impl Site {
    /// Makes a site that measures by the latest of `versions`.
    pub(super) fn new(
        options: SiteOptions,
        mut versions: watch::Receiver<NetworkVersion>,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        let version = versions.borrow_and_update().clone();
        let measurement = options.measurement(&version, &outbox)?;
        let slice_ns = version.network.slice_ms * 1_000_000;
        let is_early = options.is_live && version.first_slice > system_time() / slice_ns;
        let (now, next) = match is_early {
            true => (None, Some(Successor::new(&version, 0, measurement))),
            false => (Some(measurement), None),
        };
        Ok(Self { options, outbox, versions, now, next })
    }

    /// Takes a contact. Contacts before the first slice of the first version are ignored.
    #[inline]
    pub(super) fn take(&mut self, contact: &Contact) -> Result<()> {
        match (&self.next, &mut self.now) {
            (Some(next), _) if contact.time_ns >= next.from_ns => self.take_next(contact),
            (_, Some(now)) => now.take(contact),
            (_, None) => Ok(()),
        }
    }

    /// Takes a contact of the next version. The last slice of the version before has to end before the first one of this.
    fn take_next(&mut self, contact: &Contact) -> Result<()> {
        let is_after_first =
            self.next.as_ref().is_some_and(|next| contact.time_ns >= next.until_ns);
        // A contact from the future moves no slice; its measurement counts it.
        let latest = system_time().saturating_add(SKEW.as_nanos() as u64);
        if is_after_first && contact.time_ns <= latest {
            self.advance(contact.time_ns)?;
        }
        let next = self.next.as_mut().map(|next| &mut next.measurement);
        next.or(self.now.as_mut()).map_or(Ok(()), |measurement| measurement.take(contact))
    }

    /// Lets time pass until `now_ns`.
    pub(super) fn pass(&mut self, now_ns: u64) -> Result<()> {
        if self.versions.has_changed().unwrap_or(false) {
            let version = self.versions.borrow_and_update().clone();
            let measurement = self.options.measurement(&version, &self.outbox)?;
            let next = Successor::new(&version, now_ns, measurement);
            let first_slice = next.from_ns / (next.until_ns - next.from_ns);
            info!("version {} of the network starts at slice {first_slice}", next.id);
            self.next = Some(next);
        }
        self.advance(now_ns)
    }

    fn advance(&mut self, now_ns: u64) -> Result<()> {
        if let Some(now) = &mut self.now {
            now.pass(now_ns)?;
        }
        let now = self.now.as_ref();
        let is_due = |from_ns| now.map_or(now_ns >= from_ns, |now| now.has_reached(from_ns));
        if let Some(next) = self.next.take_if(|next| is_due(next.from_ns)) {
            if self.outbox.version() != next.id {
                self.outbox.begin(next.id)?;
            }
            info!("version {} of the network is in force", next.id);
            let now = self.now.insert(next.measurement);
            // Its first slice has been empty so far, if it has had no contact.
            now.pass(next.from_ns)?;
            now.pass(now_ns)?;
        }
        Ok(())
    }

    /// Ends the last slice, if there was any.
    pub(super) fn finish(self) -> Result<Totals> {
        self.now.map_or(Ok(Totals::default()), Measurement::finish)
    }
}

impl Successor {
    /// Makes the measurement by `version` that follows another one at `now_ns`.
    fn new(version: &NetworkVersion, now_ns: u64, measurement: Measurement) -> Self {
        let NetworkVersion { id, first_slice, network } = version;
        let slice_ns = network.slice_ms * 1_000_000;
        // A version whose time has come starts with the next slice.
        let from_ns = (*first_slice).max(now_ns / slice_ns + 1).saturating_mul(slice_ns);
        Self { id: *id, from_ns, until_ns: from_ns.saturating_add(slice_ns), measurement }
    }
}

impl SiteOptions {
    fn measurement(&self, version: &NetworkVersion, outbox: &Arc<Outbox>) -> Result<Measurement> {
        let Self { is_live, pace, device } = *self;
        Measurement::new(version, is_live, pace, device, Arc::clone(outbox))
    }
}

/// The system clock, nanoseconds since the Unix epoch; 0 before that.
fn system_time() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
