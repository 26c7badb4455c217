//! Tests of the pairs that single contacts and floods of contacts yield.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::num::NonZeroU8;

use super::*;
use crate::contact::parse_network;

fn view(inside: &[&str], role: Role, prefixes: Prefixes) -> View {
    let inside = inside.iter().map(|text| parse_network(text).unwrap()).collect();
    View::new(&ViewOptions { inside, role, prefixes, ..ViewOptions::default() }).unwrap()
}

fn contact(source: &str, destination: &str) -> Contact {
    Contact::new(0, source.parse().unwrap(), destination.parse().unwrap())
}

fn pairs(view: &View, source: &str, destination: &str) -> Vec<String> {
    let pairs = view.pairs(&contact(source, destination));
    pairs.map(|(host, peer)| format!("{host} {peer}")).collect()
}

fn plain(inside: &[&str], role: Role, source: &str, destination: &str) -> Vec<String> {
    pairs(&view(inside, role, Prefixes::default()), source, destination)
}

#[test]
fn every_endpoint_inside_is_measured_in_the_role_that_counts() {
    let networks = ["10.99.0.0/8", "2001:db8::/32"];
    for (inside, outside) in [("10.1.2.3", "192.0.2.1"), ("2001:db8::1", "2a00::1")] {
        let pair = [format!("{inside} {outside}")];
        assert_eq!(plain(&networks, Role::Any, inside, outside), pair);
        assert_eq!(plain(&networks, Role::Any, outside, inside), pair);
        assert_eq!(plain(&networks, Role::Source, inside, outside), pair);
        assert!(plain(&networks, Role::Source, outside, inside).is_empty());
        assert_eq!(plain(&networks, Role::Destination, outside, inside), pair);
        assert!(plain(&networks, Role::Destination, inside, outside).is_empty());
        assert!(plain(&networks, Role::Any, outside, "203.0.113.1").is_empty());
    }
    let both = ["10.1.2.3 10.0.0.1", "10.0.0.1 10.1.2.3"];
    assert_eq!(plain(&networks, Role::Any, "10.1.2.3", "10.0.0.1"), both);
    assert_eq!(plain(&networks, Role::Source, "10.1.2.3", "10.0.0.1"), both[..1]);
    assert_eq!(plain(&["10.1.2.3"], Role::Any, "10.1.2.3", "10.1.2.4"), ["10.1.2.3 10.1.2.4"]);
}

#[test]
fn without_networks_every_host_of_both_families_is_inside() {
    for (source, destination) in [("0.0.0.0", "255.255.255.255"), ("::", "ff02::1")] {
        let both = [format!("{source} {destination}"), format!("{destination} {source}")];
        assert_eq!(plain(&[], Role::Any, source, destination), both);
    }
}

#[test]
fn networks_of_one_family_take_no_host_of_the_other() {
    assert!(plain(&["0.0.0.0/0"], Role::Any, "::1", "::2").is_empty());
    assert!(plain(&["::/0"], Role::Any, "10.0.0.1", "10.0.0.2").is_empty());
}

#[test]
fn endpoints_of_different_families_are_a_pair() {
    let any = view(&["10.0.0.0/8"], Role::Any, Prefixes { peer6: 64, ..Prefixes::default() });
    assert_eq!(pairs(&any, "10.0.0.1", "2a00:1:2:3:4::5"), ["10.0.0.1 2a00:1:2:3::"]);
    // 0.0.0.1 and ::1 are the same number, but not the same host.
    assert_eq!(plain(&[], Role::Source, "0.0.0.1", "::1"), ["0.0.0.1 ::1"]);
}

#[test]
fn an_ipv4_mapped_host_is_the_ipv4_host_in_it() {
    let mapped = ["::ffff:10.0.0.0/104"];
    assert_eq!(plain(&mapped, Role::Any, "10.0.0.1", "192.0.2.1"), ["10.0.0.1 192.0.2.1"]);
    assert_eq!(
        plain(&["10.0.0.0/8"], Role::Any, "::ffff:a00:1", "::ffff:192.0.2.1"),
        ["10.0.0.1 192.0.2.1"]
    );
    assert!(plain(&[], Role::Any, "::ffff:10.0.0.1", "10.0.0.1").is_empty());
}

#[test]
fn a_host_has_no_contact_with_itself() {
    assert!(plain(&[], Role::Any, "10.0.0.7", "10.0.0.7").is_empty());
    assert!(plain(&[], Role::Any, "::7", "::7").is_empty());
    let networks = Prefixes { host4: 24, host6: 64, ..Prefixes::default() };
    for peer in [networks, Prefixes { peer4: 24, peer6: 64, ..networks }] {
        let view = view(&[], Role::Any, peer);
        assert!(pairs(&view, "10.0.0.7", "10.0.0.8").is_empty());
        assert!(pairs(&view, "2001:db8::1", "2001:db8::2").is_empty());
        assert_eq!(pairs(&view, "10.0.0.7", "10.0.1.8").len(), 2);
        assert_eq!(pairs(&view, "2001:db8::1", "2001:db8:0:1::2").len(), 2);
    }
}

#[test]
fn the_neighbours_of_a_host_are_one_peer() {
    let lengths = Prefixes { peer4: 24, peer6: 64, ..Prefixes::default() };
    let view = view(&["10.0.0.0/8", "2001:db8::/32"], Role::Source, lengths);
    for neighbour in ["10.0.0.8", "10.0.0.9"] {
        assert_eq!(pairs(&view, "10.0.0.7", neighbour), ["10.0.0.7 10.0.0.0"]);
    }
    for neighbour in ["2001:db8::8", "2001:db8::9"] {
        assert_eq!(pairs(&view, "2001:db8::7", neighbour), ["2001:db8::7 2001:db8::"]);
    }
}

#[test]
fn whole_addresses_decide_what_is_inside() {
    let lengths = Prefixes { host4: 16, host6: 48, peer4: 8, peer6: 32 };
    let view = view(&["10.1.128.0/17", "2001:db8:1:8000::/49"], Role::Any, lengths);
    assert_eq!(pairs(&view, "10.1.200.7", "192.0.2.1"), ["10.1.0.0 192.0.0.0"]);
    assert!(pairs(&view, "10.1.100.7", "192.0.2.1").is_empty());
    assert_eq!(pairs(&view, "2001:db8:1:9::1", "2a00:1:2::3").len(), 0);
    assert_eq!(pairs(&view, "2001:db8:1:9000::1", "2a00:1:2::3"), ["2001:db8:1:: 2a00:1::"]);
}

#[test]
fn a_flood_from_one_64_is_one_peer() {
    let flood = |prefixes| {
        let view = view(&["2001:db8::/32"], Role::Destination, prefixes);
        let victim = "2001:db8::1".parse().unwrap();
        let sources = (0..10_000_u128).map(|low| Ipv6Addr::from_bits(0x2a00_1234 << 96 | low));
        let contacts = sources.map(|source| Contact::new(0, source.into(), victim));
        contacts.flat_map(|contact| view.pairs(&contact)).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(flood(Prefixes { peer6: 64, ..Prefixes::default() }), 1);
    assert_eq!(flood(Prefixes::default()), 10_000);
}

#[test]
fn outside_hosts_are_measured_by_their_contacts_with_inside_ones() {
    let inside = vec![parse_network("10.0.0.0/8").unwrap()];
    let options = |role| ViewOptions {
        inside: inside.clone(),
        measure: Side::Outside,
        role,
        ..ViewOptions::default()
    };
    let scans = View::new(&options(Role::Source)).unwrap();
    assert_eq!(pairs(&scans, "192.0.2.1", "10.0.0.7"), ["192.0.2.1 10.0.0.7"]);
    assert!(pairs(&scans, "10.0.0.7", "192.0.2.1").is_empty(), "the answer");
    assert!(pairs(&scans, "192.0.2.1", "192.0.2.2").is_empty(), "transit");
    assert!(pairs(&scans, "10.0.0.1", "10.0.0.2").is_empty());
    let any = View::new(&options(Role::Any)).unwrap();
    assert_eq!(pairs(&any, "10.0.0.7", "192.0.2.1"), ["192.0.2.1 10.0.0.7"]);
    let none = ViewOptions { inside: Vec::new(), ..options(Role::Any) };
    assert_eq!(View::new(&none).unwrap_err(), BadView::NoOutside);
}

#[test]
fn contacts_count_by_who_began_them() {
    let counts = |only, contact: Contact| {
        View::new(&ViewOptions { only, ..ViewOptions::default() }).unwrap().pairs(&contact).count()
    };
    let plain = contact("192.0.2.1", "10.0.0.7");
    let began = Contact { initiated: Some(true), ..plain };
    let answered = Contact { initiated: Some(false), ..plain };
    let syn = Contact { tcp_flags: NonZeroU8::new(crate::contact::TCP_SYN), ..plain };
    let both = [plain, began, answered, syn].map(|contact| {
        [ContactFilter::All, ContactFilter::Initiated, ContactFilter::TcpSyn]
            .map(|only| counts(only, contact))
    });
    assert_eq!(both, [[2, 0, 0], [2, 2, 0], [2, 0, 0], [2, 2, 2]]);
}

#[test]
fn lengths_out_of_range_are_named() {
    let all = Prefixes::default();
    for (prefixes, name, length, longest) in [
        (Prefixes { host4: 0, ..all }, "host4", 0, 32),
        (Prefixes { host4: 33, ..all }, "host4", 33, 32),
        (Prefixes { host6: 0, ..all }, "host6", 0, 128),
        (Prefixes { host6: 129, ..all }, "host6", 129, 128),
        (Prefixes { peer4: 0, ..all }, "peer4", 0, 32),
        (Prefixes { peer4: 33, ..all }, "peer4", 33, 32),
        (Prefixes { peer6: 0, ..all }, "peer6", 0, 128),
        (Prefixes { peer6: 255, ..all }, "peer6", 255, 128),
    ] {
        let error = prefixes.masks().unwrap_err();
        assert_eq!(error, BadPrefix { name, length, longest });
    }
}

#[test]
fn masks_keep_as_many_bits_as_their_length() {
    for v4 in 1..=32 {
        for v6 in 1..=128 {
            let prefixes = Prefixes { host4: v4, host6: v6, peer4: 33 - v4, peer6: 129 - v6 };
            let [host, peer] = prefixes.masks().unwrap();
            assert_eq!((host.v4.leading_ones(), host.v4.count_ones()), (v4.into(), v4.into()));
            assert_eq!((host.v6.leading_ones(), host.v6.count_ones()), (v6.into(), v6.into()));
            assert_eq!(peer.v4.count_ones(), 33 - u32::from(v4));
            assert_eq!(peer.v6.count_ones(), 129 - u32::from(v6));
        }
    }
}
