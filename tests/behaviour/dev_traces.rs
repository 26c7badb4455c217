//! Tests that compare every super point in every window of real traffic with the exact answer.
//!
//! The environment variable `SRLG_DATA` names the folder that contains the traces. If it is not set, the
//! tests are skipped.

use approx::abs_diff_eq;
use srlg_traffic::family::number;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use srlg::config::Scheme;
use srlg::report::EstimateRange;
use srlg::time::{Placement, SliceClock};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::trace::{Trace, dev_traces};

/// The slice length and the detector configuration. The threshold is set later.
struct Cut {
    seconds: u64,
    config: Config,
}

impl Cut {
    /// Returns a configuration with slices of `minutes` minutes. The arrays are small because days of traffic require
    /// thousands of closes.
    fn minutes(minutes: u64, window: u32) -> Self {
        let scheme = Scheme::Tagged { cell_bits: 14, lines: 1 << 15, tags: 64 };
        Self { seconds: 60 * minutes, config: Config { window, scheme, ..Config::default() } }
    }
}

struct Comparison {
    detector: SlidingDetector,
    threshold: f64,
    compared: usize,
    wrong: String,
}

impl Comparison {
    fn new(threshold: u32, cut: &Cut) -> Self {
        let config = Config { threshold, ..cut.config };
        Self {
            detector: SlidingDetector::new(config, Device::Cpu).unwrap(),
            threshold: f64::from(threshold),
            compared: 0,
            wrong: String::new(),
        }
    }

    /// Closes the running slice and compares the report with `exact`. Returns whether the report had no candidates.
    fn close(&mut self, exact: &ExactWindow) -> bool {
        let report = self.detector.close_slice().unwrap();
        for (host, truth) in exact.super_points((self.threshold * 0.9) as u32) {
            let truth = f64::from(truth);
            let found = report.super_points.iter().find(|point| number(point.host) == host);
            let good = match found {
                Some(point) => {
                    point.range == EstimateRange::Within
                        && abs_diff_eq!(point.cardinality, truth, epsilon = 0.05 * truth)
                }
                None => truth < self.threshold * 1.1,
            };
            if !good {
                writeln!(self.wrong, "slice {}: {host:#x} has {truth}: {found:?}", report.slice)
                    .unwrap();
            }
            self.compared += usize::from(truth >= self.threshold * 1.1);
        }
        for point in &report.super_points {
            let truth = f64::from(exact.cardinality(number(point.host)));
            if truth < self.threshold * 0.9 {
                writeln!(self.wrong, "slice {}: {point:?} has {truth}", report.slice).unwrap();
            }
        }
        report.candidates == 0
    }
}

struct Replay {
    exact: ExactWindow,
    comparisons: Vec<Comparison>,
}

impl Replay {
    /// Closes the running slice of all detectors. Returns whether no report had candidates.
    fn close(&mut self) -> bool {
        let mut is_silent = true;
        for comparison in &mut self.comparisons {
            is_silent &= comparison.close(&self.exact);
        }
        self.exact.skip(1);
        is_silent
    }

    fn slice(&self) -> u64 {
        self.comparisons[0].detector.slice()
    }

    fn advance_to(&mut self, slice: u64) {
        while self.slice() < slice && !self.close() {}
        self.exact.skip(slice - self.slice());
        for comparison in &mut self.comparisons {
            comparison.detector.skip_to(slice).unwrap();
        }
    }

    fn run(mut self, trace: &Path, cut: &Cut) -> Self {
        let length = Duration::from_secs(cut.seconds);
        let mut clock = SliceClock::new(length, 0, Duration::MAX).unwrap();
        for record in Trace::open(trace).unwrap().map(Result::unwrap) {
            match clock.place(u64::from(record.time_ms) * 1_000_000) {
                Placement::Running => {}
                Placement::Start { slice } | Placement::Ahead { slice } => self.advance_to(slice),
                other => panic!("expected a sorted trace, got {other:?}"),
            }
            let pairs: Vec<Ipv4Pair> = record.pairs().collect();
            for comparison in &self.comparisons {
                comparison.detector.ingest(&pairs).unwrap();
            }
            pairs.into_iter().for_each(|pair| self.exact.touch(pair));
        }
        self.close();
        self
    }
}

/// Compares all windows of `traces` with the exact answer. Returns the number of super points that were compared at
/// each threshold.
fn compare<const N: usize>(traces: &[PathBuf], thresholds: [u32; N], cut: &Cut) -> [usize; N] {
    let mut compared = [0; N];
    for trace in traces {
        let comparisons = thresholds.map(|threshold| Comparison::new(threshold, cut));
        let replay =
            Replay { exact: ExactWindow::new(cut.config.window), comparisons: comparisons.into() };
        for (compared, comparison) in compared.iter_mut().zip(replay.run(trace, cut).comparisons) {
            println!("{}: {} super points", trace.display(), comparison.compared);
            assert!(comparison.wrong.is_empty(), "{}:\n{}", trace.display(), comparison.wrong);
            *compared += comparison.compared;
        }
    }
    compared
}

/// Returns whether the trace covers a month. A test with such a trace takes several minutes.
fn is_long(trace: &Path) -> bool {
    trace.to_string_lossy().contains("darpa98")
}

#[test]
fn super_points_in_sliding_windows_of_five_minutes() {
    let mut traces = dev_traces();
    traces.retain(|trace| !is_long(trace));
    let [low, high] = compare(&traces, [100, 1024], &Cut::minutes(1, 5));
    assert!(traces.is_empty() || (low >= 150 && high >= 20), "only {low} and {high}");
}

#[test]
fn super_points_of_all_traces_in_separate_windows_of_five_minutes() {
    let traces = dev_traces();
    let [compared] = compare(&traces, [256], &Cut::minutes(5, 1));
    assert!(traces.is_empty() || compared >= 20, "only {compared}");
}

#[test]
fn super_points_of_the_composite_trace_second_by_second() {
    let mut traces = dev_traces();
    traces.retain(|path| path.to_string_lossy().contains("composite"));
    let cut = Cut { seconds: 1, config: Config { window: 300, ..Config::default() } };
    let [compared] = compare(&traces, [1024], &cut);
    assert!(traces.is_empty() || compared >= 1000, "only {compared}");
}
