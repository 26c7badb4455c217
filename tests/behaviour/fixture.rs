//! Detectors as tests make them, and what they ask of reports.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use srlg::config::Scheme;
use srlg::state::Snapshot;
use srlg::{Config, Device, IpPair, SliceReport, SlidingDetector};

pub(crate) fn detector(config: Config) -> SlidingDetector {
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

/// Detectors for one case after the other: to make one takes longer than to use it.
pub(crate) struct Detectors<const N: usize> {
    all: [SlidingDetector; N],
    untouched: Snapshot,
}

impl<const N: usize> Detectors<N> {
    pub(crate) fn new(config: Config) -> Self {
        let untouched = detector(config).snapshot().unwrap();
        Self { all: std::array::from_fn(|_| detector(config)), untouched }
    }

    /// Returns the detectors, which have forgotten the case before.
    pub(crate) fn anew(&mut self) -> &mut [SlidingDetector; N] {
        self.all.iter_mut().for_each(|detector| detector.restore(&self.untouched).unwrap());
        &mut self.all
    }
}

/// The default scheme with this number of cells.
pub(crate) fn with_cells(cell_bits: u32) -> Scheme {
    match Config::default().scheme {
        Scheme::Tagged { lines, tags, .. } => Scheme::Tagged { cell_bits, lines, tags },
        other => panic!("{other:?}"),
    }
}

/// Pairs of `host` with the peers of these numbers.
pub(crate) fn contacts(host: Ipv4Addr, peers: Range<u32>) -> Vec<IpPair> {
    peers.map(|peer| IpPair::new(host, (0xc000_0000 + peer).into())).collect()
}

/// The super points of a report, the largest first.
pub(crate) fn hosts(report: &SliceReport) -> Vec<IpAddr> {
    report.super_points.iter().map(|point| point.host).collect()
}
