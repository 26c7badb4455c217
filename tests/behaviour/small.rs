//! Configurations with arrays so small that contacts collide and that a test can use many detectors. The golden files
//! depend on these sizes, so the sizes must not follow changes of the defaults.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use srlg::config::{HashFamily, RsraSizes, Scheme};
use srlg::{Config, IpPair, Ipv4Pair, SlidingDetector};

pub(crate) fn tagged() -> Config {
    Config {
        threshold: 32,
        window: 8,
        scheme: Scheme::Tagged { cell_bits: 12, lines: 24, tags: 64 },
        linear_width: 256,
        share: 1,
        candidate_limit: 1 << 14,
        hash: HashFamily::Murmur,
        seed: 0,
    }
}

pub(crate) fn paper() -> Config {
    let finder =
        RsraSizes { rows: 4, column_bits: 12, width: 8, bit_stride: 10, hot_limit: 1 << 14 };
    Config { scheme: Scheme::Paper { finder, rows: 2, columns: 500, stride: 1 }, ..tagged() }
}

/// Returns host `number`, which is an IPv4 address, an IPv4-mapped IPv6 address, or an IPv6 address.
pub(crate) fn host(number: u32) -> IpAddr {
    match number % 3 {
        0 => Ipv4Addr::from_bits(number.wrapping_mul(0x0101_3501)).into(),
        1 => Ipv4Addr::from_bits(number).to_ipv6_mapped().into(),
        _ => Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number)).into(),
    }
}

/// Ingests `pair`, as an [`Ipv4Pair`] if `is_short` is set and both hosts are IPv4.
pub(crate) fn ingest_any(detector: &SlidingDetector, pair: IpPair, is_short: bool, late: u32) {
    let ingested = match [pair.inside, pair.peer] {
        [[0, 0, 0xffff, inside], [0, 0, 0xffff, peer]] if is_short => {
            detector.ingest_late(&[Ipv4Pair { inside, peer }], late)
        }
        _ => detector.ingest_late(&[pair], late),
    };
    ingested.unwrap();
}
