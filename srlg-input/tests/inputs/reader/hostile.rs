//! Tests of invalid framing, failing sources and arbitrary bytes. If the framing is invalid, reading ends at the
//! affected record, and the truncation states the cause. Arbitrary bytes never cause a panic.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use proptest::prelude::*;
use srlg_input::capture::{CaptureError, Cause, Format, Reader, Truncation};

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::{contact, drain, read};

#[test]
fn an_absurd_captured_length_ends_a_pcap() {
    for length in [262_145, u32::MAX] {
        let mut file = build::pcap(false, MICROSECONDS, 1);
        file.record(1, 0, &build::frame(1));
        let offset = file.bytes.len() as u64;
        file.u32(2).u32(0).u32(length).u32(60).raw(&[0; 1_000]);
        let outcome = read(file.bytes);
        assert_eq!(outcome.contacts.len(), 1);
        let cause = Cause::CapturedLength(length);
        assert_eq!(outcome.truncation, Some(Truncation { offset, cause }));
    }
}

/// Reads a pcapng file that consists of a section header, an interface, a packet and the output of `write`. Returns the
/// cause of the truncation.
fn pcapng_ending_in(write: impl FnOnce(&mut Fields) -> &mut Fields) -> Option<Cause> {
    let mut file = Fields::new(false);
    file.section(false).interface(1, &[]).packet(0, 1, &build::frame(1));
    let offset = file.bytes.len() as u64;
    write(&mut file);
    file.raw(&[0; 64]);
    let outcome = read(file.bytes);
    assert_eq!(outcome.contacts, [contact(1_000, 1)]);
    outcome.truncation.map(|truncation| {
        assert_eq!(truncation.offset, offset);
        truncation.cause
    })
}

#[test]
fn impossible_block_lengths_end_a_pcapng() {
    let too_long = [(6, 524_292), (99, 16 * 1024 * 1024 + 4), (99, u32::MAX - 3)];
    let too_short = [(6, 28), (2, 28), (1, 16), (3, 12), (99, 8), (99, 0)];
    for (kind, length) in too_long.into_iter().chain(too_short).chain([(6, 61)]) {
        let cause = pcapng_ending_in(|file| file.u32(kind).u32(length));
        assert_eq!(cause, Some(Cause::BlockLength { kind, length }));
    }
}

#[test]
fn a_tail_that_differs_from_the_head_ends_a_pcapng() {
    for kind in [6, 99] {
        let cause = pcapng_ending_in(|file| file.u32(kind).u32(40).raw(&[0; 28]).u32(44));
        assert_eq!(cause, Some(Cause::BlockTail { head: 40, tail: 44 }));
    }
}

#[test]
fn sections_of_unknown_order_or_version_end_a_pcapng() {
    for (magic, version) in [(0x1a2b_3c4e, 1), (0x1a2b_3c4d, 2)] {
        let cause = pcapng_ending_in(|file| {
            file.u32(0x0a0d_0d0a).u32(28).u32(magic).u16(version).u16(0).raw(&[0xff; 8]).u32(28)
        });
        assert_eq!(cause, Some(Cause::Section));
    }
}

/// A source that fails after its last byte, with the error kind that decompressors return for damaged data.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "cable unplugged")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_failing_source_is_an_error_after_the_whole_packets() {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    file.record(1, 0, &build::frame(1)).raw(&[0; 5]);
    let packed = build::gzip(&file.bytes);
    for content in [file.bytes, packed[..packed.len() - 8].to_vec()] {
        let mut reader = Reader::new(Failing(io::Cursor::new(content))).unwrap();
        let contacts = [contact(1_000_000_000, 1)];
        assert_eq!(reader.next_contacts().unwrap(), Some(&contacts[..]));
        let error = reader.next_contacts().unwrap_err();
        assert!(matches!(error, CaptureError::Read(_)));
        assert_eq!(reader.next_contacts().unwrap(), None, "reading has ended");
        assert_eq!(reader.truncation(), None);
    }
}

/// A source that returns one piece per read, fails after the last piece, and counts the reads.
struct Pieces(Vec<Vec<u8>>, Arc<AtomicUsize>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.fetch_add(1, Relaxed);
        if self.0.is_empty() {
            return Err(io::Error::other("cable unplugged"));
        }
        let piece = self.0.remove(0);
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

/// Returns two files. Each file has a packet, followed by a block or line whose second half is missing. The block or
/// line is so long that it is skipped in parts.
fn passed_over_in_parts() -> [Vec<u8>; 2] {
    let mut pcapng = Fields::new(false);
    pcapng.section(false).interface(1, &[]).packet(0, 1, &build::frame(1)).block(5, &[0; 400]);
    pcapng.bytes.truncate(pcapng.bytes.len() - 200);
    let csv = format!("time_ms,src,dst\n1,10.0.0.1,10.1.0.1\n{}", "x".repeat(3_000));
    [pcapng.bytes, csv.into_bytes()]
}

#[test]
fn contacts_before_a_failure_are_delivered_before_the_error() {
    for content in passed_over_in_parts() {
        let open = || Reader::new(Pieces(vec![content.clone()], Arc::default())).unwrap();
        let mut reader = open();
        assert_eq!(reader.next_contacts().unwrap().map(<[_]>::len), Some(1));
        assert!(matches!(reader.next_datagram(), Err(CaptureError::Read(_))));
        let mut reader = open();
        assert_eq!(reader.next_contacts().unwrap().map(<[_]>::len), Some(1));
        assert!(matches!(reader.next_contacts(), Err(CaptureError::Read(_))));
        assert_eq!(reader.next_contacts().unwrap(), None, "reading has ended");
        assert_eq!(reader.counts().contacts, 1);
    }
}

#[test]
fn a_contact_does_not_wait_for_what_follows_a_block_that_is_passed_over() {
    let mut first = Fields::new(false);
    first.section(false).interface(1, &[]).packet(0, 1, &build::frame(1)).block(5, &[0; 400]);
    let mut second = Fields::new(false);
    second.packet(0, 2, &build::frame(2));
    let reads = Arc::<AtomicUsize>::default();
    let pieces = vec![first.bytes, second.bytes];
    let mut reader = Reader::new(Pieces(pieces, Arc::clone(&reads))).unwrap();
    let before = reads.load(Relaxed);
    assert_eq!(reader.next_contacts().unwrap(), Some(&[contact(1_000, 1)][..]));
    assert_eq!(reads.load(Relaxed), before);
    assert_eq!(reader.next_contacts().unwrap(), Some(&[contact(2_000, 2)][..]));
}

#[test]
fn datagrams_may_follow_contacts() {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    file.record(1, 0, &build::frame(1));
    let mut rest = Fields::new(false);
    rest.record(2, 0, &build::frame(2));
    let mut reader = Reader::new(Pieces(vec![file.bytes, rest.bytes], Arc::default())).unwrap();
    assert_eq!(reader.next_contacts().unwrap().map(<[_]>::len), Some(1));
    // The source does not contain a complete datagram and fails at its end.
    assert!(matches!(reader.next_datagram(), Err(CaptureError::Read(_))));
    assert_eq!(reader.counts().packets, 2);
}

/// A source that returns one byte at a time and is interrupted before each byte.
struct Halting(io::Cursor<Vec<u8>>, bool);

impl Read for Halting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(&mut buffer[..1])
    }
}

#[test]
fn small_and_interrupted_reads_have_equal_results() {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    file.record(1, 0, &build::frame(1)).record(2, 0, &build::frame(2));
    for content in [build::gzip(&file.bytes), file.bytes] {
        let whole = read(content.clone());
        let halting = Reader::new(Halting(io::Cursor::new(content), false)).unwrap();
        assert_eq!(drain(halting), whole);
    }
}

struct Halves(Vec<io::Cursor<Vec<u8>>>);

impl Read for Halves {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(half) = self.0.first_mut() {
            match half.read(buffer)? {
                0 => drop(self.0.remove(0)),
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

#[test]
fn records_in_pieces_are_complete_and_delay_no_others() {
    let mut pcap = build::pcap(false, MICROSECONDS, 1);
    pcap.record(1, 0, &build::frame(1)).record(2, 0, &build::frame(2));
    // Statistics blocks and lines that are too long are not buffered.
    let mut pcapng = Fields::new(false);
    pcapng.section(false).interface(1, &[]).packet(0, 1, &build::frame(1));
    pcapng.block(5, &[0; 400]).packet(0, 2, &build::frame(2));
    let csv = format!(
        "time_ms,src,dst\n1,10.0.0.1,10.1.0.1\n{}\n2,10.0.0.2,10.1.0.1\n",
        "0,10.0.0.3,10.1.0.1,".repeat(100)
    );
    for content in [pcap.bytes, pcapng.bytes, csv.into_bytes()] {
        let whole = read(content.clone());
        assert_eq!(whole.contacts.len(), 2);
        for at in 8..content.len() {
            let (first, second) = content.split_at(at);
            let halves = [first, second].map(|half| io::Cursor::new(half.to_vec())).into();
            assert_eq!(drain(Reader::new(Halves(halves)).unwrap()), whole, "cut at {at}");
        }
    }
}

fn read_messages(mut reader: Reader, longest: Option<u64>) {
    let (mut messages, mut bytes) = (0, 0);
    while let Some(message) = reader.next_datagram().expect("memory does not fail") {
        assert!(message.payload.len() >= 16);
        messages += 1;
        bytes += message.payload.len() as u64;
    }
    assert_eq!(reader.counts().packets, messages);
    assert!(longest.is_none_or(|longest| bytes <= longest));
    assert!(reader.truncation().is_none_or(|truncation| truncation.offset == bytes));
}

fn read_any(bytes: Vec<u8>) {
    let length = bytes.len() as u64;
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    let Ok(reader) = Reader::new(io::Cursor::new(bytes)) else { return };
    if reader.format() == Format::IpfixFile {
        return read_messages(reader, (!packed).then_some(length));
    }
    let outcome = drain(reader);
    // The smallest records are an empty pcap record, a simple packet and a CSV row of one byte.
    assert!(packed || outcome.counts.packets <= length);
    if let Some(truncation) = outcome.truncation {
        assert!(packed || truncation.offset <= length);
        assert_eq!(truncation.to_string().lines().count(), 1);
    }
}

fn valid_files() -> [Vec<u8>; 5] {
    let mut pcap = build::pcap(false, MICROSECONDS, 1);
    let mut pcapng = Fields::new(true);
    pcapng.section(true).interface(1, &[0, 9, 0, 1, 9, 0, 0, 0]).interface(101, &[]);
    let mut csv = b"time_ms,src,dst\n".to_vec();
    let mut ipfix = Vec::new();
    for host in 0..6 {
        pcap.record(host.into(), 0, &build::frame(host));
        pcapng.packet(0, host.into(), &build::frame(host)).obsolete(1, 0, &build::ipv4(host));
        pcapng.block(5, &[host; 9]).block(3, &[0; 24]);
        ipfix.extend(build::ipfix(host.into(), &[1, 0, 0, 8, host, 2, 3, 4]));
        csv.extend_from_slice(format!("{host}.5,10.0.0.{host},10.1.0.1\n").as_bytes());
        csv.extend_from_slice(format!("{host},2001:db8::{host},[fe80::1]\n").as_bytes());
    }
    let packed = build::gzip(&pcap.bytes);
    [pcap.bytes, pcapng.bytes, csv, packed, ipfix]
}

/// Generates the first bytes of a pcap, pcapng, CSV, IPFIX or gzip file, or no bytes.
fn prefixes() -> impl Strategy<Value = Vec<u8>> {
    let mut section = Fields::new(false);
    section.section(false).interface(1, &[]);
    prop::sample::select(vec![
        Vec::new(),
        build::pcap(false, MICROSECONDS, 1).bytes,
        build::pcap(true, MICROSECONDS, 113).bytes,
        section.bytes,
        b"time_ms,src,dst\n".to_vec(),
        build::ipfix(0, &[1, 0, 0, 4]),
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
    ])
}

proptest! {
    #[test]
    fn arbitrary_bytes_come_to_an_end(
        prefix in prefixes(),
        tail in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        read_any([prefix, tail].concat());
    }

    #[test]
    fn mutated_files_come_to_an_end(
        which in 0_usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let mut file = valid_files()[which].clone();
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        if cuts {
            file.truncate(cut.index(file.len()));
        }
        read_any(file);
    }

    #[test]
    fn arbitrary_frames_of_any_link_type_are_one_packet(
        link_type in 0_u32..300,
        frame in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut file = build::pcap(false, MICROSECONDS, link_type);
        file.record(0, 0, &frame);
        let outcome = read(file.bytes);
        prop_assert_eq!(outcome.counts.packets, 1);
        prop_assert_eq!(outcome.truncation, None);
    }
}
