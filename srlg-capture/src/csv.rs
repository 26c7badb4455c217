//! CSV: the header `time_ms,src,dst`, then one contact a line.
//!
//! Shape: lines end in LF or CR LF, the last one may end with the input; fields are bare, three
//! to a line. Time is in milliseconds and may have a decimal fraction.
//! Invariant: no line is held beyond [`MAX_LINE`] bytes, however long it is in the input.
//!
//! The crate csv is not used: its records grow with the longest line, and it cannot tell a last
//! line without an end from one that a damaged gzip stream has cut.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Skip;
use crate::contact::{Contact, Packet};
use crate::error::{CaptureError, Stop};
use crate::input::Input;

const HEADER: &[u8] = b"time_ms,src,dst";
/// Longest line that is parsed, many times the longest sensible one.
const MAX_LINE: usize = 1024;

/// Decoder of one contact list.
pub(crate) struct Csv;

/// Length of a line that starts at the front of the input.
struct Line {
    text: usize,
    with_end: usize,
}

impl Csv {
    /// Whether the first bytes are text, so that the header is worth a look.
    pub(crate) fn detect(start: &[u8]) -> bool {
        start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
    }

    pub(crate) fn open(input: &mut Input) -> Result<Self, CaptureError> {
        let window = input.window(HEADER.len() + 2)?;
        let length = window.iter().position(|byte| *byte == b'\n');
        let line = &window[..length.unwrap_or(window.len().min(MAX_LINE))];
        if without_cr(line) != HEADER {
            let found = String::from_utf8_lossy(without_cr(line)).chars().take(64).collect();
            return Err(CaptureError::CsvHeader { found });
        }
        let consumed = length.map_or(line.len(), |length| length + 1);
        input.consume(consumed);
        Ok(Self)
    }

    #[inline]
    pub(crate) fn next_packet(&mut self, input: &mut Input) -> Result<Option<Packet>, Stop> {
        while !input.is_finished()? {
            let Some(Line { text, with_end }) = find_line(input)? else {
                discard_line(input)?;
                return Ok(Some(Err(Skip::BadRow)));
            };
            let line = without_cr(&input.need(with_end)?[..text]);
            let row = (!line.is_empty()).then(|| parse_row(line));
            input.consume(with_end);
            if row.is_some() {
                return Ok(row);
            }
        }
        Ok(None)
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line at the front of the input; `None` when it is too long. Asks for more bytes only while
/// the line has no end, so that rows from a pipe are not held back.
#[inline]
fn find_line(input: &mut Input) -> Result<Option<Line>, Stop> {
    let mut seen = 0;
    loop {
        let window = input.window(seen + 1)?;
        let head = &window[..window.len().min(MAX_LINE + 1)];
        if let Some(more) = head[seen..].iter().position(|byte| *byte == b'\n') {
            return Ok(Some(Line { text: seen + more, with_end: seen + more + 1 }));
        }
        if head.len() > MAX_LINE {
            return Ok(None);
        }
        if head.len() == seen {
            break;
        }
        seen = head.len();
    }
    // Half a row can look whole: a damaged gzip stream makes this last line a truncation.
    if input.damage().is_some() {
        input.need(seen + 1)?;
    }
    Ok(Some(Line { text: seen, with_end: seen }))
}

/// Consumes a line of any length in constant memory.
#[cold]
fn discard_line(input: &mut Input) -> Result<(), Stop> {
    let offset = input.offset();
    while !input.is_finished().map_err(|stop| stop.moved_to(offset))? {
        let window = input.window(1)?;
        let end = window.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(window.len(), |end| end + 1);
        input.consume(length);
        if end.is_some() {
            break;
        }
    }
    Ok(())
}

#[inline]
fn parse_row(line: &[u8]) -> Packet {
    let line = str::from_utf8(line).map_err(|_| Skip::BadRow)?;
    let mut fields = line.split(',');
    let (Some(time), Some(source), Some(destination), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Skip::BadRow);
    };
    let time_ns = parse_time(time)?;
    match (source.parse::<Ipv4Addr>(), destination.parse::<Ipv4Addr>()) {
        (Ok(source), Ok(destination)) => {
            Ok(Contact { time_ns, source: source.to_bits(), destination: destination.to_bits() })
        }
        _ if source.parse::<Ipv6Addr>().is_ok() && destination.parse::<Ipv6Addr>().is_ok() => {
            Err(Skip::Ipv6)
        }
        _ => Err(Skip::BadRow),
    }
}

/// Milliseconds with an optional fraction, in nanoseconds; digits beyond those are cut off.
fn parse_time(field: &str) -> Result<u64, Skip> {
    let (whole, fraction) = field.split_once('.').unwrap_or((field, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(Skip::BadRow);
    }
    let whole: u64 = whole.parse().map_err(|_| Skip::BadTime)?;
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let fraction_ns = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let whole_ns = whole.checked_mul(1_000_000).ok_or(Skip::BadTime)?;
    whole_ns.checked_add(fraction_ns).ok_or(Skip::BadTime)
}

#[cfg(test)]
mod tests {
    use super::{parse_row, parse_time};
    use crate::Skip;

    #[test]
    fn times_are_exact() {
        assert_eq!(parse_time("0"), Ok(0));
        assert_eq!(parse_time("12.345"), Ok(12_345_000));
        assert_eq!(parse_time("0012.0000019"), Ok(12_000_001), "the seventh digit is cut off");
        assert_eq!(parse_time("18446744073709.551615"), Ok(u64::MAX));
    }

    #[test]
    fn times_beyond_range_differ_from_what_is_no_number() {
        for late in ["18446744073709.551616", "18446744073710", "99999999999999999999999"] {
            assert_eq!(parse_time(late), Err(Skip::BadTime), "{late}");
        }
        for bad in ["", "-1", "+1", "1e3", " 1", "1 ", "1.", ".5", "1.2.3", "0x1", "\u{661}"] {
            assert_eq!(parse_time(bad), Err(Skip::BadRow), "{bad:?}");
        }
    }

    #[test]
    fn rows_have_three_bare_fields() {
        let contact = parse_row(b"1,10.0.0.1,255.255.255.255").unwrap();
        assert_eq!((contact.source, contact.destination), (0x0a00_0001, u32::MAX));
        assert_eq!(parse_row(b"1,2001:db8::1,::2"), Err(Skip::Ipv6));
        let rows =
            ["1,10.0.0.1", "1,10.0.0.1,10.0.0.2,", "1,\"10.0.0.1\",10.0.0.2", "1,10.0.0.1,::2"];
        for bad in
            rows.map(str::as_bytes).into_iter().chain([&b"1,10.0.0.256,1.1.1.1"[..], b"\xff"])
        {
            assert_eq!(parse_row(bad), Err(Skip::BadRow), "{}", bad.escape_ascii());
        }
    }
}
