//! Gzip around any format.

use std::io::Write;

use srlg_input::capture::{CaptureError, Cause, Format, Reader, Truncation};

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::{listed, read};

fn many_records(count: u32) -> Vec<u8> {
    let mut file = build::pcap(false, MICROSECONDS, 1);
    for second in 0..count {
        // Varying bytes keep the packed file from collapsing into a few long matches.
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
    // Half of the stream is sound, less the 48 KiB that the inflater may lose, in records of 57
    // bytes; 500 more as the halves need not pack equally well. What damaged bytes inflate to
    // before they are found out may be any packets.
    let sound = 50_000 - 48 * 1024 / 57 - 500;
    assert_eq!(outcome.contacts[..sound], read(file).contacts[..sound]);
    assert!(outcome.counts.packets < 60_000, "{}", outcome.counts);
    assert!(outcome.truncation.is_some());
}

#[test]
fn damage_between_members_is_told_after_all_packets_of_the_first() {
    let file = many_records(4);
    let mut packed = build::gzip(&file);
    packed.extend_from_slice(b"no gzip member");
    let outcome = read(packed);
    assert_eq!(outcome.contacts.len(), 4);
    let (offset, cause) = (file.len() as u64, Cause::Gzip("invalid gzip header".to_owned()));
    assert_eq!(outcome.truncation, Some(Truncation { offset, cause }));
}

#[test]
fn a_wrong_checksum_is_told_after_all_packets() {
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
    // Cut the content, not the packed bytes: the stream says that it goes on, and does not.
    let rows = b"time_ms,src,dst\n1,10.0.0.1,10.1.0.1\n2,10.0.0.2,10.1.0.11";
    let mut packed = build::gzip(rows);
    packed.truncate(packed.len() - 8);
    let outcome = read(packed);
    assert_eq!(outcome.contacts, [listed(1_000_000, 1)]);
    assert_eq!(outcome.truncation.unwrap().offset, 36);
}
