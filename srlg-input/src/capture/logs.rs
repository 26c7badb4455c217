//! Logs of conversations and flows: Zeek's conn.log, flow logs of an AWS VPC, flow records of Suricata.
//!
//! Shape: a decoder per kind makes a [`Row`] of a line; a row is one direction, or both of a conversation, of which each counts as
//! a record of its own.
//! Invariant: a direction that is known to have no packets is no contact.

mod eve;
mod row;
mod vpc;
mod zeek;

use crate::contact::Contact;
use serde_json::Value;

use crate::capture::error::Halt;
use crate::capture::lines;
use crate::capture::reader::Format;
use crate::capture::stream::Stream;
use crate::packet::Skip;
use row::Row;
#[cfg(feature = "messages")]
pub(crate) use row::{protocol, time_ns};
use vpc::Vpc;
use zeek::Zeek;

/// Longest line that is parsed: records of Suricata may carry a few kilobytes.
const MAX_LINE: usize = 64 * 1024;

/// Decoder of one log.
pub(crate) struct Logs {
    kind: Kind,
    /// The other direction of the last row.
    waiting: Option<Result<Contact, Skip>>,
}

enum Kind {
    Zeek(Zeek),
    Vpc(Vpc),
    /// A line says itself what it is.
    Json,
}

impl Logs {
    /// The decoder that the first `lines` ask for: one, unless it begins with #.
    pub(crate) fn detect(lines: &[Vec<u8>]) -> Option<Self> {
        let line = lines.first()?;
        let kind = match line.first()? {
            b'#' if lines.iter().any(|line| line.starts_with(b"#fields")) => {
                Kind::Zeek(Zeek::default())
            }
            b'{' => Kind::Json,
            _ => Kind::Vpc(Vpc::detect(str::from_utf8(line).ok()?)?),
        };
        Some(Self { kind, waiting: None })
    }

    pub(crate) fn format(&self) -> Format {
        match self.kind {
            Kind::Zeek(_) => Format::Zeek,
            Kind::Vpc(_) => Format::VpcFlowLog,
            Kind::Json => Format::JsonLines,
        }
    }

    /// The next direction of a row.
    pub(crate) fn next_contact(
        &mut self,
        input: &mut Stream,
    ) -> Result<Option<Result<Contact, Skip>>, Halt> {
        if let Some(waiting) = self.waiting.take() {
            return Ok(Some(waiting));
        }
        let kind = &mut self.kind;
        let row = lines::next(input, MAX_LINE, |line| kind.row(line))?;
        Ok(row.map(|row| match row.unwrap_or(Err(Skip::BadRow)) {
            Ok(Row { first, second }) => {
                self.waiting = second;
                first
            }
            Err(reason) => Err(reason),
        }))
    }
}

impl Kind {
    /// What a line tells; `None` of one that is about the log itself.
    fn row(&mut self, line: &[u8]) -> Option<Result<Row, Skip>> {
        if line.is_empty() {
            return None;
        }
        let Ok(line) = str::from_utf8(line) else { return Some(Err(Skip::BadRow)) };
        match self {
            Self::Zeek(zeek) => zeek.row(line),
            Self::Vpc(vpc) => vpc.row(line),
            Self::Json => Some(json(line)),
        }
    }
}

/// A line of JSON: Zeek's where it has an originator, else Suricata's.
fn json(line: &str) -> Result<Row, Skip> {
    let record: Value = serde_json::from_str(line).map_err(|_| Skip::BadRow)?;
    if record.get("event_type").is_some() { eve::row(&record) } else { zeek::json_row(&record) }
}

#[cfg(test)]
mod tests;
