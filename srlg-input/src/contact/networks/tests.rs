//! Tests that compare longest prefix matches with a linear search, and tests of networks in text form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;

use super::{BadNetwork, Networks, parse_network};

/// Finds the longest prefix by linear search. If a network occurs more than once, its last value applies.
fn naive(networks: &[(IpNet, usize)], host: IpAddr) -> Option<&usize> {
    let holding = networks.iter().filter(|(network, _)| network.contains(&host));
    holding.max_by_key(|(network, _)| network.prefix_len()).map(|(_, value)| value)
}

/// Generates networks that are often equal, nested or adjacent, because most of their addresses have no bit, one bit or
/// all bits set.
fn v4() -> impl Strategy<Value = IpNet> {
    let bits =
        prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), (0..32).prop_map(|bit| 1_u32 << bit)];
    (bits, 0..=32_u8).prop_map(|(bits, length)| Ipv4Net::new(bits.into(), length).unwrap().into())
}

fn v6() -> impl Strategy<Value = IpNet> {
    let bits = prop_oneof![
        any::<u128>(),
        Just(0),
        Just(u128::MAX),
        (0..128).prop_map(|bit| 1_u128 << bit)
    ];
    (bits, 0..=128_u8).prop_map(|(bits, length)| Ipv6Net::new(bits.into(), length).unwrap().into())
}

fn edges(networks: &[(IpNet, usize)]) -> impl Iterator<Item = IpAddr> {
    networks.iter().flat_map(|(network, _)| match (network.network(), network.broadcast()) {
        (IpAddr::V4(first), IpAddr::V4(last)) => [
            first.to_bits(),
            last.to_bits(),
            first.to_bits().wrapping_sub(1),
            last.to_bits().wrapping_add(1),
        ]
        .map(|bits| Ipv4Addr::from_bits(bits).into()),
        (IpAddr::V6(first), IpAddr::V6(last)) => [
            first.to_bits(),
            last.to_bits(),
            first.to_bits().wrapping_sub(1),
            last.to_bits().wrapping_add(1),
        ]
        .map(|bits| Ipv6Addr::from_bits(bits).into()),
        _ => unreachable!("both ends of a network are of its family"),
    })
}

fn compare(networks: &[(IpNet, usize)], others: &[IpAddr]) {
    let table = Networks::new(networks.iter().copied());
    for host in edges(networks).chain(others.iter().copied()) {
        assert_eq!(table.get(host.into()), naive(networks, host), "{host} in {networks:?}");
    }
}

fn numbered(networks: Vec<IpNet>) -> Vec<(IpNet, usize)> {
    networks.into_iter().zip(0..).collect()
}

proptest! {
    #[test]
    fn the_longest_match_wins_and_of_equal_ones_the_last(
        networks in prop::collection::vec(prop_oneof![v4(), v6()], 0..60),
        // IPv4-mapped hosts are excluded, because the table treats them as IPv4 and a linear search does not.
        hosts in prop::collection::vec(prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
            (1_u128 << 48..).prop_map(|bits| IpAddr::V6(bits.into())),
        ], 0..60),
    ) {
        let networks: Vec<_> = numbered(networks)
            .into_iter()
            .filter(|(network, _)| edges(&[(*network, 0)]).all(|host| host == host.to_canonical()))
            .collect();
        compare(&networks, &hosts);
    }
}

#[test]
fn many_adjacent_networks_and_a_distant_one_are_distinguished() {
    // These networks are numerous enough for the smallest buckets, and so close together that most share a bucket.
    let mut networks: Vec<IpNet> =
        vec!["fd00::/8".parse().unwrap(), "255.0.0.0/8".parse().unwrap()];
    for number in 0..1_500_u32 {
        let scattered = number.wrapping_mul(0x9e37_79b1);
        let v4 = Ipv4Addr::from_bits(0x0a00_0000 | scattered >> 12);
        networks.push(Ipv4Net::new(v4, 20 + (number % 13) as u8).unwrap().into());
        let v6 = Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(scattered) << 64);
        networks.push(Ipv6Net::new(v6, 40 + (number % 89) as u8).unwrap().into());
    }
    compare(&numbered(networks), &["::".parse().unwrap(), "0.0.0.0".parse().unwrap()]);
}

#[test]
fn no_network_and_every_network_are_tables_too() {
    let hosts = ["0.0.0.0", "255.255.255.255", "::", "ffff::"].map(|host| host.parse().unwrap());
    compare(&[], &hosts);
    let everything = ["0.0.0.0/0", "::/0"].map(|network| network.parse().unwrap());
    compare(&numbered(everything.to_vec()), &hosts);
    assert_eq!(Networks::new(everything.map(|net| (net, ()))).get(hosts[3].into()), Some(&()));
}

#[test]
fn ipv4_mapped_networks_and_hosts_are_those_of_ipv4() {
    let table = Networks::new(
        [("::ffff:10.0.0.0/104", 'm'), ("10.1.0.0/16", 'v'), ("::/0", 'a')]
            .map(|(network, value)| (network.parse().unwrap(), value)),
    );
    for (host, value) in [
        ("10.0.0.1", Some('m')),
        ("::ffff:10.0.0.1", Some('m')),
        ("::ffff:10.1.0.1", Some('v')),
        ("192.0.2.1", None),
        ("::ffff:192.0.2.1", None),
        ("::fffe:192.0.2.1", Some('a')),
        ("::192.0.2.1", Some('a')),
    ] {
        assert_eq!(table.get(host.parse().unwrap()).copied(), value, "{host}");
    }
}

#[test]
fn networks_and_hosts_of_both_families_are_read() {
    for (text, network) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:db8:1::7/32", "2001:db8::/32"),
        ("2001:db8::7", "2001:db8::7/128"),
        ("::/0", "::/0"),
        ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
        ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        // Teredo, 6to4 and NAT64 networks are ordinary IPv6 networks.
        ("2001::/32", "2001::/32"),
        ("2002:c000:201::/48", "2002:c000:201::/48"),
        ("64:ff9b::192.0.2.0/120", "64:ff9b::c000:200/120"),
    ] {
        assert_eq!(parse_network(text).map(|network| network.to_string()), Ok(network.into()));
    }
}

#[test]
fn what_is_no_network_is_refused_with_the_text() {
    for text in [
        "",
        "10.0.0.0/33",
        "2001:db8::/129",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/255.0.0.0",
        "10/8",
        "fe80::1%eth0",
        "fe80::%eth0/64",
        "[2001:db8::]/32",
        " ::1",
    ] {
        assert_eq!(parse_network(text), Err(BadNetwork::Unreadable { text: text.to_owned() }));
    }
}

#[test]
fn a_mapped_network_must_be_one_of_ipv4() {
    for text in ["::ffff:10.0.0.0/8", "::ffff:0:0/95", "::ffff:192.0.2.1/0"] {
        assert_eq!(parse_network(text), Err(BadNetwork::Mapped { text: text.to_owned() }));
    }
}
