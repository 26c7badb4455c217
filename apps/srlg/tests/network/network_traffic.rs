//! Traffic of three routers, and the results of one node that sees all of it.
//!
//! Three hosts have 2 new peers per slice at each router. In a window of 20 slices, each of these hosts has 40 peers at
//! each router, which is less than θ = 64, and 120 peers in total.

use std::net::IpAddr;
use std::ops::Range;

use srlg_host::state::Snapshot;
use srlg_host::{Device, IpPair, SliceReport, SlidingDetector};

use crate::input::Random;
use crate::net::config;

/// Hosts that are super points of the network, but not of any single router.
pub const SPREAD: Range<u32> = 0x0A00_0000..0x0A00_0003;

/// Returns the pairs that router number `probe` sees in `slice`.
pub fn seen(probe: usize, slice: u64) -> Vec<IpPair> {
    let mut random = Random(slice << 8 | probe as u64);
    let mut pairs = Vec::new();
    for inside in SPREAD {
        for index in 0..2 {
            let peer = 0xC000_0000 | (probe as u32) << 20 | (slice as u32 * 2 + index) & 0xF_FFFF;
            pairs.push(IpPair { inside, peer });
        }
    }
    // 400 hosts have about ten peers each.
    pairs.extend((0..200).map(|_| IpPair {
        inside: 0x0A01_0000 + random.below(400) as u32,
        peer: 0xD000_0000 + random.below(1 << 24) as u32,
    }));
    pairs
}

/// Reports and last state of one node that receives all traffic of some routers.
pub struct OneNode {
    pub reports: Vec<SliceReport>,
    pub snapshot: Snapshot,
}

impl OneNode {
    pub fn of(probes: &[usize], slices: Range<u64>) -> Self {
        let mut detector = SlidingDetector::new(config(), Device::Cpu).unwrap();
        detector.skip_to(slices.start).unwrap();
        let reports = slices.map(|slice| {
            probes.iter().for_each(|&probe| detector.ingest(&seen(probe, slice)).unwrap());
            detector.close_slice().unwrap()
        });
        Self { reports: reports.collect(), snapshot: detector.snapshot().unwrap() }
    }

    /// Returns the hosts of the last report.
    pub fn hosts(&self) -> Vec<IpAddr> {
        self.reports.last().unwrap().super_points.iter().map(|point| point.host).collect()
    }
}
