//! Tests that compare the reader with etherparse. They use generated frames, which are complete, truncated or changed.

use etherparse::{
    IpFragOffset, IpNumber, Ipv6Extensions, Ipv6FlowLabel, Ipv6FragmentHeader, Ipv6Header,
    Ipv6RawExtHeader, PacketBuilder, VlanId,
};
use proptest::prelude::*;
use srlg_input::capture::{Reader, Skip};
use srlg_input::contact::Contact;

use crate::captures::oracle;
use crate::reader::build::{self, MICROSECONDS};

fn read(link_type: i32, frame: &[u8]) -> Result<Contact, &'static str> {
    let mut file = build::pcap(false, MICROSECONDS, link_type as u32);
    file.record(1, 0, frame);
    let mut reader = Reader::new(std::io::Cursor::new(file.bytes)).unwrap();
    let contact = reader.next_contacts().unwrap().map(|contacts| contacts[0]);
    let skip = Skip::ALL.into_iter().find(|reason| reader.counts().skipped(*reason) == 1);
    assert_eq!((reader.counts().packets, reader.truncation()), (1, None));
    contact.ok_or_else(|| skip.expect("a packet is a contact or skipped").name())
}

fn expected(link_type: i32, frame: &[u8]) -> Result<Contact, &'static str> {
    oracle::walk(link_type, frame).map(|outer| outer.contact(1_000_000_000))
}

fn ipv6(next: IpNumber, payload: u16) -> Ipv6Header {
    Ipv6Header {
        traffic_class: 7,
        flow_label: Ipv6FlowLabel::try_new(12_345).unwrap(),
        payload_length: payload,
        next_header: next,
        hop_limit: 64,
        source: "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets(),
        destination: "2a00:1:2:3:4:5:6:7".parse::<std::net::Ipv6Addr>().unwrap().octets(),
    }
}

fn packets() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut add = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = Vec::new();
        write(&mut packet);
        packets.push(packet);
    };
    let udp = [0, 53, 0, 53, 0, 11, 0, 0, 1, 2, 3];
    add(&|packet| {
        let builder = PacketBuilder::ipv4([192, 0, 2, 1], [198, 51, 100, 7], 64);
        builder.udp(53, 53).write(packet, &[1, 2, 3]).unwrap();
    });
    add(&|packet| {
        packet.extend([0x47, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([1; 8]);
    });
    add(&|packet| {
        ipv6(IpNumber::UDP, 11).write(packet).unwrap();
        packet.extend(udp);
    });
    // The first is a jumbogram, and the second is a packet whose payload was truncated.
    for payload in [0, 1_400] {
        add(&|packet| {
            ipv6(IpNumber::UDP, payload).write(packet).unwrap();
            packet.extend(udp);
        });
    }
    add(&|packet| {
        let options = Ipv6RawExtHeader::new_raw(IpNumber::UDP, &[1, 4, 0, 0, 0, 0]).unwrap();
        let fragment = Ipv6FragmentHeader::new(
            IpNumber::UDP,
            IpFragOffset::try_new(185).unwrap(),
            true,
            0x1234_5678,
        );
        let mut extensions = Ipv6Extensions {
            hop_by_hop_options: Some(options.clone()),
            destination_options: Some(options.clone()),
            routing: None,
            fragment: Some(fragment),
            auth: None,
        };
        let first = extensions.set_next_headers(IpNumber::UDP);
        ipv6(first, extensions.header_len() as u16 + 11).write(packet).unwrap();
        extensions.write(packet, first).unwrap();
        packet.extend(udp);
    });
    add(&|packet| {
        // The second hop-by-hop header claims 2,048 bytes.
        ipv6(IpNumber::IPV6_HEADER_HOP_BY_HOP, 16).write(packet).unwrap();
        packet.extend([0, 0, 0, 0, 0, 0, 0, 0, 17, 255, 0, 0, 0, 0, 0, 0]);
    });
    // The tunnels are 6in4 and 4in6.
    add(&|packet| {
        packet.extend([0x45, 0, 0, 71, 0, 0, 0, 0, 64, 41, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        ipv6(IpNumber::UDP, 11).write(packet).unwrap();
        packet.extend(udp);
    });
    add(&|packet| {
        ipv6(IpNumber::IPV4, 20).write(packet).unwrap();
        packet.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    });
    packets
}

/// Returns each packet after each kind of link-layer header, and a double-tagged frame that etherparse builds.
fn all() -> Vec<(i32, Vec<u8>)> {
    let mut all = Vec::new();
    for packet in packets() {
        let is_ipv4 = packet[0] >> 4 == 4;
        let [kind, ppp] = if is_ipv4 { [[8, 0], [0, 0x21]] } else { [[0x86, 0xdd], [0, 0x57]] };
        let family = if is_ipv4 { 2 } else { 30 };
        let headers: [(i32, Vec<u8>); 10] = [
            (0, vec![family, 0, 0, 0]),
            (1, [&[2; 12][..], &kind].concat()),
            (1, [&[2; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2], &kind].concat()),
            (1, [&[2; 12][..], &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]].concat()),
            (1, [&[2; 12][..], &[0x88, 0x64, 0x11, 0, 0, 7, 0, 22], &ppp].concat()),
            (9, [&[0xff, 3][..], &ppp].concat()),
            (101, Vec::new()),
            (113, [&[0; 14][..], &kind].concat()),
            (if is_ipv4 { 228 } else { 229 }, Vec::new()),
            (276, [&kind[..], &[0; 18]].concat()),
        ];
        all.extend(headers.map(|(link, header)| (link, [&header[..], &packet].concat())));
    }
    let mut tagged = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .double_vlan(VlanId::try_new(5).unwrap(), VlanId::try_new(6).unwrap())
        .ipv6([0x20; 16], [0x2a; 16], 64)
        .tcp(443, 50_000, 1, 1_024)
        .write(&mut tagged, &[9; 6])
        .unwrap();
    all.push((1, tagged));
    all
}

#[test]
fn every_generated_frame_is_the_contact_that_etherparse_finds_at_every_length() {
    for (link, frame) in all() {
        let outer = oracle::walk(link, &frame).unwrap().in_frame(&frame, frame.len() as u32);
        let contact = read(link, &frame).unwrap();
        assert!(outer.agrees(&contact), "link type {link}: {frame:02x?}: {contact:?}");
        for length in 0..=frame.len() {
            let cut = &frame[..length];
            let found = read(link, cut).map(oracle::bare);
            assert_eq!(found, expected(link, cut), "link type {link}: {cut:02x?}");
        }
    }
}

/// Generates bytes. About half of them have a special meaning for the reader.
fn telling() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        prop::sample::select(vec![
            0x00, 0x01, 0x02, 0x06, 0x08, 0x21, 0x45, 0x4f, 0x57, 0x60, 0x64, 0x81, 0x86, 0x88,
            0xa8, 0xdd, 0xff,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn changed_frames_are_what_etherparse_finds(
        which in any::<prop::sample::Index>(),
        // Most changes are at the start, where the headers are.
        changes in prop::collection::vec((0_usize..64, telling()), 1..6),
        cut in prop::option::of(0_usize..100),
    ) {
        let (link, mut frame) = which.get(&all()).clone();
        for (place, byte) in changes {
            let place = place % frame.len();
            frame[place] = byte;
        }
        frame.truncate(cut.unwrap_or(frame.len()));
        let expected = expected(link, &frame);
        prop_assume!(expected != Err(oracle::UNKNOWN));
        prop_assert_eq!(read(link, &frame).map(oracle::bare), expected, "{} {:02x?}", link, frame);
    }
}
