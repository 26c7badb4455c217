//! Round-trip tests of packing and names.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::contact::{BadView, Contact, HostKey, Prefixes, Role, TCP, View, ViewOptions};

fn view(host: HostKey, peer: PeerKey, role: Role) -> ViewOptions {
    let prefixes = Prefixes { host6: 64, peer6: 64, ..Prefixes::default() };
    ViewOptions { host, peer, role, prefixes, ..ViewOptions::default() }
}

fn contact(source: IpAddr, destination: IpAddr, port: Port) -> Contact {
    let mut contact = Contact::new(0, source.into(), destination.into());
    (contact.protocol, contact.destination_port) = (Some(port.protocol), Some(port.number));
    contact
}

/// Returns the names of the host and the peer in the only pair of a contact.
fn names(options: &ViewOptions, source: &str, destination: &str, port: &str) -> [String; 2] {
    let [source, destination] = [source, destination].map(|text| text.parse().unwrap());
    let contact = contact(source, destination, port.parse().unwrap());
    let pairs: Vec<_> = View::new(options).unwrap().pairs(&contact).collect();
    let [(host, peer)] = pairs[..] else { panic!("{pairs:?}") };
    [options.hosts().name(host).to_string(), options.peers().name(peer).to_string()]
}

#[test]
fn pairs_have_names() {
    use {HostKey as H, PeerKey as P, Role as R};
    let v4 = ("192.0.2.1", "198.51.100.7");
    let v6 = ("2001:db8::1", "2001:db8:1::7");
    for (host, peer, role, (source, destination), expected) in [
        (H::Address, P::Address, R::Source, v4, ["192.0.2.1", "198.51.100.7"]),
        (H::Address, P::Port, R::Source, v4, ["192.0.2.1", "tcp/443"]),
        (H::Address, P::Port, R::Destination, v4, ["198.51.100.7", "tcp/443"]),
        (H::Address, P::Port, R::Destination, v6, ["2001:db8:1::/64", "tcp/443"]),
        (H::Address, P::AddressPort, R::Source, v4, ["192.0.2.1", "198.51.100.7 tcp/443"]),
        (H::Address, P::AddressPort, R::Destination, v4, ["198.51.100.7", "192.0.2.1 tcp/443"]),
        (H::AddressPort, P::Address, R::Destination, v4, ["198.51.100.7 tcp/443", "192.0.2.1"]),
        (H::AddressPort, P::Address, R::Source, v4, ["192.0.2.1 tcp/443", "198.51.100.7"]),
        (
            H::AddressPort,
            P::Address,
            R::Destination,
            v6,
            ["2001:db8:1::/64 tcp/443", "2001:db8::/64"],
        ),
    ] {
        assert_eq!(names(&view(host, peer, role), source, destination, "tcp/443"), expected);
    }
    let networks = ViewOptions {
        prefixes: Prefixes { host4: 24, peer4: 16, ..Prefixes::default() },
        ..view(H::Address, P::Address, R::Source)
    };
    assert_eq!(names(&networks, v4.0, v4.1, "tcp/443"), ["192.0.2.0/24", "198.51.0.0/16"]);
}

#[test]
fn contacts_without_a_port_are_left_out_of_views_of_ports_alone() {
    let options = view(HostKey::Address, PeerKey::Port, Role::Destination);
    let port = Port { protocol: 1, number: 80 };
    let [source, destination] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
    let icmp = contact(source, destination, port);
    let tcp = contact(source, destination, Port { protocol: TCP, ..port });
    let of_ports = View::new(&options).unwrap();
    assert_eq!(of_ports.pairs(&icmp).count(), 0);
    assert_eq!([of_ports.lacks_port(&icmp), of_ports.lacks_port(&tcp)], [true, false]);
    let of_addresses =
        View::new(&view(HostKey::Address, PeerKey::Address, Role::Destination)).unwrap();
    assert_eq!((of_addresses.pairs(&icmp).count(), of_addresses.lacks_port(&icmp)), (1, false));
    // The view would not count this contact in any case, so its missing port does not matter.
    let elsewhere = ViewOptions { inside: vec!["10.0.0.0/8".parse().unwrap()], ..options };
    assert!(!View::new(&elsewhere).unwrap().lacks_port(&icmp));
}

#[test]
fn hosts_and_peers_that_do_not_go_together_are_refused() {
    use {HostKey as H, PeerKey as P, Role as R};
    let refused = |options: &ViewOptions| View::new(options).unwrap_err();
    assert_eq!(refused(&view(H::AddressPort, P::Port, R::Source)), BadView::TwoPorts);
    assert_eq!(refused(&view(H::AddressPort, P::Address, R::Any)), BadView::NoRole);
    for (host, peer, name) in
        [(H::AddressPort, P::Address, "host-prefix6"), (H::Address, P::AddressPort, "peer-prefix6")]
    {
        let prefixes = Prefixes { host6: 65, peer6: 65, ..Prefixes::default() };
        let options = ViewOptions { prefixes, ..view(host, peer, R::Source) };
        assert_eq!(refused(&options), BadView::NoRoomForPort { name, length: 65 });
    }
    let whole =
        ViewOptions { prefixes: Prefixes::default(), ..view(H::Address, P::Port, R::Destination) };
    assert!(View::new(&whole).is_ok(), "a port alone leaves whole addresses to hosts");
}

#[test]
fn texts_that_are_no_names_are_refused() {
    for text in ["", "443", "tcp/", "tcp/65536", "http/443", "192.0.2.1/33", "192.0.2.1 443"] {
        assert_eq!(text.parse::<Name>(), Err(BadName { text: text.to_owned() }));
    }
}

fn address() -> impl Strategy<Value = Host> {
    prop_oneof![any::<u32>().prop_map(Host::v4), any::<u128>().prop_map(Host::v6)]
}

fn port() -> impl Strategy<Value = Port> {
    (any::<u8>(), any::<u16>()).prop_map(|(protocol, number)| Port { protocol, number })
}

proptest! {
    #[test]
    fn packed_services_are_unpacked(address in address(), port in port()) {
        let packing = Packing { key: PeerKey::AddressPort, prefix4: 32, prefix6: 64 };
        let address = match address.as_v4() {
            Some(_) => address,
            None => Host::v6(address.as_v6() & !u128::from(u64::MAX)),
        };
        let packed = packing.pack(address, port);
        prop_assert_eq!(packing.address(packed), Some(address));
        let name = packing.name(packed);
        prop_assert_eq!(name.port(), Some(port));
        prop_assert_eq!(name.to_string().parse::<Name>(), Ok(name));
        // A packed service is an IPv6 address, and conversion to `IpAddr` and back does not change it.
        prop_assert_eq!(packed.as_v4(), None);
        prop_assert_eq!(Host::from(IpAddr::from(packed)), packed);
    }

    #[test]
    fn packed_ports_are_unpacked(address in address(), port in port()) {
        let packing = Packing { key: PeerKey::Port, ..Packing::default() };
        let packed = packing.pack(address, port);
        prop_assert!(packed.as_v4().is_some());
        prop_assert_eq!(packing.name(packed), Name::Port(port));
        prop_assert_eq!(port.to_string().parse::<Port>(), Ok(port));
    }
}

#[test]
fn services_of_both_families_differ() {
    let packing = Packing { key: PeerKey::AddressPort, prefix4: 32, prefix6: 64 };
    let ports = [(6, 1), (6, 0x101), (17, 1)].map(|(protocol, number)| Port { protocol, number });
    // Packed IPv4 addresses have the same upper 64 bits as these networks.
    let addresses = [Host::v4(0), Host::v4(1), Host::v6(1 << 64), Host::v6(0)];
    let packed: BTreeSet<Host> = addresses
        .iter()
        .flat_map(|address| ports.iter().map(|port| packing.pack(*address, *port)))
        .collect();
    assert_eq!(packed.len(), 12);
}

proptest! {
    #[test]
    fn a_packed_host_is_found_by_its_name_and_by_its_address(
        key in prop_oneof![Just(PeerKey::Address), Just(PeerKey::Port), Just(PeerKey::AddressPort)],
        prefix4 in 0u8..=32,
        prefix6 in 0u8..=64,
        v4: u32,
        v6: u128,
        is_v4: bool,
        number: u16,
    ) {
        let packing = Packing { key, prefix4, prefix6 };
        let address = if is_v4 { IpAddr::V4(v4.into()) } else { IpAddr::V6(v6.into()) }.to_canonical();
        let port = Port { protocol: TCP, number };
        let network = packing.network(address.into()).trunc();
        let packed = packing.pack(network.addr().into(), port);
        prop_assert_eq!(packing.packed(&packing.name(packed)), Some(packed));
        let of_address = match key {
            PeerKey::Address => Name::Address(address),
            PeerKey::Port => Name::Port(port),
            PeerKey::AddressPort => Name::Service(address.into(), port),
        };
        prop_assert_eq!(packing.packed(&of_address), Some(packed));
        let others = [Name::Address(address), Name::Port(port), Name::Service(address.into(), port)];
        let found = others.iter().filter(|name| packing.packed(name).is_some());
        prop_assert_eq!(found.count(), 1);
    }
}

#[test]
fn a_network_of_another_length_is_no_host() {
    let packing = Packing { prefix4: 24, ..Packing::default() };
    let packed = |text: &str| packing.packed(&text.parse().unwrap());
    assert_eq!(packed("192.0.2.0/24"), packed("192.0.2.7"));
    assert_eq!([packed("192.0.2.0/23"), packed("192.0.2.0/25"), packed("192.0.2.7/24")], [None; 3]);
}
