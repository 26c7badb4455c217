//! What the service manager is told, by the protocol of sd_notify(3), and what signals ask for.
//!
//! Without a service manager, which is without `NOTIFY_SOCKET`, nothing is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sd_notify::NotifyState;
use tracing::debug;

/// Tells the service manager how this program fares.
#[derive(Debug)]
pub struct Service {
    reload: Arc<AtomicBool>,
    /// How often the manager waits for a sign of life, halved.
    watchdog: Option<Duration>,
    told: Instant,
}

impl Service {
    /// Makes it, and lets the signal to hang up ask for a reload.
    ///
    /// # Errors
    /// Where the system does not let the process handle the signal.
    pub fn new() -> Result<Self> {
        let reload = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reload))
            .context("cannot handle the signal to reload")?;
        let watchdog = sd_notify::watchdog_enabled().map(|every| every / 2);
        Ok(Self { reload, watchdog, told: Instant::now() })
    }

    /// Tells that the program is ready, or ready again.
    pub fn ready(&self, status: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Gives a sign of life, when one is due.
    pub fn alive(&mut self) {
        if self.watchdog.is_some_and(|every| self.told.elapsed() >= every) {
            self.told = Instant::now();
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// Returns whether a reload was asked for since the last call.
    #[must_use]
    pub fn wants_reload(&self) -> bool {
        self.reload.swap(false, Relaxed)
    }

    /// Tells that the program reloads its configuration.
    pub fn reloading(&self) {
        let mut states = vec![NotifyState::Reloading];
        states.extend(NotifyState::monotonic_usec_now().ok());
        tell(&states);
    }

    /// Tells that the program ends.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!("the service manager is not told: {error}");
    }
}
