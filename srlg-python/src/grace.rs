//! [`Grace`]: rows that wait for older rows, so that the rows of a table come in the order of their times.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::columns::{Row, Rows};
use crate::late::nanoseconds;

/// Rows that are newer than the newest row minus the grace. Older rows may still follow them.
///
/// A row far ahead of the others stays here until the end of the table. Rows that follow it no longer wait, so they are
/// late only if they are older than a row that has left.
pub(crate) struct Grace {
    length_ns: u64,
    newest_ns: u64,
    /// Waiting rows by time. Rows of the same time are in the order of the table.
    waiting: BTreeMap<(u64, u64), Row>,
    /// Number of rows that have waited or are waiting.
    rows: u64,
}

impl Grace {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length_ns: nanoseconds(length), newest_ns: 0, waiting: BTreeMap::new(), rows: 0 }
    }

    /// Returns the rows that need not wait after `rows` have come.
    pub(crate) fn order(&mut self, rows: Rows) -> Rows {
        if self.length_ns == 0 {
            return rows;
        }
        for row in rows.rows() {
            self.newest_ns = self.newest_ns.max(row.time_ns);
            self.waiting.insert((row.time_ns, self.rows), row);
            self.rows += 1;
        }
        self.take_until(self.newest_ns.saturating_sub(self.length_ns))
    }

    /// Returns all waiting rows.
    pub(crate) fn rest(&mut self) -> Rows {
        self.take_until(u64::MAX)
    }

    fn take_until(&mut self, time_ns: u64) -> Rows {
        let waiting = match time_ns.checked_add(1) {
            Some(end) => self.waiting.split_off(&(end, 0)),
            None => BTreeMap::new(),
        };
        std::mem::replace(&mut self.waiting, waiting).into_values().collect()
    }
}
