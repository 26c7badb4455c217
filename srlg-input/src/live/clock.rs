//! The time of day, by which slices end.
//!
//! Slices only go forward. While the clock is behind where it was they wait, and what comes is of the past.

use std::time::SystemTime;

use crate::event::LogLine;

const SECOND: u64 = 1_000_000_000;

/// The time of day, nanoseconds since the Unix epoch; before 1970 it is none.
pub(super) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Watches whether the clock is put back.
#[derive(Default)]
pub(super) struct Watch {
    last: u64,
}

impl Watch {
    /// Takes the time of day; what to tell where it was put back by a second or more since the last time.
    pub(super) fn take(&mut self, now: u64) -> Option<LogLine> {
        let back = self.last.saturating_sub(now);
        self.last = now;
        (back >= SECOND).then(|| {
            LogLine::warning(format!(
                "the clock of this machine was put back by {} s: no slice ends until it is where it was, and what \
                 comes before is late; start again if that takes too long",
                back / SECOND
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SECOND, Watch};
    use crate::event::LogLevel;

    #[test]
    fn a_clock_that_is_put_back_is_told_once() {
        let mut watch = Watch::default();
        let mut take = |seconds: u64| watch.take(seconds * SECOND);
        assert_eq!([take(5_000), take(5_000), take(9_000)], [None, None, None]);
        let told = take(5_400).unwrap();
        assert_eq!(told.level, LogLevel::Warning);
        insta::assert_snapshot!(told.text);
        assert_eq!([take(5_401), take(9_001)], [None, None]);
        assert_eq!(watch.take(9_001 * SECOND - SECOND + 1), None, "less than a second");
    }
}
