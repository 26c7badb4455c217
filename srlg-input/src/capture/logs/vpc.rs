//! AWS VPC flow logs. Fields are separated by spaces. The first line states the order of the fields. If this line is
//! missing, the fields have the order of version 2.

use std::num::NonZeroU8;

use crate::contact::Contact;

use super::row::{Row, number, protocol, time_ns};
use crate::capture::csv::parse_host;
use crate::packet::Skip;

/// Fields of version 2, which are assumed if the first line does not contain field names.
pub(super) const VERSION_2: &str = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status";

const NAMES: [&str; 10] = [
    "srcaddr",
    "dstaddr",
    "srcport",
    "dstport",
    "protocol",
    "packets",
    "bytes",
    "end",
    "tcp-flags",
    "start",
];

pub(super) struct Vpc {
    /// Position of each field of [`NAMES`] in a line, if the log has the field.
    places: [Option<usize>; NAMES.len()],
}

impl Vpc {
    /// Returns the decoder for a log whose first `line` contains field names or a record of version 2.
    pub(super) fn detect(line: &str) -> Option<Self> {
        if is_head(line) {
            return Some(Self::of(line));
        }
        let is_version_2 =
            line.starts_with("2 ") && line.split(' ').count() == VERSION_2.split(' ').count();
        is_version_2.then(|| Self::of(VERSION_2))
    }

    fn of(head: &str) -> Self {
        let place = |name: &str| head.split(' ').position(|field| field == name);
        Self { places: NAMES.map(place) }
    }

    pub(super) fn row(&mut self, line: &str) -> Option<Result<Row, Skip>> {
        // If log files were concatenated, each has its own header line.
        if is_head(line) {
            *self = Self::of(line);
            return None;
        }
        let fields: Vec<&str> = line.split(' ').collect();
        let field =
            |place: Option<usize>| fields.get(place?).copied().filter(|field| *field != "-");
        Some(row(self.places.map(field)))
    }
}

fn is_head(line: &str) -> bool {
    let has = |name| line.split(' ').any(|field| field == name);
    has("srcaddr") && has("dstaddr")
}

fn row(fields: [Option<&str>; NAMES.len()]) -> Result<Row, Skip> {
    let [source, destination, from, to, name, packets, octets, end, flags, start] = fields;
    let source = parse_host(source.ok_or(Skip::NoHosts)?)?;
    let destination = parse_host(destination.ok_or(Skip::NoHosts)?)?;
    let time_ns = time_ns(end.or(start).ok_or(Skip::NoTime)?)?;
    let mut contact = Contact::new(time_ns, source, destination);
    contact.protocol = name.and_then(protocol);
    let (packets, octets) = (number(packets)?, number(octets)?);
    contact.tcp_flags = number(flags)?.and_then(NonZeroU8::new);
    let has_port = !matches!(contact.protocol, Some(1 | 58));
    contact.source_port = number(from)?.filter(|_| has_port);
    contact.destination_port = number(to)?.filter(|_| has_port);
    // In these logs, an ACK is reported only together with a SYN.
    contact.initiated = match contact.tcp_flags.map(|flags| flags.get() & 0x12) {
        Some(0x02) => Some(true),
        Some(0x12) => Some(false),
        _ => None,
    };
    Ok(Row::one(contact, packets, octets))
}
