//! How messages are addressed and named.
//!
//! Shape: subjects, header names, [`message_id`], [`Part`]. Invariant: names of probes are
//! [checked](check_name) before they become part of a subject or of a file's name.

use std::fmt;
use std::str::FromStr;

/// The stream that keeps deltas: file storage, subjects [`ALL_DELTAS`].
pub const STREAM: &str = "SRLG";

/// Subjects of all deltas.
pub const ALL_DELTAS: &str = "srlg.delta.*";

/// Header of a delta: which part of its slice it is, as [`Part`] writes it.
pub const PART_HEADER: &str = "Srlg-Part";

/// Header of a delta: how the contacts of its slice were sampled, as JSON of [`Sampling`](srlg_input::contact::Sampling);
/// absent where no exporter told of any.
pub const SAMPLING_HEADER: &str = "Srlg-Sampling";

/// What the collector tells probes in place of a slice: the broker has lost messages, so send again what is not
/// on my disk. Who misses it connects anew, and then does so anyway.
pub const AGAIN: &str = "again";

/// The collector's name, as user of the broker; no probe may have it.
pub const COLLECTOR: &str = "collector";

/// Longest name of a probe, in bytes.
pub const LONGEST_NAME: usize = 32;

/// Where `probe` publishes its deltas, those of all views together. The payload is that of [`payload`](super::payload);
/// headers are `Nats-Msg-Id` ([`message_id`]), [`PART_HEADER`] and [`SAMPLING_HEADER`].
#[must_use]
pub fn delta(probe: &str) -> String {
    format!("srlg.delta.{probe}")
}

/// Where the collector tells `probe` what need not be kept any longer: a version and a slice's number, as in
/// `1-5f3a9c01 1789000000`.
/// Everything of this probe up to that slice is in a checkpoint on disk. Or [`AGAIN`].
///
/// Core NATS, no stream: who is away misses it. So the collector says it again every few seconds.
#[must_use]
pub fn durable(probe: &str) -> String {
    format!("srlg.durable.{probe}")
}

/// Where the collector publishes its watch list, to all probes.
pub const WATCHLIST: &str = "srlg.watchlist";

/// Subjects of all reports.
pub const ALL_REPORTS: &str = "srlg.report.*";

/// Where `probe` publishes a report after each slice. Core NATS, no stream: the next
/// report says the same or more.
#[must_use]
pub fn report(probe: &str) -> String {
    format!("srlg.report.{probe}")
}

/// The probe that publishes to `subject`, if it is a subject of deltas or of reports.
#[must_use]
pub fn probe_of(subject: &str) -> Option<&str> {
    let name = subject.strip_prefix("srlg.delta.").or_else(|| subject.strip_prefix("srlg.report."));
    name.filter(|name| check_name(name).is_ok())
}

/// Prefix of the inboxes of `client`: nobody else may listen there.
#[must_use]
pub fn inbox_prefix(client: &str) -> String {
    format!("_INBOX_{client}")
}

/// Names a message, the same whenever it is sent: the broker drops recent repetitions, of whatever probe. The
/// checksum of the payload is part of it, so that nothing is dropped for another message's sake: for that of another
/// probe under this one's name, or of the same slice measured once more.
#[must_use]
pub fn message_id(probe: &str, slice: u64, part: Part, payload: &[u8]) -> String {
    // A delta ends with its own checksum, with which that of the whole would be the same for all.
    let body = payload.len().saturating_sub(4);
    format!("{probe}/{slice}/{}/{:08x}", part.number, crc32fast::hash(&payload[..body]))
}

/// One of the parts of a whole, as `NUMBER/COUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// From 1 to `count`.
    pub number: u32,
    /// How many parts the whole has; at least 1.
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
        parse().ok_or("give I/N, such as 1/3, with I from 1 to N")
    }
}

/// A name that no probe can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no name of a probe: give 1 to {LONGEST_NAME} of a-z, 0-9 and -, a letter or digit first, and not {COLLECTOR:?}"
)]
pub struct BadName {
    name: String,
}

/// Checks that `name` may be part of a subject and of a file's name.
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
        assert_eq!(probe_of("srlg.delta.a"), Some("a"));
        assert_eq!([delta("a-7"), report("a-7")].map(|it| probe_of(&it) == Some("a-7")), [true; 2]);
        for other in ["srlg.delta.", "srlg.delta.*", "srlg.delta.a.b", "srlg.durable.a", "a"] {
            assert_eq!(probe_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_message_has_the_same_name_whenever_it_is_sent_and_no_other_message_has_it() {
        let part = Part { number: 2, count: 3 };
        // The checksum of "123456789" that every CRC-32 of Ethernet is told by.
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
