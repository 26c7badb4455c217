//! A measured system, its times, and the scores of its reports.
//!
//! Times are the processor times of the system. The time to generate the traffic and the time to compute the exact
//! answer are not included.

use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::score::{MeanRates, Score};

use crate::sample::processor_time;
use crate::system::System;

pub(crate) struct Track {
    pub(crate) system: Box<dyn System>,
    pub(crate) windows: Vec<Window>,
    /// Number of packets in the running slice.
    packets: usize,
    /// Processor time for ingesting the packets of the running slice, in seconds.
    ingest: f64,
}

#[derive(Default)]
pub(crate) struct Window {
    pub(crate) score: Score,
    /// Score of the super points with fewer than 4θ peers. In this score, all other reported hosts count as false
    /// positives, so only the errors are meaningful.
    pub(crate) low: Score,
    pub(crate) is_complete: bool,
    /// Number of packets in the last slice of the window.
    pub(crate) packets: usize,
    /// Processor time for ingesting the last slice of the window, in seconds.
    pub(crate) ingest: f64,
    /// Processor time for closing the last slice of the window, in seconds.
    pub(crate) close: f64,
}

impl Track {
    pub(crate) fn new(system: Box<dyn System>) -> Self {
        Self { system, windows: Vec::new(), packets: 0, ingest: 0.0 }
    }

    pub(crate) fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        self.packets += pairs.len();
        self.ingest += processor_time(|| self.system.ingest(pairs)).1;
    }

    /// Closes a slice whose window is not scored.
    pub(crate) fn skip(&mut self) {
        self.system.close_slice();
        (self.packets, self.ingest) = (0, 0.0);
    }

    /// Closes a slice and scores its report against `truth`, the exact super points.
    pub(crate) fn score(&mut self, truth: &[(Address, u32)], threshold: u32) {
        let (report, close) = processor_time(|| self.system.close_slice());
        let is_low = |&(_, count): &(_, u32)| u64::from(count) < 4 * u64::from(threshold);
        let low: Vec<_> = truth.iter().copied().filter(is_low).collect();
        self.windows.push(Window {
            score: Score::of(truth, &report, threshold),
            low: Score::of(&low, &report, threshold),
            is_complete: self.system.is_complete(),
            packets: std::mem::take(&mut self.packets),
            ingest: std::mem::take(&mut self.ingest),
            close,
        });
    }
}

/// False rates and errors of the reports on several windows.
#[derive(Default)]
pub(crate) struct Quality {
    pub(crate) rates: MeanRates,
    pub(crate) errors: Score,
    /// Errors of reported super points that have fewer than 4θ peers.
    pub(crate) low_errors: Score,
}

impl Quality {
    pub(crate) fn of<'a>(windows: impl IntoIterator<Item = &'a Window>) -> Self {
        let mut quality = Self::default();
        for window in windows {
            quality.rates.add(&window.score);
            quality.errors += window.score;
            quality.low_errors += window.low;
        }
        quality
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use cpu_time::ProcessTime;
    use std::time::Duration;

    /// A system that reports each pair as a host and its estimate. It takes a millisecond per pair.
    #[derive(Default)]
    struct Echo {
        pairs: Vec<Ipv4Pair>,
        of_last_slice: usize,
    }

    impl System for Echo {
        fn name(&self) -> String {
            "echo".into()
        }

        fn ingest(&mut self, pairs: &[Ipv4Pair]) {
            self.pairs.extend(pairs);
            let (begin, work) = (ProcessTime::now(), Duration::from_millis(pairs.len() as u64));
            while begin.elapsed() < work {}
        }

        fn close_slice(&mut self) -> Vec<(Address, f64)> {
            self.of_last_slice = self.pairs.len();
            self.pairs.drain(..).map(|pair| (pair.inside, pair.peer.into())).collect()
        }

        fn is_complete(&self) -> bool {
            self.of_last_slice <= 1
        }

        fn memory_bytes(&self) -> usize {
            17
        }
    }

    fn echo() -> Track {
        Track::new(Box::new(Echo::default()))
    }

    #[test]
    fn scored_windows_count_and_others_do_not() {
        let mut track = echo();
        let pair = |inside| Ipv4Pair { inside, peer: 10 };
        track.ingest(&vec![pair(9); 300]);
        track.skip();
        track.ingest(&[pair(1)]);
        track.ingest(&[pair(2)]);
        track.score(&[(1, 10), (3, 10)], 10);
        track.ingest(&[pair(1)]);
        track.score(&[(1, 10), (3, 10)], 10);
        let complete: Vec<_> = track.windows.iter().map(|window| window.is_complete).collect();
        assert_eq!(complete, [false, true]);
        let seconds: f64 = track.windows.iter().map(|window| window.ingest + window.close).sum();
        assert!((0.003..0.3).contains(&seconds), "{seconds}");
        // Each window has two super points, and one of them is found. There is one false report.
        let Quality { rates, .. } = Quality::of(&track.windows);
        let rates = [rates.positive(), rates.negative(), rates.total()];
        assert_eq!(rates, [0.25, 0.5, 0.75].map(Some));
    }

    #[test]
    fn low_errors_are_of_super_points_below_four_times_the_threshold() {
        let mut track = echo();
        let reported = [(1, 110), (2, 532), (3, 560), (4, 900)];
        track.ingest(&reported.map(|(inside, peer)| Ipv4Pair { inside, peer }));
        // The errors are 1/10, 1/3 and 2/5. The fourth host is not a super point.
        track.score(&[(1, 100), (2, 399), (3, 400)], 100);
        let quality = Quality::of(&track.windows);
        let square = |score: &Score| score.rmse().unwrap().powi(2);
        let [low, all] = [&quality.low_errors, &quality.errors].map(square);
        // The bound allows about ten rounding errors of numbers that are up to ten times as large as their difference.
        let max_relative = 100.0 * f64::EPSILON;
        assert_relative_eq!(low, (0.01 + 1.0 / 9.0) / 2.0, max_relative = max_relative);
        assert_relative_eq!(all, (0.01 + 1.0 / 9.0 + 0.16) / 3.0, max_relative = max_relative);
        assert_eq!(quality.rates.total(), Some(1.0 / 3.0));
    }
}
