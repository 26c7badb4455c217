//! Tests of the headers that switches put before IP.

use super::{Family, IPV4, hosts};
use crate::packet::Skip;

/// Addresses of an Ethernet frame.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Labels of an MPLS stack, without the EtherType.
const LABEL: [u8; 4] = [0, 1, 0x01, 64];

fn ethernet(parts: &[&[u8]]) -> (u16, Vec<u8>) {
    (1, [&ADDRESSES, &parts.concat()[..]].concat())
}

/// Returns Ethernet frames up to the IP header of `family`, each with other headers before it.
pub(super) fn prefixes(family: &Family) -> Vec<(u16, Vec<u8>)> {
    let kind = &family.ether_type;
    let is_v4 = family.address_family == 2;
    let inner = [&ADDRESSES, &kind[..]].concat();
    let snap = |code| [&[0xaa, 0xaa, 0x03, 0, 0, code], &kind[..]].concat();
    let nsh = |next| [&[0x89, 0x4f, 0x0f, 0xc2, 0x02, next][..], &[0, 0, 1, 0xff]].concat();
    let of_nsh = nsh(if is_v4 { 1 } else { 2 });
    let mut prefixes = vec![
        ethernet(&[&[0x92, 0x00, 0, 0, 0x81, 0x00, 0, 200], kind]),
        ethernet(&[&[0x89, 0x26, 0, 0, 0, 0], kind]),
        ethernet(&[&[0x89, 0x26, 0, 0, 0, 0, 0x81, 0x00, 0, 11], kind]),
        ethernet(&[&[0x89, 0x3f, 0, 0, 0x10, 0, 0, 1], kind]),
        ethernet(&[&[0x89, 0x09, 1, 1, 0, 1, 0, 7], kind]),
        ethernet(&[&[0x89, 0x09, 1, 2, 0, 1, 0, 7, 0, 2, 0, 0, 0, 0, 0, 0], kind]),
        ethernet(&[&[0x89, 0x03, 0, 0x10], &inner]),
        ethernet(&[&[0x89, 0x03, 0, 0x10], &ADDRESSES, &[0x81, 0x00, 0, 1], kind]),
        ethernet(&[&[0x88, 0xe7, 0, 0, 0, 1], &inner]),
        ethernet(&[&[0x88, 0xa8, 0, 9, 0x88, 0xe7, 0, 0, 0, 1], &inner]),
        ethernet(&[&of_nsh]),
        ethernet(&[&nsh(3), &inner]),
        ethernet(&[&nsh(4), &of_nsh[2..]]),
        ethernet(&[&[0xd2, 0x8b, 0, 1, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 2], kind]),
        ethernet(&[&[0xd2, 0x8b, 0, 1, 1, 0x20, 0, 1, 0, 0, 0, 2], kind]),
        ethernet(&[&[0x88, 0xe5, 0x00, 0, 0, 0, 0, 1], kind]),
        ethernet(&[&[0x88, 0xe5, 0x20, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0, 1], kind]),
        ethernet(&[&[0x00, 0x28], &snap(0)]),
        ethernet(&[&[0x81, 0x00, 0, 5, 0x00, 0x28], &snap(0xf8)]),
        ethernet(&[&[0x00, 0x28, 0xaa, 0xaa, 0x03, 0x00, 0x80, 0xc2, 0, 7], &inner]),
        // Ethernet over MPLS with a control word, without one, and with an address of VRRP or of a vendor.
        ethernet(&[&[0x88, 0x47], &LABEL, &[0, 0, 0, 9], &inner]),
        ethernet(&[&[0x88, 0x47], &LABEL, &inner]),
        ethernet(&[&[0x88, 0x47], &LABEL, &[0, 0, 0x5e, 0, 1, 7], &inner[6..]]),
        ethernet(&[&[0x88, 0x47], &LABEL, &[0, 0, 0, 9, 0, 0, 0x5e, 0, 1, 7], &inner[6..]]),
        ethernet(&[&[0x88, 0x47], &LABEL, &[0, 0x1b, 0x21, 0, 1, 7], &inner[6..]]),
        ethernet(&[&[0x88, 0x47], &LABEL, &inner[..12], &[0x81, 0x00, 0, 5], kind]),
    ];
    if is_v4 {
        prefixes.push(ethernet(&[&[0x00, 0x28, 0x06, 0x06, 0x03]]));
    }
    prefixes
}

/// Returns the outcome of an Ethernet frame whose `parts` precede an IPv4 packet.
fn read(parts: &[u8]) -> super::Hosts {
    hosts(1, &[&ADDRESSES, parts, &IPV4, &[0; 40]].concat())
}

#[test]
fn macsec_with_confidentiality_is_encrypted() {
    for flags in [0x04, 0x0c, 0x2c] {
        let tag = [0x88, 0xe5, flags, 0, 0, 0, 0, 1, 0x08, 0x00];
        assert_eq!(read(&tag), Err(Skip::Encrypted), "flags {flags:#04x}");
    }
    assert_eq!(read(&[0x88, 0xe5, 0x80, 0, 0, 0, 0, 1, 0x08, 0x00]), Err(Skip::BadHeader));
}

#[test]
fn headers_with_an_impossible_length_or_version_are_bad() {
    assert_eq!(read(&[0x89, 0x09, 1, 0]), Err(Skip::BadHeader), "Cisco MetaData without a length");
    assert_eq!(read(&[0x89, 0x4f, 0x0f, 0xc1, 2, 1]), Err(Skip::BadHeader), "NSH of four bytes");
    assert_eq!(read(&[0x89, 0x4f, 0x4f, 0xc2, 2, 1]), Err(Skip::BadHeader), "NSH version 1");
}

#[test]
fn headers_that_do_not_lead_to_ip_are_counted_as_such() {
    assert_eq!(read(&[0x89, 0x4f, 0x0f, 0xc2, 2, 9, 0, 0, 1, 0xff]), Err(Skip::NotIp), "NSH");
    assert_eq!(read(&[0xd2, 0x8b, 0xca, 0xfe, 0, 1]), Err(Skip::NotIp), "a generator of Arista");
    assert_eq!(read(&[0xd2, 0x8b, 0, 1, 0, 0x30]), Err(Skip::NotIp), "a time of Arista");
    assert_eq!(read(&[0x00, 0x28, 0x42, 0x42, 0x03]), Err(Skip::NotIp), "spanning tree");
    assert_eq!(read(&[0x00, 0x28, 0xff, 0xff]), Err(Skip::NotIp), "IPX without LLC");
    let cdp = [0x00, 0x28, 0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x20, 0x00];
    assert_eq!(read(&cdp), Err(Skip::NotIp), "CDP");
    let length = [0x00, 0x28, 0xaa, 0xaa, 0x03, 0, 0, 0, 0x00, 0x28];
    assert_eq!(read(&length), Err(Skip::NotIp), "a length in place of the type");
    let arp = [&[0x88, 0x47][..], &LABEL, &[0, 0, 0, 9], &ADDRESSES, &[0x08, 0x06]].concat();
    assert_eq!(read(&arp), Err(Skip::NotIp), "ARP in a pseudowire");
}
