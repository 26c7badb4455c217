//! Tests of the headers of link types other than Ethernet.

use super::{Family, IPV4, hosts};
use crate::packet::Skip;

/// Header of an 802.11 data frame from a station, without quality of service.
const WIFI: [u8; 24] = [8, 1, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0x10, 0];

/// Returns the 802.11 header `WIFI` with another kind and other flags, and with further bytes at its end.
fn wifi(kind: u8, flags: u8, more: &[u8]) -> Vec<u8> {
    [&[kind, flags], &WIFI[2..], more].concat()
}

/// Returns a radiotap header with a time, flags and a further word of bits.
fn radiotap(flags: u8) -> Vec<u8> {
    let start = [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0];
    [&start[..], &[7; 8], &[flags]].concat()
}

/// Returns a PPI or PKTAP header before a frame of `link_type`.
fn ppi(link_type: u8) -> Vec<u8> {
    vec![0, 0, 12, 0, link_type, 0, 0, 0, 1, 2, 3, 4]
}

fn pktap(link_type: u8) -> Vec<u8> {
    [&[108, 0, 0, 0, 1, 0, 0, 0, link_type, 0, 0, 0][..], &[5; 96]].concat()
}

/// Returns link types, each with the bytes that precede the IP header of `family`.
pub(super) fn prefixes(family: &Family) -> Vec<(u16, Vec<u8>)> {
    let Family { ether_type: kind, ppp, packet, address_family, .. } = family;
    let is_v4 = *address_family == 2;
    let snap = [&[0xaa, 0xaa, 0x03, 0, 0, 0], &kind[..]].concat();
    let inner = [&[0; 12], &kind[..]].concat();
    let behind = |header: &[u8], rest: &[u8]| [header, rest].concat();
    let tag = |tag: &[u8]| [&[2; 12], tag, kind].concat();
    let length = (packet.len() as u16 + 4).to_le_bytes();
    let [low, high] = length;
    let linux_family = if is_v4 { 2 } else { 10 };
    let nlpid = if is_v4 { 0xcc } else { 0x8e };
    vec![
        (10, behind(&[&[0x50][..], &[0; 12]].concat(), &snap)),
        (105, behind(&WIFI, &snap)),
        (105, behind(&wifi(0x08, 2, &[]), &snap)),
        (105, behind(&wifi(0x08, 3, &[0; 6]), &snap)),
        (105, behind(&wifi(0x88, 1, &[0; 2]), &snap)),
        (105, behind(&wifi(0x88, 0x83, &[0; 12]), &snap)),
        (105, behind(&wifi(0x88, 1, &[&[0x80, 0][..], &[0; 14]].concat()), &snap)),
        (107, behind(&[0x18, 0x41, 0x03, nlpid], &[])),
        (107, behind(&[0x18, 0x40, 0x41, 0x03, 0x00, nlpid], &[])),
        (107, behind(&[0x18, 0x40, 0x40, 0x41, 0x03, 0x00, 0x80, 0, 0, 0], kind)),
        (107, behind(&[0x18, 0x41, 0x03, 0xcf], ppp)),
        (107, behind(&[0x18, 0x41], kind)),
        (117, behind(&[61, *address_family], &[0; 62])),
        (117, behind(&[100, *address_family], &[0; 98])),
        (127, behind(&[0, 0, 8, 0, 0, 0, 0, 0], &behind(&WIFI, &snap))),
        (127, behind(&radiotap(0x10), &behind(&wifi(0x88, 1, &[0; 2]), &snap))),
        (127, behind(&radiotap(0x20), &behind(&wifi(0x88, 1, &[0; 4]), &snap))),
        (127, behind(&radiotap(0x20), &behind(&WIFI, &snap))),
        (192, behind(&ppi(105), &behind(&WIFI, &snap))),
        (192, behind(&ppi(1), &inner)),
        (192, behind(&ppi(192), &behind(&ppi(1), &inner))),
        (226, behind(&[1, if is_v4 { 2 } else { 26 }], &[0; 22])),
        (239, vec![linux_family, 0, 0, 0, low, high, 9, 0]),
        (239, vec![linux_family, 0, 0, 42, 5, 0, 10, 0, 0, 0, 0, 0, low, high, 9, 0]),
        (239, vec![linux_family, 0, 0, 42, 0, 5, 0, 10, 0, 0, 0, 0, high, low, 0, 9]),
        (239, vec![linux_family, 0, 0, 42, 8, 0, 18, 0x80, 0, 0, 0, 0, low, high, 9, 0]),
        (242, [&[0; 40], &kind[..], &[0, 0]].concat()),
        (258, behind(&pktap(1), &inner)),
        (258, behind(&pktap(0), &[0, 0, 0, *address_family])),
        (281, tag(&[0, 0, 0x20, 1])),
        (282, behind(&[0, 0, 0x20, 1], &inner)),
        (284, tag(&[0xc0, 0, 0, 1])),
        (285, tag(&[0xda, 0xda, 0, 0, 0xc0, 0, 0, 1])),
        (285, tag(&[0xda, 0xda, 0, 0, 0xc0, 0, 0, 1, 0x81, 0x00, 0, 5])),
    ]
}

#[test]
fn only_data_frames_of_802_11_carry_packets() {
    let read = |kind, flags, more: &[u8]| {
        let snap = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];
        hosts(105, &[&wifi(kind, flags, more)[..], &snap, &IPV4].concat())
    };
    for kind in [0x80, 0x40, 0xd4, 0xb4, 0x48, 0xc8, 0x0a] {
        assert_eq!(read(kind, 1, &[]), Err(Skip::NotIp), "kind {kind:#04x}");
    }
    assert_eq!(read(0x08, 0x41, &[]), Err(Skip::Encrypted));
    assert_eq!(read(0x88, 0x42, &[0; 2]), Err(Skip::Encrypted));
    assert_eq!(read(0x80, 0x40, &[]), Err(Skip::NotIp), "a protected management frame");
    let mut later = [&WIFI[..], &[0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00], &IPV4].concat();
    later[22] |= 1;
    assert_eq!(hosts(105, &later), Err(Skip::NotIp), "a later fragment");
}

#[test]
fn headers_with_an_impossible_length_version_or_type_are_skipped() {
    let read = |link_type, header: &[u8]| hosts(link_type, &[header, &IPV4, &[0; 80]].concat());
    for (link_type, header, reason) in [
        (10, &[0x4f][..], Skip::NotIp),
        (107, &[0x19, 0x41], Skip::BadHeader),
        (107, &[0x18, 0x40, 0x40, 0x40], Skip::BadHeader),
        (107, &[0x18, 0x41, 0x03, 0x08], Skip::NotIp),
        (107, &[0x18, 0x41, 0x00, 0x2f], Skip::NotIp),
        (117, &[44, 2], Skip::BadHeader),
        (117, &[61, 7], Skip::NotIp),
        (127, &[1, 0, 8, 0], Skip::BadHeader),
        (127, &[0, 0, 7, 0], Skip::BadHeader),
        (192, &[0, 0, 7, 0, 1, 0, 0, 0], Skip::BadHeader),
        (192, &[0, 0, 8, 0, 1, 0, 1, 0], Skip::LinkType),
        (226, &[1, 7], Skip::NotIp),
        (239, &[2, 1], Skip::BadHeader),
        (239, &[2, 0, 0, 0, 3, 0, 9, 0], Skip::BadHeader),
        (239, &[7, 0, 0, 0, 24, 0, 9, 0], Skip::NotIp),
        (258, &[11, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], Skip::BadHeader),
        (258, &[12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], Skip::NotIp),
        (258, &[12, 0, 0, 0, 1, 0, 0, 0, 147, 0, 0, 0], Skip::LinkType),
    ] {
        assert_eq!(read(link_type, header), Err(reason), "link type {link_type}: {header:02x?}");
    }
    let attributes = [&[2, 0, 0, 0][..], &[4, 0, 1, 0].repeat(32)].concat();
    assert_eq!(hosts(239, &attributes), Err(Skip::NotIp), "too many attributes");
}

#[test]
fn the_packet_of_a_netfilter_log_ends_with_its_attribute() {
    let mut packet = IPV4;
    packet[3] = 0;
    let frame = [&[2, 0, 0, 0, 24, 0, 9, 0][..], &packet, &[4, 0, 1, 0]].concat();
    let headers = super::headers(239, &frame).unwrap();
    assert_eq!(headers.octets_in_frame(0).map(u64::from), Some(20));
}
