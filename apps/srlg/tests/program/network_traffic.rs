//! A network of three routers with known traffic, and the results of one node that sees all of it.
//!
//! Three hosts have 2 new peers per slice at each router. In a window of 20 slices, each of these hosts has 40 peers at
//! each router, which is less than θ = 64, and 120 peers in total.

use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use srlg_cli::config::Config;
use srlg_cli::network::{Network, NetworkVersion, VersionId};
use srlg_host::state::{Checkpoints, Snapshot};
use srlg_host::{Config as Sizes, Device, Ipv4Pair, SliceReport, SlidingDetector, SuperPoint};

pub(crate) const PROBES: [&str; 3] = ["a", "b", "c"];

/// ID of the first version.
pub(crate) const VERSION: VersionId = VersionId { number: 1, tag: 7 };

/// Hosts that are super points of the network, but not of any single router.
pub(crate) const SPREAD: Range<u32> = 0x0A00_0000..0x0A00_0003;

/// Returns the configuration of a network in `folder`. The rule has a threshold of 89, so super points have at least 64
/// peers: alerts end below 80 % of the threshold, and the detector reports hosts from 90 % of that value.
pub(crate) fn configuration(folder: &Path) -> String {
    format!(
        "inside = ['10.0.0.0/8']\n\
         [network]\nprobes = ['a', 'b', 'c']\nfolder = '{}'\n\
         [[view]]\nname = 'all'\npairs = 20_000\nmemory = 3_000_000\n\
         [[rule]]\nname = 'all'\nthresholds = {{ 20s = 89 }}\nhold = '5s'\n",
        folder.display()
    )
}

/// Returns the configuration of a network in `folder` with the views and rules in `rules`.
pub(crate) fn configuration_with(folder: &Path, rules: &str) -> String {
    configuration(folder).split("[[view]]").next().unwrap().to_owned() + rules
}

/// Returns the network that [`configuration`] describes.
pub(crate) fn network() -> Network {
    Network::of(&Config::parse(&configuration(Path::new("."))).unwrap(), 7)
}

/// Returns the configuration of the network's detectors.
pub(crate) fn sizes() -> Sizes {
    static NETWORK: LazyLock<Network> = LazyLock::new(network);
    NETWORK.views[0].sizes
}

/// Returns `network` as the first version.
pub(crate) fn version(network: Network) -> NetworkVersion {
    NetworkVersion { id: VERSION, first_slice: 0, network }
}

/// A pseudo-random generator (SplitMix64), which returns the same numbers on all machines.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % bound
    }
}

/// Returns the pairs that router number `probe` sees in `slice`.
pub(crate) fn seen(probe: usize, slice: u64) -> Vec<Ipv4Pair> {
    let mut random = Random(slice << 8 | probe as u64);
    let mut pairs = Vec::new();
    for inside in SPREAD {
        for index in 0..2 {
            let peer = 0xC000_0000 | (probe as u32) << 20 | (slice as u32 * 2 + index) & 0xF_FFFF;
            pairs.push(Ipv4Pair { inside, peer });
        }
    }
    // 400 hosts have about ten peers each.
    pairs.extend((0..200).map(|_| Ipv4Pair {
        inside: 0x0A01_0000 + random.below(400) as u32,
        peer: 0xD000_0000 + random.below(1 << 24) as u32,
    }));
    pairs
}

/// Reports and last state of one node that receives all traffic of some routers.
pub(crate) struct OneNode {
    pub(crate) reports: Vec<SliceReport>,
    pub(crate) snapshot: Snapshot,
}

impl OneNode {
    pub(crate) fn of(probes: &[usize], slices: Range<u64>) -> Self {
        let mut detector = SlidingDetector::new(sizes(), Device::Cpu).unwrap();
        detector.skip_to(slices.start).unwrap();
        let reports = slices.map(|slice| {
            probes.iter().for_each(|&probe| detector.ingest(&seen(probe, slice)).unwrap());
            detector.close_slice().unwrap()
        });
        Self { reports: reports.collect(), snapshot: detector.snapshot().unwrap() }
    }

    /// Asserts that a collector has closed all slices with all deltas and has reported the same results, bit for bit,
    /// and that the checkpoint in its `state` folder is the same.
    pub(crate) fn assert_equals(&self, reports: &[Value], state: &Path) {
        assert!(reports.iter().all(|report| report["closed"] == "complete"));
        let found: Vec<_> = reports.iter().map(line).collect();
        assert_eq!(found, self.reports.iter().map(bits).collect::<Vec<_>>());
        self.assert_ends_equal(reports, state);
    }

    /// Asserts that the last report of a collector and the checkpoint in its `state` folder are the same, bit for bit.
    pub(crate) fn assert_ends_equal(&self, reports: &[Value], state: &Path) {
        assert_eq!(reports.last().map(line), self.reports.last().map(bits));
        let params = sizes().validate().unwrap();
        let latest = Checkpoints::open(state.join("network").join(VERSION.to_string()))
            .unwrap()
            .latest(&params)
            .unwrap();
        assert!(latest.damaged.is_empty());
        let snapshot = latest.snapshot.unwrap().with_attachment(Vec::new());
        assert!(snapshot == self.snapshot, "the state differs");
    }
}

/// The number of a slice, and the host, cardinality and standard error of each super point. Floating-point values are
/// stored as bits.
type Bits = (u64, Vec<(IpAddr, u64, u64)>);

fn bits(report: &SliceReport) -> Bits {
    let point =
        |point: &SuperPoint| (point.host, point.cardinality.to_bits(), point.std_error.to_bits());
    (report.slice, report.super_points.iter().map(point).collect())
}

fn line(report: &Value) -> Bits {
    let point = |point: &Value| {
        let float = |name: &str| point[name].as_f64().unwrap().to_bits();
        (point["host"].as_str().unwrap().parse().unwrap(), float("cardinality"), float("std_error"))
    };
    let points = report["super_points"].as_array().unwrap().iter().map(point);
    (report["slice"].as_u64().unwrap(), points.collect())
}

/// Returns the reports in the lines of `text`. Repeated reports must be equal and are returned once.
pub(crate) fn distinct_reports(text: &str) -> Vec<Value> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut reports = std::collections::BTreeMap::new();
    for line in whole.lines() {
        let report: Value = serde_json::from_str(line).unwrap();
        let before = reports.insert(report["slice"].as_u64(), report.clone());
        assert!(before.is_none_or(|before| before == report), "{report}");
    }
    reports.into_values().collect()
}
