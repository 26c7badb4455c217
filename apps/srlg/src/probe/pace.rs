//! Pace of a probe's slices.

use std::time::{Duration, Instant};

use crate::network::options::Pace;

/// A clock that delays slices until they are due.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Time between two slices, or `None` if slices are not delayed.
    slice: Option<Duration>,
    next: Option<Instant>,
}

impl Pacer {
    pub(super) fn new(pace: Option<Pace>, slice: Duration) -> Self {
        let slice = pace.map(|pace| match pace {
            Pace::Real => slice,
            Pace::PerSecond(rate) => Duration::from_secs_f64(1.0 / rate),
        });
        Self { slice, next: None }
    }

    /// Returns the time for which a slice that is ready at `now` must wait. After a delay, the following slices do not
    /// catch up.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        let Some(slice) = self.slice else { return Duration::ZERO };
        let due = self.next.unwrap_or(now + slice);
        self.next = Some(due.max(now) + slice);
        due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_end_at_the_pace_and_lost_time_is_not_made_up_for() {
        let (start, ms) = (Instant::now(), Duration::from_millis);
        let mut pacer = Pacer::new(Some(Pace::PerSecond(10.0)), ms(1000));
        assert_eq!(pacer.wait(start), ms(100));
        assert_eq!(pacer.wait(start + ms(130)), ms(70));
        assert_eq!(pacer.wait(start + ms(900)), ms(0));
        assert_eq!(pacer.wait(start + ms(950)), ms(50));
    }

    #[test]
    fn real_time_waits_for_a_slice_and_no_pace_does_not_wait() {
        let (start, slice) = (Instant::now(), Duration::from_secs(5));
        assert_eq!(Pacer::new(Some(Pace::Real), slice).wait(start), slice);
        assert_eq!(Pacer::new(None, slice).wait(start), Duration::ZERO);
    }
}
