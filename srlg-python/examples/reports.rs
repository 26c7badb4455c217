//! Prints the reports of the library for the pairs of tests/pairs.py. The output has one line per super point, and
//! floating-point numbers are printed as hexadecimal bits.
//!
//! Run it with `cargo run --release --example reports`.

use srlg::{Config, Device, Error, IpPair, Ipv4Pair, SlidingDetector};

const SLICES: u64 = 8;
const PAIRS: u64 = 60_000;

/// Returns output `number` of SplitMix64 with seed 0.
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns pair `number`: one of 64 inside hosts, with one of up to 5,041 peers.
fn pair(number: u64) -> Ipv4Pair {
    let bits = mix(number);
    let (host, peer) = ((bits >> 32) % 64, bits % (1 + (bits >> 32) % 64 * 80));
    Ipv4Pair { inside: 0x0a00_0000 + host as u32, peer: 0xc000_0000 + peer as u32 }
}

/// Returns pair `number`, mapped to addresses in 2001:db8::/32.
fn pair_v6(number: u64) -> IpPair {
    let Ipv4Pair { inside, peer } = pair(number);
    let [inside, peer] = [inside, peer].map(|bits| [0x2001_0db8, 0, 0, bits]);
    IpPair { inside, peer }
}

fn main() -> Result<(), Error> {
    let config = Config { threshold: 512, window: 4, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    for slice in 0..SLICES {
        let numbers = slice * PAIRS..(slice + 1) * PAIRS;
        detector.ingest(&numbers.clone().map(pair).collect::<Vec<_>>())?;
        detector.ingest(&numbers.map(pair_v6).collect::<Vec<_>>())?;
        let report = detector.close_slice()?;
        for point in &report.super_points {
            let (cardinality, std_error) = (point.cardinality.to_bits(), point.std_error.to_bits());
            let peers = point.peers.iter().map(|peer| format!("{}@{}", peer.host, peer.last_seen));
            let peers: Vec<String> = peers.collect();
            println!(
                "{slice} {} {cardinality:016x} {std_error:016x} {}",
                point.host,
                peers.join(",")
            );
        }
    }
    Ok(())
}
