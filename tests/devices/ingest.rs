//! Tests that pairs are counted in the same way whether they are ingested one by one, in batches, from several threads
//! or from pinned memory.

use srlg::{Device, Ipv4Pair, SlidingDetector};

use crate::device::detector;
use crate::feed::{assert_equals_one_at_a_time, whole};
use crate::traffic::{Slice, backbone, flood, presets, with_late};

on_every_device!(
    backbone_traffic_with_late_pairs,
    floods,
    batches_of_every_length,
    threads_that_ingest_at_once,
    pinned_pairs,
    no_pairs_at_all,
);

const WINDOW: u32 = 6;

fn traffic(seed: u64) -> Vec<Slice> {
    with_late(backbone(seed, 10, 150_000))
}

fn backbone_traffic_with_late_pairs(device: Device) {
    for config in presets(WINDOW) {
        assert_equals_one_at_a_time(device, config, &traffic(1), whole);
    }
}

fn floods(device: Device) {
    for config in presets(20) {
        assert_equals_one_at_a_time(device, config, &with_late(flood()), whole);
    }
}

/// Divides `pairs` into batches. Most of their lengths are next to a power of 2, because a line has 32 recorders and a
/// GPU block has 256 threads.
fn batches(pairs: &[Ipv4Pair], mut ingest: impl FnMut(&[Ipv4Pair])) {
    let mut rest = pairs;
    for length in [0, 1, 2, 31, 32, 33, 257, 1023, 1025, 4099, 16_385].into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (batch, after) = rest.split_at(rest.len().min(length));
        ingest(batch);
        rest = after;
    }
}

fn batches_of_every_length(device: Device) {
    for config in presets(WINDOW) {
        assert_equals_one_at_a_time(device, config, &traffic(2), |detector, slice| {
            batches(&slice.pairs, |batch| detector.ingest(batch).unwrap());
            for (late, pairs) in &slice.late {
                batches(pairs, |batch| detector.ingest_late(batch, *late).unwrap());
            }
        });
    }
}

fn at_once(detector: &SlidingDetector, slice: &Slice) {
    std::thread::scope(|scope| {
        for share in slice.pairs.chunks(slice.pairs.len().div_ceil(4).max(1)) {
            scope.spawn(|| share.chunks(777).for_each(|batch| detector.ingest(batch).unwrap()));
        }
        scope.spawn(|| {
            slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
        });
    });
}

fn threads_that_ingest_at_once(device: Device) {
    for config in presets(WINDOW) {
        assert_equals_one_at_a_time(device, config, &traffic(3), at_once);
    }
}

/// Ingests alternately from two pinned buffers, which are refilled without waiting for the device.
fn from_two_buffers(detector: &SlidingDetector, slice: &Slice) {
    const LENGTH: usize = 1000;
    let buffer = || detector.pinned_pairs(LENGTH).unwrap();
    let mut buffers = [buffer(), buffer()];
    for (number, batch) in slice.pairs.chunks(LENGTH).enumerate() {
        let buffer = &mut buffers[number % 2];
        // If a batch is short, its last pair is repeated in the rest of the buffer, which has no effect.
        let pair = |index: usize| batch[index.min(batch.len() - 1)];
        let fill = |pairs: &mut [Ipv4Pair]| {
            (0..).zip(pairs).for_each(|(index, place)| *place = pair(index));
        };
        buffer.fill(fill).unwrap();
        detector.ingest_pinned(buffer).unwrap();
    }
    slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
}

fn pinned_pairs(device: Device) {
    for config in presets(WINDOW) {
        assert_equals_one_at_a_time(device, config, &traffic(4), from_two_buffers);
    }
}

fn no_pairs_at_all(device: Device) {
    for config in presets(WINDOW) {
        let mut tested = detector(device, config);
        let untouched = tested.snapshot().unwrap();
        let empty = tested.pinned_pairs::<Ipv4Pair>(0).unwrap();
        assert!(empty.is_empty());
        tested.ingest::<Ipv4Pair>(&[]).unwrap();
        tested.ingest_late::<Ipv4Pair>(&[], 2).unwrap();
        tested.ingest_pinned(&empty).unwrap();
        tested.flush().unwrap();
        let report = tested.close_slice().unwrap();
        assert_eq!((report.candidates, report.super_points.len()), (0, 0));
        assert_eq!(report.health.finder.overload, None);
        assert_eq!(tested.delta(1).unwrap().recorders(), 0);
        tested.skip_to(u64::MAX / 2).unwrap();
        let mut other = detector(device, config);
        other.skip_to(1).unwrap();
        // Untouched recorders have the maximum age and keep it.
        other.merge_snapshot(&untouched).unwrap();
        assert_eq!(other.close_slice().unwrap().candidates, 0);
    }
}
