//! What a packet comes to: a [`Contact`], or the reason why it is none.

use crate::counts::Skip;

/// One packet from one IPv4 host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contact {
    /// Nanoseconds since the Unix epoch (for CSV: since whatever its time column counts from).
    pub time_ns: u64,
    /// Sender, as [`std::net::Ipv4Addr::to_bits`] gives it.
    pub source: u32,
    /// Receiver, likewise.
    pub destination: u32,
}

/// Outcome of one packet.
pub(crate) type Packet = Result<Contact, Skip>;
