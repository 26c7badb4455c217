//! What every measured system can do: srlg, the paper's rivals, and what users have today.

use std::time::Duration;

use srlg_core::{Address, Config, IpPair};
use srlg_host::ingest::PairBatch;
use srlg_host::report::StageTimes;
use srlg_host::{Device, Error, SliceReport, SlidingDetector};
use srlg_traffic::family::number;

/// A system that takes the pairs of a slice and reports super points at its end.
pub(crate) trait System {
    /// Name in tables and plots.
    fn name(&self) -> String;

    /// Takes pairs of the running slice.
    fn ingest(&mut self, pairs: &[IpPair]);

    /// Takes `batch`, pairs of the running slice, all of IPv4 where the system knows no other family.
    ///
    /// # Panics
    /// Where the system knows IPv4 alone and the batch has other pairs, or is in memory of a device.
    fn ingest_batch(&mut self, batch: &PairBatch) {
        const READ: &str = "batches of ordinary memory can be read";
        assert!(batch.v6().expect(READ).is_empty(), "{} takes pairs of IPv4", self.name());
        self.ingest(&batch.v4().expect(READ));
    }

    /// Waits until all that was ingested is where reports find it: for measuring.
    fn flush(&mut self) {}

    /// Ends the slice: hosts whose estimated cardinality is at least the threshold that the
    /// system was made for, with the estimate; then the window moves on by one slice.
    fn close_slice(&mut self) -> Vec<(Address, f64)>;

    /// Ends the slice without a report.
    fn skip_slice(&mut self) {
        self.close_slice();
    }

    /// How long the stages of the last [`close_slice`](Self::close_slice) took, where the system
    /// tells.
    fn stages(&self) -> &[(&'static str, Duration)] {
        &[]
    }

    /// Whether the last [`close_slice`](Self::close_slice) searched everything: when not, it
    /// gave up, and super points may be missing.
    fn is_complete(&self) -> bool {
        true
    }

    /// Bytes that the system holds now; for hash maps the bytes of their tables.
    fn memory_bytes(&self) -> usize;
}

/// A detector on the CPU, under the name of its configuration.
pub(crate) struct Srlg {
    preset: String,
    detector: SlidingDetector,
    /// Stages of the last close.
    stages: Vec<(&'static str, Duration)>,
}

impl Srlg {
    /// A detector of `config`, which tables call `preset`.
    ///
    /// # Errors
    /// Those of [`SlidingDetector::new`].
    pub(crate) fn new(preset: impl Into<String>, config: Config) -> Result<Self, Error> {
        let detector = SlidingDetector::new(config, Device::Cpu)?;
        Ok(Self { preset: preset.into(), detector, stages: Vec::new() })
    }
}

impl System for Srlg {
    fn name(&self) -> String {
        format!("srlg, preset {}", self.preset)
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        self.detector.ingest(pairs).expect("the CPU reports no errors");
    }

    fn ingest_batch(&mut self, batch: &PairBatch) {
        batch.ingest(&self.detector).expect("the tagged scheme takes all pairs");
    }

    fn flush(&mut self) {
        self.detector.flush().expect("the CPU reports no errors");
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let report = self.detector.close_slice().expect("the CPU reports no errors");
        self.stages = stages(report.stages).to_vec();
        points(&report)
    }

    fn skip_slice(&mut self) {
        self.detector.skip_to(self.detector.slice() + 1).expect("time moves forward");
    }

    fn stages(&self) -> &[(&'static str, Duration)] {
        &self.stages
    }

    /// Without an overload.
    fn is_complete(&self) -> bool {
        self.detector.health().finder.overload.is_none()
    }

    /// Recorders: a search adds a byte per cell and 8 per cell that may be a candidate's, and each thread
    /// that ingests 0.3 MB.
    fn memory_bytes(&self) -> usize {
        self.detector.memory_bytes()
    }
}

/// The stages of a close that work on recorders, with their names, in the order in which they
/// come. The others are about feeds, of which no system here has any.
pub(crate) const fn stages(times: StageTimes) -> [(&'static str, Duration); 3] {
    [("search", times.search), ("estimate", times.estimate), ("age", times.age)]
}

/// The super points of `report`: hosts and cardinalities.
pub(crate) fn points(report: &SliceReport) -> Vec<(Address, f64)> {
    let points = report.super_points.iter();
    points.map(|point| (number(point.host), point.cardinality)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{ExactPairs, ExactSets, HyperLogLogMap, SketchRing};
    use srlg_core::RsraSizes;

    /// What is reported of eight slices when none of the first seven is, or all of them are.
    fn last_report(mut system: Box<dyn System>, skip: bool) -> Vec<(Address, f64)> {
        for slice in 0..7 {
            let pairs =
                (0..300).map(|opposite| IpPair { inside: slice, opposite: opposite << slice });
            system.ingest(&pairs.collect::<Vec<_>>());
            if skip {
                system.skip_slice();
            } else {
                system.close_slice();
            }
        }
        let mut report = system.close_slice();
        report.sort_unstable_by_key(|&(host, _)| host);
        report
    }

    #[test]
    fn slices_without_a_report_leave_the_window_as_others_do() {
        let config = Config { threshold: 200, window: 4, ..Config::default() };
        let (window, threshold) = (config.window, config.threshold);
        let makers: [&dyn Fn() -> Box<dyn System>; 5] = [
            &|| Box::new(Srlg::new("default", config).unwrap()),
            &|| Box::new(ExactPairs::new(window, threshold)),
            &|| Box::new(ExactSets::new(window, threshold)),
            &|| Box::new(HyperLogLogMap::new(window, threshold)),
            &|| Box::new(SketchRing::new(window, threshold, 1 << 20, 1)),
        ];
        for make in makers {
            // The windows of all but the estimators' are of slices 4 to 7, which has nothing.
            let report = last_report(make(), true);
            assert_eq!(report, last_report(make(), false), "{}", make().name());
            assert_eq!(report.len(), 3, "{}", make().name());
        }
    }

    #[test]
    fn an_overloaded_search_is_not_complete() {
        let finder = RsraSizes { hot_limit: 1, ..RsraSizes::PAPER };
        let config = Config { threshold: 64, ..Config::paper_with(finder) };
        let mut system = Srlg::new("paper", config).unwrap();
        assert!(system.is_complete());
        // Hosts of 6 times the threshold: each has a hot rough estimator, at the full weight too.
        let pairs = (0..40_000).map(|pair| IpPair { inside: pair / 400, opposite: pair * 7919 });
        system.ingest(&pairs.collect::<Vec<_>>());
        system.close_slice();
        assert!(!system.is_complete());
    }
}
