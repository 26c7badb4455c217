//! Values per minute, which the charts of the web page show.
//!
//! Each series has one row per minute. The key of a row consists of the series number, which takes 1 or 2 bytes, and
//! the minute. Rows with a negated series number contain the maximum over `BLOCK` minutes, so that a month is read as
//! fast as a day. If the values cannot be stored, for example because the disk is full, the values of up to 60 minutes
//! are kept in memory. Older values are lost.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::{MutexGuard, PoisonError};

use anyhow::Result;
use rusqlite::{Connection, params};

use super::Store;

/// Length of a minute, in milliseconds.
pub const MINUTE_MS: u64 = 60_000;

/// Length of a block, in minutes.
const BLOCK: u64 = 30;

/// Maximum number of minutes whose values are kept in memory until they can be stored.
const MOST_WAITING: usize = 60;

/// Maximum age of the values in a database in memory, in minutes.
const MOST_IN_MEMORY: u64 = 24 * 60;

/// A quantity that has one value per minute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Series {
    /// Largest number of super points of a view during the minute.
    SuperPoints(String),
    /// Largest number of peers that a host of a view had during the minute.
    Largest(String),
    /// Number of contacts per second in the input.
    Contacts,
    /// Number of flow records per second from an exporter.
    Records(IpAddr),
}

/// Formats a series as its name in the database.
impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuperPoints(view) => write!(f, "super-points/{view}"),
            Self::Largest(view) => write!(f, "largest/{view}"),
            Self::Contacts => f.write_str("contacts"),
            Self::Records(exporter) => write!(f, "records/{exporter}"),
        }
    }
}

/// Values of one minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minute {
    /// Number of whole minutes from the Unix epoch to the start of this minute.
    pub minute: u64,
    /// Value of each series that has a value in this minute.
    pub values: BTreeMap<Series, f64>,
}

/// A period of whole minutes, which includes its first and its last minute. Minutes are counted from the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinuteRange {
    /// First minute of the period.
    pub first: u64,
    /// Last minute of the period.
    pub last: u64,
    /// Number of minutes per value. Each value is the maximum over these minutes.
    pub step: u64,
}

impl MinuteRange {
    /// Creates a range whose step yields at most `most + 1` values. A step of more than 30 minutes is rounded up to a
    /// multiple of 30 minutes.
    #[must_use]
    pub const fn new(first: u64, last: u64, most: u64) -> Self {
        let step = match last.saturating_sub(first).div_ceil(most) {
            0 => 1,
            step if step > BLOCK => step.next_multiple_of(BLOCK),
            step => step,
        };
        Self { first, last, step }
    }
}

impl Store {
    fn recent(&self) -> MutexGuard<'_, VecDeque<Minute>> {
        self.0.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds `minute` and deletes all values that are more than `keep` minutes older than `minute`. A database in memory
    /// keeps the values of at most one day. After an error, the values of up to 60 minutes are kept in memory until the
    /// next call.
    pub fn add_minute(&self, minute: Minute, keep: u64) -> Result<()> {
        let keep = if self.0.path.is_some() { keep } else { keep.min(MOST_IN_MEMORY) };
        let first = minute.minute.saturating_sub(keep);
        let waiting = {
            let mut recent = self.recent();
            recent.push_back(minute);
            if recent.len() > MOST_WAITING {
                recent.pop_front();
            }
            recent.clone()
        };
        self.with(|connection| {
            let transaction = connection.transaction()?;
            waiting.iter().try_for_each(|minute| add(&transaction, minute))?;
            forget(&transaction, first)?;
            Ok(transaction.commit()?)
        })?;
        self.recent().clear();
        Ok(())
    }

    /// Returns the first minute and the value of `series` for each step of `range`. Steps without a value are omitted.
    pub fn values(&self, series: &Series, range: MinuteRange) -> Result<Vec<(u64, f64)>> {
        let MinuteRange { first, last, step } = range;
        let sql = "SELECT minute, value FROM series
            WHERE series = ?1 * (SELECT number FROM series_names WHERE name = ?2) AND minute BETWEEN ?3 AND ?4";
        let is_of_blocks = step.is_multiple_of(BLOCK);
        let (sign, from) = if is_of_blocks { (-1, first / BLOCK * BLOCK) } else { (1, first) };
        let bounds = [from, last].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        // Waiting minutes are read first, so that a minute stored in between is found twice instead of not at all.
        let waiting = self.recent().clone();
        let waiting = waiting.iter().filter(|it| (first..=last).contains(&it.minute));
        let waiting = waiting.filter_map(|it| Some((it.minute, *it.values.get(series)?)));
        let stored: Vec<(u64, f64)> = self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let [from, last] = bounds;
            let rows = query.query_map(params![sign, series.to_string(), from, last], |row| {
                Ok((row.get::<_, i64>(0)?.max(0) as u64, row.get(1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })?;
        let mut values = BTreeMap::new();
        for (minute, value) in stored.into_iter().chain(waiting) {
            let most: &mut f64 = values.entry(minute / step * step).or_insert(value);
            *most = most.max(value);
        }
        Ok(values.into_iter().collect())
    }
}

fn add(connection: &Connection, minute: &Minute) -> Result<()> {
    let mut name =
        connection.prepare_cached("INSERT OR IGNORE INTO series_names (name) VALUES (?)")?;
    // A minute in which the program was restarted has two parts.
    let mut value = connection.prepare_cached(
        "INSERT INTO series VALUES (?1 * (SELECT number FROM series_names WHERE name = ?2), ?3, ?4)
        ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
    )?;
    for (series, of_minute) in &minute.values {
        let series = series.to_string();
        name.execute([&series])?;
        let (minute, block) = (minute.minute, minute.minute / BLOCK * BLOCK);
        for (sign, start) in [(1, minute), (-1, block)] {
            value.execute(params![sign, series, i64::try_from(start)?, of_minute])?;
        }
    }
    Ok(())
}

/// Deletes all values before the minute `first`, and then the names of series without values.
fn forget(connection: &Connection, first: u64) -> Result<()> {
    let (first, block) = (i64::try_from(first)?, i64::try_from(first / BLOCK * BLOCK)?);
    // The series comes first in the key, so one search per series is faster than a scan of all rows.
    let mut names = connection.prepare_cached("SELECT number FROM series_names")?;
    let names: Vec<i64> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut old =
        connection.prepare_cached("DELETE FROM series WHERE series = ? AND minute < ?")?;
    for name in names {
        let count = old.execute([name, first])? + old.execute([-name, block])?;
        if count > 0 {
            let sql = "DELETE FROM series_names WHERE number = ?1
                AND NOT EXISTS (SELECT 1 FROM series WHERE series IN (?1, -?1))";
            connection.prepare_cached(sql)?.execute([name])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: u64, values: &[(Series, f64)]) -> Minute {
        Minute { minute, values: values.iter().cloned().collect() }
    }

    fn largest(view: &str) -> Series {
        Series::Largest(view.to_owned())
    }

    fn all(step: u64) -> MinuteRange {
        MinuteRange { first: 0, last: 9_999_999, step }
    }

    #[test]
    fn each_series_has_a_value_a_minute_and_gaps_stay_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let exporter = |last| Series::Records([192, 0, 2, last].into());
        let reader = store.reader().unwrap();
        for at in [100, 101, 104, 105] {
            let values = [(largest("a"), at as f64), (largest("b"), 1.0), (exporter(1), 0.5)];
            store.add_minute(minute(at, &values), 1_000).unwrap();
        }
        // The program was restarted in this minute.
        store.add_minute(minute(105, &[(largest("a"), 7.0), (exporter(2), 3.0)]), 1_000).unwrap();
        for store in [&store, &reader] {
            let values = |series, range| store.values(&series, range).unwrap();
            let of_a = [(100, 100.0), (101, 101.0), (104, 104.0), (105, 105.0)];
            assert_eq!(values(largest("a"), all(1)), of_a);
            assert_eq!(
                values(largest("a"), MinuteRange { first: 101, last: 104, step: 1 }),
                of_a[1..3]
            );
            assert_eq!(values(largest("a"), all(3)), [(99, 101.0), (102, 104.0), (105, 105.0)]);
            assert_eq!(values(exporter(2), all(1)), [(105, 3.0)]);
            assert_eq!(values(largest("a"), all(30)), [(90, 105.0)]);
            assert_eq!(values(largest("c"), all(1)), []);
        }
    }

    #[test]
    fn minutes_are_kept_as_long_as_they_are_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        store.add_minute(minute(100, &[(largest("a"), 1.0), (largest("gone"), 1.0)]), 50).unwrap();
        store.add_minute(minute(150, &[(largest("a"), 2.0)]), 50).unwrap();
        assert_eq!(store.values(&largest("gone"), all(1)).unwrap(), [(100, 1.0)]);
        store.add_minute(minute(171, &[(largest("a"), 3.0)]), 50).unwrap();
        assert_eq!(store.values(&largest("a"), all(1)).unwrap(), [(150, 2.0), (171, 3.0)]);
        assert_eq!(store.values(&largest("a"), all(30)).unwrap(), [(150, 3.0)]);
        assert_eq!(store.values(&largest("gone"), all(1)).unwrap(), []);
        let count = |sql| store.with(|it| Ok(it.query_row(sql, [], |row| row.get::<_, i64>(0))?));
        assert_eq!(count("SELECT count(*) FROM series_names").unwrap(), 1);
        // A database in memory keeps the minutes of one day.
        let store = Store::open(None).unwrap();
        store.add_minute(minute(100, &[(largest("a"), 1.0)]), 99_999).unwrap();
        store.add_minute(minute(1_541, &[(largest("a"), 2.0)]), 99_999).unwrap();
        assert_eq!(store.values(&largest("a"), all(1)).unwrap(), [(1_541, 2.0)]);
    }

    #[test]
    fn on_a_full_disk_the_last_hour_stays_in_memory_and_is_stored_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let reader = store.reader().unwrap();
        let add = |at: u64| {
            // Each name fills a page, so the database has no room for it.
            let filler = (largest(&format!("{at}{}", "x".repeat(4_000))), 1.0);
            store.add_minute(minute(at, &[(largest("a"), at as f64), filler]), 1_000)
        };
        add(100).unwrap();
        store.with(|it| Ok(it.pragma_update(None, "max_page_count", 1)?)).unwrap();
        (101..=200).for_each(|at| assert!(add(at).is_err()));
        let minutes = |store: &Store| -> Vec<u64> {
            store.values(&largest("a"), all(1)).unwrap().into_iter().map(|it| it.0).collect()
        };
        let expected: Vec<u64> = std::iter::once(100).chain(141..=200).collect();
        assert_eq!(minutes(&reader), expected);
        store.with(|it| Ok(it.pragma_update(None, "max_page_count", 10_000)?)).unwrap();
        add(201).unwrap();
        // The minute 141 was lost, because only 60 minutes wait.
        let expected: Vec<u64> = std::iter::once(100).chain(142..=201).collect();
        assert_eq!(minutes(&reader), expected);
        assert_eq!(minutes(&Store::read(folder.path()).unwrap()), expected);
    }

    #[test]
    fn a_step_gives_no_more_values_than_asked_for() {
        for (last, step) in [(0, 1), (60, 1), (61, 2), (120, 2), (121, 3), (1_800, 30), (1_801, 60)]
        {
            assert_eq!(MinuteRange::new(0, last, 60).step, step, "{last}");
        }
    }
}
