//! Tests of the header of each tunnel. The bytes follow the specifications, which the parsers name.

use std::net::Ipv6Addr;

use proptest::prelude::*;
use srlg_input::capture::{PacketCounts, Reader, Skip};
use srlg_input::contact::{Contact, Host};
use srlg_input::packet::Tunnels;

use super::{Pair, frame, outer};
use crate::captures::drain;
use crate::reader::build::{self, MICROSECONDS};

/// A frame with a packet in a tunnel.
struct Tunnelled {
    name: &'static str,
    frame: Vec<u8>,
    hosts: Pair,
    /// Length of the inner packet.
    octets: u64,
}

/// A datagram to port 53 without payload.
const UDP: [u8; 8] = [0xc0, 1, 0, 53, 0, 8, 0, 0];

const V4: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

fn v4() -> Vec<u8> {
    let head = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    [&head[..], V4.as_flattened(), &UDP].concat()
}

/// Returns the addresses of a Teredo client and of another host.
fn v6_hosts() -> [[u8; 16]; 2] {
    let host = |start: [u8; 4], end| [&start[..], &[0; 11], &[end]].concat().try_into().unwrap();
    [host([0x20, 1, 0, 0], 1), host([0x20, 1, 0x0d, 0xb8], 2)]
}

fn v6() -> Vec<u8> {
    [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], v6_hosts().as_flattened(), &UDP].concat()
}

fn ethernet(packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
    [&[2; 12][..], &kind, packet].concat()
}

/// Returns a frame of 802.11 that starts with `control`. Its fragment number is 0, and its sequence number is not.
fn wifi(control: [u8; 2], packet: &[u8]) -> Vec<u8> {
    let sequence = if control[0] == 0x08 { [0x30, 0x76] } else { [0x76, 0x30] };
    [&control[..], &[0; 20], &sequence, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet].concat()
}

fn ip(name: &'static str, protocol: u8, parts: &[&[u8]]) -> Tunnelled {
    // The parts end with the packet.
    let packet = parts[parts.len() - 1];
    let is_v6 = packet.ends_with(&v6());
    let hosts = if is_v6 {
        v6_hosts().map(|host| Host::from(Ipv6Addr::from(host)))
    } else {
        V4.map(Host::from)
    };
    let octets = if is_v6 { v6() } else { v4() }.len() as u64;
    Tunnelled { name, frame: frame(protocol, &parts.concat()), hosts, octets }
}

fn udp(name: &'static str, ports: [u16; 2], parts: &[&[u8]]) -> Tunnelled {
    let length = 8 + parts.iter().map(|part| part.len()).sum::<usize>() as u16;
    let header = [ports[0], ports[1], length, 0].map(u16::to_be_bytes).concat();
    ip(name, 17, &[&[&header[..]], parts].concat())
}

/// Tunnels with one of these ports at either end.
const FIXED_PORTS: [u16; 11] =
    [2_152, 1_701, 3_544, 5_072, 5_247, 12_222, 2_268, 1_027, 3_653, 4_191, 5_437];

fn over_ip() -> Vec<Tunnelled> {
    let (v4, v6) = (&v4()[..], &v6()[..]);
    let (ethernet4, ethernet6) = (&ethernet(v4)[..], &ethernet(v6)[..]);
    let authentication = [4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    let header_of = |next| [&[next][..], &authentication, &[0xee; 11]].concat();
    let (to_ip, to_gre) = (header_of(4), header_of(47));
    let erspan_iii = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let cisco = [0, 0, 0x89, 0x09, 1, 1, 0, 1, 0, 7, 8, 0];
    vec![
        ip("IPv4 in IP", 4, &[v4]),
        ip("IPv6 in IP", 41, &[v6]),
        ip("IPIP", 94, &[v4]),
        ip("EtherIP", 97, &[&[0x30, 0], ethernet6]),
        ip("EoIPv6", 97, &[&[0x13, 7], ethernet4]),
        ip("PIM", 103, &[&[0x21, 0, 0, 0, 0, 0, 0, 0], v4]),
        ip("PIM at a border", 103, &[&[0x21, 0, 0, 0, 0x80, 0, 0, 0], v6]),
        ip("L2TPv3", 115, &[&[0, 0, 0, 7], ethernet4]),
        ip("L2TPv3 with a sublayer", 115, &[&[0, 0, 0, 7], &[0; 4], ethernet6]),
        ip("L2TPv3 with a cookie", 115, &[&[0, 0, 0, 7], &[0xc0; 8], ethernet4]),
        ip("L2TPv3 with both", 115, &[&[0, 0, 0, 7], &[8; 8], &[0; 4], ethernet6]),
        ip("MPLS", 137, &[&[0, 0, 0x71, 64], v4]),
        ip("Ethernet", 143, &[ethernet6]),
        ip("NSH", 145, &[&[0x0f, 0xc2, 2, 2, 0, 0, 7, 255], v6]),
        ip("AH and IP", 51, &[&to_ip, v4]),
        ip("AH and GRE", 51, &[&to_gre, &[0, 0, 8, 0], v4]),
        ip("WCCP", 47, &[&[0, 0, 0x88, 0x3e], v4]),
        ip("WCCP version 2", 47, &[&[0, 0, 0x88, 0x3e, 0x40, 89, 0, 72], v4]),
        ip("Cisco MetaData", 47, &[&cisco, v4]),
        ip("Aruba", 47, &[&[0, 0, 0x82, 0x10], &wifi([0x08, 0x01], v4)]),
        ip("Aruba swapped", 47, &[&[0, 0, 0x90, 0], &wifi([0x02, 0x08], v4)]),
        ip("EoIP", 47, &[&[0x20, 1, 0x64, 0, 0, 42, 7, 0], ethernet4]),
        ip("ERSPAN III", 47, &[&erspan_iii, &[0; 8], ethernet4]),
        ip("PPTP", 47, &[&[0x30, 1, 0x88, 0x0b, 0, 32, 0, 7, 0, 0, 0, 1, 0xff, 3, 0, 0x21], v4]),
    ]
}

fn over_udp() -> Vec<Tunnelled> {
    let (v4, v6) = (&v4()[..], &v6()[..]);
    let (ethernet4, ethernet6) = (&ethernet(v4)[..], &ethernet(v6)[..]);
    let l2tp = [0x4a, 2, 0, 42, 0, 5, 0, 6, 0, 1, 0, 2, 0, 2, 0xee, 0xee];
    let client = [&[0, 1, 2, 3, 0xc1, 0xc2, 0xa1, 0xa2, 0xa3][..], &[0; 9]].concat();
    let origin = [0, 0, 0xff, 0xff, 0xf5, 0xff, 0xff, 0xfe];
    let ayiya = [&[0x41, 0x52, 0x11, 41, 0, 0, 0, 9][..], &[0x1d; 16], &[0xee; 20]].concat();
    let to = |port| [50_000, port];
    vec![
        udp("VXLAN", to(4_789), &[&[8, 0, 0, 0, 0, 0, 7, 0], ethernet4]),
        udp("VXLAN-GPE", to(4_790), &[&[0x0c, 0, 0, 2, 0, 0, 7, 0], v6]),
        udp("VXLAN-GPE and Ethernet", to(4_790), &[&[0x0c, 0, 0, 3, 0, 0, 7, 0], ethernet4]),
        udp("VXLAN-GPE without type", to(4_790), &[&[8, 0, 0, 0, 0, 0, 7, 0], ethernet4]),
        udp("Geneve", to(6_081), &[&[1, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 0, 0, 0], ethernet4]),
        udp("GUE", to(6_080), &[&[1, 41, 0, 0, 0xee, 0xee, 0xee, 0xee], v6]),
        udp("GUE and GRE", to(6_080), &[&[0, 47, 0, 0, 0, 0, 8, 0], v4]),
        udp("GUE variant 1", to(6_080), &[v4]),
        udp("GUE variant 1 and IPv6", to(6_080), &[v6]),
        udp("LISP", to(4_341), &[&[0xc8, 1, 2, 3, 0, 0, 7, 1], v6]),
        udp("LISP and Ethernet", to(4_341), &[&[0x0c, 0, 0, 3, 0, 0, 7, 1], ethernet6]),
        udp("GRE in UDP", to(4_754), &[&[0x20, 0, 8, 0, 0, 0, 0, 7], v4]),
        udp("MPLS in UDP", to(6_635), &[&[0, 0, 0x71, 64], v6]),
        udp("TZSP", to(37_008), &[&[1, 0, 0, 1, 0, 10, 1, 0xc8, 1], ethernet4]),
        udp("TZSP and 802.11", to(37_008), &[&[1, 0, 0, 18, 1], &wifi([0x08, 0x01], v4)]),
        udp("GTP-U", to(2_152), &[&[0x30, 255, 0, 28, 0, 0, 0, 9], v4]),
        udp("L2TPv2", to(1_701), &[&[0, 2, 0, 5, 0, 6, 0x21], v4]),
        udp("L2TPv2 with all fields", to(1_701), &[&l2tp, &[0xff, 3, 0, 0x57], v6]),
        udp("L2TPv3", to(1_701), &[&[0, 3, 0, 0, 0, 0, 0, 7, 0xc0, 0xc1, 0xc2, 0xc3], ethernet4]),
        udp("Teredo", to(3_544), &[v6]),
        udp("Teredo with both headers", to(3_544), &[&client, &origin, v6]),
        udp("AYIYA", to(5_072), &[&ayiya, v6]),
        udp("CAPWAP", to(5_247), &[&[0, 0x10, 0, 0, 0, 0, 0, 0], ethernet4]),
        udp(
            "CAPWAP and 802.11",
            to(5_247),
            &[&[0, 0x18, 3, 0x20, 0, 0, 0, 0, 1, 2, 3, 4], &wifi([0x11, 0x08], v4)],
        ),
        udp("LWAPP", to(12_222), &[&[0, 1, 0, 60, 0, 0], &wifi([0x02, 0x08], v4)]),
        udp("AMT", to(2_268), &[&[6, 0], v4]),
        udp("6a44", to(1_027), &[v6]),
        udp("TSP", to(3_653), &[v6]),
        udp("Mobile IPv6", to(4_191), &[v6]),
        udp("Mobile IPv6 of a proxy", to(5_437), &[v4]),
    ]
}

fn all() -> Vec<Tunnelled> {
    over_ip().into_iter().chain(over_udp()).collect()
}

/// Reads a capture that contains the first `kept` bytes of `frame`.
fn read(frame: &[u8], kept: usize, tunnels: Tunnels) -> (Vec<Contact>, PacketCounts) {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    file.cut_record([0, 0], frame.len() as u32, &frame[..kept]);
    let reader = Reader::new(std::io::Cursor::new(file.bytes)).unwrap();
    let mut reader = reader.with_tunnels(tunnels);
    let contacts = drain(&mut reader);
    (contacts, reader.counts().clone())
}

fn hosts(contact: &Contact) -> Pair {
    [contact.source, contact.destination]
}

#[test]
fn the_inner_packet_of_every_tunnel_is_the_contact() {
    for Tunnelled { name, frame, hosts: inner, octets } in all() {
        let (contacts, counts) = read(&frame, frame.len(), Tunnels::Inner);
        let [contact] = contacts[..] else { panic!("{name}: {counts}") };
        assert_eq!(hosts(&contact), inner, "{name}");
        assert_eq!((contact.protocol, contact.destination_port), (Some(17), Some(53)), "{name}");
        assert_eq!(contact.octets.map(u64::from), Some(octets), "{name}");
        let (contacts, counts) = read(&frame, frame.len(), Tunnels::Both);
        assert_eq!(contacts.iter().map(hosts).collect::<Vec<_>>(), [outer(), inner], "{name}");
        assert_eq!((counts.packets, counts.contacts), (1, 2), "{name}");
    }
}

#[test]
fn tunnels_with_a_fixed_port_are_found_in_both_directions() {
    for Tunnelled { name, mut frame, hosts: inner, .. } in over_udp() {
        let ports = frame[34..38].to_vec();
        frame[34..38].rotate_left(2);
        let is_fixed = FIXED_PORTS.map(u16::to_be_bytes).iter().any(|port| ports.ends_with(port));
        let (contacts, _) = read(&frame, frame.len(), Tunnels::Inner);
        let expected = if is_fixed { inner } else { outer() };
        assert_eq!(contacts.iter().map(hosts).collect::<Vec<_>>(), [expected], "{name}");
    }
}

#[test]
fn a_tunnel_that_is_cut_at_any_byte_is_counted_as_cut_until_its_inner_header_is_complete() {
    for Tunnelled { name, frame, hosts: inner, .. } in all() {
        let mut is_complete = false;
        for kept in 34..frame.len() {
            let (contacts, counts) = read(&frame, kept, Tunnels::Inner);
            let found: Vec<_> = contacts.iter().map(hosts).collect();
            is_complete |= found == [inner];
            // Before the end of the UDP or authentication header, nothing points to a tunnel.
            let is_unproven = kept < if name.starts_with("AH") { 62 } else { 42 };
            match &found[..] {
                [hosts] if is_complete => assert_eq!(*hosts, inner, "{name} at {kept}"),
                [hosts] if is_unproven => assert_eq!(*hosts, outer(), "{name} at {kept}"),
                _ => {
                    assert_eq!(counts.skipped(Skip::CutTunnel), 1, "{name} at {kept}: {counts}");
                    assert!(!is_complete, "{name} at {kept}");
                }
            }
        }
        assert!(is_complete, "{name}");
    }
}

#[test]
fn datagrams_that_are_not_tunnels_are_ordinary() {
    let quic = |first: u8| [&[first][..], &[0xab; 90]].concat();
    let other_length = [&[0, 0, 0, 0, 0, 0, 0, 0][..], &v4(), &[0; 4]].concat();
    let not_teredo = [&v6()[..8], &[0x20; 40]].concat();
    let capwap = |start: [u8; 8]| [&start[..], &ethernet(&v4())].concat();
    for (port, payload) in [
        (6_080, quic(0x45)),
        (6_080, quic(0x60)),
        (6_080, [&[0x20, 41, 0, 0][..], &v6()].concat()), // a control message
        (4_341, other_length),
        (4_341, [&[0x81, 0, 0, 0, 0, 0, 0, 0][..], &v4()].concat()), // encrypted
        (4_790, [&[0x0d, 0, 0, 1, 0, 0, 0, 0][..], &v4()].concat()), // about the network
        (3_544, quic(0x60)),
        (3_544, not_teredo),
        (2_268, [&[6, 0][..], &quic(0x45)].concat()),
        (2_268, [&[4, 0][..], &v4()].concat()), // a query
        (5_072, b"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n".to_vec()),
        (5_247, capwap([1, 0, 0, 0, 0x17, 0xfe, 0xfd, 0])), // DTLS
        (5_247, capwap([0, 0x10, 0, 0x08, 0, 0, 0, 0])),    // a keep-alive message
        (5_247, capwap([0, 0x10, 0, 0xc0, 0, 1, 0, 0x20])), // a later fragment
        (12_222, [&[0x04, 0, 0, 60, 0, 0][..], &wifi([0x02, 0x08], &v4())].concat()), // control
        (1_701, [&[0xc8, 2, 0, 12, 0, 5, 0, 6, 0, 1, 0, 2][..], &v4()].concat()), // control
        (1_701, [&[0, 3, 0, 0, 0, 0, 0, 0][..], &ethernet(&v4())].concat()), // control
        (37_008, [&[1, 4, 0, 1, 1][..], &ethernet(&v4())].concat()), // a keep-alive message
        // Packets that are longer than the datagram.
        (6_635, [&[0, 0, 0x71, 64][..], &quic(0x45)].concat()),
        (6_080, [&[0, 41, 0, 0][..], &quic(0x60)].concat()),
        (4_341, [&[0x0c, 0, 0, 2, 0, 0, 0, 0][..], &quic(0x60)].concat()),
        (4_790, [&[0x0c, 0, 0, 1, 0, 0, 0, 0][..], &quic(0x45)].concat()),
        (2_152, [&[0x30, 255, 0, 0, 0, 0, 0, 0][..], &quic(0x60)].concat()),
        (5_072, [&[0, 0, 1, 4, 0, 0, 0, 0, 0][..], &quic(0x45)].concat()),
        (3_653, quic(0x60)),
    ] {
        for ports in [[50_000, port], [port, 50_000]] {
            let Tunnelled { frame, .. } = udp("none", ports, &[&payload]);
            let (contacts, counts) = read(&frame, frame.len(), Tunnels::Inner);
            let found: Vec<_> = contacts.iter().map(hosts).collect();
            assert_eq!(found, [outer()], "port {port}: {counts}: {payload:02x?}");
        }
    }
}

#[test]
fn datagrams_that_cannot_be_tunnels_are_ordinary_even_if_they_are_cut() {
    for (port, start) in [
        (5_072, [0xf0, 0, 1, 4]),    // an identity that is longer than the datagram
        (1_701, [0x02, 2, 0, 5]),    // an offset that is longer than the datagram
        (37_008, [1, 1, 0, 56]),     // a response of STUN
        (6_081, [0x3f, 0, 0, 0x2a]), // a long header with an unknown protocol
    ] {
        let Tunnelled { frame, .. } = udp("none", [50_000, port], &[&start, &[0x21; 72]]);
        let (contacts, counts) = read(&frame, frame.len() - 20, Tunnels::Inner);
        let found: Vec<_> = contacts.iter().map(hosts).collect();
        assert_eq!(found, [outer()], "port {port}: {counts}");
    }
}

#[test]
fn the_first_fragment_of_a_tunnel_packet_has_the_inner_hosts() {
    for Tunnelled { name, mut frame, hosts: inner, .. } in all() {
        let end = frame.len() - 4;
        frame.truncate(end);
        frame[16..18].copy_from_slice(&(end as u16 - 14).to_be_bytes());
        frame[20] = 0x20;
        let (contacts, counts) = read(&frame, end, Tunnels::Inner);
        assert_eq!(contacts.iter().map(hosts).collect::<Vec<_>>(), [inner], "{name}: {counts}");
    }
}

#[test]
fn control_messages_over_ip_are_ordinary_and_other_content_is_named() {
    let pim_null = [&[0x21, 0, 0, 0, 0x40, 0, 0, 0][..], &v4()].concat();
    for (protocol, payload, closed) in [
        (103, vec![0x20, 0, 0, 0], 0),
        (103, pim_null, 0),
        (115, [&[0; 4][..], &ethernet(&v4())].concat(), 0),
        (115, [&[0, 0, 0, 7][..], &[0xee; 60]].concat(), 1),
        (47, vec![0x20, 1, 0x64, 0, 0, 0, 7, 0], 0), // a keep-alive message
        (97, [&[0x50, 0][..], &ethernet(&v4())].concat(), 1),
        (51, vec![4, 200, 0, 0], 0), // cut
    ] {
        let frame = frame(protocol, &payload);
        let (contacts, counts) = read(&frame, frame.len(), Tunnels::Inner);
        let found: Vec<_> = contacts.iter().map(hosts).collect();
        assert_eq!(found, [outer()], "protocol {protocol}: {counts}");
        assert_eq!(counts.closed_tunnels(Skip::TunnelContent), closed, "{protocol}: {payload:?}");
    }
}

#[test]
fn an_authentication_header_does_not_hide_the_ports() {
    let [header, tcp] = [[6, 4], [0x9c, 0x40]].map(|start| [&start[..], &[0; 22]].concat());
    let frame = frame(51, &[header, tcp].concat());
    let (contacts, _) = read(&frame, frame.len(), Tunnels::Outer);
    assert_eq!((contacts[0].protocol, contacts[0].source_port), (Some(6), Some(40_000)));
}

proptest! {
    #[test]
    fn changed_headers_give_at_most_one_contact_and_are_counted(
        at in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let all = all();
        let mut frame = at.get(&all).frame.clone();
        for (place, value) in changes {
            let place = 23 + place.index(frame.len() - 23);
            frame[place] = value;
        }
        let kept = kept.index(frame.len() + 1);
        let (contacts, counts) = read(&frame, kept, Tunnels::Inner);
        let skipped: u64 = Skip::ALL.iter().map(|reason| counts.skipped(*reason)).sum();
        prop_assert_eq!((counts.packets, contacts.len() as u64 + skipped), (1, 1));
        let (contacts, counts) = read(&frame, kept, Tunnels::Both);
        prop_assert_eq!((counts.packets, counts.contacts), (1, contacts.len() as u64));
    }
}
