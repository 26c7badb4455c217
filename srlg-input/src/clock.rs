//! The system clock, and its steps.

use std::time::{Duration, Instant, SystemTime};

use crate::event::LogLine;

/// Maximum time between the two readings of a [`ClockReading`].
const READING: Duration = Duration::from_millis(100);

pub(crate) const SECOND: u64 = 1_000_000_000;

/// Returns the system time in nanoseconds since the Unix epoch, or 0 before 1970.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// A reading of the system clock and of a monotonic clock.
#[derive(Clone, Copy)]
pub(crate) struct ClockReading {
    pub(crate) at: Instant,
    pub(crate) time_ns: u64,
}

impl ClockReading {
    /// Reads both clocks. If [`READING`] or more has passed between the two readings, reads both clocks again.
    pub(crate) fn now() -> Self {
        loop {
            let reading = Self { at: Instant::now(), time_ns: now_ns() };
            if reading.at.elapsed() < READING {
                return reading;
            }
        }
    }

    pub(crate) fn set_forward_since(self, before: Self) -> Duration {
        let time = Duration::from_nanos(self.time_ns.saturating_sub(before.time_ns));
        time.saturating_sub(self.at.saturating_duration_since(before.at))
    }
}

/// A monitor that detects when the system clock is set back.
#[derive(Default)]
pub(crate) struct Watch {
    last: u64,
}

impl Watch {
    /// Records the system time `now`. Returns a warning if the clock was set back by a second or more since the last
    /// call.
    pub(crate) fn check(&mut self, now: u64) -> Option<LogLine> {
        let back = self.last.saturating_sub(now);
        self.last = now;
        (back >= SECOND).then(|| {
            LogLine::warning(format!(
                "the system clock was set back by {} s: no slice closes until it catches up, and contacts read before then count as late; restart the program if this takes too long",
                back / SECOND
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LogLevel;

    #[test]
    fn a_clock_that_is_set_forward_is_measured_however_late_it_is_read() {
        let start = Instant::now();
        let reading = |passed_s, system_s: u64| ClockReading {
            at: start + Duration::from_secs(passed_s),
            time_ns: (1_000 + system_s) * SECOND,
        };
        let readings = [
            reading(0, 0),
            reading(1, 1),
            // A minute has passed, and the clock is correct.
            reading(61, 61),
            reading(62, 3_662),
            reading(63, 3_663),
            // The clock is set back, runs, and is then correct again.
            reading(64, 100),
            reading(65, 101),
            reading(66, 202),
            reading(66, 207),
        ];
        let steps = readings.windows(2).map(|pair| pair[1].set_forward_since(pair[0]).as_secs());
        assert_eq!(steps.collect::<Vec<_>>(), [0, 0, 3_600, 0, 0, 0, 100, 5]);
    }

    #[test]
    fn a_clock_set_back_is_logged_once() {
        let mut watch = Watch::default();
        let mut check = |seconds: u64| watch.check(seconds * SECOND);
        assert_eq!([check(5_000), check(5_000), check(9_000)], [None, None, None]);
        let warning = check(5_400).unwrap();
        assert_eq!(warning.level, LogLevel::Warning);
        insta::assert_snapshot!(warning.text);
        assert_eq!([check(5_401), check(9_001)], [None, None]);
        assert_eq!(watch.check(9_001 * SECOND - SECOND + 1), None, "less than a second");
    }
}
