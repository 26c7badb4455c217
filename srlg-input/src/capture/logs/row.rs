//! Rows of logs and the parsing of their fields.

use std::num::{NonZeroU8, NonZeroU64};

use crate::capture::csv::decimal_ns;
use crate::contact::{Contact, Host};
use crate::packet::Skip;

/// Exponents of the time units: 1 s = 10^9 ns, 1 ms = 10^6 ns.
const SECOND: usize = 9;
const MILLISECOND: usize = 6;

/// One or both directions of a conversation.
pub(super) struct Row {
    pub(super) first: Result<Contact, Skip>,
    pub(super) second: Option<Result<Contact, Skip>>,
}

/// Counts and properties of the packets that one host of a conversation sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderCounts {
    pub(super) packets: Option<u64>,
    pub(super) octets: Option<u64>,
    pub(super) tcp_flags: Option<u8>,
    /// Source port.
    pub(super) port: Option<u16>,
}

pub(super) struct Conversation {
    pub(super) last_ns: u64,
    pub(super) hosts: [Host; 2],
    pub(super) protocol: Option<u8>,
    /// Whether the first host started the conversation.
    pub(super) initiated: Option<bool>,
    /// Packets from the first host, and packets from the second host.
    pub(super) sent: [SenderCounts; 2],
}

impl Row {
    pub(super) fn one(contact: Contact, packets: Option<u64>, octets: Option<u64>) -> Self {
        Self { first: with_counts(contact, packets, octets), second: None }
    }
}

impl From<Conversation> for Row {
    fn from(conversation: Conversation) -> Self {
        let Conversation { last_ns, hosts: [one, other], protocol, initiated, sent } = conversation;
        // For ICMP, logs write the type and the code, or zeros, in place of ports.
        let has_ports = !matches!(protocol, Some(1 | 58));
        let direction = |source, destination, sent: SenderCounts, to: SenderCounts, initiated| {
            let mut contact = Contact::new(last_ns, source, destination);
            contact.protocol = protocol;
            contact.tcp_flags = sent.tcp_flags.and_then(NonZeroU8::new);
            contact.source_port = sent.port.filter(|_| has_ports);
            contact.destination_port = to.port.filter(|_| has_ports);
            contact.initiated = initiated;
            with_counts(contact, sent.packets, sent.octets)
        };
        let [there, back] = sent;
        let first = direction(one, other, there, back, initiated);
        let replied = initiated.map(|initiated| !initiated);
        // If the log does not state a reply, it is unknown whether there was one.
        let second = back.packets.map(|_| direction(other, one, back, there, replied));
        Self { first, second }
    }
}

fn with_counts(
    contact: Contact,
    packets: Option<u64>,
    octets: Option<u64>,
) -> Result<Contact, Skip> {
    if packets == Some(0) {
        return Err(Skip::NoPackets);
    }
    let [packets, octets] = [packets, octets].map(|count| count.and_then(NonZeroU64::new));
    Ok(Contact { packets, octets, ..contact })
}

/// Returns the IP protocol number for `name`, which is a number or a protocol name that logs use.
pub(crate) fn protocol(name: &str) -> Option<u8> {
    Some(match name.to_ascii_lowercase().as_str() {
        "icmp" => 1,
        "tcp" => 6,
        "udp" => 17,
        "gre" => 47,
        "esp" => 50,
        "ah" => 51,
        "icmp6" | "ipv6-icmp" | "icmpv6" => 58,
        "sctp" => 132,
        number => number.parse().ok()?,
    })
}

/// Parses a time into nanoseconds since the Unix epoch. `field` contains seconds since the epoch, or an ISO 8601 date
/// and time that has a UTC offset.
pub(crate) fn time_ns(field: &str) -> Result<u64, Skip> {
    match decimal_ns(field, SECOND) {
        Err(Skip::BadRow) => {
            let time: jiff::Timestamp = field.parse().map_err(|_| Skip::BadTime)?;
            u64::try_from(time.as_nanosecond()).map_err(|_| Skip::BadTime)
        }
        seconds => seconds,
    }
}

/// Parses a time as [`time_ns`] does. A number that is too large for seconds is in milliseconds.
pub(super) fn scaled_time_ns(field: &str) -> Result<u64, Skip> {
    match time_ns(field) {
        Err(Skip::BadTime) => decimal_ns(field, MILLISECOND).map_err(|_| Skip::BadTime),
        time => time,
    }
}

/// Adds `duration`, in seconds, to `start_ns`.
pub(super) fn after(start_ns: u64, duration: Option<&str>) -> Result<u64, Skip> {
    let Some(duration) = duration else { return Ok(start_ns) };
    let duration = decimal_ns(duration, SECOND).map_err(|_| Skip::BadTime)?;
    start_ns.checked_add(duration).ok_or(Skip::BadTime)
}

pub(super) fn number<T: std::str::FromStr>(field: Option<&str>) -> Result<Option<T>, Skip> {
    field.map(|field| field.parse().map_err(|_| Skip::BadRow)).transpose()
}
