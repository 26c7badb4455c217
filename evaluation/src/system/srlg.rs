//! srlg as one system among others.
//!
//! Shape: [`Srlg`], a detector with a name; [`points`], its report as others give it.
//! Invariant: it is driven as its users drive it, by one thread, and closed every slice.

use super::System;
use srlg_core::{Address, Config, IpPair};
use srlg_host::{Device, Error, SliceReport, SlidingDetector};

/// A detector on the CPU, under the name of its configuration.
///
/// ```
/// use srlg_core::{Config, IpPair};
/// use srlg_evaluation::system::{Srlg, System};
/// let config = Config { threshold: 100, window: 2, ..Config::default() };
/// let mut srlg = Srlg::new("default", config)?;
/// srlg.ingest(&(0..1000).map(|bip| IpPair { aip: 1, bip }).collect::<Vec<_>>());
/// assert_eq!(srlg.close_slice()[0].0, 1);
/// # Ok::<(), srlg_host::Error>(())
/// ```
pub struct Srlg {
    preset: String,
    detector: SlidingDetector,
}

impl Srlg {
    /// A detector of `config`, which tables call `preset`.
    ///
    /// # Errors
    /// Those of [`SlidingDetector::new`].
    pub fn new(preset: impl Into<String>, config: Config) -> Result<Self, Error> {
        let detector = SlidingDetector::new(config, Device::Cpu)?;
        Ok(Self { preset: preset.into(), detector })
    }
}

impl System for Srlg {
    fn name(&self) -> String {
        format!("srlg, preset {}", self.preset)
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        self.detector.ingest(pairs).expect("the CPU reports no errors");
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        points(&self.detector.close_slice().expect("the CPU reports no errors"))
    }

    fn memory_bytes(&self) -> usize {
        self.detector.memory_bytes()
    }
}

/// The super points of `report`: hosts and cardinalities.
#[must_use]
pub fn points(report: &SliceReport) -> Vec<(Address, f64)> {
    let points = report.super_points.iter();
    points.map(|point| (point.host.to_bits(), point.cardinality)).collect()
}
