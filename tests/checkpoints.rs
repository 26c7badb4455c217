//! Checkpoints: the last complete one survives.

use srlg::{Checkpoints, Config, Device, Error, IpPair, Scheme, SlidingDetector};

fn small() -> Config {
    Config {
        threshold: 32,
        window: 8,
        rough_column_bits: 12,
        bit_stride: 10,
        rough_rows: 4,
        scheme: Scheme::Tagged { lines: 24, tags: 64 },
        linear_width: 256,
        ..Config::default()
    }
}

#[test]
fn newest_checkpoint_is_restored_and_the_newest_two_stay() {
    let folder = std::env::temp_dir().join(format!("srlg-checkpoints-{}", std::process::id()));
    let mut checkpoints = Checkpoints::open(&folder).unwrap();
    assert!(matches!(Checkpoints::open(&folder), Err(Error::CheckpointsInUse { .. })));
    let mut detector = SlidingDetector::new(small(), Device::Cpu).unwrap();
    for slice in 0..4u32 {
        let pairs: Vec<IpPair> = (0..300).map(|bip| IpPair { aip: slice, bip }).collect();
        detector.ingest(&pairs).unwrap();
        detector.close_slice().unwrap();
        let snapshot = detector.snapshot().unwrap().with_attachment(vec![slice as u8; 9]);
        checkpoints.save(&snapshot).unwrap();
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    let latest = checkpoints.latest(detector.params()).unwrap();
    let snapshot = latest.snapshot.unwrap();
    assert_eq!((snapshot.attachment(), snapshot.slice()), (&[3; 9][..], 4));
    let mut restored = SlidingDetector::new(small(), Device::Cpu).unwrap();
    restored.ingest(&[IpPair { aip: 1, bip: 1 }]).unwrap();
    restored.restore(&snapshot).unwrap();
    assert_eq!(restored.snapshot().unwrap(), detector.snapshot().unwrap());
    assert_eq!(restored.close_slice().unwrap(), detector.close_slice().unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}
