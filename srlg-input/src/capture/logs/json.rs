//! JSON lines: logs with one object per line. The first line of a known log decides which log it is.

use serde_json::Value;

use super::row::Row;
use super::{ecs, eve, gcp, hubble, oci, zeek};
use crate::capture::error::CaptureError;
use crate::packet::Skip;

/// Number of rows after which a log is rejected if none of them is of a known log.
const MOST_UNKNOWN: u64 = 100;

/// A decoder of JSON lines.
#[derive(Default)]
pub(super) struct Json {
    log: Option<Log>,
    /// Number of rows before the first row of a known log.
    unknown: u64,
}

/// A log that consists of JSON lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    Suricata,
    Zeek,
    Gcp,
    Oci,
    Hubble,
    Elastic,
}

impl Json {
    pub(super) fn row(&mut self, line: &str) -> Result<Row, Skip> {
        let record = serde_json::from_str(line).map_err(|_| Skip::BadRow)?;
        self.log = self.log.or_else(|| Log::of(&record));
        let log = self.log.ok_or(Skip::OtherLog)?;
        log.row(&record).map_err(|reason| match Log::of(&record) {
            Some(other) if other != log => Skip::OtherLog,
            _ => reason,
        })
    }

    /// Counts the row `is_row`, or the end of the log, while the log is unknown. Returns an error if the log has been
    /// unknown for too long.
    pub(super) fn check(&mut self, is_row: bool) -> Result<(), CaptureError> {
        if self.log.is_some() {
            return Ok(());
        }
        self.unknown += u64::from(is_row);
        let is_enough = if is_row { self.unknown == MOST_UNKNOWN } else { self.unknown > 0 };
        if is_enough { Err(CaptureError::UnknownJson { rows: self.unknown }) } else { Ok(()) }
    }
}

impl Log {
    /// Returns the log that a record with such fields belongs to.
    fn of(record: &Value) -> Option<Self> {
        if record["event_type"].is_string() {
            return Some(Self::Suricata);
        }
        if zeek::is_row(record) {
            return Some(Self::Zeek);
        }
        if gcp::record(record).is_some() {
            return Some(Self::Gcp);
        }
        if oci::record(record).is_some() {
            return Some(Self::Oci);
        }
        if hubble::flow(record).is_some() {
            return Some(Self::Hubble);
        }
        ecs::event(record).map(|_| Self::Elastic)
    }

    fn row(self, record: &Value) -> Result<Row, Skip> {
        match self {
            Self::Suricata => eve::row(record),
            Self::Zeek => zeek::json_row(record),
            Self::Gcp => gcp::row(record),
            Self::Oci => oci::row(record),
            Self::Hubble => hubble::row(record),
            Self::Elastic => ecs::row(record),
        }
    }
}
