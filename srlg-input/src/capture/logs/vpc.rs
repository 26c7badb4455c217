//! AWS flow logs of VPCs and transit gateways. Fields are separated by spaces, or by commas in an export as CSV. The
//! first line states the order of the fields. If this line is missing, the fields have the order of version 2.
//!
//! CloudWatch Logs exports a time, and possibly the name of a stream, before each row. Its subscriptions and its API
//! write the rows as texts in JSON.
//!
//! Sources: docs.aws.amazon.com, "Flow log records" (VPC), "Transit Gateway Flow Log records", and "Log group-level
//! subscription filters" (CloudWatch Logs).

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

/// The key of the rows in JSON of CloudWatch Logs.
pub(super) const KEY: &str = "message";

/// Texts of which one is among the first fields of JSON of CloudWatch Logs.
const MARKS: [&str; 3] = [r#""logEvents""#, r#""logStreamName""#, r#""ingestionTime""#];

/// Returns whether JSON that starts with `head` contains the rows as texts.
pub(super) fn detect_json(head: &str) -> bool {
    MARKS.iter().any(|mark| head.contains(mark))
}

pub(super) struct Vpc {
    separator: char,
    /// Position of each field of [`NAMES`] in a line, if the log has the field.
    places: [Option<usize>; NAMES.len()],
}

impl Default for Vpc {
    fn default() -> Self {
        Self::of(VERSION_2, ' ')
    }
}

impl Vpc {
    /// Returns the decoder for a log whose first `line` contains field names or a record of version 2.
    pub(super) fn detect(line: &str) -> Option<Self> {
        Self::of_head(line).or_else(|| {
            let fields: Vec<&str> = line.split(' ').collect();
            let before = fields.len().checked_sub(VERSION_2.split(' ').count())?;
            let is_preceded = match before {
                0 => true,
                1 | 2 => time_ns(fields[0]).is_ok(),
                _ => false,
            };
            (is_preceded && fields[before] == "2").then(|| Self::default().after(before))
        })
    }

    /// Returns the decoder for a log with the field names in `line`. Underscores are hyphens in these names.
    fn of_head(line: &str) -> Option<Self> {
        let separator = if line.contains(',') { ',' } else { ' ' };
        let has = |name: &str| line.split(separator).any(|field| unquoted(field) == name);
        (has("srcaddr") && has("dstaddr")).then(|| Self::of(&line.replace('_', "-"), separator))
    }

    fn of(head: &str, separator: char) -> Self {
        let place = |name: &str| head.split(separator).position(|field| unquoted(field) == name);
        Self { separator, places: NAMES.map(place) }
    }

    /// Returns the decoder for rows with `count` fields before the others.
    fn after(self, count: usize) -> Self {
        Self { places: self.places.map(|place| Some(place? + count)), ..self }
    }

    pub(super) fn row(&mut self, line: &str) -> Option<Result<Row, Skip>> {
        // If log files were concatenated, each has its own header line.
        if let Some(vpc) = line.contains("srcaddr").then(|| Self::of_head(line)).flatten() {
            *self = vpc;
            return None;
        }
        let fields: Vec<&str> = line.split(self.separator).map(unquoted).collect();
        let field =
            |place: Option<usize>| fields.get(place?).copied().filter(|field| *field != "-");
        Some(row(self.places.map(field)))
    }
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
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
