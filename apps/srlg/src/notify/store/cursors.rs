//! How far each sink is.

use anyhow::Result;
use rusqlite::{OptionalExtension, Row, params};

use super::{Store, last};

/// The position of a sink, and its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The number of the last notice that is done.
    pub done: i64,
    /// Notices that were taken.
    pub sent: i64,
    /// Attempts that failed.
    pub failed: i64,
    /// Notices that were given up.
    pub dropped: i64,
}

const SET: &str = "INSERT OR REPLACE INTO sinks VALUES (?, ?, ?, ?, ?)";

impl Store {
    /// Returns how far the sink `name` is; one that is new begins with what is told next.
    pub fn cursor(&self, name: &str) -> Result<Cursor> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let sql = "SELECT done, sent, failed, dropped FROM sinks WHERE name = ?";
            let read = |row: &Row<'_>| {
                let (done, sent) = (row.get(0)?, row.get(1)?);
                Ok(Cursor { done, sent, failed: row.get(2)?, dropped: row.get(3)? })
            };
            if let Some(cursor) = transaction.query_row(sql, [name], read).optional()? {
                return Ok(cursor);
            }
            let done = last(&transaction)?;
            transaction.execute(SET, params![name, done, 0, 0, 0])?;
            transaction.commit()?;
            Ok(Cursor { done, ..Cursor::default() })
        })
    }

    /// Sets how far the sink `name` is.
    pub fn set_cursor(&self, name: &str, cursor: Cursor) -> Result<()> {
        let Cursor { done, sent, failed, dropped } = cursor;
        self.with(|connection| {
            connection.prepare_cached(SET)?.execute(params![name, done, sent, failed, dropped])?;
            Ok(())
        })
    }

    /// Forgets the sinks that are not among `names`, so that nothing is kept for them.
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
