//! The reload signal, and messages to the service manager in the protocol of sd_notify(3).
//!
//! Without a service manager, `NOTIFY_SOCKET` is not set and no messages are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result};
use sd_notify::NotifyState;
use srlg_system::pacing::Every;
use tracing::debug;

/// Connection to the service manager.
#[derive(Debug)]
pub(crate) struct Service {
    reload: Arc<AtomicBool>,
    /// Timer for watchdog messages. Its period is half of the service manager's watchdog interval.
    watchdog: Option<Every>,
}

impl Service {
    /// Creates the connection to the service manager and registers SIGHUP as the reload signal.
    pub(crate) fn new() -> Result<Self> {
        let reload = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload))
            .context("cannot handle the reload signal SIGHUP")?;
        let watchdog = sd_notify::watchdog_enabled();
        let watchdog = watchdog.map(|time| Every::from_now(time / 2));
        Ok(Self { reload, watchdog })
    }

    /// Sends a watchdog message if one is due.
    pub(crate) fn alive(&mut self) {
        if self.watchdog.as_mut().is_some_and(Every::is_due) {
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// Returns whether a reload was requested since the last call.
    #[must_use]
    pub(crate) fn wants_reload(&self) -> bool {
        self.reload.swap(false, Relaxed)
    }
}

/// Reports that the program is ready after a start or a reload.
pub(crate) fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(status)]);
}

pub(crate) fn reloading() {
    let mut states = vec![NotifyState::Reloading];
    states.extend(NotifyState::monotonic_usec_now().ok());
    notify(&states);
}

pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!("cannot notify the service manager: {error}");
    }
}
