//! An independent reader of capture files, in which pcap-parser reads the records and etherparse parses the frames.
//!
//! For each packet of a file, the reader returns the headers or the name of a skip reason. It supports only
//! content that occurs in the test files, and panics on anything else.

use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU64};

use etherparse::err::ipv4::HeaderSliceError as Ipv4Error;
use etherparse::err::ipv6::HeaderSliceError as Ipv6Error;
use etherparse::err::packet::SliceError;
use etherparse::{EtherType, LaxIpv4Slice, LaxIpv6Slice, LaxLinkExtSlice, LaxSlicedPacket};
use etherparse::{Ethernet2Slice, TransportSlice, ether_type};
use pcap_parser::nom::Err as Unparsed;
use pcap_parser::pcap::{self, parse_pcap_frame, parse_pcap_frame_be};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapNGSlice};
use srlg_input::contact::Contact;

/// The time and headers of a packet, or the name of the reason why it is skipped.
pub(crate) type Packet = Result<(u64, Outer), &'static str>;

/// Returns all complete packets of a pcap or pcapng file, and whether its last record is truncated.
pub(crate) fn read(file: &[u8]) -> (Vec<Packet>, bool) {
    if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) { read_pcapng(file) } else { read_pcap(file) }
}

fn read_pcap(file: &[u8]) -> (Vec<Packet>, bool) {
    let (mut rest, header) = pcap::parse_pcap_header(file).expect("a pcap header");
    let tick_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    // LegacyPcapSlice is not used, because it treats every file as little-endian.
    let parse = if header.is_bigendian() { parse_pcap_frame_be } else { parse_pcap_frame };
    let mut packets = Vec::new();
    while !rest.is_empty() {
        match parse(rest) {
            Ok((after, record)) => {
                let time = time_ns(record.ts_sec, record.ts_usec, tick_ns);
                packets.push(outer(time, header.network.0, record.data, record.origlen));
                rest = after;
            }
            Err(Unparsed::Incomplete(_)) => return (packets, true),
            Err(_) => panic!("pcap-parser finds damage"),
        }
    }
    (packets, false)
}

fn outer(time_ns: u64, link: i32, frame: &[u8], original: u32) -> Packet {
    Ok((time_ns, walk(link, frame)?.in_frame(frame, original)))
}

fn time_ns(seconds: u32, ticks: u32, tick_ns: u64) -> u64 {
    u64::from(seconds) * 1_000_000_000 + u64::from(ticks) * tick_ns
}

fn read_pcapng(file: &[u8]) -> (Vec<Packet>, bool) {
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    for block in PcapNGSlice::from_slice(file).expect("a section header") {
        let Ok(PcapBlockOwned::NG(block)) = block else { panic!("pcap-parser finds damage") };
        match block {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.ts_offset(), 0);
                let ticks = interface.ts_resolution().expect("a decimal resolution");
                interfaces.push((interface.linktype.0, ticks));
            }
            Block::EnhancedPacket(packet) => {
                let (link, ticks) = interfaces[packet.if_id as usize];
                let (seconds, fraction) = packet.decode_ts(0, ticks);
                let time = time_ns(seconds, fraction, 1_000_000_000 / ticks);
                packets.push(outer(time, link, packet.packet_data(), packet.origlen));
            }
            Block::SimplePacket(_) => packets.push(Err("no-time")),
            _ => {}
        }
    }
    (packets, false)
}

pub(crate) type Walked = Result<Outer, &'static str>;

/// The outermost headers of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Outer {
    source: IpAddr,
    destination: IpAddr,
    /// Length of the packet, if the header states it.
    octets: Option<NonZeroU64>,
    /// Number of bytes from the IP header to the end of the captured frame.
    captured: usize,
    /// Destination port and TCP flags, if etherparse finds a complete transport header.
    transport: Option<([u16; 2], Option<u8>)>,
}

impl Outer {
    pub(crate) fn contact(self, time_ns: u64) -> Contact {
        Contact::new(time_ns, self.source.into(), self.destination.into())
    }

    /// Sets the length of a packet whose header states none, for a `frame` of `original` bytes. Such a packet is the rest
    /// of the frame.
    pub(crate) fn in_frame(self, frame: &[u8], original: u32) -> Self {
        let before = frame.len() - self.captured;
        let rest = NonZeroU64::new(u64::from(original) - before as u64);
        Self { octets: self.octets.or(rest), ..self }
    }

    /// Returns whether `contact` has the length and transport data that etherparse finds.
    pub(crate) fn agrees(self, contact: &Contact) -> bool {
        if contact.octets != self.octets {
            return false;
        }
        self.transport.is_none_or(|([source, destination], flags)| {
            let protocol = if flags.is_some() { 6 } else { 17 };
            contact.packets == Some(NonZeroU64::MIN)
                && contact.protocol == Some(protocol)
                && contact.tcp_flags == flags.and_then(NonZeroU8::new)
                && contact.source_port == Some(source)
                && contact.destination_port == Some(destination)
        })
    }
}

/// Returns `contact` with only its time and hosts.
pub(crate) fn bare(contact: Contact) -> Contact {
    Contact::new(contact.time_ns, contact.source, contact.destination)
}

fn transport(packet: &[u8]) -> Option<([u16; 2], Option<u8>)> {
    match LaxSlicedPacket::from_ip(packet).ok()?.transport? {
        TransportSlice::Tcp(tcp) => {
            Some(([tcp.source_port(), tcp.destination_port()], Some(tcp.slice()[13])))
        }
        TransportSlice::Udp(udp) => Some(([udp.source_port(), udp.destination_port()], None)),
        _ => None,
    }
}

/// The outcome of a frame with a header that this module does not parse.
pub(crate) const UNKNOWN: &str = "unknown to the oracle";

/// Returns the outermost IP header of a `frame` with link type `link`. Formats that etherparse does not support (MPLS,
/// PPP, cooked frames of version 2) are parsed here according to their specifications.
pub(crate) fn walk(link: i32, frame: &[u8]) -> Walked {
    match link {
        0 | 108 => match split(frame, 4)? {
            ([2, 0, 0, 0] | [0, 0, 0, 2], packet) => ipv4(packet),
            ([number, 0, 0, 0] | [0, 0, 0, number], packet)
                if [10, 24, 26, 28, 30].contains(number) =>
            {
                ipv6(packet)
            }
            _ => Err("not-ip"),
        },
        1 => {
            let frame = Ethernet2Slice::from_slice_without_fcs(frame).map_err(|_| "cut-header")?;
            ether(frame.ether_type(), frame.payload().payload)
        }
        9 => ppp(frame),
        101 => by_version(frame, "bad-header"),
        113 => {
            let (header, payload) = split(frame, 16)?;
            ether(EtherType(u16::from_be_bytes([header[14], header[15]])), payload)
        }
        228 => ipv4(frame),
        229 => ipv6(frame),
        276 => {
            let (header, payload) = split(frame, 20)?;
            ether(EtherType(u16::from_be_bytes([header[0], header[1]])), payload)
        }
        _ => panic!("link type {link} is in none of the files"),
    }
}

fn split(bytes: &[u8], header: usize) -> Result<(&[u8], &[u8]), &'static str> {
    bytes.split_at_checked(header).ok_or("cut-header")
}

fn ether(kind: EtherType, payload: &[u8]) -> Walked {
    let packet = LaxSlicedPacket::from_ether_type(kind, payload);
    let is_macsec = |ext: &LaxLinkExtSlice<'_>| matches!(ext, LaxLinkExtSlice::Macsec(_));
    if packet.link_exts.iter().any(is_macsec) {
        return Err(UNKNOWN);
    }
    let inner = packet.ether_payload().expect("an EtherType has a payload");
    match inner.ether_type {
        ether_type::IPV4 => ipv4(inner.payload),
        ether_type::IPV6 => ipv6(inner.payload),
        ether_type::VLAN_TAGGED_FRAME
        | ether_type::PROVIDER_BRIDGING
        | ether_type::VLAN_DOUBLE_TAGGED_FRAME => match packet.stop_err {
            Some((SliceError::Len(_), _)) => Err("cut-header"),
            // etherparse stops at the third tag.
            _ => ether(inner.ether_type, inner.payload),
        },
        EtherType(0x8847 | 0x8848) => mpls(inner.payload),
        EtherType(0x8864) => ppp(split(inner.payload, 6)?.1),
        EtherType(..0x600) => match inner.payload {
            [0xaa, 0xaa, 3, rest @ ..] => match split(rest, 5)? {
                ([0, 0, 0 | 0xf8, high, low], payload) if *high >= 6 => {
                    ether(EtherType(u16::from_be_bytes([*high, *low])), payload)
                }
                ([0, 0x80, 0xc2, ..], _) => Err(UNKNOWN),
                _ => Err("not-ip"),
            },
            [6, 6, 3, packet @ ..] => ipv4(packet),
            [_, _, _, ..] => Err("not-ip"),
            _ => Err("cut-header"),
        },
        EtherType(
            0x8903 | 0x8909 | 0x8926 | 0x893f | 0x894f | 0x88e5 | 0x88e7 | 0x9200 | 0xd28b,
        ) => Err(UNKNOWN),
        _ => Err("not-ip"),
    }
}

fn ppp(frame: &[u8]) -> Walked {
    if frame == [0xff] {
        return Err("cut-header");
    }
    match frame.strip_prefix(&[0xff, 3]).unwrap_or(frame) {
        [] => Err("cut-header"),
        [first] if first % 2 == 0 => Err("cut-header"),
        [0x21, packet @ ..] | [0x00, 0x21, packet @ ..] => ipv4(packet),
        [0x57, packet @ ..] | [0x00, 0x57, packet @ ..] => ipv6(packet),
        [0x02, 0x81 | 0x83, packet @ ..] => mpls(packet),
        _ => Err("not-ip"),
    }
}

fn mpls(stack: &[u8]) -> Walked {
    let depth = stack.chunks_exact(4).position(|entry| entry[2] % 2 == 1).ok_or("cut-header")?;
    // The other contents are pseudowires.
    by_version(&stack[(depth + 1) * 4..], UNKNOWN)
}

fn by_version(packet: &[u8], other: &'static str) -> Walked {
    match packet.first().ok_or("cut-header")? >> 4 {
        4 => ipv4(packet),
        6 => ipv6(packet),
        _ => Err(other),
    }
}

fn ipv4(packet: &[u8]) -> Walked {
    match LaxIpv4Slice::from_slice(packet) {
        Ok((slice, _)) => {
            let header = slice.header();
            if (1..u16::from(header.ihl()) * 4).contains(&header.total_len()) {
                return Err("bad-header");
            }
            let [source, destination] =
                [IpAddr::from(header.source_addr()), header.destination_addr().into()];
            let octets = NonZeroU64::new(header.total_len().into());
            let (captured, transport) = (packet.len(), transport(packet));
            Ok(Outer { source, destination, octets, captured, transport })
        }
        // etherparse requires complete options. The reader ignores their content, so missing options are replaced by
        // zeros.
        Err(Ipv4Error::Len(error)) if error.len >= 20 => {
            let whole = [packet, &vec![0; error.required_len - error.len]].concat();
            ipv4(&whole).map(|outer| Outer { captured: packet.len(), ..outer })
        }
        Err(Ipv4Error::Len(_)) => Err("cut-header"),
        Err(Ipv4Error::Content(_)) => Err("bad-header"),
    }
}

fn ipv6(packet: &[u8]) -> Walked {
    match LaxIpv6Slice::from_slice(packet) {
        // Errors in extension headers are returned together with the slice and do not matter here.
        Ok((slice, _)) => {
            let header = slice.header();
            let [source, destination] =
                [IpAddr::from(header.source_addr()), header.destination_addr().into()];
            let payload = NonZeroU64::new(header.payload_length().into());
            let octets = payload.and_then(|payload| payload.checked_add(40));
            let (captured, transport) = (packet.len(), transport(packet));
            Ok(Outer { source, destination, octets, captured, transport })
        }
        Err(Ipv6Error::Len(_)) => Err("cut-header"),
        Err(Ipv6Error::Content(_)) => Err("bad-header"),
    }
}
