//! Tests that merged nodes on any device equal one node that saw everything.

use srlg::{Config, Device, SlidingDetector};

use crate::device::detector;
use crate::feed::{assert_equal_recorders, one_at_a_time, whole};
use crate::traffic::{Slice, backbone, contacts, presets, small_odd, with_late};

on_every_device!(
    snapshots_of_all_nodes_merge_into_one_that_saw_everything,
    snapshots_of_an_earlier_slice_age,
    deltas_of_every_slice_follow_a_node,
    merging_twice_is_merging_once,
    last_recorder_of_an_odd_array,
);

fn traffic(seed: u64) -> Vec<Slice> {
    with_late(backbone(seed, 7, 100_000))
}

fn share(slice: &Slice, node: usize, nodes: usize) -> Slice {
    let mine = |pairs: &[_]| pairs.iter().copied().skip(node).step_by(nodes).collect();
    Slice {
        pairs: mine(&slice.pairs),
        late: slice.late.iter().map(|(late, pairs)| (*late, mine(pairs))).collect(),
    }
}

// One node is on the device and one on the CPU so that snapshots go both ways.
fn snapshots_of_all_nodes_merge_into_one_that_saw_everything(device: Device) {
    for config in presets(5) {
        let traffic = traffic(21);
        let mut one = detector(Device::Cpu, config);
        let mut nodes = [detector(device, config), detector(Device::Cpu, config)];
        // The nodes do not report before the merge. Snapshots also contain the super points of a node's last report,
        // which depend on its part of the traffic.
        for (number, slice) in (0..).zip(&traffic) {
            one.skip_to(number).unwrap();
            one_at_a_time(&one, slice);
            for (part, node) in nodes.iter_mut().enumerate() {
                node.skip_to(number).unwrap();
                whole(node, &share(slice, part, 2));
            }
        }
        let snapshots = [nodes[0].snapshot().unwrap(), nodes[1].snapshot().unwrap()];
        nodes[0].merge_snapshot(&snapshots[1]).unwrap();
        nodes[1].merge_snapshot(&snapshots[0]).unwrap();
        nodes.iter_mut().for_each(|node| assert_equal_recorders(node, &mut one));
        let report = one.close_slice().unwrap();
        assert!(report.super_points.len() > 10);
        nodes.iter_mut().for_each(|node| assert_eq!(node.close_slice().unwrap(), report));
    }
}

fn snapshots_of_an_earlier_slice_age(device: Device) {
    for config in presets(5) {
        for slices in [1, 3, 4, 5, 300] {
            let mut one = detector(Device::Cpu, config);
            let (early, mut late) = (detector(device, config), detector(device, config));
            let slice = &traffic(22)[0];
            one_at_a_time(&one, slice);
            whole(&early, slice);
            one.skip_to(slices).unwrap();
            late.skip_to(slices).unwrap();
            late.merge_snapshot(&early.snapshot().unwrap()).unwrap();
            assert_equal_recorders(&mut late, &mut one);
        }
    }
}

/// Merges a delta of five slices, because pairs are up to four slices late.
fn follow(follower: &mut SlidingDetector, leader: &mut SlidingDetector) {
    let delta = leader.delta(5).unwrap();
    assert!(delta.recorders() > 1000);
    follower.merge_delta(&delta).unwrap();
}

fn deltas_of_every_slice_follow_a_node(device: Device) {
    for config in presets(5) {
        let (leader_device, follower_device) = (Device::Cpu, device);
        for (leads, follows) in [(leader_device, follower_device), (device, Device::Cpu)] {
            let (mut leader, mut follower) = (detector(leads, config), detector(follows, config));
            let mut one = detector(Device::Cpu, config);
            for slice in traffic(23) {
                whole(&leader, &share(&slice, 0, 2));
                whole(&follower, &share(&slice, 1, 2));
                one_at_a_time(&one, &slice);
                follow(&mut follower, &mut leader);
                leader.close_slice().unwrap();
                assert_eq!(follower.close_slice().unwrap(), one.close_slice().unwrap());
            }
            assert_equal_recorders(&mut follower, &mut one);
        }
    }
}

fn merging_twice_is_merging_once(device: Device) {
    for config in presets(5).map(|preset| Config { seed: 9, ..preset }) {
        let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
        let mut node = detector(Device::Cpu, config);
        let slice = &traffic(24)[0];
        whole(&tested, &share(slice, 0, 3));
        whole(&node, &share(slice, 1, 3));
        one_at_a_time(&one, &share(slice, 0, 3));
        one_at_a_time(&one, &share(slice, 1, 3));
        for _ in 0..2 {
            tested.merge_snapshot(&node.snapshot().unwrap()).unwrap();
            tested.merge_delta(&node.delta(1).unwrap()).unwrap();
            let own = tested.snapshot().unwrap();
            tested.merge_snapshot(&own).unwrap();
        }
        assert_equal_recorders(&mut tested, &mut one);
    }
}

// The last of 129 recorders occupies half of a word, and the other half is unused. With 2,000 peers, all recorders are
// touched.
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
