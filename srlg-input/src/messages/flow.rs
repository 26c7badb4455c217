//! The message fields that form a contact.

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use serde::Deserialize;

use crate::contact::Host;
use crate::flow::{Details, Reason};
use crate::messages::json;

/// The message fields that form a contact. The number 0 means that a value is unknown. The names of JSON fields are
/// those of goflow2 or of a plain contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Flow {
    #[serde(rename = "src_addr", alias = "source", deserialize_with = "json::host")]
    pub(super) source: Option<Host>,
    #[serde(rename = "dst_addr", alias = "destination", deserialize_with = "json::host")]
    pub(super) destination: Option<Host>,
    #[serde(rename = "sampler_address", alias = "exporter", deserialize_with = "json::host")]
    pub(super) exporter: Option<Host>,
    #[serde(rename = "sampling_rate", alias = "sampling", deserialize_with = "json::number")]
    pub(super) sampling: u64,
    #[serde(rename = "time_received_ns", alias = "time_ns", deserialize_with = "json::number")]
    pub(super) received_ns: u64,
    /// Time of a plain contact, in nanoseconds since the Unix epoch.
    #[serde(rename = "time", deserialize_with = "json::time_ns")]
    pub(super) time_ns: u64,
    #[serde(rename = "time_flow_end_ns", deserialize_with = "json::number")]
    pub(super) end_ns: u64,
    #[serde(deserialize_with = "json::number")]
    pub(super) packets: u64,
    #[serde(rename = "bytes", deserialize_with = "json::number")]
    pub(super) octets: u64,
    #[serde(rename = "proto", alias = "protocol", deserialize_with = "json::protocol")]
    pub(super) protocol: u64,
    #[serde(rename = "src_port", alias = "source_port", deserialize_with = "json::number")]
    pub(super) source_port: u64,
    #[serde(rename = "dst_port", alias = "destination_port", deserialize_with = "json::number")]
    pub(super) destination_port: u64,
    #[serde(deserialize_with = "json::number")]
    pub(super) tcp_flags: u64,
    #[serde(rename = "in_if", alias = "ingress", deserialize_with = "json::number")]
    pub(super) ingress: u64,
    pub(super) initiated: Option<bool>,
}

/// An error for a message or line that does not have the expected format or contains invalid addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Flow {
    /// Parses a JSON object.
    pub(super) fn of_json(line: &[u8]) -> Result<Self, Malformed> {
        // The parser would also accept an array with the fields in the order of their declaration.
        if !line.starts_with(b"{") {
            return Err(Malformed);
        }
        serde_json::from_slice(line).map_err(|_| Malformed)
    }

    /// Returns the time of receipt, or the time of a plain contact. Returns `None` if the message states neither.
    #[inline(always)]
    pub(super) fn received_ns(&self) -> Option<u64> {
        [self.received_ns, self.time_ns].into_iter().find(|ns| *ns > 0)
    }

    #[inline(always)]
    pub(super) fn hosts(&self) -> Result<[Host; 2], Reason> {
        let (Some(source), Some(destination)) = (self.source, self.destination) else {
            return Err(Reason::NoHosts);
        };
        let is_zero = |host: Host| host == Host::v4(0) || host == Host::v6(0);
        let has_zero = is_zero(source) || is_zero(destination);
        if has_zero { Err(Reason::ZeroHost) } else { Ok([source, destination]) }
    }

    /// Returns the details of the contact. Zero means unknown, because senders omit fields that are zero.
    #[inline(always)]
    pub(super) fn details(&self) -> Details {
        let known = |value: u64| Some(value).filter(|value| *value > 0);
        Details {
            packets: NonZeroU64::new(self.packets),
            octets: NonZeroU64::new(self.octets),
            protocol: known(self.protocol).and_then(|it| it.try_into().ok()),
            // Only the lower eight flags are used.
            tcp_flags: NonZeroU8::new(self.tcp_flags as u8),
            source_port: known(self.source_port).and_then(|it| it.try_into().ok()),
            destination_port: known(self.destination_port).and_then(|it| it.try_into().ok()),
            icmp_type: None,
            initiated: self.initiated,
            sampling: narrow(self.sampling),
            ingress: narrow(self.ingress),
        }
    }
}

fn narrow(value: u64) -> Option<NonZeroU32> {
    u32::try_from(value).ok().and_then(NonZeroU32::new)
}
