//! The database: what was told, what sinks wait for, and the states that outlive a restart.
//!
//! Shape: SQLite. Notices are numbered from 1 on, and no number is given twice; a sink has the number up to which it is
//! done, so that its queue is what comes after.
//! Invariants: notices and the states of the same moment come to disk together or not at all. So after a kill no start
//! is told twice, and no end is lost. One process writes, which has a lock; others may read.

mod alerts;
mod cursors;
mod schema;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::alerts::Status;
use anyhow::{Context, Result, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

pub use self::cursors::Cursor;
use crate::notify::notice::Notice;

/// How long the database waits for another program, as one that makes a copy.
const BUSY: Duration = Duration::from_secs(5);

/// A database of notices and states. A clone is the same database.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Mutex<Connection>,
    /// Absent in memory.
    path: Option<PathBuf>,
    /// Held until the last clone is gone; absent in memory and for reading.
    _lock: Option<File>,
}

/// A notice with its number.
pub type NumberedNotice = (i64, Notice);

/// Returns the path of the database in the folder `state`.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join("srlg.sqlite")
}

impl Store {
    /// Opens the database in the folder `state`, and makes one where there is none; without a folder one in memory.
    pub fn open(state: Option<&Path>) -> Result<Self> {
        let lock = state.map(lock).transpose()?;
        let path = state.map(path);
        let open = || -> Result<Connection> {
            let mut connection = match &path {
                Some(path) => Connection::open(path)?,
                None => Connection::open_in_memory()?,
            };
            connection.busy_timeout(BUSY)?;
            // A killed process loses nothing; the last seconds before a power failure may be lost.
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            // In kB: what is added is not read again.
            connection.pragma_update(None, "cache_size", -512)?;
            schema::make(&mut connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| explain(error, path.as_deref()))?;
        Ok(Self::new(connection, path, lock))
    }

    /// Opens the database in the folder `state` for reading, which another process may write.
    pub fn read(state: &Path) -> Result<Self> {
        let path = path(state);
        let open = || -> Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(BUSY)?;
            schema::check(&connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| explain(error, Some(&path)))?;
        Ok(Self::new(connection, Some(path), None))
    }

    fn new(connection: Connection, path: Option<PathBuf>, lock: Option<File>) -> Self {
        Self(Arc::new(Inner { connection: Mutex::new(connection), path, _lock: lock }))
    }

    /// Does `work` alone, and says of an error what it is about.
    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        // What a thread that panicked left behind is a transaction that was rolled back.
        let mut connection = self.0.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut connection).map_err(|error| explain(error, self.0.path.as_deref()))
    }

    /// Adds `notices` and sets `states`, all of the same moment, and returns the number of the last notice.
    /// After an error nothing is added or set.
    pub fn add(&self, notices: &[Notice], states: &[(String, Vec<u8>)]) -> Result<i64> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for notice in notices {
                let (id, json) = (notice.id.to_string(), serde_json::to_string(notice)?);
                let sql = "INSERT INTO notices (id, now_ms, json) VALUES (?, ?, ?)";
                let row = params![id, i64::try_from(notice.now_ms)?, json];
                let number = transaction.prepare_cached(sql)?.insert(row)?;
                alerts::follow(&transaction, &id, number, notice.status == Status::End)?;
            }
            for (key, value) in states {
                let sql = "INSERT OR REPLACE INTO states (key, value) VALUES (?, ?)";
                transaction.prepare_cached(sql)?.execute(params![key, value])?;
            }
            let last = last(&transaction)?;
            transaction.commit()?;
            Ok(last)
        })
    }

    /// Returns the state of `key`, if one was set.
    pub fn state(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.with(|connection| {
            let mut query = connection.prepare_cached("SELECT value FROM states WHERE key = ?")?;
            Ok(query.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Returns the number of the last notice, which may be forgotten, or 0.
    pub fn last(&self) -> Result<i64> {
        self.with(|connection| last(connection))
    }

    /// Returns up to `most` notices after `number`, in their order.
    pub fn after(&self, number: i64, most: usize) -> Result<Vec<NumberedNotice>> {
        let sql = "SELECT number, json FROM notices WHERE number > ? ORDER BY number LIMIT ?";
        self.notices(sql, params![number, i64::try_from(most)?])
    }

    fn notices(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<NumberedNotice>> {
        self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let rows =
                query.query_map(params, |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
            rows.map(|row| {
                let (number, json) = row?;
                let notice = serde_json::from_str(&json)
                    .with_context(|| format!("the notice {number} is damaged"))?;
                Ok((number, notice))
            })
            .collect()
        })
    }
}

fn last(connection: &Connection) -> Result<i64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'notices'";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Who writes the database in the folder `state` has this.
fn lock(state: &Path) -> Result<File> {
    let path = state.join("srlg.lock");
    let mut options = File::options();
    let lock = options.create(true).truncate(false).write(true).open(&path);
    let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => bail!(
            "the state in {} is used by another process: end that, or give another folder",
            state.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

/// Says of `error` which database it is about, and what to do.
fn explain(error: anyhow::Error, path: Option<&Path>) -> anyhow::Error {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    let way_out = match code {
        Some(ErrorCode::DiskFull) => "; free space where it is",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "; end the program that holds it, as one that makes a copy"
        }
        Some(ErrorCode::NotADatabase) => "; give another folder with --state",
        Some(ErrorCode::DatabaseCorrupt) => {
            "; move it away, and get what is left of it by `sqlite3 srlg.sqlite .recover`"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "; give a state folder of srlg, as a user who may use it"
        }
        _ => "",
    };
    error.context(match path {
        Some(path) => format!("cannot use the database {}{way_out}", path.display()),
        None => format!("cannot use the database in memory{way_out}"),
    })
}
