//! srlg as one system among others.
//!
//! Shape: [`Srlg`], a detector with a name; [`points`], its report as others give it;
//! [`stages`], the times of a close by name.
//! Invariant: it is driven as its users drive it, by one thread, and closed every slice.

use super::System;
use srlg_core::{Address, Config, IpPair};
use srlg_host::ingest::PairBatch;
use srlg_host::report::StageTimes;
use srlg_host::{Device, Error, SliceReport, SlidingDetector};
use srlg_traffic::family::number;
use std::time::Duration;

/// A detector on the CPU, under the name of its configuration.
///
/// ```
/// use srlg_core::{Config, IpPair};
/// use srlg_evaluation::system::{Srlg, System};
/// let config = Config { threshold: 100, window: 2, ..Config::default() };
/// let mut srlg = Srlg::new("default", config)?;
/// srlg.ingest(&(0..1000).map(|opposite| IpPair { inside: 1, opposite }).collect::<Vec<_>>());
/// assert_eq!(srlg.close_slice()[0].0, 1);
/// # Ok::<(), srlg_host::Error>(())
/// ```
pub struct Srlg {
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
    pub fn new(preset: impl Into<String>, config: Config) -> Result<Self, Error> {
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
#[must_use]
pub const fn stages(times: StageTimes) -> [(&'static str, Duration); 3] {
    [("search", times.search), ("estimate", times.estimate), ("age", times.age)]
}

/// The super points of `report`: hosts and cardinalities.
#[must_use]
pub fn points(report: &SliceReport) -> Vec<(Address, f64)> {
    let points = report.super_points.iter();
    points.map(|point| (number(point.host), point.cardinality)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::RsraSizes;

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
