//! Glimpses that come along with a search are those of its hosts, and no others.

use proptest::prelude::*;
use srlg_core::{Config, IpPair, Scheme};

use super::simulated::Simulated;
use super::{cpu, on, small};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    // Thresholds from some 200 on take glimpses: fewer and more candidates than the slice before,
    // than glimpses are taken ahead of, and than come along with the counts.
    #[test]
    fn glimpses_that_were_taken_ahead_are_those_of_their_hosts(
        slices in prop::collection::vec(
            (prop::collection::vec(prop_oneof![200u32..420, 900u32..1300], 0..16), 0u32..4),
            1..5,
        ),
        limit in prop_oneof![Just(3u32), Just(9), Just(1 << 16)],
        seeds in (any::<u64>(), any::<u64>()),
    ) {
        let scheme = Scheme::Tagged { lines: 300, tags: 64 };
        let config =
            Config { threshold: 900, window: 2, scheme, seed: seeds.0, candidate_limit: limit, ..small() };
        let (mut gpu, mut cpu) = (on(&Simulated::new(seeds.1), config).unwrap(), cpu(config));
        for (hosts, first) in slices {
            for (host, peers) in (3 * first..).zip(hosts) {
                let aip = host.wrapping_mul(0x9e37_79b1);
                let pair = |peer: u32| IpPair { aip, bip: (peer + host).wrapping_mul(0x85eb_ca6b) };
                let pairs: Vec<IpPair> = (0..peers).map(pair).collect();
                gpu.ingest(&pairs).unwrap();
                cpu.ingest(&pairs).unwrap();
            }
            prop_assert_eq!(gpu.close_slice().unwrap(), cpu.close_slice().unwrap());
        }
    }
}

// A third of the 4,096 columns of two rows is hot: each pair of them spells 256 addresses, more
// than the limit accepts. The device must not search them ahead either.
#[test]
fn search_that_the_limits_refuse_is_not_made_ahead() {
    let config = Config { linear_width: 512, threshold: 8, oversampling_bits: 0, ..small() };
    let crowd = |i: u32| IpPair {
        aip: (i % 1800).wrapping_mul(0x9e37_79b1),
        bip: i.wrapping_mul(0x85eb_ca6b),
    };
    let pairs: Vec<IpPair> = (0..40_000).map(crowd).collect();
    let (mut gpu, mut cpu) = (on(&Simulated::new(3), config).unwrap(), cpu(config));
    gpu.ingest(&pairs).unwrap();
    cpu.ingest(&pairs).unwrap();
    gpu.flush().unwrap();
    let start = std::time::Instant::now();
    let report = gpu.close_slice().unwrap();
    assert_eq!(report, cpu.close_slice().unwrap());
    assert!(report.health.overload.is_some());
    // A tenth of a second; to test 5·10^8 addresses takes eight.
    assert!(start.elapsed().as_secs() < 4, "{:?}", start.elapsed());
}
