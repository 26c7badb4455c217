//! Addresses of inside hosts and of their peers in synthetic traffic.
//!
//! The address of a peer from this module is never in a reserved network (0.0.0.0/8, 10.0.0.0/8, 127.0.0.0/8, and
//! 224.0.0.0 or higher). A peer is also never an inside host, so the addresses of a pair show which of the two hosts is
//! inside.

use super::rng::{Rng, mix};
use srlg_core::Address;
use std::net::Ipv4Addr;

/// Number of distinct hosts that [`inside_host`] can return.
pub const INSIDE_HOSTS: u32 = 1 << INDEX_BITS;

/// Number of bits in the index of an inside host. 4 bits select the network, and 20 bits select the host in it.
const INDEX_BITS: u32 = 24;

/// Inside networks, each of which has 2^20 addresses. They do not overlap reserved networks.
const INSIDE_NETWORKS: [Ipv4Addr; 16] = [
    Ipv4Addr::new(14, 32, 0, 0),
    Ipv4Addr::new(26, 112, 0, 0),
    Ipv4Addr::new(38, 192, 0, 0),
    Ipv4Addr::new(50, 16, 0, 0),
    Ipv4Addr::new(62, 96, 0, 0),
    Ipv4Addr::new(74, 176, 0, 0),
    Ipv4Addr::new(86, 0, 0, 0),
    Ipv4Addr::new(98, 80, 0, 0),
    Ipv4Addr::new(110, 160, 0, 0),
    Ipv4Addr::new(122, 240, 0, 0),
    Ipv4Addr::new(134, 64, 0, 0),
    Ipv4Addr::new(146, 144, 0, 0),
    Ipv4Addr::new(158, 224, 0, 0),
    Ipv4Addr::new(170, 48, 0, 0),
    Ipv4Addr::new(182, 128, 0, 0),
    Ipv4Addr::new(194, 208, 0, 0),
];

pub(crate) fn is_inside(address: Address) -> bool {
    let network = address & (Address::MAX << 20);
    INSIDE_NETWORKS.iter().any(|inside| inside.to_bits() == network)
}

/// Returns the inside host with this `index`. The hosts are scattered over 16 networks.
///
/// Indices below [`INSIDE_HOSTS`] yield distinct hosts. Higher indices wrap around.
#[must_use]
pub const fn inside_host(index: u32) -> Address {
    let mask = INSIDE_HOSTS - 1;
    let half = INDEX_BITS / 2;
    // Xor-shifts and multiplications by odd numbers are bijections on 24 bits.
    let mut x = index & mask;
    x ^= x >> half;
    x = x.wrapping_mul(0x00B5_297B) & mask;
    x ^= x >> half;
    x = x.wrapping_mul(0x0068_E31D) & mask;
    x ^= x >> half;
    INSIDE_NETWORKS[(x >> 20) as usize].to_bits() | (x & 0x000F_FFFF)
}

/// Returns whether a peer can have `address`, that is, whether the address is neither inside nor reserved.
pub(crate) fn is_peer(address: Address) -> bool {
    let octet = address >> 24;
    !matches!(octet, 0 | 10 | 127 | 224..) && !is_inside(address)
}

pub(crate) fn random_peer(rng: &mut Rng) -> Address {
    peer_from(rng.bits())
}

/// Returns a peer that depends only on `name`, which can be any integer.
pub(crate) fn peer_from(name: u64) -> Address {
    let mut bits = mix(name);
    while !is_peer((bits >> 32) as Address) {
        bits = mix(bits);
    }
    (bits >> 32) as Address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_hosts_are_distinct_and_inside() {
        let mut seen = vec![false; 1 << 24];
        for index in 0..INSIDE_HOSTS {
            let host = inside_host(index);
            assert!(is_inside(host) && !is_peer(host), "{host:#x}");
            let network = INSIDE_NETWORKS.iter().position(|n| n.to_bits() == host & 0xFFF0_0000);
            let position = network.unwrap() << 20 | (host & 0x000F_FFFF) as usize;
            assert!(!std::mem::replace(&mut seen[position], true), "{host:#x} twice");
        }
    }

    #[test]
    fn peers_are_routable_and_not_inside() {
        let mut rng = Rng::new(1, 2);
        for _ in 0..100_000 {
            let host = Ipv4Addr::from_bits(random_peer(&mut rng));
            assert!(!host.is_loopback() && !host.is_multicast() && !is_inside(host.to_bits()));
        }
    }
}
