//! Small detectors, and inputs with valid checksums and compression.
//!
//! The first byte of an input selects how the other bytes are used:
//!
//! - The other bytes are used unchanged.
//! - Their last four bytes are replaced with a correct checksum.
//! - They are compressed into an envelope that has correct lengths and a correct checksum.
//!
//! By itself, a fuzzer would rarely produce a correct checksum.

use srlg_host::config::{RsraSizes, Scheme};
use srlg_host::{Config, Device, SlidingDetector};

/// Creates a detector that has the tagged scheme or the paper's scheme. Slice 5 is running.
pub fn detector(is_tagged: bool) -> SlidingDetector {
    let scheme = match is_tagged {
        true => Scheme::Tagged { cell_bits: 12, lines: 24, tags: 64 },
        false => {
            let finder = RsraSizes { rows: 4, column_bits: 12, bit_stride: 10, ..RsraSizes::PAPER };
            Scheme::Paper { finder, rows: 2, columns: 500, stride: 1 }
        }
    };
    let config =
        Config { threshold: 32, window: 8, scheme, linear_width: 256, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Cpu).expect("a valid config");
    detector.skip_to(5).expect("time moves forward");
    detector
}

/// Returns the bytes that `input` describes. `envelope` is a valid snapshot, delta or list of pairs, whose compressed
/// body starts at byte `start`.
pub fn bytes_of(input: &[u8], envelope: &[u8], start: usize) -> Vec<u8> {
    let Some((way, rest)) = input.split_first() else { return Vec::new() };
    match way % 3 {
        0 => rest.to_vec(),
        1 => with_checksum(rest.to_vec()),
        _ => with_body(rest, envelope, start),
    }
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.len().checked_sub(4) {
        let sum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

fn with_body(body: &[u8], envelope: &[u8], start: usize) -> Vec<u8> {
    let frame = zstd::bulk::compress(body, 1).expect("room for a few bytes");
    let mut bytes = [&envelope[..start], &frame].concat();
    bytes[40..48].copy_from_slice(&(body.len() as u64).to_le_bytes());
    bytes[48..56].copy_from_slice(&(frame.len() as u64).to_le_bytes());
    bytes[56..64].fill(0);
    bytes.extend([0; 4]);
    with_checksum(bytes)
}
