//! An independent reading of capture files: pcap-parser walks the records, etherparse the frames.
//!
//! Shape: whole file in, a contact or the name of a skip reason per packet out. It knows only
//! what the test files hold, and panics on anything else.

use std::net::Ipv4Addr;

use etherparse::err::packet::SliceError;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, ether_type};
use pcap_parser::nom::Err as Unparsed;
use pcap_parser::pcap::{self, parse_pcap_frame, parse_pcap_frame_be};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapNGSlice};

/// Nanoseconds and hosts, or why there are none.
pub(crate) type Packet = Result<(u64, Ipv4Addr, Ipv4Addr), &'static str>;

/// All whole packets of a file, pcap or pcapng, and whether its last record is cut.
pub(crate) fn read(file: &[u8]) -> (Vec<Packet>, bool) {
    if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) { read_pcapng(file) } else { read_pcap(file) }
}

fn read_pcap(file: &[u8]) -> (Vec<Packet>, bool) {
    let (mut rest, header) = pcap::parse_pcap_header(file).expect("a pcap header");
    let tick_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    // Not LegacyPcapSlice: it takes every file for little-endian.
    let parse = if header.is_bigendian() { parse_pcap_frame_be } else { parse_pcap_frame };
    let mut packets = Vec::new();
    while !rest.is_empty() {
        match parse(rest) {
            Ok((after, record)) => {
                let time = time_ns(record.ts_sec, record.ts_usec, tick_ns);
                let hosts = || hosts(header.network.0, record.data);
                packets.push(time.and_then(|time| hosts().map(|(a, b)| (time, a, b))));
                rest = after;
            }
            Err(Unparsed::Incomplete(_)) => return (packets, true),
            Err(_) => panic!("pcap-parser finds damage"),
        }
    }
    (packets, false)
}

fn time_ns(seconds: u32, ticks: u32, tick_ns: u64) -> Result<u64, &'static str> {
    let fraction = u64::from(ticks) * tick_ns;
    if fraction < 1_000_000_000 {
        Ok(u64::from(seconds) * 1_000_000_000 + fraction)
    } else {
        Err("bad-time")
    }
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
                let time = time_ns(seconds, fraction, 1_000_000_000 / ticks).unwrap();
                packets.push(hosts(link, packet.packet_data()).map(|(a, b)| (time, a, b)));
            }
            Block::SimplePacket(_) => packets.push(Err("no-time")),
            _ => {}
        }
    }
    (packets, false)
}

fn hosts(link: i32, frame: &[u8]) -> Result<(Ipv4Addr, Ipv4Addr), &'static str> {
    match link {
        0 => ip(frame.get(4..).ok_or("cut-header")?, "bad-header"),
        1 => ether(&LaxSlicedPacket::from_ethernet(frame).map_err(|_| "cut-header")?),
        113 => {
            let (header, payload) = frame.split_at_checked(16).ok_or("cut-header")?;
            let kind = EtherType(u16::from_be_bytes([header[14], header[15]]));
            ether(&LaxSlicedPacket::from_ether_type(kind, payload))
        }
        _ => panic!("link type {link} is in none of the files"),
    }
}

fn ether(packet: &LaxSlicedPacket<'_>) -> Result<(Ipv4Addr, Ipv4Addr), &'static str> {
    let payload = packet.ether_payload().expect("an EtherType has a payload");
    match (&packet.net, payload.ether_type, &packet.stop_err) {
        (Some(net), _, _) => addresses(net),
        (None, ether_type::ARP, _) => Err("not-ip"),
        (None, EtherType(0x8847), _) => mpls(payload.payload),
        (None, _, Some((SliceError::Len(_), _))) => Err("cut-header"),
        (None, _, Some(_)) => Err("bad-header"),
        (None, _, None) => Err("not-ip"),
    }
}

fn mpls(stack: &[u8]) -> Result<(Ipv4Addr, Ipv4Addr), &'static str> {
    let depth = stack.chunks_exact(4).position(|entry| entry[2] % 2 == 1).ok_or("cut-header")?;
    ip(&stack[(depth + 1) * 4..], "not-ip")
}

fn ip(packet: &[u8], other_version: &'static str) -> Result<(Ipv4Addr, Ipv4Addr), &'static str> {
    use etherparse::err::ip::{HeaderError, LaxHeaderSliceError};
    match LaxSlicedPacket::from_ip(packet) {
        Ok(sliced) => addresses(&sliced.net.expect("from_ip finds IP")),
        // The reader goes by the version alone; etherparse wants the whole IPv6 header.
        Err(LaxHeaderSliceError::Len(_)) if packet.first().is_some_and(|b| b >> 4 == 6) => {
            Err("ipv6")
        }
        // The fixed header is there, and in the files at hand its total length lies. A cut in the
        // options alone would be a contact: then this verdict is wrong and the test fails.
        Err(LaxHeaderSliceError::Len(_)) if packet.len() >= 20 => Err("bad-header"),
        Err(LaxHeaderSliceError::Len(_)) => Err("cut-header"),
        Err(LaxHeaderSliceError::Content(HeaderError::UnsupportedIpVersion { .. })) => {
            Err(other_version)
        }
        Err(LaxHeaderSliceError::Content(_)) => Err("bad-header"),
    }
}

fn addresses(net: &LaxNetSlice<'_>) -> Result<(Ipv4Addr, Ipv4Addr), &'static str> {
    match net {
        LaxNetSlice::Ipv4(packet) => {
            let header = packet.header();
            if header.total_len() < u16::from(header.ihl()) * 4 {
                return Err("bad-header");
            }
            Ok((header.source_addr(), header.destination_addr()))
        }
        LaxNetSlice::Ipv6(_) => Err("ipv6"),
        LaxNetSlice::Arp(_) => Err("not-ip"),
    }
}
