//! Tests of arrays with an odd number of recorders and of various numbers of cells.
//!
//! An array that has an odd number of recorders ends within a 32-bit word, but kernels compare and swap whole words.

use srlg_core::{Config, FINDER, HashFamily, IpPair, Ipv4Pair, Scheme};

use super::simulated::SimulatedGpu;
use super::{ROUGH, contacts, cpu, on, small, small_paper};

// There are 2,000 peers, which touch all 129 recorders.
#[test]
fn last_recorder_of_an_odd_array_is_touched_merged_and_applied_like_any_other() {
    let scheme = Scheme::Paper { finder: ROUGH, rows: 1, columns: 1, stride: 1 };
    let config = Config { scheme, linear_width: 129, ..small_paper() };
    let recorders = config.validate().unwrap().arrays()[1].recorders;
    assert!(recorders % 2 == 1);
    assert_recorders_travel(config);
}

#[test]
fn cells_of_any_number_are_touched_merged_and_applied_alike() {
    for (cell_bits, hash) in [
        (12, HashFamily::Murmur),
        (13, HashFamily::HalfSip13),
        (17, HashFamily::HalfSip13),
        (19, HashFamily::Murmur),
    ] {
        let scheme = Scheme::Tagged { cell_bits, lines: 120, tags: 64 };
        let config = Config { scheme, hash, threshold: 16, ..small() };
        let array = config.validate().unwrap().arrays()[FINDER];
        assert_eq!((array.recorders, array.width.bytes()), (1 << cell_bits, 8));
        assert_recorders_travel(config);
    }
}

/// Asserts that a GPU and a CPU that ingest the same late contacts have equal recorders. Also asserts that two more
/// GPUs have these recorders after one has merged the snapshot and the other has merged the delta.
fn assert_recorders_travel(config: Config) {
    let gpu = |order| on(&SimulatedGpu::new(order), config).unwrap();
    let (mut tested, mut one) = (gpu(1), cpu(config));
    for detector in [&tested, &one] {
        detector.ingest_late(&contacts(1, 2000), 1).unwrap();
        if detector.params().finder().cells().is_some() {
            // With more than 2^18 cells, the cells of these pairs are in one bank.
            let v6 = |pair: &Ipv4Pair| IpPair { inside: [0x2001_0db8, 0, 0, 1], ..(*pair).into() };
            detector.ingest_late(&contacts(1, 500).iter().map(v6).collect::<Vec<_>>(), 1).unwrap();
        }
    }
    let (snapshot, delta) = (one.snapshot().unwrap(), one.delta(2).unwrap());
    assert!(tested.snapshot().unwrap() == snapshot);
    assert!(tested.delta(2).unwrap() == delta);
    let (mut merged, mut applied) = (gpu(2), gpu(3));
    merged.merge_snapshot(&snapshot).unwrap();
    applied.merge_delta(&delta).unwrap();
    for detector in [&mut merged, &mut applied] {
        assert!(detector.snapshot().unwrap() == snapshot);
    }
}
