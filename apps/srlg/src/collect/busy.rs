//! [`BusyTime`]: the share of the time for which a collector works.

use std::time::{Duration, Instant};

use tracing::info;

/// Time between two log lines.
const PERIOD: Duration = Duration::from_secs(60);

/// Share of the time from which on it is logged, in percent. Beyond 100 %, slices would close later and later.
const MUCH: u128 = 50;

/// Time that the thread of a collector has spent on its work.
#[derive(Debug)]
pub(super) struct BusyTime {
    /// Time for reading and merging the slices of probes.
    pub(super) merging: Duration,
    /// Time for closing slices, including their alerts and checkpoints.
    pub(super) closing: Duration,
    /// The time of the last period's end, and both times then.
    last: (Instant, [Duration; 2]),
}

impl BusyTime {
    pub(super) fn since(start: Instant) -> Self {
        let none = Duration::ZERO;
        Self { merging: none, closing: none, last: (start, [none; 2]) }
    }

    /// At the end of a period, logs the share of the time if it is large.
    pub(super) fn log(&mut self, now: Instant) {
        if let Some([merging, closing]) = self.shares(now) {
            let both = merging + closing;
            info!(
                "the collector worked for {both} % of the last minute: {merging} % for merging and {closing} % for closing slices; with more than 100 %, slices would close late"
            );
        }
    }

    /// At the end of a period, returns the shares of merging and closing in percent if they are large together.
    fn shares(&mut self, now: Instant) -> Option<[u128; 2]> {
        let (start, before) = self.last;
        let period = now.saturating_duration_since(start);
        if period < PERIOD {
            return None;
        }
        let times = [self.merging, self.closing];
        self.last = (now, times);
        let share = |at: usize| (times[at] - before[at]).as_nanos() * 100 / period.as_nanos();
        let shares = [share(0), share(1)];
        (shares[0] + shares[1] >= MUCH).then_some(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_period_is_known_at_its_end_if_it_is_large() {
        let start = Instant::now();
        let (seconds, mut busy) = (Duration::from_secs, BusyTime::since(start));
        (busy.merging, busy.closing) = (seconds(24), seconds(6));
        assert_eq!(busy.shares(start + seconds(59)), None);
        assert_eq!(busy.shares(start + seconds(60)), Some([40, 10]));
        busy.merging += seconds(59);
        assert_eq!(busy.shares(start + seconds(180)), None);
        busy.closing += seconds(90);
        assert_eq!(busy.shares(start + seconds(240)), Some([0, 150]));
    }
}
