//! Tests of searches that exceed limits, and of searches whose results need several copies.

use proptest::prelude::*;
use srlg_core::{Config, HashFamily, IpPair, Ipv4Pair, Scheme};

use super::simulated::SimulatedGpu;
use super::{cpu, on, small, small_paper};
use crate::finder::Overload;

/// Returns the pairs of host number `host` and its `peers` peers. Hosts whose number is a multiple of 3 have IPv6
/// addresses.
fn peers_of(host: u32, peers: u32) -> impl Iterator<Item = IpPair> {
    let number = host.wrapping_mul(0x9e37_79b1);
    (0..peers).map(move |peer| {
        let pair = Ipv4Pair { inside: number, peer: (peer + host).wrapping_mul(0x85eb_ca6b) };
        match host % 3 {
            0 => IpPair { inside: [0x2001_0db8, number, 0, 1], ..pair.into() },
            _ => pair.into(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    // The simulated device copies 2,048 cells at a time. The random lists are shorter or longer, with more candidates
    // than the limit and more than fit into one question. Thresholds above about 200 use glimpses.
    #[test]
    fn full_cells_are_searched_as_on_the_cpu(
        slices in prop::collection::vec(
            (prop::collection::vec(prop_oneof![20u32..420, 900u32..1300], 0..16), 0u32..4, 0u32..12_000),
            1..4,
        ),
        sizes in (12u32..16, prop_oneof![8u32..64, Just(900u32)]),
        limit in prop_oneof![Just(3u32), Just(9), Just(1 << 16)],
        keyed: bool,
        seeds in (any::<u64>(), any::<u64>()),
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let scheme = Scheme::Tagged { cell_bits: sizes.0, lines: 300, tags: 64 };
        let config = Config {
            scheme, hash, threshold: sizes.1, window: 2, seed: seeds.0, candidate_limit: limit, ..small()
        };
        let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(seeds.1), config).unwrap(), cpu(config));
        for (hosts, first, strangers) in slices {
            let pairs = (3 * first..).zip(hosts).flat_map(|(host, peers)| peers_of(host, peers));
            let strangers = (0..strangers).flat_map(|stranger| peers_of(1000 + stranger, 2));
            let pairs: Vec<IpPair> = pairs.chain(strangers).collect();
            gpu.ingest(&pairs).unwrap();
            cpu.ingest(&pairs).unwrap();
            prop_assert_eq!(gpu.close_slice().unwrap(), cpu.close_slice().unwrap());
        }
        prop_assert!(gpu.snapshot().unwrap() == cpu.snapshot().unwrap());
    }
}

// A third of the 4,096 columns of two rows is hot. Each pair of columns yields 256 addresses, which exceeds the limit.
// The test of the kernel's body shows that the device does not search them in advance either.
#[test]
fn search_that_the_limits_refuse_ends_as_on_the_cpu() {
    let config = Config { linear_width: 512, threshold: 8, ..small_paper() };
    let crowd = |i: u32| Ipv4Pair {
        inside: (i % 1800).wrapping_mul(0x9e37_79b1),
        peer: i.wrapping_mul(0x85eb_ca6b),
    };
    let pairs: Vec<Ipv4Pair> = (0..40_000).map(crowd).collect();
    let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(3), config).unwrap(), cpu(config));
    gpu.ingest(&pairs).unwrap();
    cpu.ingest(&pairs).unwrap();
    gpu.flush().unwrap();
    let report = gpu.close_slice().unwrap();
    assert_eq!(report, cpu.close_slice().unwrap());
    let overload = report.health.finder.overload;
    assert!(matches!(overload, Some(Overload::Raised | Overload::Saturated)), "{overload:?}");
}
