//! Series of incidents: their counts and rates from start to end.
//!
//! Each incident has one row, whose BLOB is rewritten when points are stored. Its size is bounded, because a series has
//! a bounded number of points. For an incident of ten minutes, the row takes about 2.5 kB, and thus a page of 4 kB.
//!
//! Points wait in memory until [`Store::store_points`] stores them. Readers find them there. Adding a point twice
//! changes nothing, so points need not be removed from memory in the transaction that stores them.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rusqlite::{Connection, OptionalExtension as _, params};
use tracing::warn;

use super::Store;
use srlg_alerts::AlertId;
use srlg_alerts::series::{AlertPoint, AlertSeries, OwnedPoint};

/// Maximum number of points that wait in memory (about 30 MB). It suffices for ten seconds of 40,000 active alerts. While
/// the database cannot be written, later points are lost.
pub const MOST_WAITING_POINTS: usize = 400_000;

/// Maximum number of series in a database in memory (at most 8 MB). Later incidents have no series until older ones are
/// pruned.
const MOST_IN_MEMORY: i64 = 1_000;

/// Maximum number of series that are stored in one transaction, which takes some milliseconds.
const BATCH: usize = 128;

/// Time between two transactions, in which the main loop can store notifications.
const PAUSE: Duration = Duration::from_millis(1);

/// Points that are not in the database yet.
#[derive(Debug, Default)]
pub(super) struct WaitingPoints {
    slice_ms: u64,
    by_incident: BTreeMap<AlertId, Vec<AlertPoint>>,
    count: usize,
}

impl WaitingPoints {
    /// Removes the first `count` points of an incident, because they have been stored.
    fn remove(&mut self, id: AlertId, count: usize) {
        let Some(points) = self.by_incident.get_mut(&id) else { return };
        self.count -= points.drain(..count.min(points.len())).count();
        if points.is_empty() {
            self.by_incident.remove(&id);
        }
    }
}

impl Store {
    fn points(&self) -> MutexGuard<'_, WaitingPoints> {
        self.0.points.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds points of incidents, which wait in memory until they are stored. Points of slices must be added in the order
    /// of their times. Slices have the length `slice_ms`. Returns the number of points for which there was no room.
    pub fn add_points(&self, slice_ms: u64, added: &[OwnedPoint]) -> usize {
        let mut waiting = self.points();
        waiting.slice_ms = slice_ms;
        let room = MOST_WAITING_POINTS.saturating_sub(waiting.count).min(added.len());
        for OwnedPoint { owner, point } in &added[..room] {
            waiting.by_incident.entry(*owner).or_default().push(*point);
        }
        waiting.count += room;
        added.len() - room
    }

    /// Stores the waiting points. After an error, the points that were not stored wait for the next call.
    pub fn store_points(&self) -> Result<()> {
        let ids: Vec<AlertId> = self.points().by_incident.keys().copied().collect();
        for (at, batch) in ids.chunks(BATCH).enumerate() {
            if at > 0 {
                thread::sleep(PAUSE);
            }
            let (slice_ms, batch) = {
                let waiting = self.points();
                let points = |id: &AlertId| Some((*id, waiting.by_incident.get(id)?.clone()));
                (waiting.slice_ms, batch.iter().filter_map(points).collect::<Vec<_>>())
            };
            let is_in_memory = self.0.path.is_none();
            self.with(|connection| {
                let transaction = connection.transaction()?;
                for (id, points) in &batch {
                    let stored = read(&transaction, *id)?;
                    if stored.is_some() || !is_in_memory || has_room(&transaction)? {
                        write(&transaction, *id, &extended(stored, slice_ms, points))?;
                    }
                }
                Ok(transaction.commit()?)
            })?;
            let mut waiting = self.points();
            batch.iter().for_each(|(id, points)| waiting.remove(*id, points.len()));
        }
        Ok(())
    }

    /// Returns the series of the incident `id`, including its waiting points. The series is empty if the incident has no
    /// points.
    pub fn alert_series(&self, id: AlertId) -> Result<AlertSeries> {
        // Waiting points are read first, so that a point stored in between is found twice instead of not at all.
        let (slice_ms, points) = {
            let waiting = self.points();
            (waiting.slice_ms, waiting.by_incident.get(&id).cloned().unwrap_or_default())
        };
        let stored = self.with(|connection| read(connection, id))?;
        Ok(extended(stored, slice_ms, &points))
    }
}

/// Returns `stored`, or a new series, with `points`.
fn extended(stored: Option<AlertSeries>, slice_ms: u64, points: &[AlertPoint]) -> AlertSeries {
    let start_ms = points.first().map_or(0, |first| first.time_ms);
    let mut series = stored.unwrap_or_else(|| AlertSeries::new(slice_ms, start_ms));
    points.iter().for_each(|point| series.add(*point));
    series
}

fn has_room(connection: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM alert_series";
    let count: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(count < MOST_IN_MEMORY)
}

/// Returns the key of the row of an incident, which has the same bits as its ID.
fn key(id: AlertId) -> i64 {
    id.to_bits().cast_signed()
}

fn read(connection: &Connection, id: AlertId) -> Result<Option<AlertSeries>> {
    let mut query = connection.prepare_cached("SELECT points FROM alert_series WHERE id = ?")?;
    let bytes: Option<Vec<u8>> = query.query_row([key(id)], |row| row.get(0)).optional()?;
    Ok(bytes.and_then(|bytes| {
        let series = AlertSeries::from_bytes(&bytes);
        series.inspect_err(|error| warn!("cannot decode the series of {id}: {error:#}")).ok()
    }))
}

fn write(connection: &Connection, id: AlertId, series: &AlertSeries) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO alert_series (id, points) VALUES (?, ?)";
    connection.prepare_cached(sql)?.execute(params![key(id), series.to_bytes()])?;
    Ok(())
}

/// Deletes the series of an incident.
pub(super) fn delete(connection: &Connection, id: AlertId) -> Result<()> {
    connection.prepare_cached("DELETE FROM alert_series WHERE id = ?")?.execute([key(id)])?;
    Ok(())
}

#[cfg(test)]
mod tests;
