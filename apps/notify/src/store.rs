//! The database, which stores notifications, incidents and their series, time series, usual counts, positions of sinks, and states of other modules.
//!
//! The database is SQLite. Notifications are numbered from 1, and the number of a pruned notification is not used
//! again. For each sink, the database contains the number of the last notification that the sink has processed. All
//! later notifications form the queue of the sink. A row for each alert contains the numbers of its first and last
//! notifications, so active alerts are found without reading all notifications.
//!
//! Invariants:
//! - Notifications are stored in one transaction with the states that belong to them. Therefore, even after a kill, no
//!   stored alert starts a second time, and no stored end is lost.
//! - If [`Store::add`] cannot store notifications, for example because the disk is full, they wait in memory, and sinks
//!   read them from there. After a kill, the alerts of waiting notifications may start again under new IDs, and
//!   the ends under the old IDs are not sent.
//! - One process writes and holds a lock; other processes may read.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, params};
use tracing::warn;

use alert_series::WaitingPoints;
use history::follow;
use series::Minute;
use srlg_alerts::AlertId;
use srlg_alerts::notification::Notification;
use srlg_system::state_files::check_state_file;
use tables::{check, check_header, make};
use waiting::Waiting;

pub mod alert_series;
pub mod history;
mod hours;
pub mod series;
mod tables;
mod waiting;

/// Maximum time to wait while another program, such as a backup, locks the database.
const BUSY: Duration = Duration::from_secs(5);

/// A database of notifications and states. A clone uses the same database.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Mutex<Connection>,
    /// Notifications that are not in the database yet. This mutex is locked before `connection`.
    waiting: Mutex<Waiting>,
    /// Minutes of the time series that are not in the database yet. Readers share them with the writer.
    recent: Arc<Mutex<VecDeque<Minute>>>,
    /// Points of incidents that are not in the database yet. Readers share them with the writer.
    points: Arc<Mutex<WaitingPoints>>,
    /// Path of the database, or `None` for a database in memory.
    path: Option<PathBuf>,
    /// Lock of the state folder, held until the last clone is dropped. A database in memory and a reader have no lock.
    _lock: Option<File>,
}

/// A notification with its number.
pub type NumberedNotification = (i64, Notification);

/// Returns the path of the database in the folder `state`.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join("srlg.sqlite")
}

impl Store {
    /// Opens the database in the folder `state`. The folder and the database are created if they do not exist. Without
    /// a folder, the database is in memory.
    pub fn open(state: Option<&Path>) -> Result<Self> {
        let lock = state.map(lock).transpose()?;
        let path = state.map(path);
        let open = || -> Result<Connection> {
            let mut connection = match &path {
                Some(path) => {
                    check_files(path)?;
                    Connection::open(path)?
                }
                None => Connection::open_in_memory()?,
            };
            connection.busy_timeout(BUSY)?;
            // A killed process loses nothing, but a power failure may lose the last seconds.
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            // The cache has 512 kB, because added data is not read again.
            connection.pragma_update(None, "cache_size", -512)?;
            make(&mut connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| explain(error, path.as_deref()))?;
        Self::new(connection, path, lock)
    }

    /// Opens the database in the folder `state` for reading. Another process may write to it.
    pub fn read(state: &Path) -> Result<Self> {
        let path = path(state);
        let connection = Self::open_for_reading(&path)?;
        Self::new(connection, Some(path), None)
    }

    /// Returns a reader of this database. On disk, the reader has its own connection, so it never blocks the writer. In
    /// memory, the reader uses the connection of the writer.
    pub fn reader(&self) -> Result<Self> {
        let Some(path) = self.0.path.clone() else { return Ok(self.clone()) };
        let connection = Mutex::new(Self::open_for_reading(&path)?);
        let (waiting, path) = (Mutex::default(), Some(path));
        let (recent, points) = (Arc::clone(&self.0.recent), Arc::clone(&self.0.points));
        Ok(Self(Arc::new(Inner { connection, waiting, recent, points, path, _lock: None })))
    }

    fn open_for_reading(path: &Path) -> Result<Connection> {
        let open = || -> Result<Connection> {
            check_files(path)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY)?;
            check(&connection)?;
            Ok(connection)
        };
        open().map_err(|error| explain(error, Some(path)))
    }

    /// Checks that the database in the folder `state`, if it exists, belongs to this program and has the supported
    /// version. No file is created, although SQLite itself would create files next to a database that no process has
    /// open.
    pub fn check(state: &Path) -> Result<()> {
        let path = path(state);
        check_files(&path).map_err(|error| explain(error, Some(&path)))?;
        if !path.exists() {
            return Ok(());
        }
        // A process has the database open or was killed, so the write-ahead log may have newer data.
        if path.with_extension("sqlite-wal").exists() {
            return Self::read(state).map(drop);
        }
        check_header(&path).map_err(|error| explain(error, Some(&path)))
    }

    fn new(connection: Connection, path: Option<PathBuf>, lock: Option<File>) -> Result<Self> {
        let stored = last(&connection).map_err(|error| explain(error, path.as_deref()))?;
        let waiting = Mutex::new(Waiting { stored, ..Waiting::default() });
        let connection = Mutex::new(connection);
        let (recent, points) = (Arc::default(), Arc::default());
        Ok(Self(Arc::new(Inner { connection, waiting, recent, points, path, _lock: lock })))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of notifications that are not in the database yet.
    #[must_use]
    pub fn waiting_len(&self) -> usize {
        self.waiting().notifications.len()
    }

    /// Performs `work` with exclusive access to the connection. An error contains the path of the database.
    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        // If a thread panicked, its transaction was rolled back, so the database is consistent.
        let mut connection = self.0.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut connection).map_err(|error| explain(error, self.0.path.as_deref()))
    }

    /// Adds `notifications` and sets `states` in one transaction. Returns the number of the last notification. After an
    /// error, nothing is stored; the notifications wait in memory for the next call, and sinks read them from there.
    pub fn add(&self, notifications: &[Notification], states: &[(String, Vec<u8>)]) -> Result<i64> {
        let mut waiting = self.waiting();
        waiting.extend(notifications);
        self.store(&mut waiting, states)
    }

    /// Acts like [`add`](Self::add), but discards `notifications` after an error.
    pub fn add_or_forget(
        &self,
        notifications: &[Notification],
        states: &[(String, Vec<u8>)],
    ) -> Result<i64> {
        let mut waiting = self.waiting();
        let before = waiting.notifications.len();
        waiting.extend(notifications);
        self.store(&mut waiting, states).inspect_err(|_| waiting.notifications.truncate(before))
    }

    /// Sets only `states`. Waiting notifications are stored later, in one transaction with the states that belong to
    /// them.
    pub fn set(&self, states: &[(String, Vec<u8>)]) -> Result<()> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            set_states(&transaction, states)?;
            Ok(transaction.commit()?)
        })
    }

    fn store(&self, waiting: &mut Waiting, states: &[(String, Vec<u8>)]) -> Result<i64> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for (number, notification) in &waiting.notifications {
                let (id, json) =
                    (notification.id.to_string(), serde_json::to_string(notification)?);
                let sql =
                    "INSERT INTO notifications (number, id, now_ms, json) VALUES (?, ?, ?, ?)";
                let row = params![number, id, i64::try_from(notification.now_ms)?, json];
                transaction.prepare_cached(sql)?.execute(row)?;
                follow(&transaction, *number, notification)?;
            }
            for (name, cursor) in &waiting.cursors {
                set_cursor(&transaction, name, cursor)?;
            }
            set_states(&transaction, states)?;
            Ok(transaction.commit()?)
        })?;
        waiting.clear();
        Ok(waiting.stored)
    }

    /// Returns the state stored under `key`, if there is one.
    pub fn state(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.with(|connection| {
            let mut query = connection.prepare_cached("SELECT value FROM states WHERE key = ?")?;
            Ok(query.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Returns the number of the last notification, which may have been pruned, or 0 if there has been no notification.
    #[must_use]
    pub fn last(&self) -> i64 {
        self.waiting().last()
    }

    /// Returns up to `most` notifications after `number`, in ascending order.
    pub fn after(&self, number: i64, most: usize) -> Result<Vec<NumberedNotification>> {
        let sql = "SELECT number, json FROM notifications WHERE number > ? ORDER BY number LIMIT ?";
        let waiting = self.waiting();
        let mut found = self.notifications(sql, params![number, i64::try_from(most)?])?;
        waiting.append_after(number, most, &mut found);
        Ok(found)
    }

    /// Returns the notifications of the alert `id` after number `after` and up to number `last`, in ascending order.
    pub fn between(&self, id: AlertId, after: i64, last: i64) -> Result<Vec<NumberedNotification>> {
        let sql =
            "SELECT number, json FROM notifications WHERE id = ? AND number > ? AND number <= ?
            ORDER BY number";
        let waiting = self.waiting();
        let mut found = self.notifications(sql, params![id.to_string(), after, last])?;
        let more = waiting.notifications.iter().filter(|(number, notification)| {
            notification.id == id && (after + 1..=last).contains(number)
        });
        found.extend(more.cloned());
        Ok(found)
    }

    /// Returns the notification `number`, unless it was pruned.
    pub fn notification(&self, number: i64) -> Result<Option<NumberedNotification>> {
        let next = self.after(number - 1, 1)?.pop();
        Ok(next.filter(|(of, _)| *of == number))
    }

    fn notifications(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<NumberedNotification>> {
        self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let rows =
                query.query_map(params, |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
            rows.map(|row| {
                let (number, json) = row?;
                let notification = serde_json::from_str(&json)
                    .with_context(|| format!("cannot read notification {number}"))?;
                Ok((number, notification))
            })
            .collect()
        })
    }
}

fn set_states(connection: &Connection, states: &[(String, Vec<u8>)]) -> Result<()> {
    for (key, value) in states {
        let sql = "INSERT OR REPLACE INTO states (key, value) VALUES (?, ?)";
        connection.prepare_cached(sql)?.execute(params![key, value])?;
    }
    Ok(())
}

fn last(connection: &Connection) -> Result<i64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'notifications'";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Checks that the database at `path` and the files next to it, if they exist, are regular files.
fn check_files(path: &Path) -> Result<()> {
    ["sqlite", "sqlite-wal", "sqlite-shm"].iter().try_for_each(|extension| {
        let path = path.with_extension(extension);
        check_state_file(&path).with_context(|| format!("cannot use {}", path.display()))
    })
}

/// Locks the folder `state`, because only one process may write to its database.
fn lock(state: &Path) -> Result<File> {
    fs::create_dir_all(state)
        .with_context(|| format!("cannot create the folder {}", state.display()))?;
    let mode = fs::metadata(state).map(|of| of.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        warn!(
            "other users can read the state in {0}, and its seed lets them hide hosts from the detectors; run chmod -R o= {0}",
            state.display()
        );
    }
    let path = state.join("srlg.lock");
    let open = || File::options().create(true).truncate(false).write(true).open(&path);
    let lock = check_state_file(&path).and_then(|()| open());
    let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => bail!(
            "cannot lock the state in {}: another process uses it; stop that process or set a different state folder",
            state.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

/// Adds the path of the database and a remedy to `error`.
fn explain(error: anyhow::Error, path: Option<&Path>) -> anyhow::Error {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    let way_out = match code {
        Some(ErrorCode::DiskFull) => "; free some space on its disk",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "; stop the program that has locked it, such as a backup"
        }
        Some(ErrorCode::NotADatabase) => "; give another folder with --state",
        Some(ErrorCode::DatabaseCorrupt) => {
            "; move it away and recover its data with `sqlite3 srlg.sqlite .recover`"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "; check that the state folder exists and that this user has access to it"
        }
        _ => "",
    };
    error.context(match path {
        Some(path) => format!("cannot use the database {}{way_out}", path.display()),
        None => format!("cannot use the database in memory{way_out}"),
    })
}

/// Number of notifications in a database on disk (about 3 GB) above which the oldest are pruned.
const MOST: i64 = 1_000_000;

/// Number of notifications in a database in memory (about 6 MB) above which the oldest are pruned.
const MOST_IN_MEMORY: i64 = 2_000;

impl Store {
    /// Returns the last notification of each active alert, in ascending order.
    pub fn open_alerts(&self) -> Result<Vec<NumberedNotification>> {
        let sql = "SELECT number, json FROM alerts JOIN notifications ON number = last
            WHERE NOT is_end ORDER BY last";
        let waiting = self.waiting();
        let mut open = self.notifications(sql, [])?;
        waiting.update_open(&mut open);
        Ok(open)
    }

    /// Returns the last notification of the alert `id`, if there is one.
    pub fn last_of(&self, id: AlertId) -> Result<Option<Notification>> {
        let sql = "SELECT number, json FROM alerts JOIN notifications ON number = last
            WHERE alerts.id = ?";
        let waiting = self.waiting();
        let stored = self.notifications(sql, [id.to_string()])?.pop();
        let mut waiting = waiting.notifications.iter().rev().map(|(_, notification)| notification);
        let waiting = waiting.find(|notification| notification.id == id).cloned();
        Ok(waiting.or(stored.map(|(_, notification)| notification)))
    }

    /// Returns the alerts that were active at notification `number` and for which a notification may have been sent. If
    /// an alert has been silenced since its start, no notification was sent.
    pub fn open_at(&self, number: i64) -> Result<Vec<AlertId>> {
        let sql = "SELECT id FROM (SELECT id FROM alerts WHERE last > ?1 AND first <= ?1
            UNION SELECT id FROM alerts WHERE NOT is_end AND first <= ?1) AS open
            WHERE EXISTS (SELECT 1 FROM notifications WHERE notifications.id = open.id AND number <= ?1
                AND json_extract(json, '$.silence') IS NULL)
            OR NOT EXISTS (SELECT 1 FROM notifications WHERE notifications.id = open.id AND number <= ?1)";
        let waiting = self.waiting();
        let mut open = self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let ids = query.query_map([number], |row| row.get::<_, String>(0))?;
            let ids = ids.map(|id| id?.parse().map_err(|error: &str| anyhow!(error)));
            ids.collect::<Result<Vec<_>>>()
        })?;
        waiting.update_open_at(number, &mut open);
        Ok(open)
    }

    /// Prunes notifications that are older than `before_ms`, in milliseconds since the Unix epoch. If there are more
    /// than one million notifications, or more than 2,000 in a database in memory, the oldest are pruned too.
    /// Notifications that a sink still needs are kept. The first and the last notification of each active alert are
    /// kept too. The series of a pruned incident is deleted. Returns the number of pruned notifications.
    pub fn forget(&self, before_ms: u64) -> Result<usize> {
        let notifications = "DELETE FROM notifications WHERE (now_ms < ?1 OR number <= ?2)
            AND number <= coalesce((SELECT min(done) FROM sinks), number)
            AND number NOT IN (SELECT value FROM sinks, json_each(held))
            AND EXISTS (SELECT 1 FROM alerts WHERE alerts.id = notifications.id
                AND (is_end OR number NOT IN (first, last)))";
        let alerts = "DELETE FROM alerts WHERE is_end
            AND NOT EXISTS (SELECT 1 FROM notifications WHERE number = last) RETURNING id";
        let most = if self.0.path.is_some() { MOST } else { MOST_IN_MEMORY };
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let row = params![i64::try_from(before_ms)?, last(&transaction)? - most];
            let count = transaction.execute(notifications, row)?;
            if count > 0 {
                let mut deleted = transaction.prepare_cached(alerts)?;
                for id in deleted.query_map([], |row| row.get::<_, String>(0))? {
                    let id = id?.parse().map_err(|error: &str| anyhow!(error))?;
                    alert_series::delete(&transaction, id)?;
                }
            }
            transaction.commit()?;
            Ok(count)
        })
    }
}

/// The position and the counters of a sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Number of the last notification that the sink has processed, apart from those in `held`.
    pub done: i64,
    /// Numbers of notifications after `done` that the sink has already processed.
    pub early: BTreeSet<i64>,
    /// Numbers of the starts that the rate limit holds back, in ascending order.
    pub held: Vec<i64>,
    /// Number of notifications that were accepted.
    pub sent: i64,
    /// Number of failed attempts.
    pub failed: i64,
    /// Number of notifications that were dropped, rejected or suppressed by the rate limit.
    pub dropped: i64,
}

fn set_cursor(connection: &Connection, name: &str, cursor: &Cursor) -> Result<()> {
    let Cursor { done, early, sent, failed, dropped, held } = cursor;
    let [early, held] = [serde_json::to_string(early)?, serde_json::to_string(held)?];
    let sql = "INSERT OR REPLACE INTO sinks VALUES (?, ?, ?, ?, ?, ?, ?)";
    let row = params![name, done, sent, failed, dropped, held, early];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

fn is_disk_full(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<rusqlite::Error>();
    error.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::DiskFull)
}

impl Store {
    /// Returns the position of the sink `name`. A new sink starts after the last notification.
    pub fn cursor(&self, name: &str) -> Result<Cursor> {
        let stored = self.with(|connection| {
            let sql = "SELECT done, sent, failed, dropped, held, early FROM sinks WHERE name = ?";
            let read = |row: &Row<'_>| {
                let (done, sent, failed, dropped) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                let cursor = Cursor { done, sent, failed, dropped, ..Cursor::default() };
                Ok((cursor, row.get::<_, String>(4)?, row.get::<_, String>(5)?))
            };
            let stored = connection.query_row(sql, [name], read).optional()?;
            let stored = stored.map(|(cursor, held, early)| {
                let [held, early] =
                    [held, early].map(|list| serde_json::from_str::<Vec<i64>>(&list));
                Ok::<_, serde_json::Error>(Cursor {
                    held: held?,
                    early: early?.into_iter().collect(),
                    ..cursor
                })
            });
            Ok(stored.transpose()?)
        })?;
        let waiting = self.waiting().cursors.get(name).cloned();
        if let Some(cursor) = waiting.or(stored) {
            return Ok(cursor);
        }
        let cursor = Cursor { done: self.last(), ..Cursor::default() };
        self.set_cursor(name, &cursor)?;
        Ok(cursor)
    }

    /// Sets the position of the sink `name`. While the disk is full or notifications wait in memory, the position is
    /// kept in memory.
    pub fn set_cursor(&self, name: &str, cursor: &Cursor) -> Result<()> {
        let mut waiting = self.waiting();
        // The position may refer to a waiting notification.
        if waiting.notifications.is_empty() {
            match self.with(|connection| set_cursor(connection, name, cursor)) {
                Ok(()) => {
                    waiting.cursors.remove(name);
                    return Ok(());
                }
                Err(error) if is_disk_full(&error) => {}
                Err(error) => return Err(error),
            }
        }
        waiting.cursors.insert(name.to_owned(), cursor.clone());
        Ok(())
    }

    /// Removes the positions of sinks that are not in `names`, so that no notifications are kept for those sinks.
    pub fn keep_sinks(&self, names: &[String]) -> Result<()> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let known: Vec<String> = transaction
                .prepare("SELECT name FROM sinks")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for name in known.iter().filter(|name| !names.contains(name)) {
                transaction.execute("DELETE FROM sinks WHERE name = ?", [name])?;
            }
            Ok(transaction.commit()?)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
