//! A detector on a simulated GPU gives the same bits as one on the CPU, slice by slice.

mod events;

use proptest::prelude::*;
use srlg_core::scheme::TaggedTypes;
use srlg_core::{ARRAYS, Ages, Config, HostId, Ip6Pair, Scheme, Span};
use srlg_kernels::survey::SUMS;
use srlg_traffic::family::ip;
use zerocopy::IntoBytes;

use super::super::GpuBackend;
use super::super::device::{Gpu, Memory, Pinned};
use super::simulated::Simulated;
use super::{contacts, cpu, on, small, small_paper};
use crate::backend::{Backend, Pairs};
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use crate::pairs::{Family, PairSlice};
use events::{HOSTS, configs, events, happen};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn simulated_gpu_and_cpu_have_equal_bits_whatever_happens(
        config in configs(),
        events in events(),
        order in any::<u64>(),
    ) {
        let cpu = || cpu(config);
        let gpu = || on(&Simulated::new(order), config).unwrap();
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
            on(&Simulated::new(1), config).unwrap(),
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
        let (mut gpu, mut cpu) = (on(&Simulated::new(order), small()).unwrap(), cpu(small()));
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
fn a_detector_of_the_paper_s_scheme_takes_no_pair_of_ipv6_but_none_at_all() {
    let gpu = on(&Simulated::new(1), small_paper()).unwrap();
    gpu.ingest::<Ip6Pair>(&[]).unwrap();
    gpu.ingest_pinned(&gpu.pinned_pairs::<Ip6Pair>(0).unwrap()).unwrap();
    let refused = [
        gpu.ingest(&[Ip6Pair::default()]),
        gpu.ingest_pinned(&gpu.pinned_pairs::<Ip6Pair>(1).unwrap()),
    ];
    assert!(refused.iter().all(|it| matches!(it, Err(Error::Ip6InPaper))), "{refused:?}");
}

// An upload buffer of 416 bytes has room for 13 pairs of any two hosts, or 52 of IPv4, and is sent when the other type comes.
#[test]
fn types_of_pairs_that_change_within_an_upload_buffer_equal_one_on_the_cpu() {
    for order in 0..12 {
        let (mut gpu, mut cpu) = (on(&Simulated::new(order), small()).unwrap(), cpu(small()));
        for slice in 0..3 {
            let pairs = contacts(7, 200);
            for (number, pairs) in (slice..).zip(pairs.chunks(11)) {
                let v6 = pairs.iter().map(|pair| Ip6Pair {
                    inside: [0x2001_0db8, 0, 0, pair.inside],
                    ..(*pair).into()
                });
                let v6: Vec<Ip6Pair> = v6.collect();
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
        let (simulated, pairs) = (Simulated::new(order), contacts(2, 300));
        let params = small().validate().unwrap();
        let mut gpu =
            GpuBackend::<_, TaggedTypes>::new(simulated.clone(), Device::Cpu, params).unwrap();
        let v6: Vec<Ip6Pair> = pairs
            .iter()
            .map(|pair| Ip6Pair {
                inside: [0x2001_0db8, 0, 0, pair.inside],
                opposite: [0x2001_0db8, 1, 0, pair.opposite],
            })
            .collect();
        for (family, bytes) in [(Family::V4, pairs.as_bytes()), (Family::V6, v6.as_bytes())] {
            let resident = simulated.allocate(bytes.len()).unwrap();
            let mut pinned = simulated.pin(bytes.len()).unwrap();
            pinned.write(|all| all.copy_from_slice(bytes)).unwrap();
            gpu.scan_resident((family, Ages::default()), |queue, scan| {
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
        assert_eq!(gpu.candidates(span).unwrap().quality, cpu.candidates(span).unwrap().quality);
        for array in 0..ARRAYS {
            assert_eq!(gpu.export(array).unwrap(), cpu.export(array).unwrap());
        }
    }
}

// Lists of the simulated device have room for 3,840 recorders.
#[test]
fn delta_that_no_list_has_room_for_is_whole() {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 400, tags: 64 };
    let config = Config { scheme, ..small() };
    let (mut gpu, mut cpu) = (on(&Simulated::new(6), config).unwrap(), cpu(config));
    for detector in [&gpu, &cpu] {
        detector.ingest(&contacts(40, 200)).unwrap();
    }
    let delta = gpu.delta(1).unwrap();
    assert!(delta.recorders() > 3840, "{}", delta.recorders());
    assert_eq!(delta, cpu.delta(1).unwrap());
}

/// Checks how many `bytes` the copies of a close have that finds three super points in as many `trips`.
fn assert_bytes(config: &Config, trips: u32, bytes: u32) {
    let params = config.validate().unwrap();
    let (Some(_), 8..) = (params.counter().tagged(), trips) else { return };
    let span = Span::whole(config.window, 1);
    let (count, word) = (size_of::<u32>(), size_of::<u64>());
    // Cells by age, of both families; how many are listed; sums of the row.
    let sums = 2 * span.finder_ages as usize * count + count + SUMS * count;
    // Glimpses, fine regions, and coarse ones in a ninth trip: a host goes there, and its bins come back, two bytes each.
    let tallies = (trips as usize - 6) * 3 * (size_of::<HostId>() + span.bins() * 2);
    let peers = 3 * 64 * (count + word);
    let listed = (bytes as usize).checked_sub(sums + tallies + peers).unwrap();
    // Of three hosts with up to 64 cells.
    assert!(
        listed.is_multiple_of(count + word) && listed <= peers,
        "{bytes} bytes, {listed} of the list"
    );
}

// Cells: ages, how many are listed, their places, their words; row weights; glimpses; tallies; the cells
// of super points. The paper's: counts with hosts; row weights; tallies.
#[test]
fn closing_a_slice_takes_eight_trips_to_the_device_or_nine_or_three_and_no_memory() {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 3000, tags: 64 };
    let wide = Config { threshold: 512, scheme, linear_width: 1024, ..small() };
    // Of half as many positions 700 opposite hosts leave so few that the coarse region is looked at too.
    let narrow = Config { threshold: 512, ..small() };
    for (config, trips) in [(wide, 8), (narrow, 9), (small_paper(), 3)] {
        let gpu = Simulated::new(2);
        let mut detector = on(&gpu, config).unwrap();
        let counts = || ["allocate", "pin", "trip"].map(|operation| gpu.count(operation));
        let [allocations, pins, _] = counts();
        for slice in 0..5 {
            detector.ingest(&contacts(3, 700)).unwrap();
            detector.flush().unwrap();
            let before = ["trip", "bytes"].map(|operation| gpu.count(operation));
            let report = detector.close_slice().unwrap();
            assert_eq!(report.super_points.len(), 3);
            let after = ["trip", "bytes"].map(|operation| gpu.count(operation));
            assert_eq!(after[0] - before[0], trips, "slice {slice}");
            assert_bytes(&config, trips, after[1] - before[1]);
        }
        assert_eq!(counts()[..2], [allocations, pins]);
    }
}
