//! Traffic with known slices: input files for a probe and checks of its slices.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use srlg_cli::network::Network;
use srlg_host::{Device, Ipv4Pair, SlidingDetector};

use crate::net::unpacked;
use crate::network_traffic::Random;

/// Returns the 200 pairs of a slice, whose inside hosts are chosen from 40 hosts.
pub fn pairs(seed: u64, slice: u64) -> Vec<Ipv4Pair> {
    let mut random = Random(seed << 32 | slice);
    let mut pair = |_| {
        let inside = 0x0A00_0000 + random.below(40) as u32;
        Ipv4Pair { inside, peer: 0xC000_0000 + random.below(1 << 20) as u32 }
    };
    (0..200).map(&mut pair).collect()
}

/// Writes the pairs of `slices` to a CSV file in `folder` and returns its path. A slice lasts one second.
pub fn csv(
    folder: &Path,
    name: &str,
    pairs: impl Fn(u64) -> Vec<Ipv4Pair>,
    slices: Range<u64>,
) -> PathBuf {
    let mut text = "time_ms,src,dst\n".to_owned();
    for slice in slices {
        for (ms, Ipv4Pair { inside, peer }) in (0..).zip(pairs(slice)) {
            let [inside, peer] = [inside, peer].map(Ipv4Addr::from_bits);
            writeln!(text, "{},{inside},{peer}", slice * 1000 + ms).unwrap();
        }
    }
    let path = folder.join(format!("{name}.csv"));
    std::fs::write(&path, text).unwrap();
    path
}

/// Asserts that merging `payloads` slice by slice produces the same detector as ingesting the pairs, bit for bit.
pub fn assert_slices_are(
    payloads: &BTreeMap<(u64, String), Vec<u8>>,
    network: &Network,
    pairs: impl Fn(u64) -> Vec<Ipv4Pair>,
    slices: Range<u64>,
) {
    let detector = || SlidingDetector::new(network.views[0].sizes, Device::Cpu).unwrap();
    let (mut merged, mut expected) = (detector(), detector());
    for slice in slices.clone() {
        merged.skip_to(slice).unwrap();
        expected.skip_to(slice).unwrap();
        expected.ingest(&pairs(slice)).unwrap();
        for payload in payloads.range((slice, String::new())..(slice + 1, String::new())) {
            unpacked(payload.1).1.iter().for_each(|state| state.merge_into(&mut merged).unwrap());
        }
        assert!(
            merged.snapshot().unwrap() == expected.snapshot().unwrap(),
            "slice {slice} differs"
        );
    }
    let mut found: Vec<u64> = payloads.keys().map(|&(slice, _)| slice).collect();
    found.dedup();
    assert_eq!(found, slices.collect::<Vec<_>>());
}
