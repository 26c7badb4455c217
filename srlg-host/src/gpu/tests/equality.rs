//! Tests that a detector on a simulated GPU equals a detector on the CPU, bit for bit, in every slice.

mod events;

use proptest::prelude::*;
use srlg_core::counter::tagged::Grouping;
use srlg_core::{ARRAYS, Ages, Config, HostId, IpPair, Scheme, Span};
use srlg_kernels::cells::KeptHost;
use srlg_kernels::survey::SUMS;
use srlg_traffic::family::ip;

use super::super::GpuBackend;
use super::super::device::{Gpu, HostMemory, Memory};
use super::simulated::SimulatedGpu;
use super::{contacts, cpu, on, small, small_paper};
use crate::backend::{Backend, Pairs};
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use crate::ingest::bytes::as_bytes;
use crate::ingest::pairs::{Family, PairSlice};
use events::{HOSTS, configs, events, happen};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_simulated_gpu_and_the_cpu_always_have_equal_bits(
        config in configs(),
        events in events(),
        order in any::<u64>(),
    ) {
        let cpu = || cpu(config);
        let gpu = || on(&SimulatedGpu::new(order), config).unwrap();
        let (mut cpu, mut other_cpu, mut gpu, mut other_gpu) = (cpu(), cpu(), gpu(), gpu());
        for event in &events {
            let expected = happen(&mut cpu, event, &mut other_cpu);
            prop_assert_eq!(happen(&mut gpu, event, &mut other_gpu), expected);
        }
        let window = cpu.params().window();
        prop_assert_eq!(gpu.delta(window).unwrap(), cpu.delta(window).unwrap());
        prop_assert_eq!(gpu.snapshot().unwrap(), cpu.snapshot().unwrap());
    }
}

#[test]
fn threads_that_ingest_at_once_equal_one_on_the_cpu() {
    for config in [small(), small_paper()] {
        let (mut gpu, mut cpu) = (
            on(&SimulatedGpu::new(1), config).unwrap(),
            SlidingDetector::new(config, Device::Cpu).unwrap(),
        );
        let pairs = contacts(30, 100);
        for _ in 0..3 {
            cpu.ingest(&pairs).unwrap();
            cpu.ingest_late(&pairs[..200], 1).unwrap();
            std::thread::scope(|scope| {
                for share in pairs.chunks(pairs.len() / 3) {
                    scope.spawn(|| share.chunks(17).for_each(|pairs| gpu.ingest(pairs).unwrap()));
                }
                scope.spawn(|| gpu.ingest_late(&pairs[..200], 1).unwrap());
                scope.spawn(|| gpu.cardinality(ip(HOSTS[1])).unwrap());
            });
            assert_eq!(gpu.close_slice().unwrap(), cpu.close_slice().unwrap());
        }
        assert_eq!(gpu.snapshot().unwrap(), cpu.snapshot().unwrap());
    }
}

#[test]
fn pinned_pairs_count_in_the_slice_that_closes_next() {
    for order in 0..12 {
        let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(order), small()).unwrap(), cpu(small()));
        for slice in 1..4 {
            let pairs = contacts(slice, 90 * slice);
            let mut pinned = gpu.pinned_pairs(pairs.len()).unwrap();
            pinned.fill(|buffer| buffer.copy_from_slice(&pairs)).unwrap();
            gpu.ingest_pinned(&pinned).unwrap();
            cpu.ingest(&pairs).unwrap();
            assert_eq!(gpu.close_slice().unwrap(), cpu.close_slice().unwrap());
        }
    }
}

#[test]
fn a_detector_of_the_paper_rejects_all_ipv6_pairs() {
    let gpu = on(&SimulatedGpu::new(1), small_paper()).unwrap();
    gpu.ingest::<IpPair>(&[]).unwrap();
    gpu.ingest_pinned(&gpu.pinned_pairs::<IpPair>(0).unwrap()).unwrap();
    let refused = [
        gpu.ingest(&[IpPair::default()]),
        gpu.ingest_pinned(&gpu.pinned_pairs::<IpPair>(1).unwrap()),
    ];
    assert!(refused.iter().all(|it| matches!(it, Err(Error::Ipv6InPaper))), "{refused:?}");
}

// An upload buffer of 416 bytes has room for 13 pairs of any two hosts or 52 IPv4 pairs. It is sent when a pair of the
// other type arrives.
#[test]
fn types_of_pairs_that_change_within_an_upload_buffer_equal_one_on_the_cpu() {
    for order in 0..12 {
        let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(order), small()).unwrap(), cpu(small()));
        for slice in 0..3 {
            let pairs = contacts(7, 200);
            for (number, pairs) in (slice..).zip(pairs.chunks(11)) {
                let v6 = pairs.iter().map(|pair| IpPair {
                    inside: [0x2001_0db8, 0, 0, pair.inside],
                    ..(*pair).into()
                });
                let v6: Vec<IpPair> = v6.collect();
                let count = (number * 5 % 12) as usize;
                for detector in [&gpu, &cpu] {
                    detector.ingest(pairs).unwrap();
                    detector.ingest(&v6[..count.min(v6.len())]).unwrap();
                    detector.ingest_late(&v6[..pairs.len() / 2], number % 3).unwrap();
                }
            }
            let report = cpu.close_slice().unwrap();
            assert_eq!(report.super_points.iter().filter(|it| it.host.is_ipv6()).count(), 7);
            assert_eq!(report.super_points.len(), 14);
            assert_eq!(gpu.close_slice().unwrap(), report);
        }
        assert!(gpu.snapshot().unwrap() == cpu.snapshot().unwrap());
    }
}

#[test]
fn pairs_on_the_device_count_in_the_slice_that_closes_next() {
    for order in 0..12 {
        let (simulated, pairs) = (SimulatedGpu::new(order), contacts(2, 300));
        let params = small().validate().unwrap();
        let mut gpu = GpuBackend::new(simulated.clone(), Device::Cpu, params).unwrap();
        let v6: Vec<IpPair> = pairs
            .iter()
            .map(|pair| IpPair {
                inside: [0x2001_0db8, 0, 0, pair.inside],
                peer: [0x2001_0db8, 1, 0, pair.peer],
            })
            .collect();
        for (family, bytes) in [(Family::V4, as_bytes(&pairs)), (Family::V6, as_bytes(&v6))] {
            let resident = simulated.allocate(bytes.len()).unwrap();
            let mut pinned = simulated.pin(bytes.len()).unwrap();
            pinned.write().unwrap().copy_from_slice(bytes);
            gpu.scan_resident(family, Ages::default(), |queue, scan| {
                simulated.upload(queue, &pinned, 0, resident.all())?;
                scan(resident.all())
            })
            .unwrap();
        }
        let mut cpu = crate::cpu::backend(params).unwrap();
        for pairs in [PairSlice::V4(&pairs), PairSlice::V6(&v6)] {
            cpu.scan(Pairs::Plain(pairs), Ages::default()).unwrap();
        }
        let span = params.span(0, 4);
        let [gpu_found, cpu_found] = [&mut gpu as &mut dyn Backend, &mut *cpu]
            .map(|backend| backend.candidates(span, &[], params.candidate_limit()).unwrap());
        assert_eq!(gpu_found.health, cpu_found.health);
        assert_eq!(gpu_found.count, cpu_found.count);
        for array in 0..ARRAYS {
            assert_eq!(gpu.export(array).unwrap(), cpu.export(array).unwrap());
        }
    }
}

// The list is longer than the pinned memory and is copied in several pieces. A pair touches a recorder in each of five
// rows, so there are about 15,000 recorders. Their numbers take 60,000 bytes, and a single copy transfers 30,720 bytes.
// Beyond 20,479 recorders, no list would be used.
#[test]
fn delta_of_more_recorders_than_one_copy_takes_is_that_of_the_cpu() {
    let mut one = cpu(Config::paper());
    one.ingest(&contacts(75, 40)).unwrap();
    let mut tested = on(&SimulatedGpu::new(6), Config::paper()).unwrap();
    tested.ingest(&contacts(75, 40)).unwrap();
    let delta = one.delta(1).unwrap();
    assert!((14_000..20_000).contains(&delta.recorders()), "{}", delta.recorders());
    // `assert_eq` would print all recorders on failure.
    assert!(tested.delta(1).unwrap() == delta);
}

// Lists on the simulated device have room for 20,479 16-bit recorders, and 122,880 bytes are merged at a time.
#[test]
fn deltas_and_snapshots_that_the_device_has_no_room_for_are_whole() {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 2000, tags: 64 };
    let config = Config { scheme, ..small() };
    let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(6), config).unwrap(), cpu(config));
    for detector in [&gpu, &cpu] {
        detector.ingest(&contacts(60, 1000)).unwrap();
    }
    let (delta, snapshot) = (gpu.delta(1).unwrap(), cpu.snapshot().unwrap());
    // The delta may contain all 4,096 cells.
    assert!(delta.recorders() > 20_479 + 4096, "{}", delta.recorders());
    assert_eq!(delta, cpu.delta(1).unwrap());
    let mut merged = on(&SimulatedGpu::new(7), config).unwrap();
    merged.merge_snapshot(&snapshot).unwrap();
    assert!(merged.snapshot().unwrap() == snapshot);
}

/// Returns the number of bytes copied by a close that finds three super points, as the previous close did.
///
/// The number includes the bytes copied for `regions` regions of giants. For the paper's scheme, the number is not
/// checked, and the function returns 0.
fn bytes_of_close(config: &Config, regions: usize) -> usize {
    let params = config.validate().unwrap();
    let (span, count) = (Span::whole(config.window, 1), size_of::<u32>());
    if params.counter().tagged().is_none() {
        return 0;
    }
    let bins = Grouping::of_ages(span).bin_words() * count;
    // The first trip transfers the cells by age for both families, and the sums of the row.
    let first = 2 * span.finder_ages as usize * count + SUMS * count;
    // The second trip starts with keys and IDs of kept hosts. It returns two more listed hosts and records than the
    // last close had, but at most four records. A listed host has a key and a count of cells. A record has bins, 64
    // cells and a number. Four other counts precede the records.
    let kept = 3 * size_of::<KeptHost>();
    let listed = 5 * (size_of::<u64>() + count);
    let records = (4 * (bins + 64 * size_of::<u64>() + count)).next_multiple_of(8);
    let second = kept + listed + records + 4 * count;
    // For each region of giants (hosts with very many peers), a count, IDs and numbers are sent.
    first + second + regions * (8 + 3 * (size_of::<HostId>() + count + bins))
}

// With cells, there is one trip for ages and row weights, one for everything else, and one for each region of giants.
// In the paper's scheme, there is one trip for counts with hosts, one for row weights, and one for tallies.
#[test]
fn closing_a_slice_takes_two_trips_to_the_device_and_one_per_region_of_giants_and_no_memory() {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 3000, tags: 64 };
    let wide = Config { threshold: 512, scheme, linear_width: 1024, ..small() };
    let narrow = Config { threshold: 512, ..small() };
    // Giants leave few of the 512 or 1,024 fine positions. One or two coarse regions are therefore also examined.
    let closes =
        [(wide, 600, 0, 2), (narrow, 700, 2, 4), (wide, 2500, 3, 5), (small_paper(), 700, 0, 3)];
    for (config, peers, regions, trips) in closes {
        let gpu = SimulatedGpu::new(2);
        let mut detector = on(&gpu, config).unwrap();
        let counts = || ["allocate", "pin", "trip"].map(|operation| gpu.count(operation));
        let [allocations, pins, _] = counts();
        for slice in 0..5 {
            detector.ingest(&contacts(3, peers)).unwrap();
            detector.flush().unwrap();
            let before = ["trip", "bytes"].map(|operation| gpu.count(operation));
            let report = detector.close_slice().unwrap();
            assert_eq!(report.super_points.len(), 3);
            let after = ["trip", "bytes"].map(|operation| gpu.count(operation));
            // The first close cannot know the size of the results.
            if slice > 0 {
                assert_eq!(after[0] - before[0], trips, "slice {slice}");
                let (bytes, expected) = (after[1] - before[1], bytes_of_close(&config, regions));
                assert!(expected == 0 || expected == bytes as usize, "{bytes}, not {expected}");
            }
        }
        assert_eq!(counts()[..2], [allocations, pins]);
    }
}

// The simulated device can list twelve hosts and examine four fine regions at the same time. This test exceeds both
// numbers, in both families. Hosts appear and disappear. Some of them need all of their regions, at the same time and
// in consecutive slices.
#[test]
fn more_candidates_than_the_device_has_room_for_equal_those_on_the_cpu() {
    for (order, linear_width) in [(1, 512), (2, 1024), (3, 512), (4, 2048)] {
        let scheme = Scheme::Tagged { cell_bits: 13, lines: 3000, tags: 64 };
        let config = Config { threshold: 512, scheme, linear_width, ..small() };
        let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(order), config).unwrap(), cpu(config));
        for hosts in [1, 3, 9, 30, 2, 40, 5, 14, 12, 13, 4] {
            let pairs = contacts(hosts, 640);
            for detector in [&gpu, &cpu] {
                detector.ingest(&pairs).unwrap();
                let v6 = pairs.iter().filter(|pair| pair.inside % 3 == 0).map(|pair| IpPair {
                    inside: [0x2001_0db8, 0, 0, pair.inside],
                    ..(*pair).into()
                });
                detector.ingest(&v6.collect::<Vec<_>>()).unwrap();
            }
            let report = cpu.close_slice().unwrap();
            assert!(report.super_points.len() >= hosts as usize);
            assert_eq!(gpu.close_slice().unwrap(), report, "{hosts} hosts");
        }
    }
}
