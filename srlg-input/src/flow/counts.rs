//! What became of datagrams, sets and records.
//!
//! Shape: three totals, one count per [`Reason`].
//! Invariant: counts only grow, and nothing is left out without a reason.

use std::fmt;
use std::ops::AddAssign;

/// Tells why a datagram, a set, a record or a direction of one is no contact, or what was odd about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A datagram of no known version.
    Version,
    /// A datagram that ends too early or whose lengths lie; what comes after that place is not read. Where the length of a field
    /// lies it is the rest of its set.
    Malformed,
    /// A template that is refused: too many fields, records too long or of no length.
    BadTemplate,
    /// A template that was forgotten, as there were too many of its source.
    TemplateGone,
    /// An exporter or a source that was forgotten, as there were too many; counted of all alone.
    SourceGone,
    /// A data set that waits for its template.
    Held,
    /// A data set whose template did not come before others took its place.
    Dropped,
    /// A data set of more than 3 bytes that yields no record by its template.
    Undecodable,
    /// A record about the exporter.
    Options,
    /// A sample of counters, of dropped packets, or of no known kind.
    OtherSample,
    /// A record that names no two hosts.
    NoHosts,
    /// A record one of whose addresses is zero.
    ZeroHost,
    /// A sampled packet that is not IP, or of which too little was kept.
    BadFrame,
    /// A flow, or a direction of one, without packets.
    NoPackets,
    /// A flow that ended after it was exported; its time is that of the export.
    Future,
    /// A flow that ended before it began; its time is the later.
    Reversed,
}

impl Reason {
    /// All reasons, in the order in which summaries list them.
    pub const ALL: [Self; 16] = [
        Self::Version,
        Self::Malformed,
        Self::BadTemplate,
        Self::TemplateGone,
        Self::SourceGone,
        Self::Held,
        Self::Dropped,
        Self::Undecodable,
        Self::Options,
        Self::OtherSample,
        Self::NoHosts,
        Self::ZeroHost,
        Self::BadFrame,
        Self::NoPackets,
        Self::Future,
        Self::Reversed,
    ];

    /// Returns the name of the reason in summaries; stable between versions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Malformed => "malformed",
            Self::BadTemplate => "bad-template",
            Self::TemplateGone => "template-gone",
            Self::SourceGone => "source-gone",
            Self::Held => "held",
            Self::Dropped => "dropped",
            Self::Undecodable => "undecodable",
            Self::Options => "options",
            Self::OtherSample => "other-sample",
            Self::NoHosts => "no-hosts",
            Self::ZeroHost => "zero-host",
            Self::BadFrame => "bad-frame",
            Self::NoPackets => "no-packets",
            Self::Future => "future",
            Self::Reversed => "reversed",
        }
    }
}

/// Counts what was decoded, of one exporter or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Payloads that were given, of any kind.
    pub datagrams: u64,
    /// Flow records, options records and samples.
    pub records: u64,
    /// Contacts that were handed on; a record may yield two, one for each direction.
    pub contacts: u64,
    reasons: [u64; Reason::ALL.len()],
}

impl Counts {
    /// Returns how often `reason` occurred.
    pub fn of(&self, reason: Reason) -> u64 {
        self.reasons[reason as usize]
    }

    pub(crate) fn add(&mut self, reason: Reason) {
        self.reasons[reason as usize] += 1;
    }
}

/// Adds those of another exporter, or of another decoder.
impl AddAssign<&Self> for Counts {
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
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { datagrams, records, contacts, .. } = self;
        write!(f, "{datagrams} datagrams, {records} records, {contacts} contacts")?;
        let mut separator = " (";
        for reason in Reason::ALL.into_iter().filter(|reason| self.of(*reason) > 0) {
            write!(f, "{separator}{} {}", reason.name(), self.of(reason))?;
            separator = ", ";
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Reason};

    #[test]
    fn every_reason_has_its_own_count_and_name() {
        let mut counts = Counts::default();
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index, "ALL is in the order of declaration");
            counts.add(reason);
            assert_eq!(counts.of(reason), 1);
        }
        let mut names = Reason::ALL.map(Reason::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn summary_names_only_the_reasons_that_occurred() {
        let mut counts = Counts { datagrams: 1, records: 3, contacts: 2, ..Counts::default() };
        let first = counts.to_string();
        counts.add(Reason::Future);
        counts.add(Reason::NoPackets);
        insta::assert_snapshot!(format!("{first}\n{counts}"));
    }
}
