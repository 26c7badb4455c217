//! A system on its way through the windows of an experiment.
//!
//! The time is the processor's for the system alone, without the traffic's and the truth's, in the windows that were scored
//! and nothing else.

use srlg_core::{Address, IpPair};
use srlg_traffic::score::{MeanRates, Score};

use crate::sample::processor_time;
use crate::system::System;

/// A system, and how it fared.
pub(super) struct Track {
    system: Box<dyn System>,
    /// Of every window, in their order.
    pub(super) scores: Vec<Score>,
    /// Windows in which the search gave up.
    pub(super) stopped: u32,
    /// Seconds since the last window ended, and in the windows that were scored.
    running: f64,
    scored: f64,
}

impl Track {
    pub(super) fn new(system: impl System + 'static) -> Self {
        Self { system: Box::new(system), scores: Vec::new(), stopped: 0, running: 0.0, scored: 0.0 }
    }

    pub(super) fn ingest(&mut self, pairs: &[IpPair]) {
        self.running += processor_time(|| self.system.ingest(pairs)).1;
    }

    /// Ends a slice whose window is not scored.
    pub(super) fn skip(&mut self) {
        self.system.close_slice();
        self.running = 0.0;
    }

    /// Ends a slice and compares the report with the true super points.
    pub(super) fn score(&mut self, truth: &[(Address, u32)], threshold: u32) {
        let (report, close) = processor_time(|| self.system.close_slice());
        self.scored += std::mem::take(&mut self.running) + close;
        self.stopped += u32::from(!self.system.is_complete());
        self.scores.push(Score::of(truth, &report, threshold));
    }

    pub(super) fn name(&self) -> String {
        self.system.name()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.system.memory_bytes()
    }

    /// Means over all windows.
    pub(super) fn rates(&self) -> MeanRates {
        let mut rates = MeanRates::default();
        self.scores.iter().for_each(|score| rates.add(score));
        rates
    }

    /// `None` before the first window.
    pub(super) fn seconds_per_window(&self) -> Option<f64> {
        let windows = self.scores.len() as f64;
        (windows > 0.0).then(|| self.scored / windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpu_time::ProcessTime;
    use std::time::Duration;

    /// Reports what it is fed, works a millisecond per pair, and gives up on slices of more
    /// than one pair.
    struct Echo(Vec<IpPair>, usize);

    impl System for Echo {
        fn name(&self) -> String {
            "echo".into()
        }

        fn ingest(&mut self, pairs: &[IpPair]) {
            self.0.extend(pairs);
            let (begin, work) = (ProcessTime::now(), Duration::from_millis(pairs.len() as u64));
            while begin.elapsed() < work {}
        }

        fn close_slice(&mut self) -> Vec<(Address, f64)> {
            self.1 = self.0.len();
            self.0.drain(..).map(|pair| (pair.inside, 10.0)).collect()
        }

        fn is_complete(&self) -> bool {
            self.1 <= 1
        }

        fn memory_bytes(&self) -> usize {
            17
        }
    }

    #[test]
    fn scored_windows_count_and_others_do_not() {
        let mut track = Track::new(Echo(Vec::new(), 0));
        let pair = |inside| IpPair { inside, opposite: 0 };
        track.ingest(&vec![pair(9); 300]);
        track.skip();
        track.ingest(&[pair(1)]);
        track.ingest(&[pair(2)]);
        track.score(&[(1, 10), (3, 10)], 10);
        track.ingest(&[pair(1)]);
        track.score(&[(1, 10), (3, 10)], 10);
        assert_eq!((track.scores.len(), track.stopped), (2, 1));
        let seconds = track.seconds_per_window().unwrap();
        assert!((0.0015..0.15).contains(&seconds), "{seconds}");
        // Two super points in either window, of which one is found; one false report.
        let rates = track.rates();
        let rates = [rates.positive(), rates.negative(), rates.total()];
        assert_eq!((rates, track.memory_bytes()), ([0.25, 0.5, 0.75].map(Some), 17));
    }
}
