//! Delivery of notifications: first to the database, and from there to the sinks.
//!
//! If the database cannot store notifications, a single-site monitor keeps them in memory, and sinks read them from
//! there.

use std::time::Duration;

use anyhow::{Result, ensure};
use tracing::{info, warn};

use crate::alert_store::AlertStore;
use crate::sinks::{SinkOptions, Sinks};
use crate::store::Store;
use crate::store::alert_series::MOST_WAITING_POINTS;
use srlg_alerts::Status;
use srlg_alerts::digest::Digest;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::notification::Notification;
use srlg_alerts::status::overview::SinkOverview;
use srlg_system::pacing::{Every, LastError, OnChange};

/// Maximum number of notifications that wait while the database cannot store them.
const MOST_WAITING: usize = 100_000;

/// Time limit for the sinks to finish when the program stops.
const LAST: Duration = Duration::from_secs(5);

/// Interval at which old notifications are pruned.
const FORGET: Duration = Duration::from_secs(60);

/// The database of alerts and notifications, and the sinks that read from it.
pub struct Delivery {
    alert_store: AlertStore,
    sinks: Sinks,
    failing: OnChange,
    forget: Every,
    forget_error: LastError,
    losing_points: OnChange,
    /// Number of alerts that have started since the program started.
    started: u64,
}

impl Delivery {
    /// Starts the sinks in `options`. Each sink continues at its stored position.
    pub fn start(alert_store: AlertStore, options: &[SinkOptions]) -> Result<Self> {
        let sinks = Sinks::start(options, alert_store.store())?;
        let (failing, forget) = (OnChange::default(), Every::from_now(FORGET));
        Ok(Self {
            alert_store,
            sinks,
            failing,
            forget,
            forget_error: LastError::default(),
            losing_points: OnChange::default(),
            started: 0,
        })
    }

    pub const fn started(&self) -> u64 {
        self.started
    }

    pub const fn alert_store(&self) -> &AlertStore {
        &self.alert_store
    }

    /// Returns the database.
    pub const fn store(&self) -> &Store {
        self.alert_store.store()
    }

    /// Restores the alerts of `manager`. Returns the notifications that end the alerts whose view was removed or now
    /// counts something else.
    pub fn restore(&mut self, manager: &mut AlertManager) -> Result<Vec<Notification>> {
        self.alert_store.restore(manager)
    }

    /// Logs `notifications`, stores them together with the current alerts of `manager`, and wakes the sinks.
    pub fn deliver(
        &mut self,
        manager: &AlertManager,
        notifications: &[Notification],
    ) -> Result<()> {
        let is_start = |it: &&Notification| it.status == Status::Start;
        self.started += notifications.iter().filter(is_start).count() as u64;
        log(notifications);
        if notifications.is_empty() && self.waiting() == 0 {
            return Ok(());
        }
        let kept = self.alert_store.keep(manager, notifications);
        self.sinks.wake();
        match kept {
            Ok(()) => {
                if self.failing.change_to(false).is_some() {
                    info!("notifications can be stored again");
                }
                Ok(())
            }
            Err(error) if self.alert_store.is_strict() || self.waiting() > MOST_WAITING => {
                Err(error)
            }
            Err(error) => {
                if self.failing.change_to(true).is_some() {
                    warn!("cannot store notifications; they are sent from memory: {error:#}");
                }
                Ok(())
            }
        }
    }

    /// Returns the number of notifications that the database has not stored yet.
    pub fn waiting(&self) -> usize {
        self.store().waiting_len()
    }

    /// Stores the alerts of `manager` together with all waiting notifications, and wakes the sinks.
    pub fn save(&mut self, manager: &AlertManager) -> Result<()> {
        self.alert_store.keep(manager, &[])?;
        self.sinks.wake();
        Ok(())
    }

    /// Passes the points of incidents in `manager` to the database, prunes notifications that are older than `before_ms`
    /// and stores the largest peer counts of the running hour. The last two tasks are performed only if they are due.
    pub fn maintain(&mut self, manager: &mut AlertManager, before_ms: u64) {
        self.add_points(manager);
        if self.forget.is_due() {
            let forgotten = self.store().forget(before_ms).map(drop);
            let (failure, recovery) =
                ("cannot prune old notifications", "old notifications can be pruned again");
            self.forget_error.log(forgotten, failure, recovery);
        }
        self.alert_store.keep_hours(manager, false);
    }

    /// Passes the points of incidents in `manager` to the database, where they wait until another thread stores them.
    fn add_points(&mut self, manager: &mut AlertManager) {
        let points = manager.take_points();
        if points.is_empty() {
            return;
        }
        let lost = self.store().add_points(manager.slice_ms(), &points);
        match self.losing_points.change_to(lost > 0) {
            Some(true) => warn!(
                "points of the charts of incidents are lost: {MOST_WAITING_POINTS} points already wait for the database"
            ),
            Some(false) => info!("points of the charts of incidents are kept again"),
            None => {}
        }
    }

    pub fn overviews(&self) -> Vec<SinkOverview> {
        self.sinks.overviews()
    }

    /// Stores all waiting notifications and stops the sinks.
    pub fn finish(mut self, manager: &mut AlertManager) -> Result<()> {
        self.add_points(manager);
        self.deliver(manager, &[])?;
        let kept = self.alert_store.keep(manager, &[]);
        let left = self.waiting();
        self.alert_store.keep_hours(manager, true);
        self.sinks.finish(LAST);
        kept?;
        ensure!(left == 0, "{left} notifications lost: database not writable");
        Ok(())
    }
}

/// Logs `notifications`. If there are many, only the most urgent ones are named.
fn log(notifications: &[Notification]) {
    let digest = Digest::new(notifications);
    for notification in digest.named().concat() {
        // An action of a user may follow the end of an alert.
        let event = match notification.why.is_action() {
            true => notification.why.to_string(),
            false => notification.status.to_string(),
        };
        info!("{event} {} {}: {}", notification.severity, notification.id, notification.text);
    }
    if digest.unnamed() > 0 {
        let shared = digest.shared();
        let shared =
            if shared.is_empty() { String::new() } else { format!("; {}", shared.join(", ")) };
        info!(
            "{} more notifications at the same time are not in the log{shared}",
            digest.unnamed()
        );
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use rusqlite::Connection;
    use srlg_alerts::manager::names::Names;
    use srlg_alerts::manager::view::ViewConfig;
    use srlg_alerts::manager::view_alerts::{ClosedSlice, ViewAlerts};
    use srlg_alerts::rules::{Rule, Rules, Terms};
    use srlg_alerts::{Condition, Witnesses};
    use srlg_host::{Device, SlidingDetector};
    use srlg_input::ViewOptions;

    use super::*;
    use crate::store;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns a view whose rule has a window of a minute.
    fn view() -> ViewConfig {
        let networks = vec!["0.0.0.0/0".parse().unwrap()];
        let windows = [(60, Terms::default())].into();
        let rule = Rule { name: "r".to_owned(), networks, windows };
        ViewConfig {
            name: "fan-in".to_owned(),
            view: ViewOptions::default(),
            pairs: None,
            memory: None,
            sizes: srlg_host::Config::default(),
            rules: Rules::new(vec![rule], Vec::new()),
        }
    }

    /// Closes a slice with input but without hosts.
    fn close_slice(view_alerts: &mut ViewAlerts) {
        let sizes = srlg_host::Config { window: 60, ..srlg_host::Config::default() };
        let mut detector = SlidingDetector::new(sizes, Device::Cpu).unwrap();
        let mut closing = detector.begin_close().unwrap();
        let slice = ClosedSlice {
            sightings: view_alerts.sightings(&mut closing).unwrap(),
            report: closing.end().unwrap(),
            condition: Condition::default(),
            sampling: Default::default(),
            newest_input_ms: 0,
            missing_sites: Vec::new(),
        };
        view_alerts.close(&slice, |_, _| Default::default(), |_| Witnesses::default());
    }

    #[test]
    fn each_problem_of_the_database_is_logged_when_it_begins_and_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut alert_store = AlertStore::open(Some(folder.path())).unwrap();
        let mut manager =
            AlertManager::new(&[view()], Duration::from_secs(1), Names::default(), None);
        alert_store.restore(&mut manager).unwrap();
        close_slice(&mut manager.by_view[0]);
        let mut delivery = Delivery::start(alert_store, &[]).unwrap();
        delivery.forget = Every::new(Duration::ZERO);
        let (log, database) = (Log::default(), store::path(folder.path()));
        let rename = |table: &str, to: &str| {
            let sql = format!("ALTER TABLE {table} RENAME TO {to}");
            Connection::open(&database).unwrap().execute_batch(&sql).unwrap();
        };
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
        tracing::subscriber::with_default(lines.finish(), || {
            for is_broken in [false, true, false] {
                if is_broken {
                    rename("notifications", "no_notifications");
                    rename("hours", "no_hours");
                }
                for _ in 0..3 {
                    delivery.maintain(&mut manager, 0);
                    delivery.alert_store.keep_hours(&mut manager, true);
                }
                if is_broken {
                    rename("no_notifications", "notifications");
                    rename("no_hours", "hours");
                }
            }
        });
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
        for text in [
            "WARN srlg_system::pacing: cannot prune old notifications: ",
            "WARN srlg_system::pacing: cannot store the largest peer counts: ",
            "old notifications can be pruned again",
            "the largest peer counts can be stored again",
        ] {
            assert_eq!(count(text), 1, "{text}: {log}");
        }
    }
}
