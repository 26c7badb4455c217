//! The interface of every measured system: srlg, the systems of the paper, and common alternatives.

use std::time::Duration;

use srlg_core::{Address, Config, Ipv4Pair};
use srlg_host::ingest::PairBatch;
use srlg_host::report::StageTimes;
use srlg_host::{Device, Error, SliceReport, SlidingDetector};
use srlg_traffic::family::{ip, number};

/// A system that ingests the pairs of a slice and reports super points when the slice closes.
pub(crate) trait System {
    fn name(&self) -> String;

    fn ingest(&mut self, pairs: &[Ipv4Pair]);

    /// Ingests a batch of pairs into the running slice.
    ///
    /// # Panics
    ///
    /// Panics if the system supports only IPv4 and the batch has IPv6 pairs, or if the batch cannot be read from its
    /// device.
    fn ingest_batch(&mut self, batch: &PairBatch) {
        const READ: &str = "batches in ordinary memory can be read";
        assert!(batch.v6().expect(READ).is_empty(), "{} ingests only IPv4 pairs", self.name());
        self.ingest(&batch.v4().expect(READ));
    }

    /// Waits until all ingested pairs are visible to reports. Measured times must include this wait.
    fn flush(&mut self) {}

    /// Closes the slice and moves the window by one slice. Returns the hosts whose estimates reach the system's
    /// threshold, with their estimates.
    fn close_slice(&mut self) -> Vec<(Address, f64)>;

    /// Closes the slice without a report.
    fn skip_slice(&mut self) {
        self.close_slice();
    }

    /// Returns the durations of the stages of the last [`close_slice`](Self::close_slice), or an empty list if the
    /// system does not have stages.
    fn stages(&self) -> &[(&'static str, Duration)] {
        &[]
    }

    /// Returns whether the search of the last [`close_slice`](Self::close_slice) was complete. If not, the report may
    /// lack super points.
    fn is_complete(&self) -> bool {
        true
    }

    /// Returns the memory in use, in bytes. For hash maps, this is the size of their tables.
    fn memory_bytes(&self) -> usize;
}

/// A system that estimates the cardinality of any host, whether it is reported or not.
pub(crate) trait Counter: System {
    /// Returns the estimates for `hosts` in the window that ends with the running slice.
    fn estimates(&self, hosts: &[Address]) -> Vec<f64>;
}

/// A detector on the CPU, named after its configuration.
pub(crate) struct Srlg {
    label: String,
    detector: SlidingDetector,
    stages: Vec<(&'static str, Duration)>,
}

impl Srlg {
    pub(crate) fn new(label: impl Into<String>, config: Config) -> Result<Self, Error> {
        let detector = SlidingDetector::new(config, Device::Cpu)?;
        Ok(Self { label: label.into(), detector, stages: Vec::new() })
    }
}

impl System for Srlg {
    fn name(&self) -> String {
        format!("srlg, {}", self.label)
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        self.detector.ingest(pairs).expect("the CPU reports no errors");
    }

    fn ingest_batch(&mut self, batch: &PairBatch) {
        batch.ingest(&self.detector).expect("the tagged scheme supports all pairs");
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

    fn is_complete(&self) -> bool {
        self.detector.health().finder.overload.is_none()
    }

    /// Returns the size of the recorders, in bytes. The working memory of threads and closes is not included.
    fn memory_bytes(&self) -> usize {
        self.detector.memory_bytes()
    }
}

impl Counter for Srlg {
    fn estimates(&self, hosts: &[Address]) -> Vec<f64> {
        let estimate =
            |&host| self.detector.cardinality(ip(host)).expect("the CPU reports no errors");
        hosts.iter().map(estimate).map(|estimate| estimate.cardinality).collect()
    }
}

/// Returns the names and durations of the stages in which a close processes recorders. The remaining stages mainly
/// concern feeds, which the measured systems do not have.
pub(crate) const fn stages(times: StageTimes) -> [(&'static str, Duration); 3] {
    [("search", times.search), ("estimate", times.estimate), ("age", times.age)]
}

pub(crate) fn points(report: &SliceReport) -> Vec<(Address, f64)> {
    let points = report.super_points.iter();
    points.map(|point| (number(point.host), point.cardinality)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{HyperLogLogMap, Pairs, Sets, SketchRing, SlidingMap};
    use srlg_core::RsraSizes;

    fn last_report(mut system: Box<dyn System>, skip: bool) -> Vec<(Address, f64)> {
        for slice in 0..7 {
            let pairs = (0..300).map(|peer| Ipv4Pair { inside: slice, peer: peer << slice });
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
            &|| Box::new(Srlg::new("preset default", config).unwrap()),
            &|| Box::new(SlidingMap::new(window, threshold, Pairs::default())),
            &|| Box::new(SlidingMap::new(window, threshold, Sets::default())),
            &|| Box::new(HyperLogLogMap::new(window, threshold)),
            &|| Box::new(SketchRing::new(window, threshold, 1 << 20, 1)),
        ];
        for make in makers {
            // For exact systems, the last window has slices 4 to 7, and slice 7 is empty. The windows of estimators can
            // differ.
            let report = last_report(make(), true);
            assert_eq!(report, last_report(make(), false), "{}", make().name());
            assert_eq!(report.len(), 3, "{}", make().name());
        }
    }

    #[test]
    fn an_overloaded_search_is_not_complete() {
        let finder = RsraSizes { hot_limit: 1, ..RsraSizes::PAPER };
        let config = Config { threshold: 64, ..Config::paper_with(finder) };
        let mut system = Srlg::new("preset paper", config).unwrap();
        assert!(system.is_complete());
        // Each host has 400 peers, about 6 times the threshold. The rough estimator of each host is therefore hot even
        // at the full weight.
        let pairs = (0..40_000).map(|pair| Ipv4Pair { inside: pair / 400, peer: pair * 7919 });
        system.ingest(&pairs.collect::<Vec<_>>());
        system.close_slice();
        assert!(!system.is_complete());
    }
}
