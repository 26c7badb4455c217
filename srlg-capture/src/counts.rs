//! What became of every packet of a capture.
//!
//! Shape: one total, one count of contacts, one count per [`Skip`] reason.
//! Invariant: `packets == contacts + sum of skips`; only [`Counts::record`] changes a count.

use std::fmt;
use std::ops::AddAssign;

/// Tells why a packet, or a CSV row, is no contact, or no datagram where those are asked for. The first reason that applies counts, in the
/// order: record (`NoInterface`, `NoTime`, `BadTime`), link type, headers from outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Skip {
    /// The frame carries no IP: ARP, LLC, a payload of MPLS that is neither IPv4 nor IPv6.
    NotIp,
    /// Frames of this link type cannot be taken apart.
    LinkType,
    /// Fewer bytes were captured than the headers up to and including the fixed one of IP need, 20
    /// bytes of IPv4 or 40 of IPv6. Options, extension headers and payload may be missing.
    CutHeader,
    /// A header lies: IP version other than announced, an IPv4 header length below 20 bytes or a
    /// total length below the header length, a pcapng packet larger than its block.
    BadHeader,
    /// The record has no time stamp: a pcapng simple packet block, a row of a log without one.
    NoTime,
    /// The time stamp is impossible: a fraction of a whole second or more, before 1970, or beyond
    /// the 64 bit of nanoseconds that end in the year 2554.
    BadTime,
    /// A pcapng packet names an interface that its section has not described, or one past the
    /// first 65,536.
    NoInterface,
    /// A CSV row that is not `time_ms,src,dst` or is longer than 1,024 bytes; a row of a log that cannot be read or is longer than
    /// 65,536 bytes.
    BadRow,
    /// No datagram, where datagrams are asked for: the packet carries another protocol than UDP.
    NotUdp,
    /// No whole datagram: a fragment of one.
    Fragment,
    /// No whole datagram: bytes of its payload were not captured.
    CutPayload,
    /// A direction of a logged conversation, or a flow, without packets.
    NoPackets,
    /// A row of a log that names no two hosts.
    NoHosts,
    /// A record of Suricata about something else than a flow.
    OtherEvent,
}

impl Skip {
    /// All reasons, in the order in which summaries list them.
    pub const ALL: [Self; 14] = [
        Self::NotIp,
        Self::LinkType,
        Self::CutHeader,
        Self::BadHeader,
        Self::NoTime,
        Self::BadTime,
        Self::NoInterface,
        Self::BadRow,
        Self::NotUdp,
        Self::Fragment,
        Self::CutPayload,
        Self::NoPackets,
        Self::NoHosts,
        Self::OtherEvent,
    ];

    /// Returns the name of the reason in summaries; stable between versions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIp => "not-ip",
            Self::LinkType => "link-type",
            Self::CutHeader => "cut-header",
            Self::BadHeader => "bad-header",
            Self::NoTime => "no-time",
            Self::BadTime => "bad-time",
            Self::NoInterface => "no-interface",
            Self::BadRow => "bad-row",
            Self::NotUdp => "not-udp",
            Self::Fragment => "fragment",
            Self::CutPayload => "cut-payload",
            Self::NoPackets => "no-packets",
            Self::NoHosts => "no-hosts",
            Self::OtherEvent => "other-event",
        }
    }
}

/// Tells how many packets a reader has seen so far, and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Whole frames, messages or rows, skipped ones included; blank lines are none. Each direction of a logged conversation is a row of its
    /// own.
    pub packets: u64,
    /// Packets that were delivered, as contacts or as datagrams.
    pub contacts: u64,
    skips: [u64; Skip::ALL.len()],
}

impl Counts {
    /// Returns the number of packets skipped for `reason`.
    pub fn skipped(&self, reason: Skip) -> u64 {
        self.skips[reason as usize]
    }

    /// Counts one packet and hands its outcome on.
    #[inline(always)]
    pub(crate) fn record<T>(&mut self, outcome: Result<T, Skip>) -> Option<T> {
        self.packets += 1;
        match &outcome {
            Ok(_) => self.contacts += 1,
            Err(reason) => self.skips[*reason as usize] += 1,
        }
        outcome.ok()
    }
}

/// Adds those of another reader.
impl AddAssign<&Self> for Counts {
    fn add_assign(&mut self, other: &Self) {
        self.packets += other.packets;
        self.contacts += other.contacts;
        for (count, more) in self.skips.iter_mut().zip(other.skips) {
            *count += more;
        }
    }
}

/// One line: totals, then the reasons that occurred.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, contacts, .. } = self;
        write!(f, "{packets} packets, {contacts} contacts, {} skipped", packets - contacts)?;
        let mut separator = " (";
        for reason in Skip::ALL.into_iter().filter(|reason| self.skipped(*reason) > 0) {
            write!(f, "{separator}{} {}", reason.name(), self.skipped(reason))?;
            separator = ", ";
        }
        if packets > contacts { f.write_str(")") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Skip};

    #[test]
    fn every_reason_has_its_own_count_and_name() {
        let mut counts = Counts::default();
        for (index, reason) in Skip::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index, "ALL is in the order of declaration");
            assert_eq!(counts.record::<()>(Err(reason)), None);
            assert_eq!(counts.skipped(reason), 1);
        }
        let mut names = Skip::ALL.map(Skip::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn summary_names_only_the_reasons_that_occurred() {
        let mut counts = Counts::default();
        counts.record(Ok(()));
        assert_eq!(counts.to_string(), "1 packets, 1 contacts, 0 skipped");
        counts.record::<()>(Err(Skip::CutHeader));
        counts.record::<()>(Err(Skip::NotIp));
        assert_eq!(counts.to_string(), "3 packets, 1 contacts, 2 skipped (not-ip 1, cut-header 1)");
    }
}
