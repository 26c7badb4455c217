//! Arrays of an odd number of recorders end within a word of 32 bits, which kernels swap.

use srlg_core::{Config, Scheme};

use super::simulated::Simulated;
use super::{contacts, cpu, on, small_paper};

// 2,000 opposite hosts touch all 129 recorders.
#[test]
fn last_recorder_of_an_odd_array_is_touched_merged_and_applied_like_any_other() {
    let scheme = Scheme::Paper { rows: 1, columns: 1, stride: 1 };
    let config = Config { scheme, linear_width: 129, ..small_paper() };
    let gpu = |order| on(&Simulated::new(order), config).unwrap();
    let (mut tested, mut one) = (gpu(1), cpu(config));
    assert!(one.params().arrays()[1].recorders % 2 == 1);
    for detector in [&tested, &one] {
        detector.ingest_late(&contacts(1, 2000), 1).unwrap();
    }
    let (snapshot, delta) = (one.snapshot().unwrap(), one.take_delta(2).unwrap());
    assert!(tested.snapshot().unwrap() == snapshot);
    assert!(tested.take_delta(2).unwrap() == delta);
    let (mut merged, mut applied) = (gpu(2), gpu(3));
    merged.merge_snapshot(&snapshot).unwrap();
    applied.merge(&delta).unwrap();
    for detector in [&mut merged, &mut applied] {
        assert!(detector.snapshot().unwrap() == snapshot);
    }
}
