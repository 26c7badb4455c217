//! Largest peer counts of hosts by hour, from which it is learned what is usual.
//!
//! Each row contains the counts of an hour for one view and window. For 16,384 IPv4 hosts, it takes 147 kB. The rows of
//! 30 days then take 106 MB per view and window. A database in memory stores no hours.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Result;
use rusqlite::{Connection, params};
use srlg_alerts::usual::{HourPeaks, HourSeries, HourStore, STORED_HOURS};
use tracing::warn;

use super::{BUSY, Store};

impl HourStore for Store {
    fn hours(&self, series: &HourSeries, hours: RangeInclusive<u64>) -> Result<Vec<HourPeaks>> {
        let bounds = [*hours.start(), *hours.end()].map(number);
        let sql = "SELECT hour, counted_ms, peaks FROM hours
            WHERE series = ? AND hour BETWEEN ? AND ? ORDER BY hour";
        self.with(|connection| {
            let mut query = connection.prepare_cached(sql)?;
            let mut rows = query.query(params![series.to_string(), bounds[0], bounds[1]])?;
            let mut hours = Vec::new();
            while let Some(row) = rows.next()? {
                let [hour, counted_ms] = [row.get(0)?, row.get(1)?].map(|it: i64| it.max(0) as u64);
                let peaks = row.get_ref(2)?.as_blob()?;
                match HourPeaks::from_bytes(hour, counted_ms, peaks) {
                    Ok(peaks) => hours.push(peaks),
                    Err(error) => warn!("cannot decode hour {hour} of {series}: {error:#}"),
                }
            }
            Ok(hours)
        })
    }

    fn keep(&self, series: &HourSeries, peaks: &HourPeaks) -> Result<()> {
        if self.0.path.is_none() {
            return Ok(());
        }
        self.with(|connection| {
            // The main loop must not wait while another program, such as a backup, locks the database.
            connection.busy_timeout(Duration::ZERO)?;
            let kept = replace(connection, series, peaks);
            connection.busy_timeout(BUSY)?;
            kept
        })
    }
}

/// Stores `peaks` in place of the counts of the same hour, and deletes the hours that are too old.
fn replace(connection: &mut Connection, series: &HourSeries, peaks: &HourPeaks) -> Result<()> {
    let (series, hour) = (series.to_string(), number(peaks.hour));
    let transaction = connection.transaction()?;
    let row = params![series, hour, number(peaks.counted_ms), peaks.to_bytes()];
    let sql = "INSERT OR REPLACE INTO hours (series, hour, counted_ms, peaks) VALUES (?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(row)?;
    let old = params![series, hour.saturating_sub(number(STORED_HOURS))];
    let sql = "DELETE FROM hours WHERE series = ? AND hour < ?";
    transaction.prepare_cached(sql)?.execute(old)?;
    Ok(transaction.commit()?)
}

impl Store {
    /// Deletes the hours of all series but those in `known`.
    pub fn keep_series(&self, known: &[HourSeries]) -> Result<()> {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let known = serde_json::to_string(&known)?;
        self.with(|connection| {
            let sql = "DELETE FROM hours WHERE series NOT IN (SELECT value FROM json_each(?))";
            connection.execute(sql, [known])?;
            Ok(())
        })
    }

    /// Returns the stored hours of `series` in ascending order.
    pub fn stored_hours(&self, series: &HourSeries) -> Result<Vec<u64>> {
        self.with(|connection| {
            let sql = "SELECT hour FROM hours WHERE series = ? ORDER BY hour";
            let mut query = connection.prepare_cached(sql)?;
            let hours = query.query_map([series.to_string()], |row| row.get::<_, i64>(0))?;
            hours.map(|hour| Ok(hour?.max(0) as u64)).collect()
        })
    }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_input::ViewOptions;

    #[test]
    fn hours_are_replaced_and_kept_for_30_days() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let series = |view: &str| HourSeries::new(view, &ViewOptions::default(), 60_000);
        let peaks = |hour, count| {
            let mut peaks = HourPeaks::new(hour);
            peaks.add([10, 0, 0, 1].into(), count);
            peaks
        };
        for (hour, count) in [(1_000, 5.0), (1_000, 7.0), (1_001, 8.0)] {
            store.keep(&series("a"), &peaks(hour, count)).unwrap();
        }
        store.keep(&series("b"), &peaks(1_000, 9.0)).unwrap();
        let reader = store.reader().unwrap();
        let hours = |view, hours| reader.hours(&series(view), hours).unwrap();
        assert_eq!(hours("a", 0..=u64::MAX), [peaks(1_000, 7.0), peaks(1_001, 8.0)]);
        assert_eq!(hours("a", 1_001..=1_002), [peaks(1_001, 8.0)]);
        assert_eq!(hours("b", 1_000..=1_000), [peaks(1_000, 9.0)]);
        store.keep(&series("a"), &peaks(1_001 + STORED_HOURS, 3.0)).unwrap();
        assert_eq!(hours("a", 0..=u64::MAX), [peaks(1_001, 8.0), peaks(1_001 + STORED_HOURS, 3.0)]);
        assert_eq!(reader.stored_hours(&series("a")).unwrap(), [1_001, 1_001 + STORED_HOURS]);
        store.keep_series(&[series("a")]).unwrap();
        assert_eq!(hours("b", 0..=u64::MAX), [], "the view no longer exists");
        assert_eq!(hours("a", 0..=u64::MAX).len(), 2);
        let damage = "UPDATE hours SET peaks = x'04ff' WHERE hour = 1001";
        store.with(|it| Ok(it.execute(damage, [])?)).unwrap();
        assert_eq!(hours("a", 0..=u64::MAX).len(), 1, "a damaged hour is skipped");
        assert_eq!(Store::open(None).unwrap().keep(&series("a"), &peaks(1, 1.0)).ok(), Some(()));
    }
}
