//! Export of flows and packets as NetFlow v5, NetFlow v9, IPFIX and sFlow. The bytes follow the specifications of the
//! formats.
//!
//! This module and the decoder share no code, so that they cannot share a mistake.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::packets::{Packet, START_S};

/// The packets of a conversation in one direction.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Source and destination addresses.
    pub hosts: [IpAddr; 2],
    /// IP protocol number.
    pub protocol: u8,
    /// Source and destination ports.
    pub ports: [u16; 2],
    /// TCP flags of all packets, combined with OR.
    pub flags: u8,
    /// Number of packets.
    pub packets: u32,
    /// Number of bytes, excluding frame headers.
    pub octets: u32,
    /// Times of the first and the last packet, in milliseconds after the first packet of the traffic.
    pub times_ms: [u32; 2],
}

/// Returns the flows of `packets` in the order of their first packets, as an exporter with unlimited memory would
/// export them.
#[must_use]
pub fn flows(packets: &[Packet]) -> Vec<Flow> {
    let mut known = BTreeMap::new();
    let mut flows: Vec<Flow> = Vec::new();
    for packet in packets {
        let Packet { after_us, hosts, protocol, ports, flags } = *packet;
        let now = after_us / 1_000;
        let number = *known.entry((hosts, protocol, ports)).or_insert(flows.len());
        if number == flows.len() {
            let times_ms = [now; 2];
            flows.push(Flow { hosts, protocol, ports, flags, packets: 0, octets: 0, times_ms });
        }
        let flow = &mut flows[number];
        flow.flags |= flags;
        flow.packets += 1;
        // The frame header is not part of the byte count.
        flow.octets += packet.frame().len() as u32 - 14;
        flow.times_ms[1] = now;
    }
    flows
}

/// Pairs each flow with the flow in the opposite direction, if there is one. The flow that comes first in `flows` is
/// the forward flow of a pair.
#[must_use]
pub fn biflows(flows: &[Flow]) -> Vec<(Flow, Option<Flow>)> {
    let mut begun = BTreeMap::new();
    let mut biflows: Vec<(Flow, Option<Flow>)> = Vec::new();
    for flow in flows {
        let ([source, destination], [from, to]) = (flow.hosts, flow.ports);
        if let Some(&number) = begun.get(&([destination, source], flow.protocol, [to, from])) {
            let forward: &mut (Flow, Option<Flow>) = &mut biflows[number];
            forward.1 = Some(flow.clone());
        } else {
            begun.insert((flow.hosts, flow.protocol, flow.ports), biflows.len());
            biflows.push((flow.clone(), None));
        }
    }
    biflows
}

/// Time of the export, in seconds after the first packet. No packet is later than the export.
pub const EXPORT_S: u32 = 10;
/// Uptime of the exporter at the first packet, in milliseconds.
const UPTIME_MS: u32 = 100_000;
/// Maximum number of records per NetFlow v9 or IPFIX message. The limit ensures that a message fits into an Ethernet
/// frame.
const RECORDS: usize = 15;
/// Enterprise number of reverse information elements (RFC 5103).
const REVERSE_ENTERPRISE: u32 = 29_305;
/// Enterprise bit of an element number. If it is set, an enterprise number follows.
const REVERSE: u16 = 0x8000;

/// A field of a template: its element number and its length in bytes.
type Field = (u16, u16);

/// Fields for bytes, packets and TCP flags, the same in NetFlow v9 and IPFIX.
const COUNTS: [Field; 3] = [(1, 4), (2, 4), (6, 1)];
/// Fields for the protocol and the ports, the same in NetFlow v9 and IPFIX.
const CONVERSATION: [Field; 3] = [(4, 1), (7, 2), (11, 2)];
/// NetFlow v9 fields for the uptimes at the first and the last packet.
const UPTIMES: [Field; 2] = [(22, 4), (21, 4)];
/// IPFIX fields for the times of the first and the last packet, in milliseconds since the Unix epoch.
const TIMES: [Field; 2] = [(152, 8), (153, 8)];

/// Returns `words` in network byte order.
#[must_use]
pub fn be16(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn be32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn octets(hosts: [IpAddr; 2]) -> Vec<u8> {
    let octets = |host| match host {
        IpAddr::V4(host) => host.octets().to_vec(),
        IpAddr::V6(host) => host.octets().to_vec(),
    };
    hosts.map(octets).concat()
}

/// Returns the template ID and the address fields of an address family.
fn of_family(is_v6: bool) -> (u16, [Field; 2]) {
    if is_v6 { (257, [(27, 16), (28, 16)]) } else { (256, [(8, 4), (12, 4)]) }
}

/// Returns a NetFlow v9 or IPFIX set that has the ID `id` and is padded to a multiple of 4 bytes.
#[must_use]
pub fn set(id: u16, content: &[u8]) -> Vec<u8> {
    let padding = vec![0; content.len().next_multiple_of(4) - content.len()];
    let length = (4 + content.len() + padding.len()) as u16;
    [&be16(&[id, length])[..], content, &padding].concat()
}

/// Returns a set that contains the templates of both families. In each template, `fields` follow the address fields.
fn templates(id: u16, fields: &[Field]) -> Vec<u8> {
    let template = |is_v6| {
        let (template, addresses) = of_family(is_v6);
        let mut bytes = be16(&[template, (addresses.len() + fields.len()) as u16]);
        for &(number, length) in addresses.iter().chain(fields) {
            bytes.extend(be16(&[number, length]));
            if number & REVERSE != 0 {
                bytes.extend(be32(&[REVERSE_ENTERPRISE]));
            }
        }
        bytes
    };
    set(id, &[template(false), template(true)].concat())
}

fn counts(flow: &Flow) -> Vec<u8> {
    [&be32(&[flow.octets, flow.packets])[..], &[flow.flags]].concat()
}

fn conversation(flow: &Flow) -> Vec<u8> {
    [&[flow.protocol][..], &be16(&flow.ports)].concat()
}

fn times(flow: &Flow) -> Vec<u8> {
    let times = flow.times_ms.map(|ms| u64::from(START_S) * 1_000 + u64::from(ms));
    times.map(u64::to_be_bytes).concat()
}

/// Returns NetFlow v5 datagrams that contain `flows`, which must be IPv4.
#[must_use]
pub fn v5(flows: &[Flow]) -> Vec<Vec<u8>> {
    let record = |flow: &Flow| {
        let [first, last] = flow.times_ms.map(|ms| UPTIME_MS + ms);
        let mut bytes = [octets(flow.hosts), vec![0; 8]].concat();
        bytes.extend(be32(&[flow.packets, flow.octets, first, last]));
        bytes.extend(be16(&flow.ports));
        bytes.extend([0, flow.flags, flow.protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    let datagram = |(number, flows): (usize, &[Flow])| {
        let mut bytes = be16(&[5, flows.len() as u16]);
        let uptime = UPTIME_MS + EXPORT_S * 1_000;
        bytes.extend(be32(&[uptime, START_S + EXPORT_S, 0, (number * 30) as u32, 0]));
        flows.iter().for_each(|flow| bytes.extend(record(flow)));
        bytes
    };
    flows.chunks(30).enumerate().map(datagram).collect()
}

/// Returns data sets, each with its number of records. A set contains up to [`RECORDS`] records of one template.
fn data(records: impl Iterator<Item = (bool, Vec<u8>)>) -> Vec<(usize, Vec<u8>)> {
    let (of_v6, of_v4): (Vec<_>, Vec<_>) = records.partition(|(is_v6, _)| *is_v6);
    let sets = [of_v4, of_v6].into_iter().flat_map(|records| {
        let of_set = |records: &[(bool, Vec<u8>)]| {
            let content = records.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<u8>>();
            (records.len(), set(of_family(records[0].0).0, &content))
        };
        records.chunks(RECORDS).map(of_set).collect::<Vec<_>>()
    });
    sets.collect()
}

/// The header of a NetFlow v9 datagram.
#[derive(Clone, Copy, Debug)]
pub struct V9Header {
    /// Number of records in all sets, including template records.
    pub records: u16,
    /// Uptime of the exporter, in milliseconds.
    pub uptime_ms: u32,
    /// Time of the export, in seconds since the Unix epoch.
    pub time_s: u32,
    /// Sequence number of the datagram.
    pub number: u32,
    /// Observation domain (source ID) within the exporter.
    pub domain: u32,
}

impl V9Header {
    /// Returns a datagram that consists of this header and `sets`.
    #[must_use]
    pub fn with(self, sets: &[u8]) -> Vec<u8> {
        let Self { records, uptime_ms, time_s, number, domain } = self;
        [&be16(&[9, records])[..], &be32(&[uptime_ms, time_s, number, domain]), sets].concat()
    }
}

/// Returns NetFlow v9 datagrams that contain `flows`. The first datagram contains the templates.
#[must_use]
pub fn v9(flows: &[Flow]) -> Vec<Vec<u8>> {
    let record = |flow: &Flow| {
        let uptimes = be32(&flow.times_ms.map(|ms| UPTIME_MS + ms));
        let bytes = [octets(flow.hosts), counts(flow), conversation(flow), uptimes].concat();
        (flow.hosts[0].is_ipv6(), bytes)
    };
    let message = |number: usize, records: usize, set: &[u8]| {
        let header = V9Header {
            records: records as u16,
            uptime_ms: UPTIME_MS + EXPORT_S * 1_000,
            time_s: START_S + EXPORT_S,
            number: number as u32,
            domain: 7,
        };
        header.with(set)
    };
    let templates = templates(0, &[&COUNTS[..], &CONVERSATION, &UPTIMES].concat());
    let sets = [(2, templates)].into_iter().chain(data(flows.iter().map(record)));
    sets.enumerate().map(|(number, (records, set))| message(number, records, &set)).collect()
}

/// Returns IPFIX messages that contain `records`. The first message contains the templates, in which `fields` follow
/// the address fields.
fn messages(fields: &[Field], records: impl Iterator<Item = (bool, Vec<u8>)>) -> Vec<Vec<u8>> {
    let mut before = 0;
    let message = |(records, set): (usize, Vec<u8>)| {
        let mut bytes = be16(&[10, 16 + set.len() as u16]);
        bytes.extend(be32(&[START_S + EXPORT_S, before, 7]));
        bytes.extend(set);
        // The sequence number counts data records in all earlier messages.
        before += records as u32;
        bytes
    };
    [(0, templates(2, fields))].into_iter().chain(data(records)).map(message).collect()
}

/// Returns IPFIX messages that contain `flows`. The first message contains the templates.
#[must_use]
pub fn ipfix(flows: &[Flow]) -> Vec<Vec<u8>> {
    let record = |flow: &Flow| {
        let bytes = [octets(flow.hosts), counts(flow), conversation(flow), times(flow)].concat();
        (flow.hosts[0].is_ipv6(), bytes)
    };
    messages(&[&COUNTS[..], &CONVERSATION, &TIMES].concat(), flows.iter().map(record))
}

/// Returns IPFIX messages in which each record contains both directions of a conversation. If there is no reverse flow,
/// the reverse fields are 0.
#[must_use]
pub fn biflow(flows: &[(Flow, Option<Flow>)]) -> Vec<Vec<u8>> {
    let record = |(forward, reverse): &(Flow, Option<Flow>)| {
        let backward = reverse.as_ref().map_or(vec![0; 25], |it| [counts(it), times(it)].concat());
        let uniflow = [counts(forward), conversation(forward), times(forward)].concat();
        let bytes = [octets(forward.hosts), uniflow, backward].concat();
        (forward.hosts[0].is_ipv6(), bytes)
    };
    let reverse = [&COUNTS[..], &TIMES].concat();
    let reverse = reverse.iter().map(|&(number, length)| (number | REVERSE, length));
    let fields = [&COUNTS[..], &CONVERSATION, &TIMES].concat().into_iter().chain(reverse);
    messages(&fields.collect::<Vec<_>>(), flows.iter().map(record))
}

/// Returns sFlow v5 datagrams and the time of the last packet in each datagram, in microseconds after the first packet
/// of the traffic. Every packet is sampled, and each sample contains a raw packet header.
#[must_use]
pub fn sflow(packets: &[Packet]) -> Vec<(u32, Vec<u8>)> {
    let framed = |format: u32, content: &[u8]| {
        [&be32(&[format, content.len() as u32])[..], content].concat()
    };
    let sample = |number: usize, packet: &Packet| {
        let frame = packet.frame();
        let padding = vec![0; frame.len().next_multiple_of(4) - frame.len()];
        // The fields are the protocol (Ethernet), the frame length with its checksum, the number of stripped bytes, and
        // the header length.
        let head = be32(&[1, frame.len() as u32 + 4, 4, frame.len() as u32]);
        let raw = framed(1, &[head, frame, padding].concat());
        let number = number as u32 + 1;
        framed(1, &[be32(&[number, 1, 1, number, 0, 1, 2, 1]), raw].concat())
    };
    let datagram = |(number, packets): (usize, &[Packet])| {
        let first = number * 8;
        let samples = packets.iter().enumerate().flat_map(|(at, it)| sample(first + at, it));
        let mut bytes = be32(&[5, 1, 0xc000_0201, 0, number as u32 + 1]);
        let last_us = packets[packets.len() - 1].after_us;
        bytes.extend(be32(&[UPTIME_MS + last_us / 1_000, packets.len() as u32]));
        bytes.extend(samples);
        (last_us, bytes)
    };
    packets.chunks(8).enumerate().map(datagram).collect()
}
