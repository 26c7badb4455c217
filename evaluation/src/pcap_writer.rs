//! Writes packets as a classic pcap file.
//!
//! Shape: little-endian, microseconds; Ethernet, IPv4 and a UDP or TCP header,
//! of which 60 to 90 bytes are captured. Invariant: lengths and the IPv4 checksum
//! are right; what a packet looks like follows from its pair and time alone.
//! UDP checksums are absent, which UDP allows; TCP's cannot be right, since the
//! payload that it covers is not captured.

use srlg_core::IpPair;
use std::io::{self, ErrorKind, Write};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// Fewest bytes of an Ethernet frame without its check sequence.
const SHORTEST: u32 = 60;
const LONGEST_CAPTURED: u32 = 90;
const LONGEST_ON_WIRE: u32 = 1514;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes the header of the file.
pub(crate) fn write_header(out: &mut impl Write) -> io::Result<()> {
    // Magic of microseconds, version 2.4, zone and accuracy 0, snap length, Ethernet.
    for word in [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, LONGEST_CAPTURED, 1_u32] {
        out.write_all(&word.to_le_bytes())?;
    }
    Ok(())
}

/// Writes a packet from the inside host to its opposite host at `time_us` after 1970.
pub(crate) fn write_packet(out: &mut impl Write, time_us: u64, pair: IpPair) -> io::Result<()> {
    let Ok(seconds) = u32::try_from(time_us / 1_000_000) else {
        let reason = "the time is past the year 2106, which pcap cannot tell: start earlier";
        return Err(io::Error::new(ErrorKind::InvalidInput, reason));
    };
    let name = u64::from(pair.inside) << 32 | u64::from(pair.opposite);
    let captured = SHORTEST + below(LONGEST_CAPTURED - SHORTEST + 1, name ^ time_us);
    let on_wire = captured + below(LONGEST_ON_WIRE - captured + 1, name ^ time_us ^ 1 << 63);
    for word in [seconds, (time_us % 1_000_000) as u32, captured, on_wire] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(&frame(pair, on_wire)[..captured as usize])
}

/// The first bytes of a packet of `on_wire` bytes.
fn frame(pair: IpPair, on_wire: u32) -> [u8; LONGEST_CAPTURED as usize] {
    let name = u64::from(pair.inside) << 32 | u64::from(pair.opposite);
    let protocol = if below(4, name) == 0 { UDP } else { TCP };
    let mut frame = [0; LONGEST_CAPTURED as usize];
    // Locally administered addresses of two routers, then the type of IPv4.
    frame[..ETHERNET].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let (ip, transport) = frame[ETHERNET..].split_at_mut(IPV4);
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(on_wire as u16 - ETHERNET as u16).to_be_bytes());
    ip[8..10].copy_from_slice(&[64, protocol]);
    ip[12..16].copy_from_slice(&pair.inside.to_be_bytes());
    ip[16..20].copy_from_slice(&pair.opposite.to_be_bytes());
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
        // 20 bytes of header; an acknowledgement within a window of 64 KB.
        _ => transport[12..16].copy_from_slice(&[5 << 4, 0x10, 0xFF, 0xFF]),
    }
    frame
}

/// The sum of RFC 1071, section 1, over the 16-bit words of a header.
fn ones_complement_sum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// A number below `bound` that follows from `name`, by a multiplicative hash.
const fn below(bound: u32, name: u64) -> u32 {
    let bits = (name ^ name >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (((bits >> 32) * bound as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: IpPair = IpPair { inside: 0x0E20_0001, opposite: 0x0102_0304 };

    #[test]
    fn header_checksum_closes_the_sum() {
        for opposite in 0..1000 {
            let frame = frame(IpPair { opposite, ..PAIR }, 60 + opposite);
            // A receiver sums the header with its checksum and expects all ones.
            assert_eq!(ones_complement_sum(&frame[14..34]), 0xFFFF);
        }
    }

    #[test]
    fn records_have_the_lengths_that_they_state() {
        for time_us in 1_000_000..1_001_000 {
            let mut record = Vec::new();
            write_packet(&mut record, time_us, PAIR).unwrap();
            let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            assert_eq!((word(0), word(4)), (1, time_us as u32 - 1_000_000));
            assert_eq!(word(8) as usize, record.len() - 16);
            assert!((60..=90).contains(&word(8)) && (word(8)..=1514).contains(&word(12)));
            assert_eq!(u32::from(record[32]) << 8 | u32::from(record[33]), word(12) - 14);
        }
    }

    #[test]
    fn times_past_2106_are_an_error() {
        let error = write_packet(&mut Vec::new(), 1_000_000 << 32, PAIR).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
