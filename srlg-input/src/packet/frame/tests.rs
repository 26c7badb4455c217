//! Tests of frames of every link type, of every header before IP, and of complete, truncated and invalid IP headers.

mod links;
mod tags;

use crate::contact::Host;

use super::{LastTypes, MOST_LAYERS, headers, last_types};
use crate::packet::Skip;

type Hosts = Result<[Host; 2], Skip>;

fn hosts(link_type: u16, frame: &[u8]) -> Hosts {
    headers(link_type, frame).map(|headers| headers.hosts())
}

const IPV4: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];

struct Family {
    ether_type: [u8; 2],
    ppp: [u8; 2],
    address_family: u8,
    link_type: u16,
    packet: Vec<u8>,
    hosts: Hosts,
}

fn families() -> [Family; 2] {
    let mut ipv6 = vec![0x6f, 0, 0, 0, 0, 0, 59, 64];
    ipv6.extend([&[0x20, 0x01][..], &[0; 13], &[1, 0x20, 0x01], &[0; 13], &[2]].concat());
    let hosts = |source: &str, destination: &str| {
        Ok([source, destination].map(|host| host.parse().unwrap()))
    };
    [
        Family {
            ether_type: [0x08, 0x00],
            ppp: [0x00, 0x21],
            address_family: 2,
            link_type: 228,
            packet: IPV4.to_vec(),
            hosts: hosts("10.0.0.1", "10.0.0.2"),
        },
        Family {
            ether_type: [0x86, 0xdd],
            ppp: [0x00, 0x57],
            address_family: 30,
            link_type: 229,
            packet: ipv6,
            hosts: hosts("2001::1", "2001::2"),
        },
    ]
}

/// Returns link types, each with the bytes that precede the IP header.
fn prefixes(family: &Family) -> Vec<(u16, Vec<u8>)> {
    let Family { ether_type, ppp, address_family, link_type, .. } = family;
    let ethernet = |tags: &[u8]| (1, [&[0; 12], tags].concat());
    let tagged = |tags: &[u8]| ethernet(&[tags, ether_type].concat());
    let prefixes = vec![
        tagged(&[]),
        tagged(&[0x81, 0x00, 0, 5]),
        tagged(&[0x88, 0xa8, 0, 1, 0x91, 0x00, 0, 2, 0x81, 0x00, 0, 3]),
        ethernet(&[0x88, 0x47, 0, 1, 0x01, 64]),
        ethernet(&[0x88, 0x48, 0, 1, 0x00, 64, 0, 2, 0x00, 64, 0, 3, 0x01, 64]),
        ethernet(&[0x81, 0x00, 0, 5, 0x88, 0x47, 0, 1, 0x01, 64]),
        ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 7, 0, 22], &ppp[..]].concat()),
        (0, vec![*address_family, 0, 0, 0]),
        (0, vec![0, 0, 0, *address_family]),
        (108, vec![0, 0, 0, *address_family]),
        (9, [&[0xff, 0x03], &ppp[..]].concat()),
        (9, ppp.to_vec()),
        (9, [&[0xff, 0x03], &ppp[1..]].concat()),
        (9, ppp[1..].to_vec()),
        (51, [&[0x11, 0, 0, 7, 0, 21], &ppp[1..]].concat()),
        ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 7, 0, 21], &ppp[1..]].concat()),
        (50, vec![0xff, 0x03, 0x02, 0x81, 0, 1, 0x01, 64]),
        (51, [&[0x11, 0, 0, 7, 0, 22], &ppp[..]].concat()),
        (104, [&[0x0f, 0], &ether_type[..]].concat()),
        (12, vec![]),
        (14, vec![]),
        (101, vec![]),
        (*link_type, vec![]),
        (113, [&[0; 14], &ether_type[..]].concat()),
        (276, [&ether_type[..], &[0; 18]].concat()),
    ];
    [prefixes, tags::prefixes(family), links::prefixes(family)].concat()
}

#[test]
fn every_link_type_leads_to_the_hosts_and_no_cut_of_it_does() {
    for family in families() {
        for (link_type, prefix) in prefixes(&family) {
            let frame = [&prefix[..], &family.packet].concat();
            let name = format!("link type {link_type}: {prefix:02x?}");
            assert_eq!(hosts(link_type, &frame), family.hosts, "{name}");
            for length in 0..frame.len() {
                let cut = hosts(link_type, &frame[..length]);
                assert_eq!(cut, Err(Skip::CutHeader), "{length} bytes of {name}");
            }
        }
    }
}

#[test]
fn damaged_frames_of_every_link_type_are_read_without_a_panic() {
    for family in families() {
        for (link_type, prefix) in prefixes(&family) {
            let frame = [&prefix[..], &family.packet].concat();
            for (at, byte) in (0..frame.len()).flat_map(|at| [0, 0x80, 0xff].map(|byte| (at, byte)))
            {
                let mut damaged = frame.clone();
                damaged[at] = byte;
                for length in [frame.len(), at + 1, at] {
                    let read = headers(link_type, &damaged[..length]);
                    let transport = read.map(|headers| headers.transport());
                    assert_eq!(transport.is_ok(), read.is_ok());
                    let _types = last_types(link_type, &damaged[..length]);
                }
            }
        }
    }
}

#[test]
fn what_is_announced_as_the_other_family_is_a_bad_header() {
    let [ipv4, ipv6] = families();
    for (announced, mut packet) in [(&ipv4, ipv6.packet.clone()), (&ipv6, ipv4.packet.clone())] {
        packet.resize(40, 0);
        // MPLS and RAW are left out, because they do not announce a version.
        for (link_type, prefix) in prefixes(announced) {
            let names = prefix.is_empty() || prefix.ends_with(&[0x01, 64]);
            if names && link_type != announced.link_type {
                continue;
            }
            let frame = [&prefix[..], &packet].concat();
            let name = format!("link type {link_type}: {prefix:02x?}");
            assert_eq!(hosts(link_type, &frame), Err(Skip::BadHeader), "{name}");
        }
    }
}

#[test]
fn only_the_outermost_header_counts() {
    let families = families();
    for outer in &families {
        for inner in &families {
            let frame = [&outer.packet[..], &inner.packet].concat();
            assert_eq!(hosts(101, &frame), outer.hosts);
        }
    }
}

#[test]
fn frames_without_ip_are_counted_by_reason() {
    let ethernet = |kind: [u8; 2]| hosts(1, &[&[0; 12][..], &kind, &[0x60; 46]].concat());
    assert_eq!(ethernet([0x08, 0x06]), Err(Skip::NotIp), "ARP");
    assert_eq!(ethernet([0x00, 0x26]), Err(Skip::NotIp), "LLC");
    assert_eq!(ethernet([0x08, 0x00]), Err(Skip::BadHeader), "IPv6 announced as IPv4");
    let pseudowire = [&[0; 12][..], &[0x88, 0x47, 0, 1, 0x01, 64], &[0; 40]].concat();
    assert_eq!(hosts(1, &pseudowire), Err(Skip::NotIp), "a pseudowire with an LLC frame");
    assert_eq!(hosts(101, &[0x00; 40]), Err(Skip::BadHeader));
    assert_eq!(hosts(0, &[30, 0, 0, 0, 0x60]), Err(Skip::CutHeader));
    assert_eq!(hosts(0, &[7, 0, 0, 0, 0x45]), Err(Skip::NotIp));
    assert_eq!(hosts(147, &IPV4), Err(Skip::LinkType), "a link type of users");
}

#[test]
fn every_system_has_its_own_number_for_ipv6_in_either_byte_order() {
    let [_, ipv6] = families();
    for number in [10, 24, 26, 28, 30] {
        for family in [[number, 0, 0, 0], [0, 0, 0, number]] {
            assert_eq!(hosts(0, &[&family[..], &ipv6.packet].concat()), ipv6.hosts, "{number}");
        }
    }
}

fn ipv4_with(changes: &[(usize, u8)]) -> Hosts {
    let mut packet = IPV4;
    changes.iter().for_each(|&(at, byte)| packet[at] = byte);
    hosts(228, &packet)
}

#[test]
fn fragments_and_what_is_cut_behind_the_fixed_header_have_hosts() {
    let [ipv4, _] = families();
    assert_eq!(ipv4_with(&[(7, 0xb9)]), ipv4.hosts, "a fragment");
    assert_eq!(ipv4_with(&[(0, 0x4f), (2, 5), (3, 0xdc)]), ipv4.hosts, "no options, no payload");
}

#[test]
fn ipv6_hosts_are_read_despite_any_payload_and_length() {
    let [_, ipv6] = families();
    // These are hop-by-hop options, TCP, 6in4, routing, fragment, ESP, no next header and an unassigned number.
    for next_header in [0, 6, 41, 43, 44, 50, 59, 253] {
        for payload_length in [0, 1, u16::MAX] {
            // The packet has an extension header of an arbitrary length and kind, truncated at every byte.
            let mut packet = [&ipv6.packet[..], &[0xff; 9]].concat();
            packet[4..6].copy_from_slice(&payload_length.to_be_bytes());
            packet[6] = next_header;
            for length in 40..=packet.len() {
                assert_eq!(hosts(229, &packet[..length]), ipv6.hosts, "{next_header}");
            }
        }
    }
}

#[test]
fn lying_headers_are_refused() {
    assert_eq!(ipv4_with(&[(0, 0x65)]), Err(Skip::BadHeader), "version");
    assert_eq!(ipv4_with(&[(0, 0x44)]), Err(Skip::BadHeader), "header length below 20");
    assert_eq!(ipv4_with(&[(0, 0x46)]), Err(Skip::BadHeader), "total below header length");
    assert_eq!(ipv4_with(&[(3, 19)]), Err(Skip::BadHeader), "total length below 20");
    for version in (0..16).filter(|version| *version != 6) {
        let [_, Family { mut packet, .. }] = families();
        packet[0] = version << 4;
        assert_eq!(hosts(229, &packet), Err(Skip::BadHeader), "version {version}");
    }
}

#[test]
fn a_compressed_protocol_of_ppp_other_than_ip_is_no_ip() {
    // These are compressed numbers of VJ, IPX and a pad byte, and the whole number of LCP.
    for protocol in [&[0x2d][..], &[0x2b], &[0x01], &[0xc0, 0x21]] {
        assert_eq!(hosts(9, &[protocol, &IPV4].concat()), Err(Skip::NotIp), "{protocol:02x?}");
    }
}

#[test]
fn a_total_length_of_0_is_the_rest_of_the_frame_however_long() {
    let [ipv4, _] = families();
    assert_eq!(ipv4_with(&[(3, 0)]), ipv4.hosts);
    assert_eq!(ipv4_with(&[(0, 0x4f), (3, 0)]), ipv4.hosts, "the options were not captured");
    assert_eq!(ipv4_with(&[(3, 0), (6, 0x20)]), ipv4.hosts, "a first fragment");
    assert_eq!(ipv4_with(&[(3, 0), (7, 0xb9)]), ipv4.hosts, "a later fragment");
    assert_eq!(ipv4_with(&[(0, 0x44), (3, 0)]), Err(Skip::BadHeader), "header length below 20");
    let mut packet = IPV4.to_vec();
    packet[3] = 0;
    assert_eq!(hosts(228, &packet[..19]), Err(Skip::CutHeader), "shorter than the header");
    packet.extend([0; 26]);
    assert_eq!(hosts(228, &packet), ipv4.hosts, "padded");
}

#[test]
fn a_packet_without_a_length_is_as_long_as_its_frame() {
    let [ipv4, ipv6] = families();
    let mut unstated = ipv4.packet.clone();
    unstated[3] = 0;
    for (packet, octets) in [(&unstated, 1_020), (&ipv6.packet, 1_040)] {
        let headers = headers(101, packet).unwrap();
        assert_eq!(headers.octets(), None);
        assert_eq!(headers.octets_in_frame(1_000).map(u64::from), Some(octets));
    }
    let stated = headers(101, &ipv4.packet).unwrap();
    assert_eq!(stated.octets_in_frame(1_000).map(u64::from), Some(20), "the frame was padded");
}

#[test]
fn the_ether_type_of_a_skipped_frame_is_the_one_behind_its_headers() {
    let ether_type = |link_type, frame: &[u8]| last_types(link_type, frame).ether_type;
    let kind = [0x88, 0xcc];
    let ethernet = |tags: &[u8]| [&[0; 12], tags].concat();
    let behind = |tags: &[u8]| ethernet(&[tags, &kind].concat());
    for (link_type, frame) in [
        (1, ethernet(&kind)),
        (1, behind(&[0x88, 0xa8, 0, 1, 0x91, 0x00, 0, 2, 0x81, 0x00, 0, 3])),
        (1, behind(&[&[0x88, 0xe7, 0, 0, 0, 1][..], &[0; 12]].concat())),
        (104, [&[0x0f, 0], &kind[..]].concat()),
        (113, [&[0; 14], &kind[..]].concat()),
        (276, [&kind[..], &[0; 18]].concat()),
    ] {
        assert_eq!(ether_type(link_type, &frame), Some(0x88cc), "link type {link_type}");
        for length in 0..frame.len() {
            let of_cut = ether_type(link_type, &frame[..length]);
            assert_ne!(of_cut, Some(0x88cc), "{length} bytes of link type {link_type}");
        }
    }
    assert_eq!(ether_type(1, &ethernet(&[0x05, 0xff])), None, "the length of an LLC frame");
    assert_eq!(ether_type(1, &ethernet(&[0x06, 0x00])), Some(0x600));
    assert_eq!(ether_type(9, &[0xc0, 0x21, 0x89, 0x26]), None, "PPP has no EtherType");
}

#[test]
fn the_link_type_of_a_skipped_frame_is_the_innermost() {
    let frame = [&[0, 0, 8, 0, 0x93, 0, 0, 0][..], &[0; 40]].concat();
    assert_eq!(hosts(192, &frame), Err(Skip::LinkType));
    assert_eq!(last_types(192, &frame), LastTypes { link_type: 147, ether_type: None });
    assert_eq!(last_types(147, &frame).link_type, 147);
}

#[test]
fn a_frame_of_too_many_headers_is_skipped() {
    let frame = |tags| [&[0; 12][..], &[0x81, 0, 0, 1].repeat(tags), &[0x08, 0], &IPV4].concat();
    let [ipv4, _] = families();
    // The link type, the Ethernet header and the packet are layers, too.
    assert_eq!(hosts(1, &frame(MOST_LAYERS - 3)), ipv4.hosts);
    assert_eq!(hosts(1, &frame(MOST_LAYERS - 2)), Err(Skip::NotIp));
    assert_eq!(hosts(1, &frame(10_000)), Err(Skip::NotIp));
    let labels = |count| [&[0; 12][..], &[0x88, 0x47], &[0; 4].repeat(count)].concat();
    assert_eq!(hosts(1, &labels(31)), Err(Skip::CutHeader));
    assert_eq!(hosts(1, &labels(32)), Err(Skip::NotIp));
}
