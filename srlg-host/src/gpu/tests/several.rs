//! Tests of several devices in one process. Each device has a detector and receives a part of the traffic.
//!
//! The detector on the first device merges the deltas of all other detectors, and must equal a detector on the CPU. The
//! failure of a device must not affect any other device.

use std::thread;

use srlg_core::{Config, Ipv4Pair};

use super::simulated::{Operation, SimulatedGpu};
use super::{cpu, on, small, small_paper};
use crate::detector::SlidingDetector;
use crate::error::Error;

/// Number of new peers that each of four hosts has per slice. With three devices, each device sees about 27 new peers
/// of each host per slice, and 107 per window.
const PEERS: u32 = 80;

/// Returns the contacts in `slice` that device `number` of `count` sees. Each device sees some peers of each host.
fn part(slice: u64, number: usize, count: usize) -> Vec<Ipv4Pair> {
    let is_seen = |contact: &u32| (contact / 4) as usize % count == number;
    let pair = |contact: u32| Ipv4Pair {
        inside: (contact % 4).wrapping_mul(0x0101_3501),
        peer: (slice as u32 * 4 * PEERS + contact).wrapping_mul(0x9e37_79b9),
    };
    (0..4 * PEERS).filter(is_seen).map(pair).collect()
}

fn devices(count: u64, config: Config) -> (Vec<SimulatedGpu>, Vec<SlidingDetector>) {
    let gpus: Vec<_> = (0..count).map(|number| SimulatedGpu::new(30 + number)).collect();
    let detectors = gpus.iter().map(|gpu| on(gpu, config).unwrap()).collect();
    (gpus, detectors)
}

/// Feeds all detectors at the same time, with two threads for each.
fn feed(detectors: &[SlidingDetector], slice: u64) -> Vec<Result<(), Error>> {
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, detector) in detectors.iter().enumerate() {
            let part = part(slice, number, detectors.len());
            threads.push(scope.spawn(move || {
                let (one, other) = part.split_at(part.len() / 2);
                thread::scope(|scope| {
                    let other = scope.spawn(|| detector.ingest(other));
                    detector.ingest(one).and(other.join().unwrap())
                })
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn merge(detectors: &mut [SlidingDetector], slices: u32) {
    let (first, others) = detectors.split_first_mut().unwrap();
    for other in others {
        first.merge_delta(&other.delta(slices).unwrap()).unwrap();
    }
}

#[test]
fn devices_that_share_the_traffic_report_what_one_cpu_that_saw_everything_reports() {
    for (config, count) in [(small(), 2), (small(), 3), (small_paper(), 2), (small_paper(), 3)] {
        let (_, mut detectors) = devices(count, config);
        let mut reference = cpu(config);
        let mut super_points = 0;
        for slice in 0..7 {
            feed(&detectors, slice).into_iter().for_each(Result::unwrap);
            merge(&mut detectors, 1);
            reference.ingest(&part(slice, 0, 1)).unwrap();
            let expected = reference.close_slice().unwrap();
            super_points += expected.super_points.len();
            assert_eq!(detectors[0].close_slice().unwrap(), expected);
            detectors.iter_mut().for_each(|detector| detector.skip_to(slice + 1).unwrap());
        }
        assert!(super_points >= 20, "{super_points}");
        assert!(detectors[0].snapshot().unwrap() == reference.snapshot().unwrap());
    }
}

/// The slice in which a device fails.
const FAILS: u64 = 2;

/// Runs three devices. In slice [`FAILS`], the second device fails after `after` successful calls of `operation`.
///
/// Returns whether the second device failed.
fn second_fails(operation: Operation, after: u32) -> bool {
    let (gpus, mut detectors) = devices(3, small());
    let mut reference = cpu(small());
    for slice in 0..FAILS {
        feed(&detectors, slice).into_iter().for_each(Result::unwrap);
        merge(&mut detectors, 1);
        reference.ingest(&part(slice, 0, 1)).unwrap();
        assert_eq!(detectors[0].close_slice().unwrap(), reference.close_slice().unwrap());
        detectors.iter_mut().for_each(|detector| detector.skip_to(slice + 1).unwrap());
    }
    gpus[1].fail(operation, after);
    let [first, second, third] = &feed(&detectors, FAILS)[..] else { panic!("three devices") };
    assert!(first.is_ok() && third.is_ok());
    // A device may fail after the call that started the work.
    let is_fed = second.is_ok();
    let mut lost = detectors.remove(1);
    if is_fed && lost.flush().and_then(|()| lost.delta(1)).is_ok() {
        return false;
    }
    assert!(matches!(lost.ingest(&part(FAILS, 1, 3)), Err(Error::DeviceLost)));
    assert!(matches!(lost.delta(1), Err(Error::DeviceLost)));
    assert!(matches!(lost.close_slice(), Err(Error::DeviceLost)));
    // The other devices saw their parts and handle all traffic afterwards.
    reference.ingest(&part(FAILS, 0, 3)).unwrap();
    reference.ingest(&part(FAILS, 2, 3)).unwrap();
    let kept = [gpus[0].memories(), gpus[2].memories()];
    drop(lost);
    assert_eq!(gpus[1].memories(), 0);
    assert_eq!([gpus[0].memories(), gpus[2].memories()], kept);
    for slice in FAILS..FAILS + 3 {
        if slice > FAILS {
            feed(&detectors, slice).into_iter().for_each(Result::unwrap);
            reference.ingest(&part(slice, 0, 1)).unwrap();
        }
        merge(&mut detectors, 1);
        let report = reference.close_slice().unwrap();
        assert_eq!(report.super_points.len(), 4);
        assert_eq!(detectors[0].close_slice().unwrap(), report);
        detectors[1].skip_to(slice + 1).unwrap();
    }
    true
}

#[test]
fn device_that_fails_is_lost_and_the_others_go_on_with_equal_bits() {
    use Operation::{Download, Finish, Launch, Look, Record, Upload, Wait};
    for operation in [Launch, Upload, Download, Record, Wait, Finish, Look] {
        let failures = [0, 1, 3].map(|after| second_fails(operation, after));
        assert!(failures[0], "{operation:?} never failed");
    }
}

// The other devices still have the deltas that the first device merged. A delta of the whole window contains them, but
// a delta of one slice does not.
#[test]
fn another_device_tells_what_the_rest_saw_after_the_first_was_lost() {
    let (gpus, mut detectors) = devices(3, small());
    let mut reference = cpu(small());
    for slice in 0..=FAILS {
        feed(&detectors, slice).into_iter().for_each(Result::unwrap);
        merge(&mut detectors, 1);
        reference.ingest(&part(slice, 1, 3)).unwrap();
        reference.ingest(&part(slice, 2, 3)).unwrap();
        if slice < FAILS {
            detectors[0].close_slice().unwrap();
            detectors.iter_mut().for_each(|detector| detector.skip_to(slice + 1).unwrap());
            reference.skip_to(slice + 1).unwrap();
        }
    }
    gpus[0].fail(Operation::Launch, 0);
    assert!(matches!(detectors[0].close_slice(), Err(Error::Driver { .. })));
    assert!(matches!(detectors.remove(0).close_slice(), Err(Error::DeviceLost)));
    merge(&mut detectors, small().window);
    let report = reference.close_slice().unwrap();
    assert_eq!(report.super_points.len(), 4);
    assert_eq!(detectors[0].close_slice().unwrap(), report);
}
