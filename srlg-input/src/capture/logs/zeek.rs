//! Zeek's conn.log, as JSON or as text with separated fields. In the text format, the header names the separator, which
//! is a tab by default.
//!
//! Fields are found by name. Zeek's own names and common replacements for them are accepted. In JSON, the hosts may be
//! in an object `id`, and times may be in milliseconds.
//!
//! Sources: docs.zeek.org, base/protocols/conn/main.zeek (fields), base/frameworks/logging (scope separator) and
//! base/init-bare.zeek (`JSON::TimestampFormat`).

use std::borrow::Cow;

use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, after, number, protocol, scaled_time_ns};
use crate::capture::csv::parse_host;
use crate::packet::Skip;

/// Accepted names of each field.
const NAMES: [&[&str]; 13] = [
    &["ts"],
    &["duration"],
    &["id.orig_h", "id_orig_h", "src", "orig_h"],
    &["id.resp_h", "id_resp_h", "dst", "resp_h"],
    &["id.orig_p", "id_orig_p", "src_port", "orig_p"],
    &["id.resp_p", "id_resp_p", "dst_port", "resp_p"],
    &["orig_pkts"],
    &["resp_pkts"],
    &["orig_ip_bytes"],
    &["resp_ip_bytes"],
    &["proto"],
    &["ip_proto"],
    &["history"],
];

/// A decoder of one log with separated fields.
pub(super) struct Zeek {
    separator: char,
    unset: String,
    /// Position in [`NAMES`] of each column that is used, or `None` before the header has been read.
    columns: Option<Vec<Option<usize>>>,
}

impl Default for Zeek {
    fn default() -> Self {
        Self { separator: '\t', unset: "-".to_owned(), columns: None }
    }
}

impl Zeek {
    pub(super) fn row(&mut self, line: &str) -> Option<Result<Row, Skip>> {
        if let Some(head) = line.strip_prefix('#') {
            self.parse_head(head);
            return None;
        }
        let Some(columns) = &self.columns else { return Some(Err(Skip::BadRow)) };
        let mut fields = [None; NAMES.len()];
        for (name, field) in columns.iter().zip(line.split(self.separator)) {
            if let Some(name) = *name {
                fields[name] = fields[name].or(Some(field).filter(|field| *field != self.unset));
            }
        }
        Some(row(fields))
    }

    /// Parses a header line without its `#`: either `separator \x09`, or a keyword and its values, each preceded by
    /// the separator.
    fn parse_head(&mut self, head: &str) {
        if let Some(separator) = head.strip_prefix("separator ") {
            let byte = separator.strip_prefix("\\x").map(|hex| u8::from_str_radix(hex, 16));
            let named = byte.and_then(Result::ok).map(char::from);
            self.separator = named.or(separator.chars().next()).unwrap_or('\t');
        }
        let mut fields = head.split(self.separator);
        match fields.next() {
            Some("unset_field") => self.unset = fields.next().unwrap_or("-").to_owned(),
            Some("fields") => {
                let name = |field| NAMES.iter().position(|names| names.contains(&field));
                self.columns = Some(fields.map(name).collect());
            }
            _ => {}
        }
    }
}

/// Names of fields with a host that only Zeek writes.
const HOSTS: [&str; 3] = ["id.orig_h", "id_orig_h", "orig_h"];

/// Returns whether `record` is a row of one of Zeek's logs. Writers of several logs add `_path`, the name of the log.
pub(super) fn is_row(record: &Value) -> bool {
    let has = |name: &str| record.get(name).is_some();
    let is_renamed = || has("uid") && has("src") && has("dst");
    let is_zeek = || HOSTS.into_iter().any(has) || record["id"].get("orig_h").is_some();
    has("ts") && (has("_path") || is_zeek() || is_renamed())
}

pub(super) fn json_row(record: &Value) -> Result<Row, Skip> {
    if record.get("_path").is_some_and(|path| path != "conn") {
        return Err(Skip::OtherLog);
    }
    let id = record.get("id");
    let texts = NAMES.map(|names| {
        let nested = || id?.get(names[0].strip_prefix("id.")?);
        let value = names.iter().find_map(|name| record.get(*name)).or_else(nested)?;
        match value {
            Value::String(text) => Some(Cow::Borrowed(text.as_str())),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    });
    row(texts.each_ref().map(Option::as_deref))
}

fn row(fields: [Option<&str>; NAMES.len()]) -> Result<Row, Skip> {
    let [start, duration, began, answered, from, to, rest @ ..] = fields;
    let [there, back, octets_there, octets_back, name, protocol_number, history] = rest;
    let hosts = [began, answered].map(|host| host.ok_or(Skip::NoHosts).and_then(parse_host));
    let hosts = [hosts[0]?, hosts[1]?];
    let last_ns = after(scaled_time_ns(start.ok_or(Skip::NoTime)?)?, duration)?;
    let protocol = protocol_number.or(name).and_then(protocol);
    let flags = |is_orig| history.filter(|_| protocol == Some(6)).map(|text| flags(text, is_orig));
    let sent = [
        SenderCounts {
            packets: number(there)?,
            octets: number(octets_there)?,
            tcp_flags: flags(true),
            port: number(from)?,
        },
        SenderCounts {
            packets: number(back)?,
            octets: number(octets_back)?,
            tcp_flags: flags(false),
            port: number(to)?,
        },
    ];
    Ok(Conversation { last_ns, hosts, protocol, initiated: Some(true), sent }.into())
}

/// Returns the TCP flags that `history` states for the originator or the responder. Upper-case letters belong to the
/// originator, lower-case letters to the responder.
fn flags(history: &str, is_originator: bool) -> u8 {
    let letters = history.bytes().filter(|byte| byte.is_ascii_uppercase() == is_originator);
    let flags = letters.map(|letter| match letter.to_ascii_uppercase() {
        b'S' => 0x02,
        b'H' => 0x12,
        // Data is sent only after a handshake, so its packets have an ACK.
        b'A' | b'D' => 0x10,
        b'F' => 0x11,
        b'R' => 0x04,
        _ => 0,
    });
    flags.fold(0, |all, flag| all | flag)
}
