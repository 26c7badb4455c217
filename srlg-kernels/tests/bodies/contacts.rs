//! Generators of the contacts of a few hosts: IPv4 only, or both address families.

use proptest::prelude::*;
use srlg_core::{IpPair, Ipv4Pair, Limbs};

pub(crate) const HOSTS: [u32; 6] = [0, u32::MAX, 0x0a00_0001, 0x0b00_0001, 0xc0a8_0101, 7];

/// IPv6 addresses, two of which are IPv4-mapped.
pub(crate) const HOSTS6: [Limbs; 5] = [
    [0x2001_0db8, 0, 0, 1],
    [0x2001_0db8, 0, 0, 2],
    [u32::MAX; 4],
    [0, 0, 0xffff, HOSTS[2]],
    [0, 0, 0xffff, 0x0a00_0002],
];

/// Contacts as `Ipv4Pair`s and as `IpPair`s, each with its age in epochs.
#[derive(Debug)]
pub(crate) struct Contacts {
    pub(crate) short: Vec<(Ipv4Pair, u32)>,
    pub(crate) long: Vec<(IpPair, u32)>,
}

pub(crate) fn contacts() -> impl Strategy<Value = Vec<(Ipv4Pair, u32)>> {
    let contact = (0..HOSTS.len(), 0u32..900, 0u32..7);
    let contact =
        contact.prop_map(|(host, peer, age)| (Ipv4Pair { inside: HOSTS[host], peer }, age));
    prop::collection::vec(contact, 1..500)
}

pub(crate) fn contacts_of_both() -> impl Strategy<Value = Contacts> {
    let contact = (0..HOSTS6.len(), 0u32..900, any::<bool>(), 0u32..7);
    let long = contact.prop_map(|(host, peer, is_v6, age)| {
        let peer = if is_v6 { [0x2001_0db8, 1, peer, 1] } else { [0, 0, 0xffff, peer] };
        (IpPair { inside: HOSTS6[host], peer }, age)
    });
    (contacts(), prop::collection::vec(long, 1..500))
        .prop_map(|(short, long)| Contacts { short, long })
}
