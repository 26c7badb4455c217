//! Tests of several detectors in one process, each of which sees a part of the traffic. Merged detectors must
//! equal one detector that saw everything. The detectors are used in turn from one thread, or in parallel from several
//! threads.
//!
//! If there is a second GPU, the second detector runs on it, so that a call in the context of the wrong GPU fails.

use std::net::Ipv4Addr;
use std::thread;

use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector};

use crate::device::detector;
use crate::feed::{assert_equal_recorders, one_at_a_time};
use crate::traffic::{Slice, backbone, presets};

on_every_device!(
    one_thread_that_turns_from_one_detector_to_the_other,
    two_threads_with_a_detector_each,
    pinned_pairs_of_one_detector_that_both_ingest,
    detectors_go_and_the_other_one_stays,
);

const WINDOW: u32 = 3;

fn traffic(seed: u64) -> Vec<Slice> {
    let slice = |pairs| Slice { pairs, late: Vec::new() };
    backbone(seed, 5, 60_000).into_iter().map(slice).collect()
}

fn second(device: Device, config: Config) -> SlidingDetector {
    match device {
        Device::Cuda(_) => match SlidingDetector::new(config, Device::Cuda(1)) {
            Err(Error::NoSuchDevice { .. }) => detector(device, config),
            other => other.expect("the second GPU can be used"),
        },
        _ => detector(device, config),
    }
}

/// Divides every slice between two detectors with `share` and merges the second detector into the first. Asserts that
/// the first detector equals a detector that saw everything.
fn assert_both_see_everything(
    device: Device,
    seed: u64,
    share: fn(&mut SlidingDetector, &mut SlidingDetector, &[Ipv4Pair]),
) {
    for config in presets(WINDOW) {
        let (mut first, mut other) = (detector(device, config), second(device, config));
        let mut one = detector(Device::Cpu, config);
        let mut super_points = 0;
        for slice in traffic(seed) {
            share(&mut first, &mut other, &slice.pairs);
            one_at_a_time(&one, &slice);
            first.merge_delta(&other.delta(1).unwrap()).unwrap();
            let report = one.close_slice().unwrap();
            super_points += report.super_points.len();
            assert_eq!(first.close_slice().unwrap(), report);
            other.skip_to(first.slice()).unwrap();
        }
        assert!(super_points > 10, "{super_points}");
        assert_equal_recorders(&mut first, &mut one);
    }
}

fn one_thread_that_turns_from_one_detector_to_the_other(device: Device) {
    assert_both_see_everything(device, 51, |first, other, pairs| {
        for (number, batch) in pairs.chunks(1021).enumerate() {
            let (now, then) = if number % 2 == 0 { (&first, &other) } else { (&other, &first) };
            now.ingest(batch).unwrap();
            if number % 16 == 0 {
                then.flush().unwrap();
                now.cardinality(Ipv4Addr::from_bits(batch[0].inside).into()).unwrap();
            }
        }
    });
}

fn two_threads_with_a_detector_each(device: Device) {
    assert_both_see_everything(device, 52, |first, other, pairs| {
        let (one, rest) = pairs.split_at(pairs.len() / 3);
        thread::scope(|scope| {
            scope.spawn(|| one.chunks(777).for_each(|batch| first.ingest(batch).unwrap()));
            scope.spawn(|| rest.chunks(777).for_each(|batch| other.ingest(batch).unwrap()));
        });
    });
}

// A buffer is filled again as soon as both detectors have read it.
fn pinned_pairs_of_one_detector_that_both_ingest(device: Device) {
    assert_both_see_everything(device, 53, |first, other, pairs| {
        const LENGTH: usize = 1000;
        let mut buffer = first.pinned_pairs(LENGTH).unwrap();
        for (number, batch) in pairs.chunks(LENGTH).enumerate() {
            // If a batch is short, its last pair is repeated in the rest of the buffer, which has no effect.
            let pair = |index: usize| batch[index.min(batch.len() - 1)];
            let fill = |places: &mut [Ipv4Pair]| {
                (0..).zip(places).for_each(|(index, place)| *place = pair(index));
            };
            buffer.fill(fill).unwrap();
            match number % 3 {
                0 => first.ingest_pinned(&buffer).unwrap(),
                1 => other.ingest_pinned(&buffer).unwrap(),
                _ => {
                    other.ingest_pinned(&buffer).unwrap();
                    first.ingest_pinned(&buffer).unwrap();
                }
            }
        }
    });
}

// The memory, streams and kernels of one detector are freed while the other detector works.
fn detectors_go_and_the_other_one_stays(device: Device) {
    let [config, _] = presets(WINDOW);
    let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
    for slice in traffic(54) {
        let guest = second(device, config);
        let (mine, of_guest) = slice.pairs.split_at(slice.pairs.len() / 2);
        tested.ingest(mine).unwrap();
        guest.ingest(of_guest).unwrap();
        let pinned = guest.pinned_pairs::<Ipv4Pair>(100).unwrap();
        drop(guest);
        tested.ingest(of_guest).unwrap();
        drop(pinned);
        one_at_a_time(&one, &slice);
        assert_eq!(tested.close_slice().unwrap(), one.close_slice().unwrap());
    }
    assert_equal_recorders(&mut tested, &mut one);
}
