//! Tests of sampled packets in tunnels.

use std::collections::BTreeSet;
use std::num::{NonZeroU8, NonZeroU64};

use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Reason};
use srlg_input::packet::Tunnels;
use srlg_traffic::trace::recorded;

use crate::exports::build::{Field, PLAIN, RECEIVED_NS, REVERSE, address, plain};
use crate::exports::directions::{self, of};
use crate::exports::sflow::{datagram, raw, sample};
use crate::exports::{contacts, counted, datagrams, decode, pairs};

const TUNNELS: [Reason; 4] =
    [Reason::CutTunnel, Reason::TunnelFragment, Reason::TunnelContent, Reason::DeepTunnel];

/// Endpoints of the tunnel, and the hosts in it.
const OUTER: &str = "10.0.0.1 10.0.0.2";
const INNER: &str = "192.0.2.1 192.0.2.2";

fn options(tunnels: Tunnels) -> DecoderOptions {
    DecoderOptions { tunnels, ..DecoderOptions::default() }
}

/// Returns an IPv4 packet of `protocol` from 10.0.0.1 to 10.0.0.2.
fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let head = [0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    [&head[..], &[10, 0, 0, 1, 10, 0, 0, 2], payload].concat()
}

/// Returns a packet that carries a frame with a TCP SYN to port 80 through VXLAN.
fn vxlan() -> Vec<u8> {
    let frame = directions::frame();
    let head = [0xc0, 0, 0x12, 0xb5, 0, 16 + frame.len() as u8, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0];
    packet(17, &[&head[..], &frame].concat())
}

fn hosts(contact: &Contact) -> String {
    format!("{} {}", contact.source, contact.destination)
}

/// Returns the hosts, the ports and flags, and the packets and bytes of contacts.
fn parts(contacts: &[Contact]) -> Vec<(String, [u64; 3], [u64; 2])> {
    let part = |it: &Contact| {
        let transport = [
            u64::from(it.protocol.unwrap_or(0)),
            u64::from(it.destination_port.unwrap_or(0)),
            u64::from(it.tcp_flags.map_or(0, NonZeroU8::get)),
        ];
        let volume = [it.packets, it.octets].map(|count| count.map_or(0, NonZeroU64::get));
        (hosts(it), transport, volume)
    };
    contacts.iter().map(part).collect()
}

fn outer() -> (String, [u64; 3], [u64; 2]) {
    (OUTER.to_owned(), [17, 4_789, 0], [1, 90])
}

fn inner() -> (String, [u64; 3], [u64; 2]) {
    (INNER.to_owned(), [6, 80, 2], [1, 40])
}

fn expected(tunnels: Tunnels) -> Vec<(String, [u64; 3], [u64; 2])> {
    match tunnels {
        Tunnels::Outer => vec![outer()],
        Tunnels::Inner => vec![inner()],
        _ => vec![outer(), inner()],
    }
}

/// Decodes an sFlow sample of the first bytes of a packet.
fn sampled(tunnels: Tunnels, packet: &[u8]) -> (Decoder, Vec<Contact>) {
    let mut decoder = Decoder::new(options(tunnels)).unwrap();
    let datagram = datagram("192.0.2.9", 1, &[sample(100, &[raw(11, packet)])]);
    let found = contacts(&mut decoder, RECEIVED_NS, &datagram);
    assert_eq!(decoder.counts().records, 1);
    assert_eq!(decoder.counts().contacts, found.len() as u64);
    (decoder, found)
}

#[test]
fn a_sample_of_sflow_has_the_hosts_that_are_asked_for() {
    for tunnels in [Tunnels::Outer, Tunnels::Inner, Tunnels::Both] {
        let (decoder, found) = sampled(tunnels, &vxlan());
        assert_eq!(parts(&found), expected(tunnels));
        assert!(found.iter().all(|it| it.sampling.is_some_and(|rate| rate.get() == 100)));
        assert!(found.iter().all(|it| it.ingress.is_some() && it.exporter.is_some()));
        assert_eq!(counted(&decoder, TUNNELS), [0; 4]);
    }
}

#[test]
fn tunnels_that_are_not_entered_are_counted_by_reason() {
    let cut = &vxlan()[..60];
    let other = packet(47, &[0, 0, 0x88, 0xcc]);
    let mut fragment = packet(47, &[0, 0, 8, 0]);
    fragment[7] = 1;
    let deep = (0..5).fold(packet(6, &[0; 20]), |inner, _| packet(4, &inner));
    for (bytes, counts, inner) in [
        (cut, [1, 0, 0, 0], 0),
        (&fragment, [0, 1, 0, 0], 0),
        (&other, [0, 0, 1, 0], 1),
        (&deep, [0, 0, 0, 1], 1),
    ] {
        for (tunnels, many) in [(Tunnels::Inner, inner), (Tunnels::Both, 1 + inner)] {
            let (decoder, found) = sampled(tunnels, bytes);
            let is_other = counts == [0, 0, 1, 0];
            let many = if is_other { 1 } else { many };
            assert_eq!(found.iter().map(hosts).collect::<Vec<_>>(), vec![OUTER; many]);
            assert_eq!(counted(&decoder, TUNNELS), counts);
        }
        let (decoder, found) = sampled(Tunnels::Outer, bytes);
        assert_eq!((found.len(), counted(&decoder, TUNNELS)), (1, [0; 4]));
    }
}

#[test]
fn an_inner_packet_without_a_length_ends_with_the_frame_of_the_sample() {
    let mut bytes = vxlan();
    bytes[52..54].fill(0);
    let (_, found) = sampled(Tunnels::Inner, &bytes);
    assert_eq!(parts(&found)[0].2, [1, 40]);
}

/// Decodes a record of NetFlow v9, and asserts that it is counted once.
fn record(tunnels: Tunnels, fields: &[Field], values: &[Vec<u8>]) -> Vec<Contact> {
    let (decoder, found) = of(options(tunnels), fields, values);
    assert_eq!((decoder.counts().records, decoder.counts().contacts), (1, found.len() as u64));
    found
}

#[test]
fn a_record_with_a_packet_has_the_hosts_that_are_asked_for() {
    let packet = vxlan();
    let frame = [&[2; 12][..], &[8, 0], &packet].concat();
    let addresses = || ["10.0.0.1", "10.0.0.2"].map(address).to_vec();
    let (length, of_frame) = (packet.len() as u16, frame.len() as u16);
    for tunnels in [Tunnels::Outer, Tunnels::Inner, Tunnels::Both] {
        for (fields, values) in [
            (&[(313, length)][..], vec![packet.clone()]),
            (&[(315, of_frame)], vec![frame.clone()]),
            // The fields describe the outer packet.
            (&[(4, 1), (11, 2), (313, length)], vec![vec![17], vec![0x12, 0xb5], packet.clone()]),
        ] {
            assert_eq!(parts(&record(tunnels, fields, &values)), expected(tunnels), "{fields:?}");
        }
        // Addresses are those of the outermost packet.
        let fields = [(8, 4), (12, 4), (313, length)];
        let values = [addresses(), vec![packet.clone()]].concat();
        let found = record(tunnels, &fields, &values);
        let expected: Vec<_> = expected(tunnels).into_iter().map(|(hosts, ..)| hosts).collect();
        assert_eq!(found.iter().map(hosts).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_counts_of_a_record_apply_to_each_of_its_contacts() {
    let packet = vxlan();
    let fields = [(2, 4), (1, 4), (2 | REVERSE, 4), (1 | REVERSE, 4), (313, packet.len() as u16)];
    let count = |value: u32| value.to_be_bytes().to_vec();
    let values = [count(5), count(450), count(3), count(270), packet];
    let found = record(Tunnels::Both, &fields, &values);
    let volumes: Vec<_> = parts(&found).into_iter().map(|(hosts, _, it)| (hosts, it)).collect();
    let row = |hosts: &str, volume| (hosts.to_owned(), volume);
    let expected = [
        row(OUTER, [5, 450]),
        row("10.0.0.2 10.0.0.1", [3, 270]),
        row(INNER, [5, 450]),
        row("192.0.2.2 192.0.2.1", [3, 270]),
    ];
    assert_eq!(volumes, expected);
}

#[test]
fn a_record_without_a_packet_does_not_depend_on_tunnels() {
    for tunnels in [Tunnels::Inner, Tunnels::Both] {
        let found = record(tunnels, &PLAIN, &[plain("10.0.0.1", "10.0.0.2", 60, 3)]);
        assert_eq!(found.iter().map(hosts).collect::<Vec<_>>(), [OUTER]);
    }
}

#[test]
fn zero_hosts_count_for_each_packet() {
    let mut bytes = vxlan();
    bytes[12..16].fill(0);
    let (decoder, found) = sampled(Tunnels::Both, &bytes);
    assert_eq!(found.iter().map(hosts).collect::<Vec<_>>(), [INNER]);
    assert_eq!(counted(&decoder, [Reason::ZeroHost]), [1]);
    let (decoder, found) = of(options(Tunnels::Inner), &[(313, bytes.len() as u16)], &[bytes]);
    assert_eq!(found.iter().map(hosts).collect::<Vec<_>>(), [INNER]);
    assert_eq!(counted(&decoder, [Reason::ZeroHost]), [0]);
}

#[test]
fn a_recorded_export_has_the_inner_hosts_that_another_program_listed() {
    let Some(folder) = recorded("cases") else { return };
    let mut decoder = Decoder::new(options(Tunnels::Inner)).unwrap();
    let found = decode(&mut decoder, &datagrams(&folder.join("fetched/sflow_gre.pcap")));
    let truth = std::fs::read_to_string(folder.join("truth/sflow_gre.pairs.tsv")).unwrap();
    let pair = |line: &str| {
        let mut fields = line.split('\t');
        let mut host = || fields.next().unwrap().parse().unwrap();
        (host(), host())
    };
    let mut expected: BTreeSet<_> = truth.lines().map(pair).collect();
    // The program lists every packet in a tunnel. This one carries another one, which is also listed.
    assert!(expected.remove(&pair("9.9.9.9\t10.10.10.10")));
    // A keep-alive packet of the tunnel has no inner hosts.
    assert!(expected.insert(pair("1.1.1.1\t2.2.2.2")));
    assert_eq!(pairs(&found), expected);
    assert_eq!((found.len(), counted(&decoder, TUNNELS)), (6, [0, 0, 1, 0]));
}
