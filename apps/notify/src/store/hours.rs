//! Largest peer counts of hosts by hour, from which it is learned what is usual.
//!
//! Each row contains the counts of an hour for one view and window. For 16,384 IPv4 hosts, it takes 147 kB. The rows of
//! 30 days then take 106 MB per view and window. A database in memory stores no hours.

use std::ops::RangeInclusive;

use anyhow::{Context as _, Result};
use rusqlite::params;
use srlg_alerts::usual::{HourPeaks, HourSeries, HourStore, STORED_HOURS};

use super::Store;

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
                let peaks = HourPeaks::from_bytes(hour, counted_ms, peaks);
                hours
                    .push(peaks.with_context(|| format!("cannot decode hour {hour} of {series}"))?);
            }
            Ok(hours)
        })
    }

    fn keep(&self, series: &HourSeries, peaks: &HourPeaks) -> Result<()> {
        if self.0.path.is_none() {
            return Ok(());
        }
        let HourPeaks { hour, counted_ms, .. } = peaks;
        let sql =
            "INSERT OR REPLACE INTO hours (series, hour, counted_ms, peaks) VALUES (?, ?, ?, ?)";
        self.with(|connection| {
            let transaction = connection.transaction()?;
            let row =
                params![series.to_string(), number(*hour), number(*counted_ms), peaks.to_bytes()];
            transaction.prepare_cached(sql)?.execute(row)?;
            let first = number(hour.saturating_sub(STORED_HOURS));
            transaction.prepare_cached("DELETE FROM hours WHERE hour < ?")?.execute([first])?;
            Ok(transaction.commit()?)
        })
    }
}

impl Store {
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
    use srlg_input::contact::PeerKey;

    #[test]
    fn hours_are_replaced_and_kept_for_30_days() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        let series = |view: &str| HourSeries {
            view: view.to_owned(),
            keys: [PeerKey::Address; 2],
            window_ms: 60_000,
        };
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
        assert_eq!(hours("b", 0..=u64::MAX), [], "the view no longer exists");
        assert_eq!(Store::open(None).unwrap().keep(&series("a"), &peaks(1, 1.0)).ok(), Some(()));
    }
}
