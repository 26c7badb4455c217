//! Where IPv4 and IPv6 might be told apart and must not be: at the limit of candidates, in batches, and in the paper's scheme.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use srlg::config::Scheme;
use srlg::ingest::{Ip6Pair, PairBatch};
use srlg::{Config, Device, Error, SlidingDetector};

fn detector(config: Config) -> SlidingDetector {
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

fn host(is_v6: bool, number: u32) -> IpAddr {
    if is_v6 {
        Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number)).into()
    } else {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }
}

// 100 hosts of each family hold all the cells that a host may hold, and a quarter of all hosts is accepted. By chance
// 25 ± 3.1 of these are of IPv6; less than 8 or more than 42 once in 10^8 seeds.
#[test]
fn the_limit_of_candidates_takes_hosts_of_both_families_alike() {
    let scheme = Scheme::Tagged { cell_bits: 24, lines: 400_000, tags: 64 };
    let config =
        Config { threshold: 8, window: 4, candidate_limit: 50, scheme, ..Config::default() };
    let mut detector = detector(config);
    for number in 0..200 {
        let host = host(number % 2 == 1, number);
        let pairs: Vec<_> = (0..3000)
            .map(|peer| Ip6Pair::with_hash(host, peer << 32 | u64::from(number)))
            .collect();
        detector.ingest(&pairs).unwrap();
    }
    let report = detector.close_slice().unwrap();
    let v6 = report.super_points.iter().filter(|point| point.host.is_ipv6()).count();
    assert_eq!(report.super_points.len(), 50);
    assert!((8..=42).contains(&v6), "{v6} of 50 are of IPv6");
}

#[test]
fn a_batch_takes_a_mapped_address_for_the_ipv4_host() {
    let mut batch = PairBatch::new();
    batch.push("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    batch.push("::ffff:10.0.0.1".parse().unwrap(), "::ffff:10.0.0.3".parse().unwrap());
    assert_eq!((batch.v4().unwrap().len(), batch.v6().unwrap().len()), (2, 0));
    batch.ingest(&detector(Config::paper())).unwrap();
}

#[test]
fn the_papers_scheme_takes_nothing_of_a_batch_with_ipv6() {
    let detector = detector(Config::paper());
    let fresh = detector.snapshot().unwrap();
    let mut batch = PairBatch::new();
    batch.push(host(false, 1), host(false, 2));
    batch.push(host(true, 1), host(false, 2));
    assert!(matches!(batch.ingest(&detector), Err(Error::Ip6InPaper)));
    let mut feed = detector.feed(1 << 10).unwrap();
    assert!(matches!(batch.feed(&mut feed), Err(Error::Ip6InPaper)));
    assert!(matches!(batch.feed_at(&mut feed, 0), Err(Error::Ip6InPaper)));
    drop(feed);
    assert!(detector.snapshot().unwrap() == fresh);
}

#[test]
fn the_papers_scheme_answers_no_query_for_an_ipv6_host() {
    let detector = detector(Config::paper());
    assert!(matches!(detector.cardinality(host(true, 1)), Err(Error::Ip6InPaper)));
    assert!(matches!(detector.cardinality_within(host(true, 1), 1), Err(Error::Ip6InPaper)));
    let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
    assert_eq!(
        detector.cardinality(mapped).unwrap(),
        detector.cardinality(host(false, 1)).unwrap()
    );
}
