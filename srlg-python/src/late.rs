//! Rows that come after the report of their slice, and the warning or exception about them.

use std::ffi::CString;
use std::time::Duration;

use arrow_array::temporal_conversions::timestamp_us_to_datetime;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use srlg::time::SliceClock;

use crate::error::{LateRowsError, LateRowsWarning};

/// Maximum percentage of rows that may be late with a warning only, unless the caller allows more.
const MOST_PERCENT: u64 = 1;

/// Minimum percentage of dropped rows at which the message can name the first row as their cause.
const NEARLY_ALL_PERCENT: u64 = 90;

/// The argument `late` of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LatePolicy {
    /// An exception is raised if too many rows are late.
    Raise,
    /// Any number of rows may be late.
    Drop,
}

impl LatePolicy {
    pub(crate) fn parse(text: &str) -> PyResult<Self> {
        match text {
            "raise" => Ok(Self::Raise),
            "drop" => Ok(Self::Drop),
            _ => Err(PyValueError::new_err(format!(
                "late: must be \"raise\" or \"drop\", got {text:?}"
            ))),
        }
    }
}

/// The late rows of a scan.
///
/// A row is late if a report that should count it has already been created. A row that is late by less than the window is
/// counted in its own slice and is missing only in these reports. All other late rows are dropped.
pub(crate) struct LateRows {
    policy: LatePolicy,
    /// Length of the detector's window, in slices.
    window: u64,
    /// Time for which rows wait for older ones.
    grace: Duration,
    /// Time of the first row of the table.
    first_ns: u64,
    /// Number of rows that were late by less than the window.
    counted: u64,
    dropped: u64,
    /// Time of the newest dropped row.
    newest_ns: u64,
    /// Time of the oldest dropped row.
    oldest_ns: u64,
    /// Maximum number of slices by which a row was late.
    most_slices: u64,
    /// The slice that was running when that row came.
    running: u64,
    /// Number of late timestamps of the clock that have been examined.
    examined: u64,
    /// Whether the late rows have been reported.
    is_reported: bool,
}

impl LateRows {
    pub(crate) fn new(policy: LatePolicy, window: u32, grace: Duration) -> Self {
        Self {
            policy,
            window: window.into(),
            grace,
            first_ns: 0,
            counted: 0,
            dropped: 0,
            newest_ns: 0,
            oldest_ns: u64::MAX,
            most_slices: 0,
            running: 0,
            examined: 0,
            is_reported: false,
        }
    }

    /// Sets the time of the first row of the table.
    pub(crate) fn start(&mut self, first_ns: u64) {
        self.first_ns = first_ns;
    }

    /// Counts the late rows among rows with these times, which were placed while the slice `running` was running.
    ///
    /// Times are examined only if the clock has found late ones, so that sorted tables are scanned at full speed.
    pub(crate) fn add(&mut self, times: &[u64], running: u64, clock: &SliceClock) {
        let late = clock.late() + clock.too_late();
        if late == self.examined {
            return;
        }
        self.examined = late;
        // Before the first report, rows of earlier slices are not missing anywhere.
        let has_reports = running > clock.slice_of(self.first_ns);
        for &time_ns in times {
            let slices = running.saturating_sub(clock.slice_of(time_ns));
            if slices >= self.window {
                self.dropped += 1;
                self.newest_ns = self.newest_ns.max(time_ns);
                self.oldest_ns = self.oldest_ns.min(time_ns);
            } else if slices > 0 && has_reports {
                self.counted += 1;
            } else {
                continue;
            }
            if slices > self.most_slices {
                (self.most_slices, self.running) = (slices, running);
            }
        }
    }

    /// Returns the number of rows that were late by less than the window.
    pub(crate) fn counted(&self) -> u64 {
        self.counted
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn count(&self) -> u64 {
        self.counted + self.dropped
    }

    /// Reports the late rows at the end of a table with `rows` rows. Issues a warning, or returns an exception if there
    /// are too many. If no row was late, or after the first report, the call has no effect.
    pub(crate) fn report(&mut self, py: Python<'_>, rows: u64, clock: &SliceClock) -> PyResult<()> {
        let are_too_many = self.count() * 100 > rows * MOST_PERCENT;
        if self.policy == LatePolicy::Drop || !are_too_many || self.is_reported {
            return self.warn(py, rows, clock);
        }
        self.is_reported = true;
        let text = self.text(rows, clock);
        Err(LateRowsError::new_err(format!(
            "cannot scan the table: {text}; late=\"drop\" allows this"
        )))
    }

    /// Issues a warning about the late rows among the first `rows` rows. If no row was late, or after the first report,
    /// the call has no effect.
    pub(crate) fn warn(&mut self, py: Python<'_>, rows: u64, clock: &SliceClock) -> PyResult<()> {
        if self.count() == 0 || self.is_reported {
            return Ok(());
        }
        self.is_reported = true;
        let text = format!("reports are short of late rows: {}", self.text(rows, clock));
        PyErr::warn(py, &py.get_type::<LateRowsWarning>(), &CString::new(text)?, 1)
    }

    /// Describes the late rows, their cause and the remedy. The call does not need Python, which can no longer import
    /// modules if it discards a scan at its exit.
    fn text(&self, rows: u64, clock: &SliceClock) -> String {
        let Self { dropped, first_ns, newest_ns, oldest_ns, most_slices, running, .. } = *self;
        let length = |slices: u64| duration_text(clock.bounds(slices).start);
        if self.is_first_row_ahead(rows, clock) {
            let ahead_of = |ns| length(clock.slice_of(first_ns) - clock.slice_of(ns));
            let (first, least, most) =
                (time_text(first_ns), ahead_of(newest_ns), ahead_of(oldest_ns));
            return format!(
                "{dropped} of {rows} rows are too late, because the first row, at {first}, is {least} to {most} ahead of them; remove the first row if its time is wrong, or sort the rows by time"
            );
        }
        let (count, most, then) =
            (self.count(), length(most_slices), time_text(clock.bounds(running).start));
        let grace_ns = clock.bounds(most_slices).start.saturating_add(nanoseconds(self.grace));
        let grace = duration_text(grace_ns);
        format!(
            "{count} of {rows} rows came after the report of their slice, {dropped} of them late by at least the window and dropped; the latest one was {most} late, after a row of {then}; sort the rows by time, or set grace to {grace}"
        )
    }

    /// Returns whether nearly all rows were dropped and the first row alone would be enough to make them too late.
    fn is_first_row_ahead(&self, rows: u64, clock: &SliceClock) -> bool {
        let (first, newest) = (clock.slice_of(self.first_ns), clock.slice_of(self.newest_ns));
        let are_nearly_all = self.dropped * 100 >= rows * NEARLY_ALL_PERCENT;
        are_nearly_all && newest.checked_add(self.window).is_some_and(|slice| slice <= first)
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a time as text, in UTC and with whole microseconds.
fn time_text(ns: u64) -> String {
    // The quotient is less than 2^63. chrono can represent more than 200,000 years.
    let time = timestamp_us_to_datetime((ns / 1000) as i64)
        .expect("the time is in the years 1970 to 2554");
    format!("{time} UTC")
}

/// Returns a duration as text, such as "1d 2h 3m 4.5s".
fn duration_text(ns: u64) -> String {
    let (minutes, rest) = (ns / 60_000_000_000, Duration::from_nanos(ns % 60_000_000_000));
    let units = [(minutes / 1440, "d"), (minutes / 60 % 24, "h"), (minutes % 60, "m")];
    let mut parts: Vec<String> =
        units.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if !rest.is_zero() || parts.is_empty() {
        parts.push(format!("{rest:?}"));
    }
    parts.join(" ")
}
