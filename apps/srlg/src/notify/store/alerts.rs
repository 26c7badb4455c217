//! Alerts, as their notices tell them: which go on, which there were, which are forgotten.
//!
//! Shape: a row per alert has the numbers of its first and of its last notice, so that what goes on is found without a look
//! at all that was told.

use crate::alerts::AlertId;
use anyhow::{Result, anyhow};
use rusqlite::{Connection, params};

use super::{NumberedNotice, Store, last};

/// Notices that are kept: some 3 GB.
const MOST: i64 = 1_000_000;

/// Notices that are kept where there is no file: some 6 MB.
const MOST_IN_MEMORY: i64 = 2_000;

/// Notes the notice `number` of the alert `id`.
pub(super) fn follow(connection: &Connection, id: &str, number: i64, is_end: bool) -> Result<()> {
    let sql = "INSERT INTO alerts (id, first, last, is_end) VALUES (?1, ?2, ?2, ?3)
        ON CONFLICT (id) DO UPDATE SET last = ?2, is_end = ?3";
    connection.prepare_cached(sql)?.execute(params![id, number, is_end])?;
    Ok(())
}

impl Store {
    /// Returns the last notice of each alert that goes on, in their order.
    pub fn open_alerts(&self) -> Result<Vec<NumberedNotice>> {
        let sql = "SELECT number, json FROM alerts JOIN notices ON number = last
            WHERE NOT is_end ORDER BY last";
        self.notices(sql, [])
    }

    /// Returns the alerts of which something had been told at the notice `number`, but not their end.
    pub fn open_at(&self, number: i64) -> Result<Vec<AlertId>> {
        let sql = "SELECT id FROM alerts WHERE last > ?1 AND first <= ?1
            UNION SELECT id FROM alerts WHERE NOT is_end AND first <= ?1";
        self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let ids = query.query_map([number], |row| row.get::<_, String>(0))?;
            ids.map(|id| id?.parse().map_err(|error: &str| anyhow!(error))).collect()
        })
    }

    /// Returns the last notice of each alert of which one was told since `since_ms`, milliseconds since the Unix epoch; the
    /// one that was told last comes first.
    pub fn alerts_since(&self, since_ms: u64) -> Result<Vec<NumberedNotice>> {
        // The sign keeps SQLite from going through all notices in the order of their numbers.
        let sql = "SELECT number, json FROM notices JOIN alerts ON last = number
            WHERE now_ms >= ? ORDER BY +number DESC";
        self.notices(sql, params![i64::try_from(since_ms).unwrap_or(i64::MAX)])
    }

    /// Forgets notices before `before_ms`, milliseconds since the Unix epoch, and the oldest of more than a million, or of
    /// more than 2,000 in memory, where all sinks are done with them; of alerts that go on the first and the last are
    /// kept. Returns how many were forgotten.
    pub fn forget(&self, before_ms: u64) -> Result<usize> {
        let notices = "DELETE FROM notices WHERE (now_ms < ?1 OR number <= ?2)
            AND number <= coalesce((SELECT min(done) FROM sinks), number)
            AND EXISTS (SELECT 1 FROM alerts WHERE alerts.id = notices.id
                AND (is_end OR number NOT IN (first, last)))";
        let alerts = "DELETE FROM alerts WHERE is_end
            AND NOT EXISTS (SELECT 1 FROM notices WHERE number = last)";
        let most = if self.0.path.is_some() { MOST } else { MOST_IN_MEMORY };
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let row = params![i64::try_from(before_ms)?, last(&transaction)? - most];
            let count = transaction.execute(notices, row)?;
            if count > 0 {
                transaction.execute(alerts, [])?;
            }
            transaction.commit()?;
            Ok(count)
        })
    }
}
