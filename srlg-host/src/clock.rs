//! [`SliceClock`]: timestamps to slices.
//!
//! Slices are aligned to the epoch of the timestamps: slice = floor(time / length), so
//! that all nodes number them alike. Time only moves forward; what comes late still
//! lands in its own slice while the tolerance allows, and what cannot be true is
//! rejected. Both are counted, never lost in silence.

use std::time::Duration;

use crate::error::Error;

/// Where a timestamp belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// In a later slice, which is now running: close slices up to it first.
    Ahead {
        /// Number of the slice.
        slice: u64,
    },
    /// Later than the tolerance allows: dropped and counted.
    TooLate,
    /// Too far in the future to be believed: rejected and counted.
    Future,
}

/// Turns timestamps into slices.
///
/// ```
/// use srlg_host::{Placement, SliceClock};
/// use std::time::Duration;
///
/// let second = 1_000_000_000;
/// let mut clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
/// assert_eq!(clock.place(100 * second), Placement::Start { slice: 100 });
/// assert_eq!(clock.place(101 * second), Placement::Ahead { slice: 101 });
/// assert_eq!(clock.place(99 * second), Placement::Late { slices: 2 });
/// assert_eq!(clock.place(95 * second), Placement::TooLate);
/// assert_eq!(clock.place(9999 * second), Placement::Future);
/// # Ok::<(), srlg_host::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SliceClock {
    length: u64,
    late_slices: u32,
    max_ahead: u64,
    latest: u64,
    /// The running slice, as `[start, end)` in nanoseconds; empty before the first timestamp.
    running: Option<(u64, u64)>,
    too_late: u64,
    future: u64,
}

impl SliceClock {
    /// Makes a clock of slices of `length` that accepts timestamps up to `late_slices` slices
    /// late, and at most `max_ahead` after the end of the running slice.
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
            latest: u64::MAX,
            running: None,
            too_late: 0,
            future: 0,
        })
    }

    /// Lets the clock reject every timestamp after `time_ns`, as [`Placement::Future`]; the only guard
    /// for the very first one. A day after the system's own time is a good bound.
    #[must_use]
    pub fn with_latest(self, time_ns: u64) -> Self {
        Self { latest: time_ns, ..self }
    }

    /// Places the timestamp `time_ns`, nanoseconds since the epoch, and moves on when it
    /// is ahead. The current time, with no record, is placed to let time pass.
    #[inline]
    pub fn place(&mut self, time_ns: u64) -> Placement {
        match self.running {
            Some((start, end)) if (start..end).contains(&time_ns) => Placement::Running,
            Some((start, _)) if time_ns < start => self.place_late(time_ns, start),
            running => self.place_ahead(time_ns, running.map(|(_, end)| end)),
        }
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
        let bound =
            end.map_or(self.latest, |end| self.latest.min(end.saturating_add(self.max_ahead)));
        if time_ns > bound {
            self.future += 1;
            return Placement::Future;
        }
        let slice = time_ns / self.length;
        let start = slice * self.length;
        self.running = Some((start, start.saturating_add(self.length)));
        match end {
            None => Placement::Start { slice },
            Some(_) => Placement::Ahead { slice },
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

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> SliceClock {
        SliceClock::new(Duration::from_millis(500), 2, Duration::from_secs(60)).unwrap()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn slices_are_aligned_to_the_epoch_whatever_comes_first() {
        let mut clock = clock();
        assert_eq!(clock.place(1_749 * MS), Placement::Start { slice: 3 });
        assert_eq!(clock.place(1_500 * MS), Placement::Running);
        assert_eq!(clock.place(2_000 * MS - 1), Placement::Running);
        assert_eq!(clock.place(2_000 * MS), Placement::Ahead { slice: 4 });
    }

    #[test]
    fn lateness_is_counted_in_slices_and_ends_at_the_tolerance() {
        let mut clock = clock();
        clock.place(10_000 * MS);
        assert_eq!(clock.place(10_000 * MS - 1), Placement::Late { slices: 1 });
        assert_eq!(clock.place(9_000 * MS), Placement::Late { slices: 2 });
        assert_eq!(clock.place(9_000 * MS - 1), Placement::TooLate);
        assert_eq!(clock.place(0), Placement::TooLate);
        assert_eq!((clock.too_late(), clock.future()), (2, 0));
    }

    #[test]
    fn future_is_rejected_and_does_not_move_the_clock() {
        let mut clock = clock();
        clock.place(10_000 * MS);
        assert_eq!(clock.place(10_500 * MS + 60_000 * MS + 1), Placement::Future);
        assert_eq!(clock.place(u64::MAX), Placement::Future);
        assert_eq!(clock.place(10_001 * MS), Placement::Running);
        assert_eq!(clock.place(70_000 * MS), Placement::Ahead { slice: 140 });
        assert_eq!(clock.future(), 2);
    }

    #[test]
    fn latest_guards_the_first_timestamp_too() {
        let mut clock = clock().with_latest(1_000 * MS);
        assert_eq!(clock.place(1_001 * MS), Placement::Future);
        assert_eq!(clock.place(1_000 * MS), Placement::Start { slice: 2 });
    }

    #[test]
    fn last_representable_slice_does_not_overflow() {
        let mut clock = clock();
        let slice = u64::MAX / (500 * MS);
        assert_eq!(clock.place(u64::MAX - 1), Placement::Start { slice });
        assert_eq!(clock.place(u64::MAX - 2), Placement::Running);
    }

    #[test]
    fn slices_without_length_are_refused() {
        for length in [Duration::ZERO, Duration::MAX] {
            assert!(SliceClock::new(length, 0, Duration::ZERO).is_err());
        }
    }
}
