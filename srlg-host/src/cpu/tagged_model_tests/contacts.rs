//! Contacts of a few fixed hosts, and of many other hosts, which are called strangers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use srlg_core::{IpPair, Ipv4Pair};

/// Neighbouring and extreme addresses of both families, and addresses that differ only in high bits. The last host has
/// no contacts.
pub(super) const HOSTS: [IpAddr; 11] = [
    v4(0x0a00_0001),
    v6(0x2001_0db8 << 96 | 1),
    v4(0x0a00_0002),
    v6(0x2001_0db8 << 96 | 2),
    v4(0),
    v4(u32::MAX),
    v4(0x0b00_0001),
    v6(u128::MAX),
    v6(0),
    v6(0x2002_0a00_0001 << 80),
    v4(0x0001_0000),
];

const fn v4(host: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(host))
}

const fn v6(host: u128) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits(host))
}

/// The number of a host (an index into [`HOSTS`], or larger for a stranger) and the number of its peer.
pub(super) type Contact = (usize, u32);

/// Returns the pair of a contact, with an IPv6 address for every second stranger and every fourth peer.
pub(super) fn pair(&(host, peer): &Contact) -> IpPair {
    let any = |number: u32, is_v6| match is_v6 {
        true => v6(0x2001_0db8_0001 << 80 | u128::from(number)),
        false => v4(number),
    };
    let number = || (host as u32).wrapping_mul(0x9e37_79b1);
    let host = HOSTS.get(host).copied().unwrap_or_else(|| any(number(), host % 2 == 1));
    IpPair::new(host, any(peer, peer % 4 == 3))
}

/// Returns the pair as an [`Ipv4Pair`] if both addresses are IPv4 and the address of the peer is even.
///
/// IPv4 pairs whose peer has an odd address are ingested as [`IpPair`]s.
pub(super) fn short(pair: &IpPair) -> Option<Ipv4Pair> {
    let hosts = [srlg_core::host(pair.inside), srlg_core::host(pair.peer)];
    let [IpAddr::V4(inside), IpAddr::V4(peer)] = hosts else { return None };
    peer.to_bits().is_multiple_of(2).then(|| Ipv4Pair::new(inside, peer))
}
