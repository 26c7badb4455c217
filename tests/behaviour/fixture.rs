//! Detectors and helper functions that the tests share.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use srlg::config::Scheme;
use srlg::state::Snapshot;
use srlg::{Config, Device, Ipv4Pair, SliceReport, SlidingDetector};

pub(crate) fn detector(config: Config) -> SlidingDetector {
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

/// Detectors that consecutive test cases reuse, because creating a detector takes longer than using it.
pub(crate) struct Detectors<const N: usize> {
    all: [SlidingDetector; N],
    untouched: Snapshot,
}

impl<const N: usize> Detectors<N> {
    pub(crate) fn new(config: Config) -> Self {
        let untouched = detector(config).snapshot().unwrap();
        Self { all: std::array::from_fn(|_| detector(config)), untouched }
    }

    /// Returns the detectors, reset to their initial state.
    pub(crate) fn anew(&mut self) -> &mut [SlidingDetector; N] {
        self.all.iter_mut().for_each(|detector| detector.restore(&self.untouched).unwrap());
        &mut self.all
    }
}

pub(crate) fn with_cells(cell_bits: u32) -> Scheme {
    match Config::default().scheme {
        Scheme::Tagged { lines, tags, .. } => Scheme::Tagged { cell_bits, lines, tags },
        other => panic!("{other:?}"),
    }
}

pub(crate) fn contacts(host: Ipv4Addr, peers: Range<u32>) -> Vec<Ipv4Pair> {
    peers.map(|peer| Ipv4Pair::new(host, (0xc000_0000 + peer).into())).collect()
}

/// Returns the addresses of the super points in `report`, largest first.
pub(crate) fn hosts(report: &SliceReport) -> Vec<IpAddr> {
    report.super_points.iter().map(|point| point.host).collect()
}
