//! Alerts in the database, which are stored together with their notifications.
//!
//! The alert store also holds the database itself and the seed of the detectors, which is part of the database.
//!
//! Invariant: the stored alerts are at least as recent as the last stored notification.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_host::config::random_seed;

use crate::store::Store;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::view_alerts::ViewAlerts;
use srlg_alerts::notification::Notification;
use srlg_alerts::silences::Silences;
use srlg_alerts::usual::HourStore;
use srlg_system::pacing::{Every, LastError};

/// Interval at which the largest peer counts of the running hour are stored.
const HOURS: Duration = Duration::from_secs(60);

const SILENCES: &str = "silences";

/// The database, with the stored alerts of an alert manager and the seed of the detectors.
pub struct AlertStore {
    store: Store,
    /// Whether sinks receive only notifications that are in the database.
    is_strict: bool,
    /// Names of removed views that had active alerts.
    gone: BTreeSet<String>,
    keep_hours: Every,
    hours_error: LastError,
}

impl AlertStore {
    /// Opens the database in the folder `state`, or a database in memory if `state` is `None`.
    pub fn open(state: Option<&Path>) -> Result<Self> {
        let keep_hours = Every::from_now(HOURS);
        let store = Store::open(state)?;
        let (gone, hours_error) = (BTreeSet::new(), LastError::default());
        Ok(Self { store, is_strict: false, gone, keep_hours, hours_error })
    }

    /// Restricts sinks to notifications that are in the database. Slices are processed again after a restart, so a
    /// notification that was sent before it was stored would be sent twice.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Returns whether the store is [strict](Self::strict).
    #[must_use]
    pub const fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Returns the database.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the seed of the detectors, which is drawn once and then stored.
    pub fn seed(&self) -> Result<u64> {
        if let Some(seed) = self.store.state("seed")? {
            let seed = seed
                .try_into()
                .ok()
                .context("cannot read the seed in the database: it must have 8 bytes")?;
            return Ok(u64::from_le_bytes(seed));
        }
        let seed = random_seed()?;
        self.store.set(&[("seed".to_owned(), seed.to_le_bytes().to_vec())])?;
        Ok(seed)
    }

    /// Restores the alerts of `manager`. Returns the notifications that end the alerts whose view was removed or now
    /// counts something else.
    pub fn restore(&mut self, manager: &mut AlertManager) -> Result<Vec<Notification>> {
        for view_alerts in &mut manager.by_view {
            let state = self.store.state(&key(&view_alerts.name))?;
            state.map_or(Ok(true), |state| view_alerts.restore_state(&state))?;
        }
        let hours: Arc<dyn HourStore> = Arc::new(self.store.clone());
        self.store.keep_series(&manager.keep_hours_in(&hours))?;
        if let Some(state) = self.store.state(SILENCES)? {
            manager.silences = Silences::from_state(&state)?;
        }
        let open =
            self.store.open_alerts()?.into_iter().map(|(_, notification)| notification).collect();
        let ended = manager.reopen(open);
        // If they were kept, their alerts would become active again when the views return.
        let is_gone =
            |view: &String| manager.by_view.iter().all(|view_alerts| view_alerts.name != *view);
        self.gone =
            ended.iter().map(|notification| notification.view.clone()).filter(is_gone).collect();
        Ok(ended)
    }

    /// Stores `notifications` together with the current alerts of `manager`. After an error, nothing is stored. Unless
    /// the store is strict, the notifications then wait in memory.
    pub fn keep(&self, manager: &AlertManager, notifications: &[Notification]) -> Result<()> {
        let states = manager
            .by_view
            .iter()
            .map(|view_alerts| Ok((key(&view_alerts.name), view_alerts.state()?)));
        let gone = self.gone.iter().map(|view| Ok((key(view), Vec::new())));
        let silences =
            std::iter::once_with(|| Ok((SILENCES.to_owned(), manager.silences.state()?)));
        let states = states.chain(gone).chain(silences).collect::<Result<Vec<_>>>()?;
        match self.is_strict {
            true => self.store.add_or_forget(notifications, &states)?,
            false => self.store.add(notifications, &states)?,
        };
        Ok(())
    }

    /// Stores the largest peer counts of the running hour if a minute has passed since they were last stored, or if
    /// `is_last` is set. They only tell what is usual.
    pub fn keep_hours(&mut self, manager: &mut AlertManager, is_last: bool) {
        if !self.keep_hours.is_due() && !is_last {
            return;
        }
        let kept = manager.by_view.iter_mut().try_for_each(ViewAlerts::keep_hour);
        let (failure, recovery) =
            ("cannot store the largest peer counts", "the largest peer counts can be stored again");
        self.hours_error.log(kept, failure, recovery);
    }
}

fn key(view: &str) -> String {
    format!("alerts/{view}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_own_seed() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let seed = |folder: &tempfile::TempDir| AlertStore::open(Some(folder.path()))?.seed();
        let [first, second] = folders.each_ref().map(|folder| seed(folder).unwrap());
        assert_ne!(first, second);
        assert_eq!(seed(&folders[0]).unwrap(), first);
    }
}
