//! Counters of datagrams, sets and records.

use std::fmt;
use std::ops::AddAssign;

use crate::reason::{reasons, write_counts};

reasons! {
    /// The reason why a datagram, set, record or direction is not a contact, or an anomaly in it.
    Reason {
        /// A datagram has an unknown version.
        Version = "version",
        /// A datagram is too short or contains an invalid length. The rest of the datagram is not read. After an
        /// invalid field length, only the rest of the set is skipped.
        Malformed = "malformed",
        /// A template is rejected, because it has too many fields, or because its records are too long or have length
        /// 0.
        BadTemplate = "bad-template",
        /// A template was dropped because its source had too many templates.
        TemplateGone = "template-gone",
        /// An exporter or a source was dropped because there were too many. A dropped source also counts for its
        /// exporter.
        SourceGone = "source-gone",
        /// A data set is held until its template arrives.
        Held = "held",
        /// A data set was dropped before its template arrived, because newer sets needed the space, or because 64 sets
        /// of its datagram were already held.
        Dropped = "dropped",
        /// A data set of more than 3 bytes does not contain any complete record of its template.
        Undecodable = "undecodable",
        /// An options record, which describes the exporter.
        Options = "options",
        /// An sFlow sample contains counters, dropped packets or unknown content.
        OtherSample = "other-sample",
        /// A record does not name two hosts.
        NoHosts = "no-hosts",
        /// A record has an address of zero.
        ZeroHost = "zero-host",
        /// A sampled packet is not IP, or too little of it was captured.
        BadFrame = "bad-frame",
        /// A flow, or one direction of it, has no packets.
        NoPackets = "no-packets",
        /// A datagram with records has an export time that is more than an hour off. Unless times are trusted, its
        /// contacts get the time of receipt. This is not counted if all contacts get the time of receipt.
        BadClock = "bad-clock",
        /// A flow ended after its export. The export time is used.
        Future = "future",
        /// A flow ended before it started. The later time is used.
        Reversed = "reversed",
    }
}

/// Counters of decoded exports, for one exporter or for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Number of payloads, of any kind.
    pub datagrams: u64,
    /// Number of flow records, options records and samples.
    pub records: u64,
    /// Number of contacts. A record may yield a contact for each direction.
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

/// Adds the counters of another exporter or decoder.
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

/// Writes one line: the totals, then the reasons that occurred.
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
