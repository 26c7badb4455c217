//! Tests of sFlow v5.

mod damage;

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use srlg_input::flow::{Losses, Reason};

use crate::exports::build::{RECEIVED_NS, address};
use crate::exports::{contacts, counted, decoder, exporter};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn framed(format: u32, content: &[u8]) -> Vec<u8> {
    [&words(&[format, content.len() as u32])[..], content].concat()
}

/// Returns an sFlow datagram whose agent address is `agent`.
pub(super) fn datagram(agent: &str, number: u32, samples: &[Vec<u8>]) -> Vec<u8> {
    let agent = address(agent);
    let family = if agent.len() == 4 { 1 } else { 2 };
    let head = [words(&[5, family]), agent, words(&[0, number, 1_000, samples.len() as u32])];
    [head.concat(), samples.concat()].concat()
}

pub(super) fn sample(rate: u32, records: &[Vec<u8>]) -> Vec<u8> {
    sample_from(1, rate, records)
}

/// Returns a flow sample of packets that arrived on interface `input`.
fn sample_from(input: u32, rate: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[1, 1, rate, 1_000, 0, input, 2, records.len() as u32]);
    framed(1, &[head, records.concat()].concat())
}

fn expanded(rate: u32, records: &[Vec<u8>]) -> Vec<u8> {
    expanded_from([0, 1], rate, records)
}

/// Returns an expanded flow sample of packets that arrived on the interface that `format` and `value` identify.
fn expanded_from([format, value]: [u32; 2], rate: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[1, 0, 1, rate, 1_000, 0, format, value, 0, 2, records.len() as u32]);
    framed(3, &[head, records.concat()].concat())
}

/// Returns a raw packet header record that contains `packet`.
pub(super) fn raw(protocol: u32, packet: &[u8]) -> Vec<u8> {
    let padding = vec![0; packet.len().next_multiple_of(4) - packet.len()];
    let head = words(&[protocol, 1_500, 4, packet.len() as u32]);
    framed(1, &[&head[..], packet, &padding].concat())
}

/// Returns a TCP SYN from 192.0.2.1 to port 80 of 192.0.2.2.
fn ipv4() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    packet.extend([0x30, 0x39, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
    packet
}

fn ipv6() -> Vec<u8> {
    [vec![0x60, 0, 0, 0, 0, 0, 59, 64], address("2001:db8::1"), address("2001:db8::2")].concat()
}

fn ethernet() -> Vec<u8> {
    [vec![0; 12], vec![0x08, 0x00], ipv4()].concat()
}

#[test]
fn sampled_packets_are_read_from_their_first_bytes() {
    let mut decoder = decoder();
    let samples = [
        sample(100, &[raw(1, &ethernet())]),
        expanded(200, &[raw(11, &ipv4())]),
        sample(0, &[raw(12, &ipv6())]),
        sample(1, &[raw(7, &[&[0, 0x21][..], &ipv4()].concat())]),
    ];
    let found = contacts(&mut decoder, RECEIVED_NS, &datagram("192.0.2.9", 1, &samples));
    let parts =
        found.iter().map(|it| (it.destination.to_string(), it.sampling.map(NonZeroU32::get)));
    let v4 = |rate| ("192.0.2.2".to_owned(), rate);
    let expected = [v4(Some(100)), v4(Some(200)), ("2001:db8::2".to_owned(), None), v4(Some(1))];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
    let first = found[0];
    assert_eq!((first.packets, first.octets), (NonZeroU64::new(1), NonZeroU64::new(40)));
    assert_eq!((first.protocol, first.tcp_flags), (Some(6), NonZeroU8::new(2)));
    assert_eq!((first.source_port, first.destination_port), (Some(12_345), Some(80)));
    assert_eq!(first.time_ns, RECEIVED_NS);
    assert_eq!(
        first.exporter,
        Some(exporter().ip().into()),
        "not the agent, which anybody may claim to be"
    );
}

#[test]
fn an_interface_is_an_index_of_snmp() {
    let records = [raw(11, &ipv4())];
    let compact = [
        (0, None),
        (7, Some(7)),
        (0x3fff_fffe, Some(0x3fff_fffe)),
        (0x3fff_ffff, None),
        // The first value is a reason for a discard, and the second one is a number of interfaces.
        (0x4000_0007, None),
        (0x8000_0007, None),
    ];
    let expanded = [([0, 7], Some(7)), ([0, 0x7fff_ffff], Some(0x7fff_ffff)), ([0, 0], None)];
    let others = [([0, u32::MAX], None), ([1, 7], None), ([2, 7], None)];
    let of_compact = compact.map(|(input, index)| (sample_from(input, 1, &records), index));
    let expanded = expanded.into_iter().chain(others);
    let of_expanded = expanded.map(|(input, index)| (expanded_from(input, 1, &records), index));
    for (number, (sample, index)) in of_compact.into_iter().chain(of_expanded).enumerate() {
        let datagram = datagram("192.0.2.9", 1, &[sample]);
        let found = contacts(&mut decoder(), RECEIVED_NS, &datagram);
        let ingress: Vec<_> = found.iter().map(|it| it.ingress.map(NonZeroU32::get)).collect();
        assert_eq!(ingress, [index], "sample {number}");
    }
}

#[test]
fn packets_that_the_agent_read_count_where_the_bytes_are_of_no_use() {
    let of_v4 = framed(
        3,
        &[
            words(&[60, 6]),
            address("192.0.2.1"),
            address("192.0.2.2"),
            words(&[4_000, 443, 0x10, 0]),
        ]
        .concat(),
    );
    let of_v6 = framed(
        4,
        &[
            words(&[60, 17]),
            address("2001:db8::1"),
            address("2001:db8::2"),
            words(&[123, 53, 0, 0]),
        ]
        .concat(),
    );
    let arp = raw(1, &[&[0; 12][..], &[0x08, 0x06], &[0; 28]].concat());
    let samples = [
        sample(1, std::slice::from_ref(&of_v4)),
        sample(1, &[of_v6]),
        sample(1, &[of_v4, raw(11, &ipv4())]),
        sample(1, &[arp]),
        sample(1, &[raw(2, &[0; 40])]),
        sample(1, &[]),
        framed(2, &words(&[1, 1, 0])),
    ];
    let mut decoder = decoder();
    let found = contacts(&mut decoder, RECEIVED_NS, &datagram("192.0.2.9", 1, &samples));
    let protocols: Vec<_> = found.iter().map(|it| it.protocol).collect();
    assert_eq!(protocols, [Some(6), Some(17), Some(6)]);
    let ports: Vec<_> = found.iter().map(|it| [it.source_port, it.destination_port]).collect();
    assert_eq!(ports, [[4_000, 443], [123, 53], [12_345, 80]].map(|ports| ports.map(Some)));
    assert_eq!(found[1].tcp_flags, None, "of UDP");
    let octets: Vec<_> = found.iter().map(|it| it.octets.map_or(0, NonZeroU64::get)).collect();
    assert_eq!(octets, [60, 60, 40]);
    let reasons = [Reason::BadFrame, Reason::NoHosts, Reason::OtherSample, Reason::Malformed];
    assert_eq!(counted(&decoder, reasons), [2, 1, 1, 0]);
    assert_eq!(decoder.counts().records, 7);
}

#[test]
fn each_agent_has_a_sequence() {
    let losses = |datagrams: &[(&str, u32)]| {
        let mut decoder = decoder();
        for (agent, number) in datagrams {
            contacts(&mut decoder, RECEIVED_NS, &datagram(agent, *number, &[sample(1, &[])]));
        }
        decoder.exporter(exporter()).unwrap().losses().unwrap()
    };
    let (one, two) = ("192.0.2.9", "2001:db8::9");
    assert_eq!(losses(&[(one, 1), (two, 70), (one, 2), (two, 71)]), Losses::default());
    assert_eq!(losses(&[(one, 1), (one, 4)]).lost, 2);
}

#[test]
fn a_sampled_packet_without_a_length_has_the_volume_of_its_frame() {
    let mut decoder = decoder();
    let unstated = |frame: Vec<u8>, at: usize| {
        let mut frame = frame;
        frame[at..at + 2].fill(0);
        frame
    };
    // The records state frames of 1,500 bytes, of which 4 were stripped. The last one states less than it contains.
    let mut lying = raw(11, &unstated(ipv4(), 2));
    lying[12..16].copy_from_slice(&[0, 0, 0, 43]);
    let samples = [
        sample(1, &[raw(1, &unstated(ethernet(), 16))]),
        sample(1, &[raw(11, &unstated(ipv4(), 2))]),
        sample(1, &[raw(7, &[&[0x21][..], &unstated(ipv4(), 2)].concat())]),
        sample(1, &[raw(12, &ipv6())]),
        sample(1, &[lying]),
    ];
    let found = contacts(&mut decoder, RECEIVED_NS, &datagram("192.0.2.9", 1, &samples));
    let octets: Vec<_> = found.iter().map(|it| it.octets.map(NonZeroU64::get)).collect();
    assert_eq!(octets, [Some(1_482), Some(1_496), Some(1_495), Some(1_496), None]);
    assert!(found[..3].iter().all(|it| it.destination_port == Some(80)));
}
