//! Arrays of an odd number of recorders: the last one is half of a word that no other is in.

use srlg::Device;

use crate::device::detector;
use crate::feed::assert_equal_recorders;
use crate::traffic::{contacts, small_odd};

on_every_device!(last_recorder_of_an_odd_array);

// 2,000 opposite hosts touch all 129 recorders.
fn last_recorder_of_an_odd_array(device: Device) {
    let config = small_odd();
    let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
    assert!(one.params().arrays()[1].recorders % 2 == 1);
    tested.ingest_late(&contacts(1, 2000), 1).unwrap();
    contacts(1, 2000).iter().for_each(|&pair| one.ingest_late(&[pair], 1).unwrap());
    assert_equal_recorders(&mut tested, &mut one);
    let (mut merged, mut applied) = (detector(device, config), detector(device, config));
    merged.merge_snapshot(&one.snapshot().unwrap()).unwrap();
    applied.merge_delta(&one.delta(2).unwrap()).unwrap();
    for detector in [&mut merged, &mut applied] {
        assert_equal_recorders(detector, &mut one);
    }
}
