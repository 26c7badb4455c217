//! A comparison with flowparser-sflow: well-formed datagrams with samples and records of many kinds yield the contacts
//! and counts that the samples of this parser contain.

use flowparser_sflow::flow_records::RawPacketHeader;
use flowparser_sflow::{AddressType, FlowRecord, SflowDatagram, SflowParser, SflowSample};
use proptest::collection::vec;
use proptest::prelude::*;

use std::num::{NonZeroU8, NonZeroU64};

use super::*;
use crate::flow::counts::FlowCounts;
use crate::flow::options::DecoderOptions;
use crate::flow::record::is_zero;

/// Returns what `read` passes to a sink.
fn collected(
    read: impl FnOnce(&mut Sink<'_, &mut dyn FnMut(Contact)>),
) -> (Vec<Contact>, FlowCounts) {
    let (mut contacts, options) = (Vec::new(), DecoderOptions::default());
    let mut receive = |contact| contacts.push(contact);
    let (counts, exporter) = (FlowCounts::default(), Host::v4(1));
    let mut sink = Sink { options: &options, exporter, counts, receive: &mut receive as _ };
    read(&mut sink);
    let counts = sink.counts;
    (contacts, counts)
}

/// Passes the contacts of a datagram to `sink`, as they follow from the fields that flowparser-sflow has parsed.
fn read_parsed<F: FnMut(Contact)>(datagram: &SflowDatagram, sink: &mut Sink<'_, F>) {
    for sample in &datagram.samples {
        sink.counts.records += 1;
        let (records, rate, ingress) = match sample {
            SflowSample::Flow(it) => (&it.records, it.sampling_rate, compact_index(it.input)),
            SflowSample::ExpandedFlow(it) => {
                let index = Some(it.input_value).filter(|_| it.input_format == 0);
                (&it.records, it.sampling_rate, index.and_then(if_index))
            }
            SflowSample::DiscardedPacket(_) => {
                sink.count(Reason::DiscardedPacket);
                continue;
            }
            _ => {
                sink.count(Reason::OtherSample);
                continue;
            }
        };
        match packet(records) {
            Ok((hosts, _)) if hosts.into_iter().any(is_zero) => sink.count(Reason::ZeroHost),
            Ok((hosts, details)) => {
                let sampling = NonZeroU32::new(rate);
                let packets = Some(NonZeroU64::MIN);
                let details = Details { packets, sampling, ingress, ..details };
                sink.contact(7, hosts, &details);
            }
            Err(reason) => sink.count(reason),
        }
    }
}

fn packet(records: &[FlowRecord]) -> Result<([Host; 2], Details), Reason> {
    let mut outcome = Err(Reason::NoHosts);
    for record in records {
        match record {
            FlowRecord::RawPacketHeader(header) => match raw(header) {
                Ok(packet) => return Ok(packet),
                Err(reason) if outcome.is_err() => outcome = Err(reason),
                Err(_) => {}
            },
            FlowRecord::SampledIpv4(it) => {
                let hosts = [it.src_ip, it.dst_ip].map(|host| Host::v4(host.to_bits()));
                let ports = [it.src_port, it.dst_port];
                outcome = Ok((hosts, details(it.length, it.protocol, it.tcp_flags, ports)));
            }
            FlowRecord::SampledIpv6(it) => {
                let hosts = [it.src_ip, it.dst_ip].map(|host| Host::v6(host.to_bits()));
                let ports = [it.src_port, it.dst_port];
                outcome = Ok((hosts, details(it.length, it.protocol, it.tcp_flags, ports)));
            }
            _ => {}
        }
    }
    outcome
}

fn raw(record: &RawPacketHeader) -> Result<([Host; 2], Details), Reason> {
    let link_types = [(1, 1), (7, 9), (11, 228), (12, 229)];
    let known = link_types.iter().find(|(protocol, _)| *protocol == record.header_protocol);
    let (_, link_type) = known.ok_or(Reason::BadFrame)?;
    let headers =
        crate::packet::headers(*link_type, &record.header).map_err(|_| Reason::BadFrame)?;
    let frame = record.frame_length.checked_sub(record.stripped);
    let uncaptured = frame.and_then(|frame| frame.checked_sub(record.header.len() as u32));
    let transport = headers.transport();
    let details = Details {
        octets: headers.octets().or_else(|| headers.octets_in_frame(uncaptured?)),
        protocol: transport.protocol,
        tcp_flags: transport.tcp_flags.and_then(NonZeroU8::new),
        source_port: transport.source_port,
        destination_port: transport.destination_port,
        icmp_type: transport.icmp_type,
        ..Details::default()
    };
    Ok((headers.hosts(), details))
}

fn details(length: u32, protocol: u32, tcp_flags: u32, ports: [u32; 2]) -> Details {
    let [source_port, destination_port] = ports.map(|port| u16::try_from(port).ok());
    Details {
        octets: NonZeroU64::new(length.into()),
        protocol: u8::try_from(protocol).ok(),
        tcp_flags: NonZeroU8::new(tcp_flags as u8),
        source_port,
        destination_port,
        ..Details::default()
    }
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn part(format: u32, content: &[u8]) -> Vec<u8> {
    [&bytes_of(&[format, content.len() as u32]), content].concat()
}

/// Returns text with its length and padding.
fn text(content: &[u8]) -> Vec<u8> {
    let padding = vec![0; content.len().next_multiple_of(4) - content.len()];
    [&bytes_of(&[content.len() as u32]), content, &padding].concat()
}

/// Returns packets with an IPv4 or IPv6 header, most of which are complete.
fn ip_packet() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop::sample::select(vec![1, 6, 17, 58, 132]);
    let length = prop_oneof![Just(0_u16), 20..1_500_u16];
    (any::<bool>(), protocol, length, vec(any::<u8>(), 32), vec(any::<u8>(), 0..40)).prop_map(
        |(is_v6, protocol, length, hosts, rest)| {
            let [high, low] = length.to_be_bytes();
            let head = if is_v6 {
                [&[0x60, 0, 0, 0, high, low, protocol, 64][..], &hosts].concat()
            } else {
                [&[0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0][..], &hosts[..8]].concat()
            };
            [head, rest].concat()
        },
    )
}

fn raw_record() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop::sample::select(vec![1, 1, 1, 2, 7, 11, 12]);
    (protocol, ip_packet(), 0..2_000_u32, 0..20_u32, 0..90_usize).prop_map(
        |(protocol, packet, frame_length, stripped, most)| {
            let (is_v6, macs) = (packet[0] == 0x60, [7; 12]);
            let mut frame = match (protocol, is_v6) {
                (1, false) => [&macs[..], &[0x08, 0], &packet].concat(),
                (1, true) => [&macs[..], &[0x81, 0, 0, 9, 0x86, 0xdd], &packet].concat(),
                (7, false) => [&[0xff, 3, 0, 0x21][..], &packet].concat(),
                (7, true) => [&[0, 0x57][..], &packet].concat(),
                _ => packet,
            };
            frame.truncate(most + 10);
            let head = bytes_of(&[protocol, frame_length, stripped]);
            part(1, &[head, text(&frame)].concat())
        },
    )
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let numbers = || vec(prop_oneof![0..70_000_u32, any::<u32>()], 14);
    let words = |format, count| {
        numbers().prop_map(move |numbers| part(format, &bytes_of(&numbers[..count])))
    };
    let addressed = |format| {
        (any::<bool>(), numbers()).prop_map(move |(is_v6, numbers)| {
            let address = if is_v6 { 2 } else { 1 };
            // The counts of segments and communities of a gateway are 0.
            let rest = if format == 1002 { vec![9; 2] } else { vec![9, 9, 9, 0, 0, 9] };
            let hop = &numbers[..if is_v6 { 4 } else { 1 }];
            part(format, &[bytes_of(&[address]), bytes_of(hop), bytes_of(&rest)].concat())
        })
    };
    let texts = |format| {
        (vec(b'a'..=b'z', 0..9), vec(b'a'..=b'z', 0..9)).prop_map(move |(one, two)| {
            let charset = bytes_of(&[106]);
            let more = if format == 1004 { &charset[..] } else { &[] };
            part(format, &[&charset, &text(&one)[..], more, &text(&two)].concat())
        })
    };
    let unknown = prop::sample::select(vec![5, 900, 4_000, 1 << 12 | 1, 4_300 << 12 | 1003]);
    let unknown =
        (unknown, vec(any::<u8>(), 0..30)).prop_map(|(format, bytes)| part(format, &bytes));
    prop_oneof![
        4 => raw_record(),
        1 => words(3, 8),
        1 => words(4, 14),
        1 => words(2, 6),
        1 => words(1001, 4),
        1 => addressed(1002),
        1 => addressed(1003),
        1 => texts(1004),
        1 => texts(1005),
        1 => unknown,
    ]
}

fn sample() -> impl Strategy<Value = Vec<u8>> {
    let records = || vec(record(), 0..4);
    let flow = |format: u32, words: usize| {
        (vec(prop_oneof![0..9_u32, any::<u32>()], words), records()).prop_map(
            move |(words, records)| {
                let count = bytes_of(&[records.len() as u32]);
                part(format, &[bytes_of(&words), count, records.concat()].concat())
            },
        )
    };
    let counters = |format, words: usize| {
        (0..3_usize).prop_map(move |count| {
            let head = [vec![1; words], vec![count as u32]].concat();
            let counters = part(1, &bytes_of(&[3; 22])).repeat(count);
            part(format, &[bytes_of(&head), counters].concat())
        })
    };
    let unknown = prop::sample::select(vec![6, 900, 1 << 12 | 1, 4_300 << 12 | 3]);
    let unknown =
        (unknown, vec(any::<u8>(), 0..30)).prop_map(|(format, bytes)| part(format, &bytes));
    prop_oneof![
        4 => flow(1, 7),
        3 => flow(3, 10),
        1 => flow(5, 6),
        1 => counters(2, 2),
        1 => counters(4, 3),
        1 => unknown,
    ]
}

proptest! {
    #[test]
    fn contacts_and_counts_equal_those_of_another_parser(
        samples in vec(sample(), 0..9),
        agent in prop_oneof![vec(any::<u32>(), 1), vec(any::<u32>(), 4)],
        [sub_agent, number, uptime_ms] in any::<[u32; 3]>(),
        surplus in vec(any::<u8>(), 0..4),
    ) {
        let address_type = if agent.len() == 1 { 1 } else { 2 };
        let numbers = [sub_agent, number, uptime_ms, samples.len() as u32];
        let head = [&[5, address_type], &agent[..], &numbers].concat();
        let payload = [bytes_of(&head), samples.concat(), surplus].concat();

        let parsed = SflowParser::default().parse_bytes(&payload);
        let parsed = parsed.datagrams.first().expect("a well-formed datagram");
        let datagram = Datagram::new(&payload).expect("a complete header");
        let agent = match parsed.agent_address {
            AddressType::IPv4(agent) => agent.into(),
            AddressType::IPv6(agent) => agent.into(),
        };
        prop_assert_eq!(datagram.agent, Some(agent));
        let numbers = [datagram.sub_agent, datagram.number, datagram.uptime_ms];
        prop_assert_eq!(numbers, [parsed.sub_agent_id, parsed.sequence_number, parsed.uptime]);
        prop_assert_eq!(datagram.has_content(), !parsed.samples.is_empty());
        let read = collected(|sink| datagram.read(7, sink));
        prop_assert_eq!(read, collected(|sink| read_parsed(parsed, sink)));
    }
}
