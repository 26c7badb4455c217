//! Counters of datagrams, sets and records.

use std::fmt;
use std::ops::AddAssign;

use crate::packet::Skip;
use crate::reason::{reasons, write_counts};

reasons! {
    /// The reason why a datagram, set, record or direction does not yield a contact, or an anomaly in it.
    Reason {
        /// A datagram has an unknown version.
        Version = "version",
        /// A datagram is truncated: it ends before the sets, records or samples that it announces. Those that are
        /// complete are used.
        Cut = "cut",
        /// A datagram contains an invalid length or an invalid address type. After an invalid field length, the rest of
        /// the set is skipped. In all other cases, the rest of the datagram is skipped.
        Malformed = "malformed",
        /// A template is rejected, because it is invalid, has too many fields, or describes records that are empty or
        /// too long.
        BadTemplate = "bad-template",
        /// A template was dropped because its source had too many templates, or because templates needed too much
        /// memory.
        TemplateGone = "template-gone",
        /// An exporter or a source was dropped, because there were too many exporters or sources, or because templates
        /// needed too much memory. If an exporter is dropped, each of its sources is also counted.
        SourceGone = "source-gone",
        /// A data set is held until its template arrives.
        Held = "held",
        /// A data set was dropped before its template arrived, because newer sets needed the space, because sets of 64
        /// other templates of its datagram were already held, or because its session ended.
        Dropped = "dropped",
        /// A data set of more than 3 bytes does not contain any complete record of its template.
        Undecodable = "undecodable",
        /// A record describes the exporter and not a flow (options record).
        Options = "options",
        /// An sFlow sample is too short for its header, or one of its records exceeds the sample or is too short for its
        /// fields. The rest of the sample is skipped, but a packet that the records before describe is used.
        BadSample = "bad-sample",
        /// An sFlow sample reports a packet that the exporter discarded. Discarded packets do not yield contacts,
        /// because they have not reached their destination and are not sampled at a known rate.
        DiscardedPacket = "discarded-packet",
        /// An sFlow sample contains counters or unknown content.
        OtherSample = "other-sample",
        /// A record has neither addresses nor a sampled packet.
        NoHosts = "no-hosts",
        /// A record has an unspecified address (`0.0.0.0` or `::`), or only one address.
        ZeroHost = "zero-host",
        /// A sampled packet is not IP, or too little of it was captured.
        BadFrame = "bad-frame",
        /// The first bytes of a sampled packet end before the headers in its tunnel. Its inner hosts are not counted.
        CutTunnel = "cut-tunnel",
        /// A sampled packet is a fragment that does not contain the headers in its tunnel. Its inner hosts are not
        /// counted.
        TunnelFragment = "tunnel-fragment",
        /// A sampled packet is in a tunnel that does not carry a valid IP packet. The hosts of the tunnel are counted.
        TunnelContent = "tunnel-content",
        /// A sampled packet is in more than [`MOST_TUNNELS`](crate::packet::MOST_TUNNELS) nested tunnels. The hosts in
        /// the last tunnel that was entered are counted.
        DeepTunnel = "deep-tunnel",
        /// A flow, or one direction of it, has no packets.
        NoPackets = "no-packets",
        /// The export time of a datagram with records is more than an hour off. Unless times are trusted, its contacts
        /// get the time of receipt. With [`Timestamps::Received`](crate::flow::Timestamps::Received), this reason is
        /// not counted.
        BadClock = "bad-clock",
        /// A flow ended after its export. The export time is used.
        Future = "future",
        /// A flow ended before it started. The later of the two times is used.
        Reversed = "reversed",
        /// The sequence number of a datagram returns to a former run of numbers, as others did within five minutes.
        /// Several exporters share the address and the engine, source ID, observation domain or sub-agent. If they are
        /// behind NAT, [`DecoderOptions::by_port`](crate::flow::DecoderOptions::by_port) distinguishes them.
        SharedAddress = "shared-address",
    }
}

impl Reason {
    /// Returns the reason for a tunnel that was not entered.
    pub(crate) const fn of_tunnel(obstacle: Skip) -> Self {
        match obstacle {
            Skip::CutTunnel => Self::CutTunnel,
            Skip::TunnelFragment => Self::TunnelFragment,
            Skip::DeepTunnel => Self::DeepTunnel,
            _ => Self::TunnelContent,
        }
    }
}

/// Counters of decoded exports, for one exporter or for all exporters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Number of datagrams, including those that cannot be decoded.
    pub datagrams: u64,
    /// Number of flow records, options records and samples.
    pub records: u64,
    /// Number of contacts. A record may yield one contact for each direction, or two with `Tunnels::Both`.
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
