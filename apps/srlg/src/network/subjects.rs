//! Subjects, headers and IDs of messages on the broker.
//!
//! Invariant: the names of probes are [checked](check_name) before they become part of a subject or of a file name.

use std::fmt;
use std::str::FromStr;

/// Name of the stream that stores slices in files. The stream receives all messages on [`ALL_SLICES`].
pub const STREAM: &str = "SRLG";

/// Wildcard subject that matches the slices of all probes.
pub const ALL_SLICES: &str = "srlg.slice.*";

/// Header that contains the number of the part and the total number of parts, in the format of [`Part`].
pub const PART_HEADER: &str = "Srlg-Part";

/// Header that describes the sampling of all contacts in a slice, including late contacts. Its value is a
/// [`Sampling`](srlg_input::contact::Sampling) as JSON. The header is absent if no exporter reported any contact.
pub const SAMPLING_HEADER: &str = "Srlg-Sampling";

/// Message that the collector sends instead of a slice number after the broker has lost messages. The message requests
/// all slices that are not durable. A disconnected probe misses the message, but sends these slices again when it
/// reconnects.
pub const AGAIN: &str = "again";

/// Name of the collector as a user of the broker. A probe must not have this name.
pub const COLLECTOR: &str = "collector";

/// Maximum length of a probe name, in bytes.
pub const LONGEST_NAME: usize = 32;

/// Returns the subject to which `probe` publishes the slices of all views. The module `payload` defines the
/// payload. The headers are `Nats-Msg-Id` ([`message_id`]), [`PART_HEADER`] and [`SAMPLING_HEADER`].
#[must_use]
pub fn slice(probe: &str) -> String {
    format!("srlg.slice.{probe}")
}

/// Returns the subject on which the collector reports durable slices to `probe`. A message is [`AGAIN`], or a network
/// version and a slice number, such as `1-5f3a9c01 1789000000`. The slice number means that all slices of the probe up
/// to that one are in a checkpoint on disk.
///
/// The subject uses core NATS without a stream, so a disconnected probe misses messages. Therefore, the collector
/// repeats the number of the last durable slice every few seconds.
#[must_use]
pub fn durable(probe: &str) -> String {
    format!("srlg.durable.{probe}")
}

/// Subject on which the collector publishes its watch list to all probes.
pub const WATCHLIST: &str = "srlg.watchlist";

/// Wildcard subject that matches the reports of all probes.
pub const ALL_REPORTS: &str = "srlg.report.*";

/// Returns the subject to which `probe` publishes reports after each slice. The subject uses core NATS without a
/// stream, because the reports about a slice replace those about the previous slice.
#[must_use]
pub fn report(probe: &str) -> String {
    format!("srlg.report.{probe}")
}

/// Returns the name of the probe that publishes slices or reports to `subject`, or `None` for any other subject.
#[must_use]
pub fn probe_of(subject: &str) -> Option<&str> {
    let name = subject.strip_prefix("srlg.slice.").or_else(|| subject.strip_prefix("srlg.report."));
    name.filter(|name| check_name(name).is_ok())
}

/// Returns the prefix of the inboxes of `client`, to which no other client may subscribe.
#[must_use]
pub fn inbox_prefix(client: &str) -> String {
    format!("_INBOX_{client}")
}

/// Returns the ID of a message. The ID is the same each time the message is sent, so the broker drops recent
/// duplicates. The ID contains a checksum of the payload, so a different payload for the same slice is not dropped. The
/// payloads for a slice can differ if two probes have the same name, or if a probe counted the slice twice.
#[must_use]
pub fn message_id(probe: &str, slice: u64, part: Part, payload: &[u8]) -> String {
    // A state ends with its own CRC, and the CRC over both would be the same for all states.
    let body = payload.len().saturating_sub(4);
    format!("{probe}/{slice}/{}/{:08x}", part.number, crc32fast::hash(&payload[..body]))
}

/// The number of a part and the total number of parts, written as `NUMBER/COUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Number of the part, from 1 to `count`.
    pub number: u32,
    /// Total number of parts, at least 1.
    pub count: u32,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Part {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (number, count) = text.split_once('/')?;
            let part = Self { number: number.parse().ok()?, count: count.parse().ok()? };
            (1..=part.count).contains(&part.number).then_some(part)
        };
        parse().ok_or("must be NUMBER/COUNT with NUMBER from 1 to COUNT, such as 1/3")
    }
}

/// The error that is returned for an invalid probe name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "probe name: must be 1 to {LONGEST_NAME} of a-z, 0-9 and -, start with a letter or digit, and not be {COLLECTOR:?}, got {name:?}"
)]
pub struct BadName {
    name: String,
}

/// Checks that `name` is a valid probe name, so that it is safe in subjects and file names.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let good = name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.len() <= LONGEST_NAME
        && name != COLLECTOR;
    if good { Ok(()) } else { Err(BadName { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_to_the_broker_or_to_a_file_system_are_refused() {
        let long = "a".repeat(33);
        let refused = ["", "*", ">", "a.b", "a b", "../a", "A", "-a", "a/b", "ä", COLLECTOR, &long];
        assert_eq!(refused.map(|name| check_name(name).is_ok()), [false; 12]);
        assert_eq!(["a", "router-7", &long[1..]].map(check_name), [const { Ok(()) }; 3]);
    }

    #[test]
    fn a_subject_names_its_probe() {
        assert_eq!(probe_of("srlg.slice.a"), Some("a"));
        assert_eq!([slice("a-7"), report("a-7")].map(|it| probe_of(&it) == Some("a-7")), [true; 2]);
        for other in ["srlg.slice.", "srlg.slice.*", "srlg.slice.a.b", "srlg.durable.a", "a"] {
            assert_eq!(probe_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_message_has_the_same_name_whenever_it_is_sent_and_no_other_message_has_it() {
        let part = Part { number: 2, count: 3 };
        // The check value of CRC-32 is its value for "123456789".
        assert_eq!(message_id("a", 17, part, b"123456789...."), "a/17/2/cbf43926");
        let name = |payload: &[u8]| message_id("a", 17, part, payload);
        assert_ne!(name(b"123456789...."), name(b"123456780...."));
    }

    #[test]
    fn parts_read_as_they_are_written_and_nonsense_is_refused() {
        assert_eq!(Part { number: 2, count: 3 }.to_string(), "2/3");
        assert_eq!("2/3".parse(), Ok(Part { number: 2, count: 3 }));
        for text in
            ["", "1", "0/1", "0/3", "2/1", "4/3", "1/0", "-1/2", "1/2/3", "a/b", "1/99999999999"]
        {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }
}
