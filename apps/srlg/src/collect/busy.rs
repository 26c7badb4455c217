//! [`BusyTime`]: the share of the time for which a collector works.

use std::time::{Duration, Instant};

use tracing::info;

/// Time between two log lines.
const PERIOD: Duration = Duration::from_secs(60);

/// Share of the time from which on it is logged, in percent. A collector that always works closes slices later and later.
const MUCH: u128 = 50;

/// Time that the thread of a collector has spent on its work.
#[derive(Debug)]
pub(super) struct BusyTime {
    /// Time for all work: reading and merging the slices of probes, checkpoints, and closing slices.
    pub(super) total: Duration,
    /// Time for closing slices, including their alerts.
    pub(super) closing: Duration,
    /// The time of the last period's end, and both times then.
    last: (Instant, [Duration; 2]),
}

impl BusyTime {
    pub(super) fn since(start: Instant) -> Self {
        let none = Duration::ZERO;
        Self { total: none, closing: none, last: (start, [none; 2]) }
    }

    /// At the end of a period, logs the share of the time if it is large.
    pub(super) fn log(&mut self, now: Instant) {
        if let Some([total, closing]) = self.shares(now) {
            info!(
                "the collector worked for {total} % of the last minute, {closing} % of it on closing slices and the rest on merging; near 100 %, slices close late"
            );
        }
    }

    /// At the end of a period, returns the shares of all work and of closing in percent if all work is much.
    fn shares(&mut self, now: Instant) -> Option<[u128; 2]> {
        let (start, before) = self.last;
        let period = now.saturating_duration_since(start);
        if period < PERIOD {
            return None;
        }
        let times = [self.total, self.closing];
        self.last = (now, times);
        let share = |at: usize| (times[at] - before[at]).as_nanos() * 100 / period.as_nanos();
        let shares = [share(0), share(1)];
        (shares[0] >= MUCH).then_some(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_period_is_known_at_its_end_if_it_is_large() {
        let start = Instant::now();
        let (seconds, mut busy) = (Duration::from_secs, BusyTime::since(start));
        (busy.total, busy.closing) = (seconds(30), seconds(6));
        assert_eq!(busy.shares(start + seconds(59)), None);
        assert_eq!(busy.shares(start + seconds(60)), Some([50, 10]));
        busy.total += seconds(59);
        assert_eq!(busy.shares(start + seconds(180)), None);
        busy.total += seconds(60);
        busy.closing += seconds(45);
        assert_eq!(busy.shares(start + seconds(240)), Some([100, 75]));
    }
}
