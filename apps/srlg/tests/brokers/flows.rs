//! Flows as broker messages and as NetFlow v5 exports.

use std::net::Ipv4Addr;

use srlg_system::now_ms;

/// A TCP flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) packets: u32,
}

/// Size of each flow, in bytes.
const OCTETS: u32 = 64;

pub(crate) const SAMPLING: u16 = 100;

/// Number of destination ports. Details count so few exactly, whatever the order of the flows.
const PORTS: u32 = 8;

/// Source port of all flows.
const SOURCE_PORT: u16 = 40_000;

/// Address of the exporter in all messages. Tests also send NetFlow exports from it.
pub(crate) const EXPORTER: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A schema with Akvorado's field names but different field numbers.
pub(crate) const ENRICHED: &str = r#"
syntax = "proto3";
message FlowMessagevTESTHASH {
  enum Side { UNKNOWN = 0; OUTER = 1; }
  uint64 TimeReceived = 1;
  uint32 SamplingRate = 200;
  bytes ExporterAddress = 3;
  string ExporterName = 4;
  bytes SrcAddr = 9;
  bytes DstAddr = 10;
  Side InSide = 30;
  repeated uint32 Path = 31;
  uint32 Proto = 40;
  uint32 SrcPort = 41;
  uint32 DstPort = 42;
  uint64 Bytes = 43;
  uint64 Packets = 44;
  uint32 TCPFlags = 50;
}"#;

/// Returns flows from `count` peers to one host. The peers are numbered from `first`.
pub(crate) fn flows(first: u32, count: u32) -> Vec<Flow> {
    let flow = |peer: u32| Flow {
        source: Ipv4Addr::from_bits(0xc612_0000 + peer),
        destination: Ipv4Addr::new(10, 0, 0, 7),
        port: 1 + (peer % PORTS) as u16,
        packets: 1 + peer % 7,
    };
    (first..first + count).map(flow).collect()
}

/// Returns `flow` as a goflow2 message, preceded by its length if `with_length` is set.
pub(crate) fn goflow2(flow: &Flow, with_length: bool) -> Vec<u8> {
    let mut message = Vec::new();
    number(&mut message, 1, 2);
    number(&mut message, 3, SAMPLING.into());
    bytes(&mut message, 6, &flow.source.octets());
    bytes(&mut message, 7, &flow.destination.octets());
    number(&mut message, 9, OCTETS.into());
    number(&mut message, 10, flow.packets.into());
    bytes(&mut message, 11, &EXPORTER.octets());
    number(&mut message, 20, 6);
    number(&mut message, 21, SOURCE_PORT.into());
    number(&mut message, 22, flow.port.into());
    number(&mut message, 26, 2);
    number(&mut message, 110, now_ms() * 1_000_000);
    let mut whole = Vec::new();
    if with_length {
        varint(&mut whole, message.len() as u64);
    }
    whole.extend(message);
    whole
}

/// Returns `flow` as a line of JSON in goflow2's format.
pub(crate) fn json(flow: &Flow) -> String {
    let Flow { source, destination, port, packets } = flow;
    let received_ns = now_ms() * 1_000_000;
    format!(
        r#"{{"type":"NETFLOW_V5","time_received_ns":{received_ns},"sequence_num":1,"sampling_rate":{SAMPLING},"sampler_address":"{EXPORTER}","time_flow_start_ns":{received_ns},"time_flow_end_ns":{received_ns},"bytes":{OCTETS},"packets":{packets},"src_addr":"{source}","dst_addr":"{destination}","etype":"IPv4","proto":"TCP","src_port":{SOURCE_PORT},"dst_port":{port},"tcp_flags":2}}"#
    )
}

/// Returns `flow` as a message in the schema [`ENRICHED`].
pub(crate) fn enriched(flow: &Flow) -> Vec<u8> {
    let mut message = Vec::new();
    number(&mut message, 1, now_ms() / 1_000);
    bytes(&mut message, 3, &EXPORTER.to_ipv6_mapped().octets());
    bytes(&mut message, 4, b"router");
    bytes(&mut message, 9, &flow.source.to_ipv6_mapped().octets());
    bytes(&mut message, 10, &flow.destination.to_ipv6_mapped().octets());
    bytes(&mut message, 31, &[1, 2, 3]);
    number(&mut message, 40, 6);
    number(&mut message, 41, SOURCE_PORT.into());
    number(&mut message, 42, flow.port.into());
    number(&mut message, 43, OCTETS.into());
    number(&mut message, 44, flow.packets.into());
    number(&mut message, 50, 2);
    number(&mut message, 200, SAMPLING.into());
    message
}

/// Returns NetFlow v5 datagrams that contain `flows`.
pub(crate) fn netflow(flows: &[Flow]) -> Vec<Vec<u8>> {
    let seconds = (now_ms() / 1_000) as u32;
    let datagram = |flows: &[Flow]| {
        let mut datagram = [5_u16.to_be_bytes(), (flows.len() as u16).to_be_bytes()].concat();
        datagram.extend(1_000_u32.to_be_bytes());
        datagram.extend(seconds.to_be_bytes());
        datagram.extend([0; 10]);
        datagram.extend((1 << 14 | SAMPLING).to_be_bytes());
        for flow in flows {
            datagram.extend(flow.source.octets());
            datagram.extend(flow.destination.octets());
            datagram.extend([0; 8]);
            datagram.extend(flow.packets.to_be_bytes());
            datagram.extend(OCTETS.to_be_bytes());
            datagram.extend([1_000_u32.to_be_bytes(); 2].concat());
            datagram.extend(SOURCE_PORT.to_be_bytes());
            datagram.extend(flow.port.to_be_bytes());
            datagram.extend([0, 2, 6, 0]);
            datagram.extend([0; 8]);
        }
        datagram
    };
    flows.chunks(30).map(datagram).collect()
}

fn number(message: &mut Vec<u8>, field: u64, value: u64) {
    varint(message, field << 3);
    varint(message, value);
}

fn bytes(message: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(message, field << 3 | 2);
    varint(message, value.len() as u64);
    message.extend(value);
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}
