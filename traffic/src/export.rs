//! Exports of flows and packets as NetFlow v5 and v9, IPFIX and sFlow, byte by byte from the formats' specifications.
//!
//! Nothing here knows the decoder: what is wrong here is not wrong there in the same way.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::packets::{Packet, START_S};

/// The packets of one direction of a conversation.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Source and destination.
    pub hosts: [IpAddr; 2],
    /// Number of the protocol.
    pub protocol: u8,
    /// Ports of source and destination.
    pub ports: [u16; 2],
    /// TCP flags of all packets together.
    pub flags: u8,
    /// Packets.
    pub packets: u32,
    /// Bytes without the heads of frames.
    pub octets: u32,
    /// Milliseconds of the first and the last packet after the first of all.
    pub times_ms: [u32; 2],
}

/// Returns the flows of `packets` in the order of their first packets, as an exporter has them that forgets nothing.
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
        // Without the head of the frame.
        flow.octets += packet.frame().len() as u32 - 14;
        flow.times_ms[1] = now;
    }
    flows
}

/// Returns flows, each with that of the other direction if there is one. Whose first packet is earlier is the forward one.
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

/// Seconds after the first packet at which flows are exported, later than the last packet.
pub const EXPORT_S: u32 = 10;
/// Milliseconds for which the exporter has been up at the first packet.
const UPTIME_MS: u32 = 100_000;
/// Of a message: few enough bytes for Ethernet.
const RECORDS: usize = 15;
/// Of reverse elements, RFC 5103.
const REVERSE_ENTERPRISE: u32 = 29_305;
/// First bit of an element's number: an enterprise follows.
const REVERSE: u16 = 0x8000;

/// A field of a template: number, length.
type Field = (u16, u16);

/// Octets, packets, TCP flags; protocol and ports. The same numbers in NetFlow v9 and IPFIX.
const COUNTS: [Field; 3] = [(1, 4), (2, 4), (6, 1)];
const CONVERSATION: [Field; 3] = [(4, 1), (7, 2), (11, 2)];
/// Uptime of the first and the last packet, of NetFlow v9.
const UPTIMES: [Field; 2] = [(22, 4), (21, 4)];
/// Milliseconds since the Unix epoch of the same, of IPFIX.
const TIMES: [Field; 2] = [(152, 8), (153, 8)];

/// Returns `words` in the byte order of the network.
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

/// Template of a family, and the elements of its addresses.
fn of_family(is_v6: bool) -> (u16, [Field; 2]) {
    if is_v6 { (257, [(27, 16), (28, 16)]) } else { (256, [(8, 4), (12, 4)]) }
}

/// Returns the set `id` of NetFlow v9 or IPFIX, padded to whole words.
#[must_use]
pub fn set(id: u16, content: &[u8]) -> Vec<u8> {
    let padding = vec![0; content.len().next_multiple_of(4) - content.len()];
    let length = (4 + content.len() + padding.len()) as u16;
    [&be16(&[id, length])[..], content, &padding].concat()
}

/// A set of the templates of both families, each with `fields` after its addresses.
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

/// Returns datagrams of NetFlow v5, of flows of IPv4.
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

/// Sets of data of records, each with its template: [`RECORDS`] of one template in each.
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

/// The header of a datagram of NetFlow v9.
#[derive(Clone, Copy, Debug)]
pub struct V9Header {
    /// Records of all sets, templates included.
    pub records: u16,
    /// Milliseconds for which the exporter has been up.
    pub uptime_ms: u32,
    /// Time of the export, seconds since the Unix epoch.
    pub time_s: u32,
    /// Number of the datagram.
    pub number: u32,
    /// Source of the records within the exporter.
    pub domain: u32,
}

impl V9Header {
    /// Returns the datagram with `sets`.
    #[must_use]
    pub fn with(self, sets: &[u8]) -> Vec<u8> {
        let Self { records, uptime_ms, time_s, number, domain } = self;
        [&be16(&[9, records])[..], &be32(&[uptime_ms, time_s, number, domain]), sets].concat()
    }
}

/// Returns datagrams of NetFlow v9, the templates in the first.
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

/// Messages of IPFIX of these data, the templates of `fields` in the first.
fn messages(fields: &[Field], records: impl Iterator<Item = (bool, Vec<u8>)>) -> Vec<Vec<u8>> {
    let mut before = 0;
    let message = |(records, set): (usize, Vec<u8>)| {
        let mut bytes = be16(&[10, 16 + set.len() as u16]);
        bytes.extend(be32(&[START_S + EXPORT_S, before, 7]));
        bytes.extend(set);
        // Records of data in all messages before.
        before += records as u32;
        bytes
    };
    [(0, templates(2, fields))].into_iter().chain(data(records)).map(message).collect()
}

/// Returns messages of IPFIX, the templates in the first.
#[must_use]
pub fn ipfix(flows: &[Flow]) -> Vec<Vec<u8>> {
    let record = |flow: &Flow| {
        let bytes = [octets(flow.hosts), counts(flow), conversation(flow), times(flow)].concat();
        (flow.hosts[0].is_ipv6(), bytes)
    };
    messages(&[&COUNTS[..], &CONVERSATION, &TIMES].concat(), flows.iter().map(record))
}

/// Returns messages of IPFIX of both directions together: what the reverse one had is 0 where there was none.
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

/// Returns datagrams of sFlow v5, each with the microseconds of its last packet: every packet is a sample with its raw header.
#[must_use]
pub fn sflow(packets: &[Packet]) -> Vec<(u32, Vec<u8>)> {
    let framed = |format: u32, content: &[u8]| {
        [&be32(&[format, content.len() as u32])[..], content].concat()
    };
    let sample = |number: usize, packet: &Packet| {
        let frame = packet.frame();
        let padding = vec![0; frame.len().next_multiple_of(4) - frame.len()];
        // Ethernet, its length with a checksum, the checksum that is not in the header, the header.
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
