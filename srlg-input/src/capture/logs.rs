//! Logs of conversations and flows: of Zeek, Suricata, Cilium's Hubble, Elastic's agents, and the clouds of Amazon,
//! Google, Microsoft and Oracle.
//!
//! There is a decoder for each kind of log, which turns a line or a text into a [`Row`]. A row contains one or both
//! directions of a conversation. Each direction is counted separately.
//!
//! Invariant: a direction that is known to have no packets is not a contact.

mod azure;
mod ecs;
mod eve;
mod gcp;
mod hubble;
mod json;
mod oci;
mod row;
mod texts;
mod value;
mod vpc;
mod zeek;

use crate::contact::Contact;

use crate::capture::error::Halt;
use crate::capture::format::Format;
use crate::capture::lines;
use crate::capture::stream::Stream;
use crate::packet::Skip;
use json::Json;
use row::Row;
#[cfg(feature = "messages")]
pub(crate) use row::{protocol, time_ns};
use texts::Texts;
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
    /// Rows of a VPC flow log as texts in JSON.
    CloudWatch(Texts, Vpc),
    Azure(Texts),
    Json(Json),
}

impl Logs {
    /// Returns the decoder for the log that starts with `lines`: the leading `#` lines and the line after them. If the
    /// log is JSON, `head` contains its first bytes.
    pub(crate) fn detect(lines: &[Vec<u8>], head: &[u8]) -> Option<Self> {
        let line = lines.first()?;
        let kind = match line.first()? {
            b'#' if lines.iter().any(|line| line.starts_with(b"#fields")) => {
                Kind::Zeek(Zeek::default())
            }
            b'{' => Kind::of_json(&String::from_utf8_lossy(head)),
            b'[' if matches!(line[1..].trim_ascii_start().first(), None | Some(b'{')) => {
                Kind::of_json(&String::from_utf8_lossy(head))
            }
            _ => Kind::Vpc(Vpc::detect(str::from_utf8(line).ok()?)?),
        };
        Some(Self { kind, waiting: None })
    }

    pub(crate) fn format(&self) -> Format {
        match self.kind {
            Kind::Zeek(_) => Format::Zeek,
            Kind::Vpc(_) | Kind::CloudWatch(..) => Format::VpcFlowLog,
            Kind::Azure(_) => Format::AzureFlowLog,
            Kind::Json(_) => Format::JsonLines,
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
        let row = match kind {
            Kind::Azure(_) | Kind::CloudWatch(..) => kind.next_text(input)?,
            _ => lines::next(input, MAX_LINE, |line| kind.row(line))?,
        };
        if let Kind::Json(json) = kind {
            json.check(row.is_some()).map_err(Halt::Failed)?;
        }
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
    fn of_json(head: &str) -> Self {
        if azure::detect(head) {
            Self::Azure(Texts::new(azure::KEY))
        } else if vpc::detect_json(head) {
            Self::CloudWatch(Texts::new(vpc::KEY), Vpc::default())
        } else {
            Self::Json(Json::default())
        }
    }

    /// Returns the next row that is a text in JSON. It is not inlined, because that would slow down rows of Zeek.
    #[inline(never)]
    fn next_text(&mut self, input: &mut Stream) -> Result<Option<Option<Result<Row, Skip>>>, Halt> {
        let row = match self {
            Self::Azure(texts) => texts.next(input, azure::row)?,
            Self::CloudWatch(texts, vpc) => {
                texts.next(input, |text| vpc.row(text).unwrap_or(Err(Skip::BadRow)))?
            }
            _ => None,
        };
        Ok(row.map(Some))
    }

    /// Parses a line. Returns `None` for empty lines, header lines and the `#` lines of Zeek.
    fn row(&mut self, line: &[u8]) -> Option<Result<Row, Skip>> {
        if line.is_empty() {
            return None;
        }
        let Ok(line) = str::from_utf8(line) else { return Some(Err(Skip::BadRow)) };
        match self {
            Self::Zeek(zeek) => zeek.row(line),
            Self::Vpc(vpc) => vpc.row(line),
            Self::Json(json) => Some(json.row(line)),
            Self::Azure(_) | Self::CloudWatch(..) => None,
        }
    }
}

#[cfg(test)]
mod tests;
