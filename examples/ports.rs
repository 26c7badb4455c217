//! Detects port scans by counting pairs of an address and a port as peers.
//!
//! A peer need not be a host. In this example, a peer is an address and a port, hashed to 64 bits. A host that tries
//! 5,000 ports of one machine therefore has 5,000 peers.
//!
//! Run it with `cargo run --release --example ports`.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use srlg::{Config, Device, Error, IpPair, SlidingDetector};

/// A connection: the client, and the address and port of the server.
type Connection = (IpAddr, IpAddr, u16);

fn main() -> Result<(), Error> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    // The hash key is random and secret. Nodes whose data is merged need the same key, so they would need a hasher with
    // a common seed.
    let keyed = RandomState::new();
    let mut truth: BTreeMap<IpAddr, HashSet<(IpAddr, u16)>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (host, peer, port) in connections() {
        pairs.push(IpPair::with_hash(host, keyed.hash_one((peer, port))));
        truth.entry(host).or_default().insert((peer, port));
    }
    detector.ingest(&pairs)?;
    for point in detector.close_slice()?.super_points {
        let exact = truth.get(&point.host).map_or(0, HashSet::len);
        let (host, cardinality, error) = (point.host, point.cardinality, point.std_error);
        println!("{exact} addresses and ports: {host} {cardinality:.0} ±{error:.0}");
    }
    Ok(())
}

/// Returns connections in one direction, from client to server.
///
/// If both directions were counted, a server would look like a scanner, because its clients use many ports.
fn connections() -> Vec<Connection> {
    let v4 = |network: [u8; 2], host: u16| {
        let [high, low] = host.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(network[0], network[1], high, low))
    };
    let v6 = |host: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host));
    let (client, server) = (v4([10, 0], 1), v4([10, 0], 2));
    // One client uses 300 servers, on two ports each. One server has 3,000 clients.
    let browsing = (0..300).flat_map(|web| [80, 443].map(|port| (client, v4([192, 0], web), port)));
    let serving = (0..3000).map(|other| (v4([198, 51], other), server, 443));
    // One host scans all low ports of another host. A second one scans one port of a whole network.
    let vertical = (1..=5000).map(|port| (v4([10, 0], 3), server, port));
    let horizontal = (0..2000).map(|other| (v6(4), v4([172, 16], other), 22));
    browsing.chain(serving).chain(vertical).chain(horizontal).collect()
}
