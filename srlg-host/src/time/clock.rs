//! [`SliceClock`]: timestamps to slices.
//!
//! Slices are aligned to the epoch of the timestamps: slice = floor(time / length), so
//! that all nodes number them alike. Time only moves forward; what comes late still
//! lands in its own slice while the tolerance allows, and what cannot be true is
//! rejected. Both are counted, never lost in silence.
//!
//! With a grace the running slice lags behind: it is the one that was `grace` before the newest time
//! that the clock was told.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// The place of a timestamp among slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// The first timestamp: `slice` is now running.
    Start {
        /// Number of the slice.
        slice: u64,
    },
    /// In the running slice.
    Running,
    /// In an earlier slice, within the tolerance.
    Late {
        /// How many slices before the running one, at least 1.
        slices: u32,
    },
    /// Time has moved on to `slice`, which is now running: close slices up to it first. The timestamp
    /// is in it where the clock has no grace; with a grace, place it again.
    Ahead {
        /// Number of the slice that runs.
        slice: u64,
    },
    /// In a later slice, for which it is too early: the grace of the running one is not over. Keep the
    /// record, and place it again when another slice runs. A clock without a grace never says so.
    Early {
        /// Number of the slice that the timestamp is in.
        slice: u64,
    },
    /// Later than the tolerance allows: dropped and counted.
    TooLate,
    /// Too far in the future to be believed: rejected and counted.
    Future,
}

/// A clock that places timestamps in slices.
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
/// [`Slicer`](crate::time::Slicer) does with pairs what their placement asks for.
#[derive(Clone, Debug)]
pub struct SliceClock {
    length: u64,
    late_slices: u32,
    max_ahead: u64,
    /// How long after its end a slice runs on, in nanoseconds.
    grace: u64,
    /// How far a timestamp may be ahead of the system clock, in nanoseconds, if that is bounded.
    skew: Option<u64>,
    /// Timestamps up to this one need no look at the system clock. With a skew, it is looked up once per slice.
    latest: u64,
    /// The running slice, as `[start, end)` in nanoseconds; empty before the first timestamp.
    running: Option<(u64, u64)>,
    too_late: u64,
    future: u64,
}

impl SliceClock {
    /// Makes a clock of slices of `length` that accepts timestamps up to `late_slices` slices
    /// late, and at most `max_ahead` after the end of the running slice and its grace.
    ///
    /// The very first timestamp is believed whatever it is, unless [`with_skew`](Self::with_skew) bounds it: one from the far
    /// future would make all that follow too late.
    ///
    /// # Errors
    /// [`Error::SliceLength`] when `length` is zero or beyond 584 years.
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
            too_late: 0,
            future: 0,
        })
    }

    /// Rejects every timestamp that is more than `skew` ahead of the system clock, as [`Placement::Future`]. This is the only
    /// guard for the very first timestamp. A day is a good bound.
    #[must_use]
    pub fn with_skew(self, skew: Duration) -> Self {
        Self { skew: Some(nanoseconds(skew)), latest: 0, ..self }
    }

    /// Lets every slice run on for `grace` after its end, so that records which are late by no more find
    /// it running; n slices of grace are n times the length of one.
    ///
    /// Records of later slices are [`Placement::Early`] meanwhile, and the caller's to keep: as many as
    /// come in that time. Reports come later by `grace`. Without it a record of the next slice ends a slice
    /// at once, and what comes late is in later reports only.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace: nanoseconds(grace), ..self }
    }

    /// Places the timestamp `time_ns`, nanoseconds since the epoch, and moves on when the grace of the
    /// running slice is over by then.
    #[inline]
    pub fn place(&mut self, time_ns: u64) -> Placement {
        match self.running {
            Some((start, end)) if (start..end).contains(&time_ns) => Placement::Running,
            Some((start, _)) if time_ns < start => self.place_late(time_ns, start),
            running => self.place_ahead(time_ns, running.map(|(_, end)| end)),
        }
    }

    /// Lets time pass until `now_ns`, the time of day in nanoseconds since the epoch, with no record;
    /// returns the slice that runs now, if it is another: close slices up to it.
    ///
    /// The caller's clock is believed, whatever the bounds for timestamps are. Before the first timestamp
    /// nothing runs, and nothing passes.
    pub fn pass(&mut self, now_ns: u64) -> Option<u64> {
        let (_, end) = self.running?;
        let newest = now_ns.saturating_sub(self.grace);
        (newest >= end).then(|| self.begin(newest))
    }

    /// Returns the number of the slice that `time_ns` is in, for
    /// [`Feed::ingest_at`](crate::ingest::Feed::ingest_at) by threads that do not have the clock.
    #[must_use]
    pub fn slice_of(&self, time_ns: u64) -> u64 {
        time_ns / self.length
    }

    /// Returns the time of the slice numbered `slice`, `[start, end)` in nanoseconds since the epoch: when the slice of a
    /// report began and ended. Slices beyond the last nanosecond that has a number end there.
    #[must_use]
    pub fn bounds(&self, slice: u64) -> Range<u64> {
        let start = slice.saturating_mul(self.length);
        start..start.saturating_add(self.length)
    }

    /// Lets the slice of `time_ns` run; its number.
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
            Ok(slices) if slices <= self.late_slices => Placement::Late { slices },
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
        match self.pass(time_ns) {
            Some(slice) => Placement::Ahead { slice },
            None => Placement::Early { slice: self.slice_of(time_ns) },
        }
    }

    /// Returns whether a timestamp has started a slice.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the number of timestamps that were dropped for being later than the tolerance.
    #[must_use]
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    /// Returns the number of timestamps that were rejected for being too far in the future.
    #[must_use]
    pub fn future(&self) -> u64 {
        self.future
    }
}

/// The system clock, nanoseconds since the epoch; 0 before that.
fn system_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, nanoseconds)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
