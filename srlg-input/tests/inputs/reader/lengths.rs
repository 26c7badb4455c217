//! Tests of packets whose IP header states a length of 0, because they were captured before a network card split them.

use std::num::NonZeroU64;

use srlg_input::capture::Reader;
use srlg_input::contact::{Contact, Host};
use srlg_input::packet::Tunnels;

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::{drain, read};

const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];

/// Returns an IPv4 packet of `protocol` between the hosts `host` and `host + 1` whose header states the length `total`.
fn ipv4(protocol: u8, host: u8, total: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = total.to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0];
    [&head[..], &[192, 0, 2, host], &[192, 0, 2, host + 1], payload].concat()
}

/// Returns an IPv6 packet whose payload length is 0, with a TCP header to port 443.
fn jumbo() -> Vec<u8> {
    let address = |host| [&[0x20, 0x01, 0x0d, 0xb8][..], &[0; 11], &[host]].concat();
    [vec![0x60, 0, 0, 0, 0, 0, 6, 64], address(1), address(2), TCP.to_vec()].concat()
}

/// A TCP header to port 443 with the flag ACK.
const TCP: [u8; 20] = [0x9c, 0x40, 1, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0];

fn octets(contact: &Contact) -> Option<u64> {
    contact.octets.map(NonZeroU64::get)
}

#[test]
fn a_packet_without_a_length_has_the_volume_of_its_frame_even_if_the_snapshot_cut_it() {
    let frame = [&ETHERNET[..], &ipv4(6, 1, 0, &TCP), &[0xab; 46]].concat();
    for big_endian in [false, true] {
        let mut pcap = build::pcap(big_endian, MICROSECONDS, 1);
        let mut pcapng = Fields::new(big_endian);
        pcapng.section(big_endian).interface(1, &[]);
        for captured in [34, 54, 100] {
            pcap.cut_record([0, 0], 80_066, &frame[..captured]);
            pcapng.cut_packet(0, 80_066, &frame[..captured]);
        }
        pcap.record(0, 0, &frame);
        pcapng.obsolete(0, 0, &frame);
        for file in [pcap, pcapng] {
            let contacts = read(file.bytes).contacts;
            let found: Vec<_> = contacts.iter().map(octets).collect();
            assert_eq!(found, [Some(80_052), Some(80_052), Some(80_052), Some(86)]);
            let ports: Vec<_> = contacts.iter().map(|it| it.destination_port).collect();
            assert_eq!(ports, [None, Some(443), Some(443), Some(443)]);
        }
    }
}

#[test]
fn the_volume_of_a_packet_with_a_length_does_not_depend_on_its_frame() {
    let mut file = build::pcap(false, MICROSECONDS, 101);
    file.cut_record([0, 0], 80_000, &ipv4(6, 1, 1_500, &TCP));
    file.record(0, 0, &[ipv4(6, 1, 40, &TCP), vec![0; 6]].concat());
    let found: Vec<_> = read(file.bytes).contacts.iter().map(octets).collect();
    assert_eq!(found, [Some(1_500), Some(40)]);
}

#[test]
fn a_jumbogram_has_the_volume_of_its_frame() {
    let mut file = build::pcap(false, MICROSECONDS, 101);
    file.cut_record([0, 0], 100_040, &jumbo());
    // A file that states less than it contains is believed only about what it contains.
    file.cut_record([0, 0], 0, &jumbo());
    let found: Vec<_> = read(file.bytes).contacts.iter().map(octets).collect();
    assert_eq!(found, [Some(100_040), Some(60)]);
}

/// Returns the inner contact of a frame of `original` bytes, of which the raw IP packet `captured` was captured.
fn inner(original: u32, captured: &[u8]) -> Contact {
    let mut file = build::pcap(false, MICROSECONDS, 101);
    file.cut_record([0, 0], original, captured);
    let reader = Reader::new(std::io::Cursor::new(file.bytes)).unwrap();
    let outcome = drain(reader.with_tunnels(Tunnels::Inner));
    let [contact] = outcome.contacts[..] else { panic!("{}", outcome.counts) };
    contact
}

/// Returns a VXLAN datagram that contains `packet` and states the UDP length `length`.
fn vxlan(length: u16, packet: &[u8]) -> Vec<u8> {
    let udp = [[0xb7, 0xc4], 4_789_u16.to_be_bytes(), length.to_be_bytes(), [0; 2]].concat();
    [&udp[..], &[8, 0, 0, 0, 0, 0, 19, 0], &ETHERNET, packet].concat()
}

#[test]
fn packets_without_a_length_are_found_in_tunnels_with_the_rest_as_their_volume() {
    let packet = ipv4(6, 7, 0, &TCP);
    let gre = [&[0, 0, 0x08, 0][..], &packet].concat();
    let ethernet = [&[0, 0, 0x65, 0x58][..], &ETHERNET, &packet].concat();
    // Each row has an IP protocol, its payload and the number of bytes before the inner packet.
    let rows =
        [(4, packet.clone(), 20), (47, gre, 24), (47, ethernet, 38), (17, vxlan(0, &packet), 50)];
    for (protocol, payload, before) in rows {
        // The outer header states no length either, so the inner packet reaches to the end of the frame.
        let unstated = inner(70_000, &ipv4(protocol, 1, 0, &payload));
        // The outer header states 1,200 bytes, and 100 bytes of the frame follow the outer packet.
        let stated = inner(1_300, &ipv4(protocol, 1, 1_200, &payload));
        let whole = [ipv4(protocol, 1, before + 40, &payload), vec![0; 9]].concat();
        let padded = inner(whole.len() as u32, &whole);
        for contact in [unstated, stated, padded] {
            assert_eq!(contact.source, Host::from([192, 0, 2, 7]), "protocol {protocol}");
            assert_eq!(contact.destination_port, Some(443), "protocol {protocol}");
        }
        let found = [unstated, stated, padded].map(|contact| octets(&contact));
        let before = u64::from(before);
        assert_eq!(found, [Some(70_000 - before), Some(1_200 - before), Some(40)], "{protocol}");
    }
}

#[test]
fn a_tunnel_without_lengths_that_is_cut_before_its_inner_header_is_a_cut_tunnel() {
    let packet = ipv4(17, 1, 0, &vxlan(0, &ipv4(6, 7, 0, &TCP)));
    let mut file = build::pcap(false, MICROSECONDS, 101);
    file.cut_record([0, 0], 70_000, &packet[..60]);
    let reader = Reader::new(std::io::Cursor::new(file.bytes)).unwrap();
    let counts = drain(reader.with_tunnels(Tunnels::Inner)).counts;
    assert_eq!((counts.contacts, counts.skipped(srlg_input::capture::Skip::CutTunnel)), (0, 1));
}

#[test]
fn pptp_with_compressed_protocols_leads_to_the_inner_hosts() {
    let packet = ipv4(6, 7, 40, &TCP);
    for ppp in [&[0x21][..], &[0xff, 0x03, 0x21], &[0x00, 0x21]] {
        // GRE of version 1 with a sequence number: flags, protocol, length, call and sequence number.
        let gre = [&[0x30, 1, 0x88, 0x0b, 0, 41, 0, 7, 0, 0, 0, 1], ppp, &packet].concat();
        let length = 20 + gre.len() as u16;
        let contact = inner(length.into(), &ipv4(47, 1, length, &gre));
        assert_eq!(contact.source, Host::from([192, 0, 2, 7]), "{ppp:02x?}");
        assert_eq!((octets(&contact), contact.destination_port), (Some(40), Some(443)));
    }
}
