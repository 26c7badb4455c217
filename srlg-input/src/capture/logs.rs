//! Logs of conversations and flows: Zeek's conn.log, AWS VPC flow logs, and Suricata's flow records.
//!
//! There is a decoder for each kind of log, which turns a line into a [`Row`]. A row contains one or both directions of
//! a conversation. Each direction is counted separately.
//!
//! Invariant: a direction that is known to have no packets is not a contact.

mod eve;
mod row;
mod vpc;
mod zeek;

use crate::contact::Contact;
use serde_json::Value;

use crate::capture::error::Halt;
use crate::capture::format::Format;
use crate::capture::lines;
use crate::capture::stream::Stream;
use crate::packet::Skip;
use row::Row;
#[cfg(feature = "messages")]
pub(crate) use row::{protocol, time_ns};
use vpc::Vpc;
use zeek::Zeek;

/// Maximum length of a parsed line, in bytes. Suricata records can be a few kilobytes long.
const MAX_LINE: usize = 64 * 1024;

pub(crate) struct Logs {
    kind: Kind,
    /// Second direction of the last row, if it has not been returned yet.
    waiting: Option<Result<Contact, Skip>>,
}

enum Kind {
    Zeek(Zeek),
    Vpc(Vpc),
    /// JSON lines. Each line shows whether it comes from Zeek or Suricata.
    Json,
}

impl Logs {
    /// Returns the decoder for the log that starts with `lines`: the leading `#` lines and the line after them.
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

    /// Returns the second direction of the last row, or the first direction of the next row.
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
    /// Parses a line. Returns `None` for empty lines, header lines and the `#` lines of Zeek.
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

fn json(line: &str) -> Result<Row, Skip> {
    let record: Value = serde_json::from_str(line).map_err(|_| Skip::BadRow)?;
    if record.get("event_type").is_some() { eve::row(&record) } else { zeek::json_row(&record) }
}

#[cfg(test)]
mod tests;
