//! The warning about an input in which no contacts were found, or only a few.

use crate::capture::PacketCounts;
#[cfg(feature = "flow")]
use crate::flow::{FlowCounts, Reason};
use crate::packet::Skip;
use crate::status::Status;

/// An input in which less than a tenth of what was read yields contacts.
pub(crate) struct Shortfall {
    /// Whether there are no contacts at all.
    is_total: bool,
    counts: String,
    remedy: Option<&'static str>,
}

impl Shortfall {
    /// Returns the shortfall of an input, or `None` if enough of it was read, or if it was empty.
    pub(crate) fn of(status: &Status) -> Option<Self> {
        #[cfg(feature = "flow")]
        if let Some(flows) = status.flows.as_ref().filter(|flows| flows.datagrams > 0) {
            // Options and counters are part of every export.
            let others = flows.of(Reason::Options) + flows.of(Reason::OtherSample);
            let records = flows.records.saturating_sub(others).max(u64::from(flows.contacts == 0));
            return Self::new(records, flows.contacts, flows.to_string(), || {
                remedy_of_flows(flows)
            });
        }
        let packets = status.packets.as_ref()?;
        // Most events of Suricata are not flows.
        let others = packets.skipped(Skip::OtherEvent);
        let read = if packets.contacts == 0 {
            packets.packets
        } else {
            packets.packets.saturating_sub(others)
        };
        Self::new(read, packets.contacts, packets.to_string(), || remedy_of_packets(packets))
    }

    fn new(
        read: u64,
        contacts: u64,
        counts: String,
        remedy: impl FnOnce() -> Option<&'static str>,
    ) -> Option<Self> {
        let is_short = contacts.saturating_mul(10) < read;
        is_short.then(|| Self { is_total: contacts == 0, counts, remedy: remedy() })
    }

    /// Returns the text of the warning, with the counters and a remedy.
    pub(crate) fn warning(&self) -> String {
        let Self { is_total, counts, remedy } = self;
        let found = if *is_total {
            "no contacts found"
        } else {
            "less than a tenth of the input yields contacts"
        };
        match remedy {
            Some(remedy) => format!("{found}: {counts}; {remedy}"),
            None => format!("{found}: {counts}"),
        }
    }
}

impl Status {
    /// Returns whether packets, rows or datagrams were read, but none of them yields a contact.
    #[must_use]
    pub fn is_without_contacts(&self) -> bool {
        Shortfall::of(self).is_some_and(|shortfall| shortfall.is_total)
    }
}

/// Returns the remedy for the most frequent reason of the skips.
fn remedy_of_packets(counts: &PacketCounts) -> Option<&'static str> {
    match Skip::ALL.into_iter().max_by_key(|reason| counts.skipped(*reason))? {
        Skip::LinkType => Some("docs/inputs.md lists the supported link types"),
        Skip::Encrypted => Some("capture where the frames are not encrypted"),
        Skip::CutHeader | Skip::CutTunnel | Skip::CutPayload => {
            Some("capture with a larger snap length")
        }
        Skip::TunnelFragment => Some("use --tunnels outer to count the tunnel endpoints"),
        Skip::NotUdp | Skip::Fragment => Some("omit --exports to count the packets themselves"),
        Skip::BadRow | Skip::NoHosts | Skip::BadTime | Skip::NoTime => {
            Some("docs/inputs.md lists the supported formats")
        }
        _ => None,
    }
}

#[cfg(feature = "flow")]
fn remedy_of_flows(counts: &FlowCounts) -> Option<&'static str> {
    match Reason::ALL.into_iter().max_by_key(|reason| counts.of(*reason)) {
        Some(Reason::Version) if counts.of(Reason::Version) > 0 => {
            Some("omit --exports to count the packets themselves")
        }
        Some(Reason::CutTunnel) if counts.of(Reason::CutTunnel) > 0 => {
            Some("configure the exporters to sample more bytes of each packet")
        }
        Some(Reason::Held | Reason::Dropped) if counts.of(Reason::Held) > 0 => {
            Some("start the capture earlier, so that it contains the templates")
        }
        _ => None,
    }
}
