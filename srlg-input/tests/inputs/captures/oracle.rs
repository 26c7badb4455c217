//! An independent reading of capture files: pcap-parser walks the records, etherparse the frames.
//!
//! Shape: whole file in, headers or the name of a skip reason per packet out. It knows only
//! what the test files hold, and panics on anything else.

use pcap_parser::nom::Err as Unparsed;
use pcap_parser::pcap::{self, parse_pcap_frame, parse_pcap_frame_be};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapNGSlice};

use crate::captures::frames::{Outer, walk};

/// When a packet came and what is in it, or why it is no contact.
pub(crate) type Packet = Result<(u64, Outer), &'static str>;

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
                packets.push(outer(time, header.network.0, record.data));
                rest = after;
            }
            Err(Unparsed::Incomplete(_)) => return (packets, true),
            Err(_) => panic!("pcap-parser finds damage"),
        }
    }
    (packets, false)
}

fn outer(time_ns: Result<u64, &'static str>, link: i32, frame: &[u8]) -> Packet {
    let time_ns = time_ns?;
    Ok((time_ns, walk(link, frame)?))
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
                let time = time_ns(seconds, fraction, 1_000_000_000 / ticks);
                packets.push(outer(time, link, packet.packet_data()));
            }
            Block::SimplePacket(_) => packets.push(Err("no-time")),
            _ => {}
        }
    }
    (packets, false)
}
