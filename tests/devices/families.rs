//! Tests on any device with traffic of both families. Half of the inside hosts are IPv6.

use srlg::{Config, Device, IpPair, SlidingDetector};
use srlg_traffic::family::{Family, FamilyPairs};

use crate::device::detector;
use crate::feed::{assert_equal_recorders, pinned};
use crate::traffic::{Slice, backbone, presets, with_late};

on_every_device!(
    hosts_of_both_families_in_batches,
    hosts_of_both_families_in_turn,
    hosts_of_both_families_from_pinned_memory,
    no_pair_of_ipv6_in_the_paper_s_scheme,
);

/// A function that ingests pairs into a detector. Its last argument is the delay of the pairs, in slices.
type Feed = fn(&SlidingDetector, &FamilyPairs, u32);

/// Ingests one pair at a time from one thread, IPv6 pairs first. This is the reference for all other feeds.
fn one_at_a_time(detector: &SlidingDetector, pairs: &FamilyPairs, late: u32) {
    pairs.v6.iter().for_each(|&pair| detector.ingest_late(&[pair], late).unwrap());
    pairs.v4.iter().for_each(|&pair| detector.ingest_late(&[pair], late).unwrap());
}

fn in_batches(detector: &SlidingDetector, pairs: &FamilyPairs, late: u32) {
    detector.ingest_late(&pairs.v4, late).unwrap();
    detector.ingest_late(&pairs.v6, late).unwrap();
}

/// Ingests small IPv4 and IPv6 batches alternately, from four threads.
fn in_turn(detector: &SlidingDetector, FamilyPairs { v4, v6 }: &FamilyPairs, late: u32) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let turns = v4.chunks(97).zip(v6.chunks(61));
                for (number, (v4, v6)) in turns.enumerate() {
                    if number % 4 == thread {
                        detector.ingest_late(v4, late).unwrap();
                        detector.ingest_late(v6, late).unwrap();
                    }
                }
            });
        }
    });
    // The rest of the longer list is ingested at the end.
    let turns = v4.len().div_ceil(97).min(v6.len().div_ceil(61));
    let rest = FamilyPairs {
        v4: v4.iter().skip(97 * turns).copied().collect(),
        v6: v6.iter().skip(61 * turns).copied().collect(),
    };
    in_batches(detector, &rest, late);
}

fn from_pinned_memory(detector: &SlidingDetector, pairs: &FamilyPairs, late: u32) {
    if late > 0 {
        return in_batches(detector, pairs, late);
    }
    drop((pinned(detector, &pairs.v4), pinned(detector, &pairs.v6)));
}

fn take(detector: &SlidingDetector, slice: &Slice, feed: Feed) {
    let mut split = FamilyPairs::default();
    let in_time = [(0, slice.pairs.clone())];
    for (late, pairs) in in_time.iter().chain(&slice.late) {
        Family::Mixed.split(pairs, &mut split);
        feed(detector, &split, *late);
    }
}

fn check(device: Device, seed: u64, feed: Feed) {
    let [config, _] = presets(5).map(|preset| Config { seed, ..preset });
    let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
    let (mut of_v6, mut all) = (0, 0);
    for slice in with_late(backbone(seed, 7, 60_000)) {
        take(&tested, &slice, feed);
        take(&one, &slice, one_at_a_time);
        let report = one.close_slice().unwrap();
        assert_eq!(tested.close_slice().unwrap(), report);
        for point in &report.super_points {
            let asked = one.cardinality_within(point.host, 3).unwrap();
            assert_eq!(tested.cardinality_within(point.host, 3).unwrap(), asked);
        }
        all += report.super_points.len();
        of_v6 += report.super_points.iter().filter(|point| point.host.is_ipv6()).count();
    }
    assert!(of_v6 > 3 && all - of_v6 > 3, "{of_v6} of {all}");
    assert_equal_recorders(&mut tested, &mut one);
}

fn hosts_of_both_families_in_batches(device: Device) {
    check(device, 61, in_batches);
}

fn hosts_of_both_families_in_turn(device: Device) {
    check(device, 62, in_turn);
}

fn hosts_of_both_families_from_pinned_memory(device: Device) {
    check(device, 63, from_pinned_memory);
}

fn no_pair_of_ipv6_in_the_paper_s_scheme(device: Device) {
    let [_, paper] = presets(5);
    let detector = detector(device, paper);
    assert!(detector.ingest(&[IpPair::default()]).is_err());
    for feed in [in_batches, from_pinned_memory] {
        feed(&detector, &FamilyPairs::default(), 0);
    }
    detector.flush().unwrap();
}
