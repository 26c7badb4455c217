//! The commands `generate` and `convert`, which write traffic to files.
//!
//! A pcap file is little-endian, with timestamps in microseconds. A packet has an Ethernet header, an IPv4 header and a
//! UDP or TCP header. The first 60 to 90 bytes of a packet are captured. The bytes of a packet depend only on its pair
//! and time. Lengths and the IPv4 checksum are correct. UDP checksums are absent, which UDP allows. The TCP checksum
//! cannot be correct, because it covers a payload that is not captured.

use std::io::{self, ErrorKind, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use srlg_core::Ipv4Pair;
use srlg_input::number;
use srlg_traffic::synthetic::Backbone;
use srlg_traffic::trace::Trace;

use crate::output::{self, Output};
use crate::{MOST_PAIRS, MOST_SLICES};

/// Maximum length of a period of the traffic model, in one-second slices.
const PERIOD: u32 = 300;

#[derive(Args)]
pub(crate) struct Generate {
    /// Seed of all random numbers
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Number of one-second slices
    #[arg(long, default_value = "60", value_parser = number::count)]
    slices: u32,
    /// Approximate number of distinct pairs in all slices, or in any 300 slices if --slices is above 300
    #[arg(long, default_value = "500k", value_parser = number::count)]
    pairs: u32,
    /// Mean number of packets per pair
    #[arg(long, default_value = "10", value_parser = number::count)]
    packets_per_pair: u32,
    /// Output file, or - for standard output
    #[arg(long)]
    output: PathBuf,
    /// Format of the file
    #[arg(long, value_enum)]
    format: Format,
    /// File size in bytes at which writing stops, regardless of --slices
    #[arg(long, value_parser = number::integer)]
    bytes: Option<u64>,
    /// Time of the first slice, in milliseconds since the Unix epoch
    #[arg(long, default_value = "0", value_parser = number::integer)]
    start_ms: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Pcap,
    Csv,
}

pub(crate) fn run(options: &Generate) -> Result<()> {
    ensure!(options.slices <= MOST_SLICES, "--slices must be at most {MOST_SLICES}");
    ensure!(options.pairs <= MOST_PAIRS, "--pairs must be at most {MOST_PAIRS}");
    let mut output = Output::create(&options.output)?;
    write_traffic(&mut output, options)?;
    let wanted = options.bytes.unwrap_or(0);
    ensure!(
        output.written() >= wanted,
        "cannot write the requested bytes: the longest stream is too small; raise --pairs"
    );
    output.finish()
}

fn traffic(options: &Generate) -> Backbone {
    Backbone {
        seed: options.seed,
        slices: options.bytes.map_or(options.slices, |_| MOST_SLICES),
        period: options.slices.min(PERIOD),
        pairs: options.pairs,
        packets_per_pair: options.packets_per_pair,
        planted: Vec::new(),
    }
}

fn write_traffic(output: &mut Output, options: &Generate) -> Result<()> {
    match options.format {
        Format::Pcap => write_pcap_header(output),
        Format::Csv => write_csv_header(output),
    }
    .context("cannot write the output")?;
    let wanted = options.bytes.unwrap_or(options.slices.into());
    let bar = output::bar(wanted, if options.bytes.is_some() { "bytes" } else { "slices" });
    for (slice, packets) in (0..).zip(traffic(options).slices()) {
        bar.set_position(options.bytes.map_or(slice, |_| output.written()));
        let start_us = (slice * 1000_u64).saturating_add(options.start_ms).saturating_mul(1000);
        let times = (0..).map(|packet: u64| packet * 1_000_000 / packets.len() as u64);
        for (offset_us, &pair) in times.zip(&packets) {
            if options.bytes.is_some_and(|bytes| output.written() >= bytes) {
                return Ok(());
            }
            write_packet(output, options.format, start_us.saturating_add(offset_us), pair)
                .context("cannot write the output")?;
        }
    }
    Ok(())
}

fn write_packet(out: &mut Output, format: Format, time_us: u64, pair: Ipv4Pair) -> io::Result<()> {
    match format {
        Format::Pcap => write_pcap_packet(out, time_us, pair),
        Format::Csv => write_csv_line(out, time_us / 1000, pair.inside, pair.peer),
    }
}

pub(crate) fn convert(trace: &Path, output: &Path) -> Result<()> {
    let records = Trace::open(trace)?;
    let mut output = Output::create(output)?;
    write_csv_header(&mut output).context("cannot write the output")?;
    for record in records {
        let record = record?;
        write_csv_line(&mut output, record.time_ms.into(), record.source, record.destination)
            .context("cannot write the output")?;
    }
    output.finish()
}

fn write_csv_header(out: &mut Output) -> io::Result<()> {
    out.write_all(b"time_ms,src,dst\n")
}

fn write_csv_line(out: &mut Output, time_ms: u64, source: u32, destination: u32) -> io::Result<()> {
    let (source, destination) = (Ipv4Addr::from_bits(source), Ipv4Addr::from_bits(destination));
    writeln!(out, "{time_ms},{source},{destination}")
}

const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// Minimum length of an Ethernet frame without its check sequence, in bytes.
const SHORTEST: u32 = 60;
const LONGEST_CAPTURED: u32 = 90;
const LONGEST_ON_WIRE: u32 = 1514;
const TCP: u8 = 6;
const UDP: u8 = 17;

pub(crate) fn write_pcap_header(out: &mut impl Write) -> io::Result<()> {
    // The words are the magic number for microseconds, version 2.4, zone 0, accuracy 0, the snap length, and Ethernet.
    for word in [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, LONGEST_CAPTURED, 1_u32] {
        out.write_all(&word.to_le_bytes())?;
    }
    Ok(())
}

/// Writes a packet that the inside host sends to its peer `time_us` microseconds after the Unix epoch.
pub(crate) fn write_pcap_packet(
    out: &mut impl Write,
    time_us: u64,
    pair: Ipv4Pair,
) -> io::Result<()> {
    let Ok(seconds) = u32::try_from(time_us / 1_000_000) else {
        let reason = "pcap cannot represent times after 2106-02-07; lower --start-ms";
        return Err(io::Error::new(ErrorKind::InvalidInput, reason));
    };
    let name = u64::from(pair.inside) << 32 | u64::from(pair.peer);
    let captured = SHORTEST + below(LONGEST_CAPTURED - SHORTEST + 1, name ^ time_us);
    let on_wire = captured + below(LONGEST_ON_WIRE - captured + 1, name ^ time_us ^ 1 << 63);
    for word in [seconds, (time_us % 1_000_000) as u32, captured, on_wire] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(&frame(pair, on_wire)[..captured as usize])
}

/// Returns the first 90 bytes of a packet whose length is `on_wire` bytes.
fn frame(pair: Ipv4Pair, on_wire: u32) -> [u8; LONGEST_CAPTURED as usize] {
    let name = u64::from(pair.inside) << 32 | u64::from(pair.peer);
    let protocol = if below(4, name) == 0 { UDP } else { TCP };
    let mut frame = [0; LONGEST_CAPTURED as usize];
    // The frame starts with locally administered addresses of two routers and the EtherType of IPv4.
    frame[..ETHERNET].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let (ip, transport) = frame[ETHERNET..].split_at_mut(IPV4);
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(on_wire as u16 - ETHERNET as u16).to_be_bytes());
    ip[8..10].copy_from_slice(&[64, protocol]);
    ip[12..16].copy_from_slice(&pair.inside.to_be_bytes());
    ip[16..20].copy_from_slice(&pair.peer.to_be_bytes());
    let checksum = !ones_complement_sum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    transport[..2].copy_from_slice(&(32_768 + below(28_000, name) as u16).to_be_bytes());
    transport[2..4]
        .copy_from_slice(&[53_u16, 80, 443, 8080][below(4, !name) as usize].to_be_bytes());
    match protocol {
        UDP => {
            let length = on_wire as u16 - (ETHERNET + IPV4) as u16;
            transport[4..6].copy_from_slice(&length.to_be_bytes());
        }
        // The TCP header has 20 bytes, the ACK flag, and a window of 64 KB.
        _ => transport[12..16].copy_from_slice(&[5 << 4, 0x10, 0xFF, 0xFF]),
    }
    frame
}

/// Returns the ones' complement sum (RFC 1071, section 1) of the 16-bit words of a header.
fn ones_complement_sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// Returns a number below `bound` that depends only on `name`, computed by a multiplicative hash.
const fn below(bound: u32, name: u64) -> u32 {
    let bits = (name ^ name >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (((bits >> 32) * bound as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Ipv4Pair = Ipv4Pair { inside: 0x0E20_0001, peer: 0x0102_0304 };

    #[test]
    fn header_checksum_closes_the_sum() {
        for peer in 0..1000 {
            let frame = frame(Ipv4Pair { peer, ..PAIR }, 60 + peer);
            // A receiver sums the header including its checksum, and expects all ones.
            assert_eq!(ones_complement_sum(&frame[14..34]), 0xFFFF);
        }
    }

    #[test]
    fn records_have_the_lengths_that_they_state() {
        for time_us in 1_000_000..1_001_000 {
            let mut record = Vec::new();
            write_pcap_packet(&mut record, time_us, PAIR).unwrap();
            let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            assert_eq!((word(0), word(4)), (1, time_us as u32 - 1_000_000));
            assert_eq!(word(8) as usize, record.len() - 16);
            assert!((60..=90).contains(&word(8)) && (word(8)..=1514).contains(&word(12)));
            assert_eq!(u32::from(record[32]) << 8 | u32::from(record[33]), word(12) - 14);
        }
    }

    #[test]
    fn times_past_2106_are_an_error() {
        let error = write_pcap_packet(&mut Vec::new(), 1_000_000 << 32, PAIR).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
