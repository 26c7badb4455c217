//! [`SliceClock`]: assignment of timestamps to slices.
//!
//! Slices are aligned to the Unix epoch: slice = floor(time / length). Nodes with equal slice lengths therefore number
//! slices in the same way. The clock never moves back. A late timestamp within the tolerance is assigned to its own
//! slice. A timestamp that is too late or too far in the future is rejected and counted.
//!
//! A grace period starts at the end of a slice. The slice stays running until a timestamp, or the time passed to
//! [`SliceClock::advance`], reaches the end of this period.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// The position of a timestamp relative to the running slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// The timestamp is the first accepted one, so `slice` is now running.
    Start {
        /// Number of the slice.
        slice: u64,
    },
    /// The timestamp is in the running slice.
    Running,
    /// The timestamp is in a slice before the running one, within the tolerance.
    Late {
        /// Number of slices by which the timestamp is late, at least 1.
        slices: u32,
    },
    /// Time has moved on to `slice`, which is now running. The caller must first close all earlier slices.
    ///
    /// Without a grace period, the timestamp is in this slice. With a grace period, the caller must place the timestamp
    /// again.
    Ahead {
        /// Number of the slice that is now running.
        slice: u64,
    },
    /// The timestamp is in a slice after the running one, but the grace period of the running slice has not ended.
    ///
    /// The caller should keep the record and place it again when the running slice has changed. A clock without a grace
    /// period never returns this.
    Early {
        /// Number of the slice that contains the timestamp.
        slice: u64,
    },
    /// The timestamp is in a slice before the running one, beyond the tolerance. It is rejected and counted.
    TooLate,
    /// The timestamp is too far in the future. It is rejected and counted.
    Future,
}

/// A clock that assigns timestamps to slices.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::time::{Placement, SliceClock};
/// use std::time::Duration;
///
/// let second = 1_000_000_000;
/// let mut clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
/// assert_eq!(clock.place(100 * second), Placement::Start { slice: 100 });
/// assert_eq!(clock.place(101 * second), Placement::Ahead { slice: 101 });
/// assert_eq!(clock.place(99 * second), Placement::Late { slices: 2 });
/// assert_eq!(clock.place(95 * second), Placement::TooLate);
/// assert_eq!(clock.place(9999 * second), Placement::Future);
/// assert_eq!(clock.bounds(101), 101 * second..102 * second);
/// # Ok::<(), srlg::Error>(())
/// ```
///
/// [`Slicer`](crate::time::Slicer) processes pairs according to their placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceClock {
    length: u64,
    late_slices: u32,
    max_ahead: u64,
    /// Time for which a slice stays running after its end, in nanoseconds.
    grace: u64,
    /// Maximum time by which a timestamp may be ahead of the system clock, in nanoseconds. `None` means no limit.
    skew: Option<u64>,
    /// Timestamps up to this time need no comparison with the system clock, which is therefore usually read only once
    /// per slice.
    latest: u64,
    /// The running slice as `[start, end)` in nanoseconds, or `None` before the first timestamp.
    running: Option<(u64, u64)>,
    late: u64,
    too_late: u64,
    future: u64,
}

impl SliceClock {
    /// Creates a clock with slices of `length`.
    ///
    /// The clock accepts timestamps up to `late_slices` slices late. It also accepts timestamps up to `max_ahead` after
    /// the end of the running slice and its grace period.
    ///
    /// A wrong timestamp that is accepted moves the clock, so that correct timestamps are then late or too late. After a
    /// silence longer than `max_ahead`, all timestamps are in the future until [`advance`](Self::advance) is called.
    /// With live traffic, call `advance` regularly, and choose a `max_ahead` of a few seconds. For recorded traffic,
    /// choose one that is longer than any silence, and read the counts of late and rejected timestamps at the end.
    ///
    /// The first timestamp is always accepted, unless [`with_skew`](Self::with_skew) limits it. If the first timestamp
    /// is far in the future, all correct timestamps that follow are too late.
    ///
    /// # Errors
    /// Returns [`Error::SliceLength`] if `length` is zero or more than 584 years.
    pub fn new(length: Duration, late_slices: u32, max_ahead: Duration) -> Result<Self, Error> {
        let nanoseconds = nanoseconds(length);
        if nanoseconds == 0 || nanoseconds == u64::MAX {
            return Err(Error::SliceLength { length });
        }
        Ok(Self {
            length: nanoseconds,
            late_slices,
            max_ahead: self::nanoseconds(max_ahead),
            grace: 0,
            skew: None,
            latest: u64::MAX,
            running: None,
            late: 0,
            too_late: 0,
            future: 0,
        })
    }

    /// Rejects timestamps that are more than `skew` ahead of the system clock ([`Placement::Future`]).
    ///
    /// A wrong timestamp that is accepted closes slices before their pairs have arrived, and these pairs are then late.
    /// With live traffic, choose a skew of at most the [grace](Self::with_grace) period, so that this cannot happen, and
    /// call [`advance`](Self::advance) regularly. For the first timestamp, the skew is the only limit.
    #[must_use]
    pub fn with_skew(self, skew: Duration) -> Self {
        Self { skew: Some(nanoseconds(skew)), latest: 0, ..self }
    }

    /// Keeps every slice running for a `grace` period after its end, so that late records still reach it.
    ///
    /// The grace period may be longer than a slice. During the grace period, records of the following slices are
    /// [`Placement::Early`], and the caller must keep them. All reports are delayed by this period. Without a grace
    /// period, the first record of a later slice closes the running slice immediately, and late records appear only in
    /// later reports.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace: nanoseconds(grace), ..self }
    }

    /// Places the timestamp `time_ns`, in nanoseconds since the Unix epoch.
    ///
    /// If the running slice and its grace period have ended by that time, the clock moves on to a later slice.
    #[inline]
    pub fn place(&mut self, time_ns: u64) -> Placement {
        match self.running {
            Some((start, end)) if (start..end).contains(&time_ns) => Placement::Running,
            Some((start, _)) if time_ns < start => self.place_late(time_ns, start),
            running => self.place_ahead(time_ns, running.map(|(_, end)| end)),
        }
    }

    /// Advances the clock to `now_ns`, in nanoseconds since the Unix epoch, without placing a record.
    ///
    /// Returns the number of the slice that is now running, if it has changed. The caller must then close all slices
    /// before it. `now_ns` is not checked against any limit. Before the first timestamp, the call has no effect.
    pub fn advance(&mut self, now_ns: u64) -> Option<u64> {
        let (_, end) = self.running?;
        let newest = now_ns.saturating_sub(self.grace);
        (newest >= end).then(|| self.begin(newest))
    }

    /// Returns the number of the slice that contains `time_ns`.
    ///
    /// The call does not change the clock. Each thread can therefore use a copy of the clock to compute the slice
    /// number for [`Feed::ingest_at`](crate::ingest::Feed::ingest_at).
    #[must_use]
    pub fn slice_of(&self, time_ns: u64) -> u64 {
        time_ns / self.length
    }

    /// Returns the start and end of slice number `slice` as `[start, end)`, in nanoseconds since the Unix epoch.
    ///
    /// Values that do not fit into 64 bits are limited to the largest 64-bit number.
    #[must_use]
    pub fn bounds(&self, slice: u64) -> Range<u64> {
        let start = slice.saturating_mul(self.length);
        start..start.saturating_add(self.length)
    }

    /// Makes the slice that contains `time_ns` the running slice. Returns its number.
    fn begin(&mut self, time_ns: u64) -> u64 {
        let slice = self.slice_of(time_ns);
        let Range { start, end } = self.bounds(slice);
        self.running = Some((start, end));
        if self.skew.is_some() {
            self.latest = 0;
        }
        slice
    }

    fn place_late(&mut self, time_ns: u64, start: u64) -> Placement {
        let slices = start / self.length - time_ns / self.length;
        match u32::try_from(slices) {
            Ok(slices) if slices <= self.late_slices => {
                self.late += 1;
                Placement::Late { slices }
            }
            _ => {
                self.too_late += 1;
                Placement::TooLate
            }
        }
    }

    fn place_ahead(&mut self, time_ns: u64, end: Option<u64>) -> Placement {
        if let Some(skew) = self.skew.filter(|_| time_ns > self.latest) {
            self.latest = system_time().saturating_add(skew);
        }
        let ahead = self.grace.saturating_add(self.max_ahead);
        let bound = end.map_or(self.latest, |end| self.latest.min(end.saturating_add(ahead)));
        if time_ns > bound {
            self.future += 1;
            return Placement::Future;
        }
        if end.is_none() {
            return Placement::Start { slice: self.begin(time_ns) };
        }
        match self.advance(time_ns) {
            Some(slice) => Placement::Ahead { slice },
            None => Placement::Early { slice: self.slice_of(time_ns) },
        }
    }

    /// Returns whether a slice is running, which is the case after the first accepted timestamp.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the number of accepted timestamps that were late ([`Placement::Late`]).
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Returns the number of timestamps rejected because they were too late ([`Placement::TooLate`]).
    #[must_use]
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    /// Returns the number of timestamps rejected because they were too far in the future.
    #[must_use]
    pub fn future(&self) -> u64 {
        self.future
    }
}

/// Returns the system time in nanoseconds since the Unix epoch, or 0 before the epoch.
fn system_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, nanoseconds)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
