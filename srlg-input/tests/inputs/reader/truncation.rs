//! Tests of files that end inside a record. Wherever a file ends, all complete packets are delivered, and the
//! truncation states the offset of the incomplete record. This module also tests complete, truncated and damaged gzip
//! files.

use std::io::Write;

use srlg_input::capture::{CaptureError, Cause, Format, Reader, Truncation};
use srlg_input::contact::Contact;

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::{contact, drain, listed, read};

/// A file, and the offset and contact (if any) of each of its records.
struct Recorded {
    file: Fields,
    records: Vec<(usize, Option<Contact>)>,
}

impl Recorded {
    fn add(&mut self, contact: Option<Contact>, write: impl FnOnce(&mut Fields) -> &mut Fields) {
        self.records.push((self.file.bytes.len(), contact));
        write(&mut self.file);
    }

    /// Returns the contacts and the truncation offset that are expected if the file is cut after `length` bytes.
    fn expected(&self, length: usize) -> (Vec<Contact>, Option<u64>) {
        let ends = self.records.iter().skip(1).map(|(start, _)| *start);
        let ends: Vec<usize> = ends.chain([self.file.bytes.len()]).collect();
        let whole = ends.iter().filter(|end| **end <= length).count();
        let contacts = self.records[..whole].iter().filter_map(|(_, contact)| *contact).collect();
        let cut = self.records.get(whole).map(|(start, _)| *start as u64);
        (contacts, cut.filter(|start| *start < length as u64 || *start == 0))
    }
}

fn small_pcap() -> Recorded {
    let file = build::pcap(true, MICROSECONDS, 1);
    let mut recorded = Recorded { file, records: vec![(0, None)] };
    for host in 1..4 {
        let seen = contact(u64::from(host) * 1_000_000_000, host);
        recorded.add(Some(seen), |file| file.record(host.into(), 0, &build::frame(host)));
    }
    recorded
}

fn small_pcapng() -> Recorded {
    let mut recorded = Recorded { file: Fields::new(false), records: Vec::new() };
    recorded.add(None, |file| file.section(false));
    recorded.add(None, |file| file.interface(1, &[9, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0]));
    recorded.add(Some(contact(7_000, 1)), |file| file.packet(0, 7, &build::frame(1)));
    recorded.add(None, |file| file.block(5, &[1; 30]));
    recorded.add(Some(contact(9_000, 2)), |file| file.obsolete(0, 9, &build::frame(2)));
    recorded
}

fn cut_everywhere(recorded: &Recorded, magic: usize) {
    for length in magic..=recorded.file.bytes.len() {
        let outcome = read(&recorded.file.bytes[..length]);
        let (contacts, cut) = recorded.expected(length);
        assert_eq!(outcome.contacts, contacts, "cut to {length} bytes");
        let expected = cut.map(|offset| Truncation { offset, cause: Cause::EndOfInput });
        assert_eq!(outcome.truncation, expected, "cut to {length} bytes");
    }
    for length in 0..magic {
        let file = recorded.file.bytes[..length].to_vec();
        assert!(Reader::new(std::io::Cursor::new(file)).is_err(), "{length} bytes");
    }
}

#[test]
fn pcap_cut_at_any_byte_gives_the_whole_records() {
    cut_everywhere(&small_pcap(), 4);
}

#[test]
fn pcapng_cut_at_any_byte_gives_the_whole_blocks() {
    cut_everywhere(&small_pcapng(), 4);
}

#[test]
fn gzip_cut_at_any_byte_gives_a_prefix_and_blames_the_gzip_stream() {
    for whole in [small_pcap(), small_pcapng()] {
        let all = read(whole.file.bytes.clone());
        let packed = build::gzip(&whole.file.bytes);
        for length in 0..packed.len() {
            let Ok(reader) = Reader::new(std::io::Cursor::new(packed[..length].to_vec())) else {
                continue;
            };
            let outcome = drain(reader);
            assert!(all.contacts.starts_with(&outcome.contacts), "cut to {length} bytes");
            let truncation = outcome.truncation.expect("a truncation");
            assert!(matches!(truncation.cause, Cause::Gzip(_)), "cut to {length} bytes");
            let boundary = |(start, _): &(usize, _)| *start as u64 == truncation.offset;
            let end = whole.file.bytes.len() as u64;
            assert!(whole.records.iter().any(boundary) || truncation.offset == end);
        }
        assert_eq!(read(packed).contacts, all.contacts);
    }
}

fn many_records(count: u32) -> Vec<u8> {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    for second in 0..count {
        // Because these bytes vary, the compressed file does not consist of a few long matches.
        let noise = second.wrapping_mul(2_654_435_761).to_le_bytes();
        let frame = [&build::frame(second as u8)[..], &noise].concat();
        file.record(second, second % 1_000_000, &frame);
    }
    file.bytes
}

#[test]
fn every_format_is_unwrapped() {
    let mut pcapng = Fields::new(false);
    pcapng.section(false).interface(1, &[]).packet(0, 1, &build::frame(1));
    for (file, format) in [
        (many_records(3), Format::Pcap),
        (pcapng.bytes, Format::PcapNg),
        (b"time_ms,src,dst\n1,10.0.0.1,10.1.0.1\n".to_vec(), Format::Csv),
    ] {
        let outcome = read(build::gzip(&file));
        assert_eq!(outcome.format, format);
        assert_eq!(outcome, read(file));
    }
}

#[test]
fn members_are_one_stream_wherever_they_are_split() {
    let file = many_records(5);
    for middle in [0, 3, 24, 100, file.len()] {
        let (front, back) = file.split_at(middle);
        let members = [build::gzip(front), build::gzip(&[]), build::gzip(back)].concat();
        assert_eq!(read(members), read(&file[..]), "split at {middle}");
    }
}

#[test]
fn a_cut_stream_gives_every_packet_that_can_still_be_inflated() {
    let packed = build::gzip(&many_records(20_000));
    for length in (4_096..packed.len()).step_by(997) {
        let mut inflated = flate2::write::GzDecoder::new(Vec::new());
        inflated.write_all(&packed[..length]).unwrap();
        inflated.try_finish().unwrap_err();
        let content = inflated.get_ref().len();
        let outcome = read(&packed[..length]);
        assert_eq!(outcome.counts.packets as usize, (content - 24) / 57, "cut to {length} bytes");
    }
}

#[test]
fn damage_inside_a_stream_ends_the_reading_soon_after_it() {
    let file = many_records(100_000);
    let mut packed = build::gzip(&file);
    let middle = packed.len() / 2;
    packed[middle..middle + 64].fill(0xff);
    let outcome = read(packed);
    // The first half of the stream is valid. The inflater may lose 48 KiB of its content, in records of 57 bytes. A
    // margin of 500 records is added, because the halves may compress differently. Before the damage is detected,
    // damaged bytes may decompress to arbitrary packets.
    let sound = 50_000 - 48 * 1024 / 57 - 500;
    assert_eq!(outcome.contacts[..sound], read(file).contacts[..sound]);
    assert!(outcome.counts.packets < 60_000, "{}", outcome.counts);
    assert!(outcome.truncation.is_some());
}

#[test]
fn damage_between_members_is_reported_after_all_packets_of_the_first() {
    let file = many_records(4);
    let mut packed = build::gzip(&file);
    packed.extend_from_slice(b"no gzip member");
    let outcome = read(packed);
    assert_eq!(outcome.contacts.len(), 4);
    let (offset, cause) = (file.len() as u64, Cause::Gzip("invalid gzip header".to_owned()));
    assert_eq!(outcome.truncation, Some(Truncation { offset, cause }));
}

#[test]
fn a_wrong_checksum_is_reported_after_all_packets() {
    let file = many_records(4);
    let mut packed = build::gzip(&file);
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    let outcome = read(packed);
    assert_eq!(outcome.contacts.len(), 4);
    assert_eq!(outcome.truncation.unwrap().offset, file.len() as u64);
}

#[test]
fn gzip_without_content_is_an_error() {
    let packed = build::gzip(&many_records(1));
    let open = |bytes: &[u8]| Reader::new(std::io::Cursor::new(bytes.to_vec())).unwrap_err();
    assert!(matches!(open(&packed[..12]), CaptureError::Gzip { .. }));
    assert!(matches!(open(&packed[..2]), CaptureError::Gzip { .. }));
    assert!(matches!(open(&build::gzip(&[])), CaptureError::Empty));
    assert!(matches!(open(&build::gzip(&packed)), CaptureError::UnknownFormat { .. }));
}

#[test]
fn half_a_row_before_damage_is_no_contact() {
    // The content was truncated before it was compressed, so the gzip stream itself is complete.
    let rows = b"time_ms,src,dst\n1,10.0.0.1,10.1.0.1\n2,10.0.0.2,10.1.0.11";
    let mut packed = build::gzip(rows);
    packed.truncate(packed.len() - 8);
    let outcome = read(packed);
    assert_eq!(outcome.contacts, [listed(1_000_000, 1)]);
    assert_eq!(outcome.truncation.unwrap().offset, 36);
}
