//! What became of datagrams, sets and records.

use std::fmt;
use std::ops::AddAssign;

use crate::reason::{reasons, write_counts};

reasons! {
    /// Tells why a datagram, a set, a record or a direction of one is no contact, or what was odd about it.
    Reason {
        /// A datagram of no known version.
        Version = "version",
        /// A datagram that ends too early or whose lengths lie; what comes after that place is not read. Where the length of a field
        /// lies it is the rest of its set.
        Malformed = "malformed",
        /// A template that is refused: too many fields, records too long or of no length.
        BadTemplate = "bad-template",
        /// A template that was forgotten, as there were too many of its source.
        TemplateGone = "template-gone",
        /// An exporter or a source that was forgotten, as there were too many. A source counts for its exporter as well.
        SourceGone = "source-gone",
        /// A data set that waits for its template.
        Held = "held",
        /// A data set whose template did not come before others took its place, or before which 64 of its datagram wait already.
        Dropped = "dropped",
        /// A data set of more than 3 bytes that yields no record by its template.
        Undecodable = "undecodable",
        /// A record about the exporter.
        Options = "options",
        /// A sample of counters, of dropped packets, or of no known kind.
        OtherSample = "other-sample",
        /// A record that names no two hosts.
        NoHosts = "no-hosts",
        /// A record one of whose addresses is zero.
        ZeroHost = "zero-host",
        /// A sampled packet that is not IP, or of which too little was kept.
        BadFrame = "bad-frame",
        /// A flow, or a direction of one, without packets.
        NoPackets = "no-packets",
        /// A datagram with records whose time of export is more than an hour off. Unless times are trusted, its contacts have the
        /// time at which it came. It is not counted where contacts have this time anyway.
        BadClock = "bad-clock",
        /// A flow that ended after it was exported; its time is that of the export.
        Future = "future",
        /// A flow that ended before it began; its time is the later.
        Reversed = "reversed",
    }
}

/// Counts what was decoded, of one exporter or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Payloads that were given, of any kind.
    pub datagrams: u64,
    /// Flow records, options records and samples.
    pub records: u64,
    /// Contacts that were handed on; a record may yield two, one for each direction.
    pub contacts: u64,
    reasons: [u64; Reason::ALL.len()],
}

impl FlowCounts {
    /// Returns how often `reason` occurred.
    pub fn of(&self, reason: Reason) -> u64 {
        self.reasons[reason as usize]
    }

    pub(crate) fn add(&mut self, reason: Reason) {
        self.reasons[reason as usize] += 1;
    }
}

/// Adds those of another exporter, or of another decoder.
impl AddAssign<&Self> for FlowCounts {
    fn add_assign(&mut self, other: &Self) {
        self.datagrams += other.datagrams;
        self.records += other.records;
        self.contacts += other.contacts;
        for (count, more) in self.reasons.iter_mut().zip(other.reasons) {
            *count += more;
        }
    }
}

/// One line: totals, then the reasons that occurred.
impl fmt::Display for FlowCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { datagrams, records, contacts, .. } = self;
        write!(f, "{datagrams} datagrams, {records} records, {contacts} contacts")?;
        write_counts(f, Reason::ALL.map(|reason| (reason.name(), self.of(reason))))
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowCounts, Reason};

    #[test]
    fn every_reason_has_its_own_count_and_name() {
        let mut counts = FlowCounts::default();
        for reason in Reason::ALL {
            counts.add(reason);
            assert_eq!(counts.of(reason), 1);
        }
        let mut names = Reason::ALL.map(Reason::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn summary_names_only_the_reasons_that_occurred() {
        let mut counts =
            FlowCounts { datagrams: 1, records: 3, contacts: 2, ..FlowCounts::default() };
        let first = counts.to_string();
        counts.add(Reason::Future);
        counts.add(Reason::NoPackets);
        insta::assert_snapshot!(format!("{first}\n{counts}"));
    }
}
