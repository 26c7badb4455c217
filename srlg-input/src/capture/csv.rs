//! CSV with the header `time_ms,src,dst` and one contact per line. The header may add the columns `protocol`,
//! `src_port`, `dst_port` and `initiated` in any order. Only the fields of these four columns may be empty.
//!
//! Lines end with LF or CR LF. The last line may have no line end. Fields are unquoted, and each line has as many
//! fields as the header. A byte order mark before the header is skipped. Times are in milliseconds and may have a
//! decimal fraction. Hosts are IPv4 or IPv6 addresses, and IPv6 addresses may be in brackets.
//!
//! Invariant: a line longer than [`MAX_LINE`] bytes is skipped without being buffered as a whole.

use std::net::{IpAddr, Ipv6Addr};

use crate::capture::error::Halt;
use crate::capture::lines;
use crate::capture::stream::Stream;
use crate::contact::{Contact, Host};
use crate::packet::Skip;

const HEADER: &[u8] = b"time_ms,src,dst";
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const MAX_LINE: usize = 1024;

/// An optional column of a contact list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Protocol,
    SourcePort,
    DestinationPort,
    /// Whether the source initiated the conversation (`true` or `false`).
    Initiated,
}

impl Column {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"protocol" => Some(Self::Protocol),
            b"src_port" => Some(Self::SourcePort),
            b"dst_port" => Some(Self::DestinationPort),
            b"initiated" => Some(Self::Initiated),
            _ => None,
        }
    }

    /// Parses `field` into `contact`. An empty field means that the value is unknown.
    fn read(self, field: &str, contact: &mut Contact) -> Result<(), Skip> {
        match self {
            Self::Protocol => contact.protocol = value(field)?,
            Self::SourcePort => contact.source_port = value(field)?,
            Self::DestinationPort => contact.destination_port = value(field)?,
            Self::Initiated => contact.initiated = value(field)?,
        }
        Ok(())
    }
}

fn value<T: std::str::FromStr>(field: &str) -> Result<Option<T>, Skip> {
    let value = (!field.is_empty()).then(|| field.parse().map_err(|_| Skip::BadRow));
    value.transpose()
}

pub(crate) struct Csv {
    columns: Vec<Column>,
    /// Whether the header line has been consumed.
    is_headed: bool,
}

impl Csv {
    /// Returns a decoder if `line` is the header of a contact list.
    pub(crate) fn detect(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let more = line.strip_prefix(HEADER)?;
        let names = more.strip_prefix(b",").map(|names| names.split(|byte| *byte == b','));
        if names.is_none() && !more.is_empty() {
            return None;
        }
        let columns: Vec<Column> =
            names.into_iter().flatten().map(Column::named).collect::<Option<_>>()?;
        let is_repeated = |at: usize| columns[..at].contains(&columns[at]);
        (!(0..columns.len()).any(is_repeated)).then_some(Self { columns, is_headed: false })
    }

    #[inline]
    pub(crate) fn next_row(
        &mut self,
        input: &mut Stream,
    ) -> Result<Option<Result<Contact, Skip>>, Halt> {
        if !self.is_headed {
            lines::next(input, MAX_LINE, |_| Some(()))?;
            self.is_headed = true;
        }
        let columns = &self.columns;
        let row = lines::next(input, MAX_LINE, |line| {
            (!line.is_empty()).then(|| parse_row(line, columns))
        })?;
        Ok(row.map(|row| row.unwrap_or(Err(Skip::BadRow))))
    }
}

#[inline]
fn parse_row(line: &[u8], columns: &[Column]) -> Result<Contact, Skip> {
    let line = str::from_utf8(line).map_err(|_| Skip::BadRow)?;
    let mut fields = line.split(',');
    let (Some(time), Some(source), Some(destination)) =
        (fields.next(), fields.next(), fields.next())
    else {
        return Err(Skip::BadRow);
    };
    let time_ns = parse_time(time)?;
    let mut contact = Contact::new(time_ns, parse_host(source)?, parse_host(destination)?);
    for column in columns {
        column.read(fields.next().ok_or(Skip::BadRow)?, &mut contact)?;
    }
    if fields.next().is_some() { Err(Skip::BadRow) } else { Ok(contact) }
}

/// Parses an address. Zones are rejected, because `fe80::1%eth0` is meaningful only on the machine that wrote it.
#[inline]
pub(crate) fn parse_host(field: &str) -> Result<Host, Skip> {
    let in_brackets = field.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host = match in_brackets {
        Some(inner) => inner.parse::<Ipv6Addr>().map(IpAddr::V6),
        None => field.parse(),
    };
    host.map(Host::from).map_err(|_| Skip::BadRow)
}

fn parse_time(field: &str) -> Result<u64, Skip> {
    decimal_ns(field, 6)
}

/// Parses a time in units of 10^`digits` ns, with an optional decimal fraction. Returns nanoseconds, rounded down.
#[inline]
pub(crate) fn decimal_ns(field: &str, digits: usize) -> Result<u64, Skip> {
    let (whole, fraction) = field.split_once('.').unwrap_or((field, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(Skip::BadRow);
    }
    let whole: u64 = whole.parse().map_err(|_| Skip::BadTime)?;
    let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(digits);
    let fraction_ns = fraction.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let whole_ns = whole.checked_mul(10_u64.pow(digits as u32)).ok_or(Skip::BadTime)?;
    whole_ns.checked_add(fraction_ns).ok_or(Skip::BadTime)
}

#[cfg(test)]
mod tests {
    use super::{Csv, parse_row, parse_time};
    use crate::contact::{Contact, Host};
    use crate::packet::Skip;

    fn contact(row: &str) -> Result<Contact, Skip> {
        parse_row(row.as_bytes(), &[])
    }

    #[test]
    fn columns_are_read_by_name() {
        let read = |header: &str, row: &str| {
            let csv = Csv::detect(header.as_bytes()).unwrap();
            let contact = parse_row(row.as_bytes(), &csv.columns)?;
            let ports = [contact.source_port, contact.destination_port];
            Ok((contact.protocol, ports, contact.initiated))
        };
        let all = "time_ms,src,dst,protocol,src_port,dst_port,initiated";
        let row = |more: &str| format!("1,10.0.0.1,10.0.0.2,{more}");
        assert_eq!(
            read(all, &row("6,4000,443,true")),
            Ok((Some(6), [Some(4000), Some(443)], Some(true)))
        );
        assert_eq!(read(all, &row("1,,,")), Ok((Some(1), [None; 2], None)));
        let other = "time_ms,src,dst,dst_port,protocol";
        assert_eq!(read(other, &row("53,17")), Ok((Some(17), [None, Some(53)], None)));
        for bad in [
            "6,1,443",
            "6,1,443,true,",
            "256,1,443,true",
            "6,1,65536,true",
            "6,65536,1,true",
            "6,1,443,yes",
            "tcp,,,",
        ] {
            assert_eq!(read(all, &row(bad)), Err(Skip::BadRow), "{bad}");
        }
        for header in ["time_ms,src,dst,", "time_ms,src,dst,port", "time_ms,src,dstprotocol"] {
            assert!(Csv::detect(header.as_bytes()).is_none(), "{header}");
        }
        assert!(Csv::detect(b"time_ms,src,dst,protocol,protocol").is_none());
    }

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
        let v4 = Contact::new(1_000_000, [10, 0, 0, 1].into(), [255; 4].into());
        assert_eq!(contact("1,10.0.0.1,255.255.255.255"), Ok(v4));
        for bad in ["1,10.0.0.1", "1,10.0.0.1,10.0.0.2,", "1,\"10.0.0.1\",10.0.0.2", "1,::1"] {
            assert_eq!(parse_row(bad.as_bytes(), &[]), Err(Skip::BadRow), "{bad}");
        }
        assert_eq!(parse_row(b"\xff", &[]), Err(Skip::BadRow));
    }

    #[test]
    fn hosts_are_of_either_family_each_by_itself() {
        let [v4, v6] = [Host::from([192, 0, 2, 1]), "2001:db8::1".parse().unwrap()];
        for (row, source, destination) in [
            ("0,2001:db8::1,192.0.2.1", v6, v4),
            ("0,192.0.2.1,[2001:db8::1]", v4, v6),
            ("0,[2001:DB8:0:0::1],2001:db8::0001", v6, v6),
            ("0,::ffff:192.0.2.1,[::ffff:c000:201]", v4, v4),
        ] {
            assert_eq!(contact(row), Ok(Contact::new(0, source, destination)));
        }
    }

    #[test]
    fn what_is_no_address_is_a_bad_row() {
        for bad in [
            "fe80::1%eth0",
            "fe80::1%2",
            "[fe80::1%eth0]",
            "[::1",
            "::1]",
            "[]",
            "[[::1]]",
            "[192.0.2.1]",
            "[::1]:53",
            "192.0.2.1:53",
            "192.0.2.1/32",
            "::1/128",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3",
            "::12345",
            "10.0.0.256",
            "010.0.0.1",
            "10.1",
            "host",
            " ::1",
            "",
        ] {
            for row in [format!("0,{bad},::1"), format!("0,::1,{bad}")] {
                assert_eq!(parse_row(row.as_bytes(), &[]), Err(Skip::BadRow), "{row}");
            }
        }
    }
}
