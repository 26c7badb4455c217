//! What a packet comes to as decoders hand it on: a contact, or the reason why it is none.

use srlg_contact::{Contact, Host};

use crate::counts::Skip;

/// A contact as decoders hand it on: the hosts as numbers, as an [`IpAddr`](std::net::IpAddr) is written in
/// pieces of 1, 4 and 8 bytes, and whoever copies it waits until they have been stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) time_ns: u64,
    /// Sender and receiver.
    pub(crate) hosts: (Host, Host),
}

impl From<Seen> for Contact {
    #[inline]
    fn from(seen: Seen) -> Self {
        let Seen { time_ns, hosts: (source, destination) } = seen;
        Self::of(time_ns, source, destination)
    }
}

/// Outcome of one packet.
pub(crate) type Packet = Result<Seen, Skip>;
