//! A packet as decoders of captures hand it on: when, and the headers in it.

use crate::contact::{Contact, Host};

use crate::packet::Skip;
use crate::packet::ip::Headers;
use crate::packet::transport::Transport;

/// What a decoder makes of one packet's time, in nanoseconds since the Unix epoch, and headers.
pub(crate) trait See<T>: FnOnce(u64, Headers<'_>) -> Result<T, Skip> {}

impl<T, F: FnOnce(u64, Headers<'_>) -> Result<T, Skip>> See<T> for F {}

/// A contact as decoders hand it on: the hosts as numbers, as an [`IpAddr`](std::net::IpAddr) is written in
/// pieces of 1, 4 and 8 bytes, and whoever copies it waits until they have been stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawContact {
    pub(crate) time_ns: u64,
    /// Sender and receiver.
    pub(crate) hosts: (Host, Host),
    /// Of a packet; a row of a list is none.
    pub(crate) packet: Option<Transport>,
}

impl RawContact {
    /// The contact of a packet.
    #[inline(always)]
    pub(crate) fn packet(time_ns: u64, headers: Headers<'_>) -> Result<Self, Skip> {
        let hosts = (headers.source, headers.destination);
        Ok(Self { time_ns, hosts, packet: Some(headers.transport()) })
    }
}

impl From<RawContact> for Contact {
    #[inline(always)]
    fn from(seen: RawContact) -> Self {
        let RawContact { time_ns, hosts: (source, destination), packet } = seen;
        let mut contact = Self::of(time_ns, source, destination);
        if let Some(Transport { protocol, tcp_flags, destination_port }) = packet {
            contact.packets = Some(1);
            contact.protocol = protocol;
            contact.tcp_flags = tcp_flags;
            contact.destination_port = destination_port;
        }
        contact
    }
}
