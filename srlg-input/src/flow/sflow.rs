//! The sFlow v5 protocol: sampled packets, described by their first bytes or by decoded fields.

use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use crate::contact::{Contact, Host};
use flowparser_sflow::flow_records::{RawPacketHeader, SampledIpv4, SampledIpv6};
use flowparser_sflow::{AddressType, FlowRecord, SflowDatagram, SflowSample};

use crate::flow::counts::Reason;
use crate::flow::record::is_zero;
use crate::flow::sink::{Details, Sink};

pub(crate) fn agent(datagram: &SflowDatagram) -> IpAddr {
    match datagram.agent_address {
        AddressType::IPv4(address) => address.into(),
        AddressType::IPv6(address) => address.into(),
    }
}

/// Passes the contacts of `datagram` to `sink`. Each contact has the time of receipt, `time_ns`, because the datagram
/// does not state a time.
pub(crate) fn read<F: FnMut(Contact)>(
    datagram: &SflowDatagram,
    time_ns: u64,
    sink: &mut Sink<'_, F>,
) {
    for sample in &datagram.samples {
        sink.counts.records += 1;
        let (records, rate, ingress) = match sample {
            SflowSample::Flow(sample) => {
                (&sample.records, sample.sampling_rate, interface(sample.input))
            }
            SflowSample::ExpandedFlow(sample) => {
                let index = Some(sample.input_value).filter(|_| sample.input_format == 0);
                (&sample.records, sample.sampling_rate, index.and_then(if_index))
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
                sink.contact(time_ns, hosts, &details);
            }
            Err(reason) => sink.count(reason),
        }
    }
}

/// Returns the ingress interface of a compact sample. The two highest bits of `value` are a format. In formats other
/// than 0, the lower 30 bits are not an interface, but a reason or a number of interfaces.
fn interface(value: u32) -> Option<NonZeroU32> {
    /// Interface number that means the device itself.
    const INTERNAL: u32 = 0x3fff_ffff;
    Some(value).filter(|value| *value < INTERNAL).and_then(if_index)
}

/// Returns `index` if it is a valid SNMP index, that is, from 1 to 2^31 - 1.
fn if_index(index: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(index).filter(|index| index.get() >> 31 == 0)
}

/// Returns the hosts and details of the packet that the records of a sample describe. If the first bytes of the packet
/// can be decoded, they take precedence over the fields that the agent decoded.
fn packet(records: &[FlowRecord]) -> Result<([Host; 2], Details), Reason> {
    let mut outcome = Err(Reason::NoHosts);
    for record in records {
        match record {
            FlowRecord::RawPacketHeader(header) => match raw(header) {
                Ok(packet) => return Ok(packet),
                Err(reason) if outcome.is_err() => outcome = Err(reason),
                Err(_) => {}
            },
            FlowRecord::SampledIpv4(packet) => outcome = Ok(ipv4(packet)),
            FlowRecord::SampledIpv6(packet) => outcome = Ok(ipv6(packet)),
            _ => {}
        }
    }
    outcome
}

fn raw(header: &RawPacketHeader) -> Result<([Host; 2], Details), Reason> {
    let link_type = match header.header_protocol {
        1 => 1,
        // PPP.
        7 => 9,
        11 => 228,
        12 => 229,
        _ => return Err(Reason::BadFrame),
    };
    let headers =
        crate::packet::headers(link_type, &header.header).map_err(|_| Reason::BadFrame)?;
    let transport = headers.transport();
    let details = Details {
        octets: headers.octets().or_else(|| headers.octets_in_frame(uncaptured(header)?)),
        protocol: transport.protocol,
        tcp_flags: transport.tcp_flags.and_then(NonZeroU8::new),
        source_port: transport.source_port,
        destination_port: transport.destination_port,
        icmp_type: transport.icmp_type,
        ..Details::default()
    };
    Ok((headers.hosts(), details))
}

/// Returns how many bytes of the frame are missing after the sampled ones. Returns `None` if the lengths of the record
/// contradict each other. The number of stripped bytes includes the frame check sequence.
fn uncaptured(header: &RawPacketHeader) -> Option<u32> {
    let captured = u32::try_from(header.header.len()).ok()?;
    header.frame_length.checked_sub(header.stripped)?.checked_sub(captured)
}

fn ipv4(packet: &SampledIpv4) -> ([Host; 2], Details) {
    let hosts = [packet.src_ip, packet.dst_ip].map(|host| Host::v4(host.to_bits()));
    let octets = NonZeroU64::new(packet.length.into());
    let ports = [packet.src_port, packet.dst_port];
    (hosts, Details { octets, ..details(packet.protocol, packet.tcp_flags, ports) })
}

fn ipv6(packet: &SampledIpv6) -> ([Host; 2], Details) {
    let hosts = [packet.src_ip, packet.dst_ip].map(|host| Host::v6(host.to_bits()));
    let octets = NonZeroU64::new(packet.length.into());
    let ports = [packet.src_port, packet.dst_port];
    (hosts, Details { octets, ..details(packet.protocol, packet.tcp_flags, ports) })
}

fn details(protocol: u32, tcp_flags: u32, ports: [u32; 2]) -> Details {
    let [source_port, destination_port] = ports.map(|port| u16::try_from(port).ok());
    Details {
        protocol: u8::try_from(protocol).ok(),
        tcp_flags: NonZeroU8::new(tcp_flags as u8),
        source_port,
        destination_port,
        ..Details::default()
    }
}
