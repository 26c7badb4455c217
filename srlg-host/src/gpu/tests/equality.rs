//! A detector on a simulated GPU gives the same bits as one on the CPU, slice by slice.

use proptest::prelude::*;
use srlg_core::scheme::TaggedTypes;
use srlg_core::{ARRAYS, Address, Ages, Config, Hash, IpPair, Scheme};
use zerocopy::IntoBytes;

use super::super::GpuBackend;
use super::super::device::{Gpu, Memory, Pinned};
use super::simulated::Simulated;
use super::{contacts, cpu, on, small, small_paper};
use crate::backend::{Backend, Pairs};
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::report::StageTimes;

/// Neighbours, extremes, and hosts that differ in high bits only.
const HOSTS: [Address; 10] =
    [0, 1, u32::MAX, 0x0a00_0001, 0x0b00_0001, 0xc0a8_0101, 0xc0a8_0201, 0x8000_0000, 7, 0x1000];

/// What happens to a detector.
#[derive(Clone, Debug)]
enum Event {
    /// Some contacts, `late` slices late.
    Ingest {
        pairs: Vec<(usize, u32)>,
        late: u32,
    },
    /// The same from a pinned buffer.
    Pinned {
        pairs: Vec<(usize, u32)>,
    },
    Query {
        host: usize,
        window: u32,
    },
    Close,
    Skip {
        slices: u64,
    },
    /// What another node saw in its last slices is merged, as a snapshot or as a delta.
    Merge {
        pairs: Vec<(usize, u32)>,
        delta: Option<u32>,
    },
    /// It becomes what another node is.
    Restore {
        pairs: Vec<(usize, u32)>,
    },
}

fn configs() -> impl Strategy<Value = Config> {
    let scheme = prop_oneof![
        (20u32..200, 64u32..300).prop_map(|(lines, tags)| (Scheme::Tagged { lines, tags }, 512)),
        (1u32..4, 1u32..40, 1u32..8)
            .prop_map(|(rows, columns, stride)| { (Scheme::Paper { rows, columns, stride }, 100) }),
    ];
    let limits =
        (prop_oneof![Just(2u32), Just(1 << 14)], prop_oneof![Just(3u32), Just(5), Just(1 << 16)]);
    let rough = prop_oneof![Just((12, 10, 4, 8)), Just((13, 10, 4, 4)), Just((14, 6, 5, 2))];
    let hash = prop_oneof![Just(Hash::Murmur), Just(Hash::HalfSip13)];
    (scheme, limits, rough, 1u32..8, 8u32..60, (hash, any::<u64>())).prop_map(
        |((scheme, linear_width), limits, rough, window, threshold, (hash, seed))| Config {
            scheme,
            linear_width,
            hot_limit: limits.0,
            candidate_limit: limits.1,
            rough_column_bits: rough.0,
            bit_stride: rough.1,
            rough_rows: rough.2,
            rough_width: rough.3,
            window,
            threshold,
            hash,
            seed,
            ..small()
        },
    )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let pairs = || prop::collection::vec((0..HOSTS.len(), 0u32..300), 0..260);
    let late = prop_oneof![4 => Just(0u32), 1 => 1u32..9];
    let event = prop_oneof![
        4 => (pairs(), late).prop_map(|(pairs, late)| Event::Ingest { pairs, late }),
        1 => pairs().prop_map(|pairs| Event::Pinned { pairs }),
        1 => (0..HOSTS.len(), 1u32..8).prop_map(|(host, window)| Event::Query { host, window }),
        3 => Just(Event::Close),
        1 => (0u64..5).prop_map(|slices| Event::Skip { slices }),
        1 => pairs().prop_map(|pairs| Event::Restore { pairs }),
        1 => (pairs(), prop::option::of(1u32..4)).prop_map(|(pairs, delta)| Event::Merge { pairs, delta }),
    ];
    prop::collection::vec(event, 1..14)
}

fn pairs_of(pairs: &[(usize, u32)]) -> Vec<IpPair> {
    pairs.iter().map(|&(host, bip)| IpPair { aip: HOSTS[host], bip }).collect()
}

/// Lets `event` happen; what the detector says to it, as text, every bit of it.
fn happen(detector: &mut SlidingDetector, event: &Event, other: &mut SlidingDetector) -> String {
    match event {
        Event::Ingest { pairs, late } => {
            detector.ingest_late(&pairs_of(pairs), *late).unwrap();
            String::new()
        }
        Event::Pinned { pairs } => {
            let pairs = pairs_of(pairs);
            let mut pinned = detector.pinned_pairs(pairs.len()).unwrap();
            pinned.fill(|buffer| buffer.copy_from_slice(&pairs)).unwrap();
            detector.ingest_pinned(&pinned).unwrap();
            // The buffer may be filled again at once, and go at once.
            pinned.fill(|buffer| buffer.fill(IpPair { aip: 9, bip: 9 })).unwrap();
            String::new()
        }
        Event::Query { host, window } => {
            let window = (*window).min(detector.params().window());
            format!("{:?}", detector.cardinality_within(HOSTS[*host].into(), window).unwrap())
        }
        Event::Close => {
            let mut report = detector.close_slice().unwrap();
            report.stages = StageTimes::default();
            format!("{report:?}")
        }
        Event::Skip { slices } => format!("{:?}", detector.skip_to(detector.slice() + slices)),
        Event::Restore { pairs } => {
            other.skip_to(detector.slice()).unwrap();
            other.ingest(&pairs_of(pairs)).unwrap();
            let snapshot = other.snapshot().unwrap();
            detector.restore(&snapshot).unwrap();
            assert!(detector.snapshot().unwrap() == snapshot);
            String::new()
        }
        Event::Merge { pairs, delta } => {
            other.skip_to(detector.slice()).unwrap();
            other.ingest(&pairs_of(pairs)).unwrap();
            match delta {
                Some(slices) => {
                    let slices = (*slices).min(other.params().window());
                    detector.merge(&other.take_delta(slices).unwrap()).unwrap();
                }
                None => detector.merge_snapshot(&other.snapshot().unwrap()).unwrap(),
            }
            String::new()
        }
    }
}

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
        prop_assert_eq!(gpu.take_delta(window).unwrap(), cpu.take_delta(window).unwrap());
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
                scope.spawn(|| gpu.cardinality(HOSTS[1].into()).unwrap());
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
fn pairs_on_the_device_count_in_the_slice_that_closes_next() {
    for order in 0..12 {
        let (simulated, pairs) = (Simulated::new(order), contacts(2, 300));
        let params = small().validate().unwrap();
        let mut gpu =
            GpuBackend::<_, TaggedTypes>::new(simulated.clone(), Device::Cpu, params).unwrap();
        let (resident, mut pinned) =
            (simulated.allocate(4800).unwrap(), simulated.pin(4800).unwrap());
        pinned.write(|bytes| bytes.copy_from_slice(pairs.as_bytes())).unwrap();
        gpu.scan_resident(Ages::default(), |queue, scan| {
            simulated.upload(queue, &pinned, 0, resident.all())?;
            scan(resident.all())
        })
        .unwrap();
        let mut cpu = crate::cpu::backend(params).unwrap();
        cpu.scan(Pairs::Plain(&pairs), Ages::default()).unwrap();
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
    let config = Config { scheme: Scheme::Tagged { lines: 400, tags: 64 }, ..small() };
    let (mut gpu, mut cpu) = (on(&Simulated::new(6), config).unwrap(), cpu(config));
    for detector in [&gpu, &cpu] {
        detector.ingest(&contacts(40, 200)).unwrap();
    }
    let delta = gpu.take_delta(1).unwrap();
    assert!(delta.recorders() > 3840, "{}", delta.recorders());
    assert_eq!(delta, cpu.take_delta(1).unwrap());
}

// The first close does not know how many candidates there will be, the later ones do.
#[test]
fn closing_a_slice_takes_two_trips_to_the_device_and_no_memory() {
    let (gpu, config) = (Simulated::new(2), Config { threshold: 512, ..small() });
    let mut detector = on(&gpu, config).unwrap();
    let counts = || ["allocate", "pin", "trip"].map(|operation| gpu.count(operation));
    let [allocations, pins, _] = counts();
    for slice in 0..5 {
        detector.ingest(&contacts(3, 700)).unwrap();
        detector.flush().unwrap();
        let before = gpu.count("trip");
        let report = detector.close_slice().unwrap();
        assert_eq!(report.super_points.len(), 3);
        assert_eq!(gpu.count("trip") - before, 2, "slice {slice}");
    }
    assert_eq!(counts()[..2], [allocations, pins]);
}
