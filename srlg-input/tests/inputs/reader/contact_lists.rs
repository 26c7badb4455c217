//! CSV contact lists.

use srlg_input::capture::{CaptureError, Reader, Skip};

use crate::reader::{listed, read};

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
fn a_header_alone_is_an_empty_list() {
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
    // Around the bound of a line, and around the size of the buffer.
    for length in [1_023, 1_024, 1_025, 1_026, 524_288, 524_289, 2_000_000] {
        let long = "7".repeat(length);
        let outcome = read(format!("{HEADER}{ROW}\n{long}\n{ROW}\n{long}"));
        assert_eq!(outcome.contacts.len(), 2, "line of {length}");
        assert_eq!(outcome.counts.skipped(Skip::BadRow), 2, "line of {length}");
    }
}
