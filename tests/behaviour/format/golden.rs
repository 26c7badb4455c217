//! The golden files of version 3, and the detectors that wrote them.

use std::path::PathBuf;

use srlg::{Config, Device, Ipv4Pair, SlidingDetector};

use crate::small;

/// A seed that differs from the default.
pub(super) const SEED: u64 = 0x5eed;

pub(super) fn tagged() -> Config {
    Config { seed: SEED, ..small::tagged() }
}

fn paper() -> Config {
    Config { seed: SEED, ..small::paper() }
}

/// Returns a detector whose running slice is 6. In each slice from 3 to 6, it ingested `contacts` contacts, a third of
/// which were one slice late.
pub(super) fn seen(config: Config, contacts: u32) -> SlidingDetector {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    for slice in 3..=6 {
        detector.skip_to(slice.into()).unwrap();
        let pair = |n: u32| Ipv4Pair { inside: n % 7, peer: n.wrapping_mul(0x9e37_79b9) ^ slice };
        let pairs: Vec<Ipv4Pair> = (0..contacts).map(pair).collect();
        let (late, now) = pairs.split_at(pairs.len() / 3);
        detector.ingest(now).unwrap();
        detector.ingest_late(late, 1).unwrap();
    }
    detector
}

/// Moves the detector forward by two slices without contacts, so that no recorder has age 0.
fn aged(mut detector: SlidingDetector) -> SlidingDetector {
    detector.skip_to(8).unwrap();
    detector
}

/// Closes a slice, so that the detector stores the reported super points.
fn reported(mut detector: SlidingDetector) -> SlidingDetector {
    detector.close_slice().unwrap();
    detector
}

/// Returns a detector that counted one pair in 4 in slice 6 and counts one pair in 2 afterwards.
fn shared() -> SlidingDetector {
    let config = Config { threshold: 128, linear_width: 256, ..tagged() };
    let mut detector = seen(config, 2000);
    [4, 2].into_iter().for_each(|share| detector.set_share(share).unwrap());
    aged(detector)
}

/// Returns the name and the detector of each golden file of version 3, and the number of slices if the file is a delta.
pub(super) fn golden() -> Vec<(&'static str, SlidingDetector, Option<u32>)> {
    vec![
        ("tagged-snapshot", seen(tagged(), 2000), None),
        ("tagged-snapshot-aged", aged(seen(tagged(), 2000)), None),
        ("tagged-snapshot-reported", reported(seen(tagged(), 2000)), None),
        ("tagged-snapshot-shares", shared(), None),
        ("tagged-delta-shares", shared(), Some(4)),
        ("tagged-delta-dense", seen(tagged(), 2000), Some(2)),
        ("tagged-delta-sparse", seen(tagged(), 20), Some(1)),
        ("tagged-delta-empty", seen(tagged(), 0), Some(1)),
        ("paper-snapshot-aged", aged(seen(paper(), 2000)), None),
        ("paper-snapshot", seen(paper(), 2000), None),
        ("paper-delta-dense", seen(paper(), 2000), Some(2)),
        ("paper-delta-sparse", seen(paper(), 20), Some(1)),
    ]
}

pub(super) fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "golden", "v3", &format!("{name}.srlg")].iter().collect()
}

pub(super) fn bytes_of(detector: &mut SlidingDetector, slices: Option<u32>) -> Vec<u8> {
    match slices {
        None => {
            let snapshot = detector.snapshot().unwrap();
            snapshot.with_attachment(b"kept with it".to_vec()).to_bytes().unwrap()
        }
        Some(slices) => detector.delta(slices).unwrap().to_bytes().unwrap(),
    }
}
