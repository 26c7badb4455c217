//! Steps of the system clock: an hour that no contact was counted in looks like an hour of silence.

use std::time::{Duration, Instant};

/// A step of the system clock that is more than a late call.
const STEP: Duration = Duration::from_secs(5);

/// A comparison of the system clock with one that is never set.
#[derive(Debug, Default)]
pub(crate) struct StepClock {
    /// A moment, and by how much the system time was ahead of the time since then, at most. A late call sees less.
    offset: Option<(Instant, i128)>,
}

impl StepClock {
    /// Returns how far the system clock was set forward since the last call, if it was. `now_ns` is the system time.
    pub(crate) fn step(&mut self, now: Instant, now_ns: u64) -> Option<Duration> {
        let (origin, most) = *self.offset.get_or_insert((now, i128::from(now_ns)));
        let offset = i128::from(now_ns) - (now - origin).as_nanos() as i128;
        let step = STEP.as_nanos() as i128;
        // No call is that late: the clock was set back.
        let is_back = offset + 12 * step < most;
        self.offset = Some((origin, if is_back { offset } else { most.max(offset) }));
        let ahead = u64::try_from(offset - most).ok().map(Duration::from_nanos);
        ahead.filter(|ahead| *ahead > STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_forward_is_noticed_once_and_a_late_call_is_not() {
        let (start, mut clock) = (Instant::now(), StepClock::default());
        let mut step = |passed_s, system_s: u64| {
            clock.step(start + Duration::from_secs(passed_s), (1_000 + system_s) * 1_000_000_000)
        };
        assert_eq!((step(0, 0), step(1, 1), step(60, 60)), (None, None, None));
        // The time was read 20 s before the call, and the next one is in time again.
        assert_eq!((step(90, 70), step(91, 91)), (None, None));
        assert_eq!(step(92, 3_692), Some(Duration::from_secs(3_600)));
        assert_eq!((step(93, 3_693), step(94, 100), step(95, 101)), (None, None, None));
        assert_eq!(step(96, 202), Some(Duration::from_secs(100)));
    }
}
