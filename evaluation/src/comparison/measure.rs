//! One system on the traffic: how good its reports are, how much memory and time it took.
//!
//! Shape: [`measure`], from a system to a [`Measured`]. Invariant: clocks run in the
//! system's own calls alone, and from the first full window on: before it tables grow
//! and windows are short, which no running system sees again. Times are medians of
//! the time that the processor worked for this process, on all its threads: on a shared
//! machine they stay what they are, as far as its caches allow.

use crate::system::System;
use cpu_time::ProcessTime;
use indicatif::ProgressBar;
use srlg_core::Address;
use srlg_traffic::score::{MeanRates, Score};

use super::{Peers, Truth};
use crate::sample::Sample;
use crate::synthetic::Synthetic;

/// Looks at the memory per window: some systems take long to count it.
const LOOKS: u32 = 4;

/// What became of one system.
pub(super) struct Measured {
    pub(super) name: String,
    /// At the ends of slices k, 2k and so on, where a system that starts anew every k
    /// slices has seen a whole window.
    pub(super) whole: Quality,
    /// At the end of every slice from k on.
    pub(super) every: Quality,
    /// Most bytes that it held.
    pub(super) memory_bytes: usize,
    /// Seconds of ingest, seconds of ingest per packet, and seconds of close, slice by slice.
    ingest: Vec<f64>,
    ingest_per_packet: Vec<f64>,
    close: Vec<f64>,
}

/// Reports against the truth, over several windows.
#[derive(Default)]
pub(super) struct Quality {
    pub(super) rates: MeanRates,
    /// Errors of reported super points.
    pub(super) errors: Score,
    /// The same, of those with θ to 4θ opposite hosts.
    pub(super) low_errors: Score,
}

impl Quality {
    fn add(&mut self, truth: &[(Address, u32)], reported: &[(Address, f64)], threshold: u32) {
        let score = Score::of(truth, reported, threshold);
        self.rates.add(&score);
        self.errors += score;
        let is_low = |&(_, count): &(_, u32)| u64::from(count) < 4 * u64::from(threshold);
        let low: Vec<_> = truth.iter().copied().filter(is_low).collect();
        // Of this score the errors alone mean something: all others count as false.
        self.low_errors += Score::of(&low, reported, threshold);
    }
}

impl Measured {
    fn new(name: String) -> Self {
        Self {
            name,
            whole: Quality::default(),
            every: Quality::default(),
            memory_bytes: 0,
            ingest: Vec::new(),
            ingest_per_packet: Vec::new(),
            close: Vec::new(),
        }
    }

    /// Adds what a slice of `packets` packets took.
    fn clock(&mut self, packets: usize, ingest: f64, close: f64) {
        self.ingest.push(ingest);
        self.ingest_per_packet.push(ingest / packets.max(1) as f64);
        self.close.push(close);
    }

    /// Milliseconds of ingest per slice.
    pub(super) fn ingest_ms(&self) -> f64 {
        Sample::of(self.ingest.iter().copied()).median * 1e3
    }

    /// Milliseconds per close.
    pub(super) fn close_ms(&self) -> f64 {
        Sample::of(self.close.iter().copied()).median * 1e3
    }

    /// Packets of ingest in millions per second.
    pub(super) fn ingest_mpairs_per_s(&self) -> f64 {
        1e-6 / Sample::of(self.ingest_per_packet.iter().copied()).median
    }
}

/// Sends the traffic through `system`.
pub(super) fn measure(
    system: &mut dyn System,
    truth: &Truth,
    options: &Peers,
    bar: &ProgressBar,
) -> Measured {
    let Synthetic { window, threshold, .. } = options.synthetic;
    let mut measured = Measured::new(system.name());
    for (slice, packets) in (1..).zip(options.slices()) {
        let ((), ingest) = timed(|| system.ingest(&packets));
        // Before the close, after which some begin a new window.
        if slice % window.div_ceil(LOOKS) == 0 || slice % window == 0 {
            measured.memory_bytes = measured.memory_bytes.max(system.memory_bytes());
        }
        let (reported, close) = timed(|| system.close_slice());
        bar.inc(1);
        let Some(full) = slice.checked_sub(window) else { continue };
        measured.clock(packets.len(), ingest, close);
        let truth = &truth[full as usize];
        measured.every.add(truth, &reported, threshold);
        if slice.is_multiple_of(window) {
            measured.whole.add(truth, &reported, threshold);
        }
    }
    measured
}

/// What `work` returns, and its seconds of the processor.
fn timed<Outcome>(work: impl FnOnce() -> Outcome) -> (Outcome, f64) {
    let start = ProcessTime::now();
    let outcome = work();
    (outcome, start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_slice_changes_no_time() {
        let mut measured = Measured::new(String::new());
        [(10, 0.001, 0.02), (1000, 9.0, 9.0), (30, 0.002, 0.01)]
            .into_iter()
            .for_each(|(packets, ingest, close)| measured.clock(packets, ingest, close));
        let times = [measured.ingest_ms(), measured.close_ms(), measured.ingest_mpairs_per_s()];
        // 10, 0.1 and 15 packets per millisecond.
        let expected = [2.0, 20.0, 0.01];
        assert!(times.iter().zip(expected).all(|(time, it)| (time - it).abs() < 1e-9), "{times:?}");
    }

    #[test]
    fn low_errors_are_of_super_points_below_four_times_the_threshold() {
        // Errors 0.1, 0.2 and 0.4; the fourth host is no super point.
        let truth = [(1, 100), (2, 399), (3, 400)];
        let reported = [(1, 110.0), (2, 399.0 * 1.2), (3, 560.0), (4, 900.0)];
        let mut quality = Quality::default();
        quality.add(&truth, &reported, 100);
        let close =
            |value: Option<f64>, square: f64| (value.unwrap().powi(2) - square).abs() < 1e-9;
        assert!(close(quality.low_errors.rmse(), (0.01 + 0.04) / 2.0));
        assert!(close(quality.errors.rmse(), (0.01 + 0.04 + 0.16) / 3.0));
        assert_eq!(quality.rates.total(), Some(1.0 / 3.0));
    }
}
