//! Tests of contact lists (CSV), and of the formats, byte orders, time resolutions and link types of captures.

use srlg_input::capture::{CaptureError, Format, Reader, Skip};

use crate::reader::build::{self, Fields, MICROSECONDS, NANOSECONDS};
use crate::reader::{contact, listed, read};

const SECOND: u64 = 1_000_000_000;

#[test]
fn all_four_kinds_of_pcap_give_the_same_contacts() {
    for (big_endian, magic, fraction) in [
        (false, MICROSECONDS, 250_000),
        (true, MICROSECONDS, 250_000),
        (false, NANOSECONDS, 250_000_000),
        (true, NANOSECONDS, 250_000_000),
    ] {
        let mut file = build::pcap(big_endian, magic, 1);
        file.record(7, fraction, &build::frame(1)).record(6, 0, &build::frame(2));
        let outcome = read(file.bytes);
        assert_eq!(outcome.format, Format::Pcap);
        let expected = [contact(7 * SECOND + SECOND / 4, 1), contact(6 * SECOND, 2)];
        assert_eq!(outcome.contacts, expected, "{big_endian} {magic:x}");
        assert_eq!(outcome.truncation, None);
    }
}

#[test]
fn a_fraction_of_a_second_or_more_carries_over_into_the_seconds() {
    for (magic, unit) in [(MICROSECONDS, 1_000_000), (NANOSECONDS, 1_000_000_000)] {
        let mut file = build::pcap(false, magic, 1);
        file.record(0, unit, &build::frame(1)).record(u32::MAX, u32::MAX, &build::frame(2));
        file.record(0, unit - 1, &build::frame(3));
        let tick = SECOND / u64::from(unit);
        let last = u64::from(u32::MAX) * (SECOND + tick);
        assert_eq!(
            read(file.bytes).contacts,
            [contact(SECOND, 1), contact(last, 2), contact(SECOND - tick, 3)]
        );
    }
}

#[test]
fn link_types_reach_the_frames_of_both_formats() {
    let ipv4 = build::ipv4(5);
    for link_type in [101, 228, 0xf000_0000 | 101] {
        let mut file = build::pcap(true, MICROSECONDS, link_type);
        assert_eq!(read(file.record(1, 0, &ipv4).bytes.clone()).contacts, [contact(SECOND, 5)]);
    }
    let mut file = build::pcap(true, MICROSECONDS, 147);
    assert_eq!(read(file.record(1, 0, &ipv4).bytes.clone()).counts.skipped(Skip::LinkType), 1);
}

#[test]
fn pcapng_interfaces_have_their_own_link_type_and_clock() {
    for big_endian in [false, true] {
        let mut offset = Fields::new(big_endian);
        // The options are `if_tsresol` with 2^-1, `if_tsoffset` with 10 s, and the end of the options.
        offset.u16(9).u16(1).raw(&[0x81, 0, 0, 0]).u16(14).u16(8);
        let ten = if big_endian { 10_i64.to_be_bytes() } else { 10_i64.to_le_bytes() };
        offset.raw(&ten).u32(0);
        let mut file = Fields::new(big_endian);
        file.section(big_endian).interface(1, &[]).interface(101, &offset.bytes);
        file.packet(1, 3, &build::ipv4(1)).packet(0, 3, &build::frame(2));
        file.obsolete(1, 1, &build::ipv4(3));
        let outcome = read(file.bytes);
        assert_eq!(outcome.format, Format::PcapNg);
        let expected =
            [contact(23 * SECOND / 2, 1), contact(3_000, 2), contact(21 * SECOND / 2, 3)];
        assert_eq!(outcome.contacts, expected);
    }
}

#[test]
fn pcapng_sections_start_afresh_in_their_own_byte_order() {
    let mut file = Fields::new(false);
    file.section(false).interface(101, &[]).packet(0, 1, &build::ipv4(1));
    file.section(true).packet(0, 2, &build::ipv4(2));
    file.interface(1, &[]).packet(0, 3, &build::frame(3));
    let outcome = read(file.bytes);
    assert_eq!(outcome.contacts, [contact(1_000, 1), contact(3_000, 3)]);
    assert_eq!(outcome.counts.skipped(Skip::NoInterface), 1);
}

#[test]
fn skipped_pcapng_packets_are_counted_by_reason() {
    let mut file = Fields::new(true);
    file.section(true).interface(1, &[]);
    file.block(3, &[0; 40]).packet(1, 0, &build::frame(1));
    file.packet(0, u64::MAX, &build::frame(1));
    let mut overrun = Fields::new(true);
    overrun.u32(0).u32(0).u32(0).u32(41).u32(41).raw(&[0; 40]);
    file.block(6, &overrun.bytes);
    let counts = read(file.bytes).counts;
    assert_eq!(counts.packets, 4);
    for reason in [Skip::NoTime, Skip::NoInterface, Skip::BadTime, Skip::BadHeader] {
        assert_eq!(counts.skipped(reason), 1, "{}", reason.name());
    }
}

#[test]
fn pcapng_blocks_larger_than_any_buffer_are_passed_over() {
    let mut file = Fields::new(false);
    file.section(false).block(10, &vec![6; 3 << 20]).interface(1, &[]);
    file.block(0x8000_0001, &[]).packet(0, 1, &build::frame(1));
    assert_eq!(read(file.bytes).contacts, [contact(1_000, 1)]);
}

#[test]
fn the_longest_pcap_record_fits() {
    let mut long = build::frame(1);
    long.resize(262_144, 0);
    let mut file = build::pcap(false, MICROSECONDS, 1);
    for _ in 0..5 {
        file.record(1, 0, &long);
    }
    assert_eq!(read(file.bytes).contacts, [contact(SECOND, 1); 5]);
}

#[test]
fn a_header_alone_is_an_empty_capture() {
    let mut section = Fields::new(false);
    section.section(false);
    for file in [build::pcap(true, NANOSECONDS, 1).bytes, section.bytes] {
        let outcome = read(file);
        assert_eq!((outcome.counts.packets, outcome.truncation), (0, None));
    }
}

#[test]
fn what_is_no_capture_is_named_by_its_first_bytes() {
    assert!(matches!(Reader::new(&b""[..]), Err(CaptureError::Empty)));
    for (bytes, shown) in [
        (&[0, 5, 0, 2, 0, 0, 13, 0x35, 0x55][..], "00 05 00 02 00 00 0d 35"),
        (&[0xd4, 0xc3, 0xb2], "d4 c3 b2"),
        (&[0xd4, 0xc3, 0xb2, 0xa0, 0, 0, 0, 0], "d4 c3 b2 a0 00 00 00 00"),
    ] {
        let error = Reader::new(bytes).unwrap_err();
        let is_shown =
            matches!(&error, CaptureError::UnknownFormat { first_bytes } if first_bytes == shown);
        assert!(is_shown, "{error}");
    }
}

const HEADER: &str = "time_ms,src,dst\n";
const ROW: &str = "5,10.0.0.1,10.1.0.1";

#[test]
fn line_ends_and_blank_lines_do_not_matter() {
    let expected = [listed(5_000_000, 1); 2];
    for (file, newline) in [("\n", "LF"), ("\r\n", "CR LF")].map(|(newline, name)| {
        let lines = ["time_ms,src,dst", "", ROW, "", "", ROW, ""];
        (lines.join(newline), name)
    }) {
        let outcome = read(file.clone());
        assert_eq!(outcome.contacts, expected, "{newline}");
        assert_eq!(outcome.counts.packets, 2, "blank lines are no rows");
        assert_eq!(read(file.trim_end()), outcome, "the last line may end with the input");
    }
}

#[test]
fn a_byte_order_mark_before_the_header_is_passed_over() {
    let file = format!("{HEADER}{ROW}\n");
    assert_eq!(read(format!("\u{feff}{file}")), read(file));
}

#[test]
fn a_header_of_a_list_alone_is_an_empty_list() {
    for file in ["time_ms,src,dst", "time_ms,src,dst\n", "time_ms,src,dst\r\n\r\n"] {
        assert_eq!(read(file).counts.packets, 0);
    }
}

#[test]
fn another_header_is_an_error_that_quotes_it() {
    let long = format!("{}\n", "x".repeat(100_000));
    for (file, found) in [
        ("src,dst,time_ms\n1,2,3\n", "src,dst,time_ms"),
        ("time_ms,src,dst,bytes\n", "time_ms,src,dst,bytes"),
        ("time_ms,src,ds", "time_ms,src,ds"),
        ("\ntime_ms,src,dst\n", ""),
        (&long[..], &long[..64]),
    ] {
        let error = Reader::new(std::io::Cursor::new(file.to_owned())).unwrap_err();
        assert!(matches!(&error, CaptureError::UnknownText { found: seen } if seen == found));
    }
}

#[test]
fn rows_that_do_not_parse_are_counted_and_passed_over() {
    let file = format!("{HEADER}{ROW}\n5;10.0.0.1\n6,fe80::1%2,::1\n99999999999999,::1,::1\n{ROW}");
    let outcome = read(file);
    assert_eq!(outcome.contacts.len(), 2);
    assert_eq!(outcome.counts.skipped(Skip::BadRow), 2);
    assert_eq!(outcome.counts.skipped(Skip::BadTime), 1);
}

#[test]
fn a_line_of_any_length_is_one_bad_row() {
    // These lengths are close to the maximum length of a line and to the size of the buffer.
    for length in [1_023, 1_024, 1_025, 1_026, 524_288, 524_289, 2_000_000] {
        let long = "7".repeat(length);
        let outcome = read(format!("{HEADER}{ROW}\n{long}\n{ROW}\n{long}"));
        assert_eq!(outcome.contacts.len(), 2, "line of {length}");
        assert_eq!(outcome.counts.skipped(Skip::BadRow), 2, "line of {length}");
    }
}
