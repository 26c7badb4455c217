//! What the service manager is told, by the protocol of sd_notify(3), and what signals ask for.
//!
//! Without a service manager, which is without `NOTIFY_SOCKET`, nothing is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::alerts::Every;
use anyhow::{Context, Result};
use sd_notify::NotifyState;
use tracing::debug;

/// The link to the service manager.
#[derive(Debug)]
pub(crate) struct Service {
    reload: Arc<AtomicBool>,
    /// Half of the time in which the manager expects a sign of life.
    watchdog: Option<Every>,
}

impl Service {
    /// Makes it, and lets the signal to hang up ask for a reload.
    pub(crate) fn new() -> Result<Self> {
        let reload = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload))
            .context("cannot handle the signal to reload")?;
        let watchdog = sd_notify::watchdog_enabled().map(|time| Every::from_now(time / 2));
        Ok(Self { reload, watchdog })
    }

    /// Tells that the program is ready, or ready again.
    pub(crate) fn ready(&self, status: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Gives a sign of life, when one is due.
    pub(crate) fn alive(&mut self) {
        if self.watchdog.as_mut().is_some_and(Every::is_due) {
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// Returns whether a reload was asked for since the last call.
    #[must_use]
    pub(crate) fn wants_reload(&self) -> bool {
        self.reload.swap(false, Relaxed)
    }

    /// Tells that the program reloads its configuration.
    pub(crate) fn reloading(&self) {
        let mut states = vec![NotifyState::Reloading];
        states.extend(NotifyState::monotonic_usec_now().ok());
        tell(&states);
    }

    /// Tells that the program ends.
    pub(crate) fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!("the service manager is not told: {error}");
    }
}
