//! The transport data of a packet: protocol, ports and TCP flags.
//!
//! Invariant: a value is `None` if it was not captured, or if the packet is a fragment that does not contain it. A
//! packet with missing values still counts as a contact.

use crate::contact::{ICMP, ICMP6, TCP};
use crate::packet::Skip;

/// Number of extension headers after which parsing stops. RFC 8200 names seven.
const MOST_HEADERS: usize = 16;
pub(crate) const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
pub(crate) const UDP_LITE: u8 = 136;
/// Authentication header (RFC 4302).
const AUTHENTICATION: u8 = 51;

/// Protocol, TCP flags and ports of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// IP protocol (IANA number), after all extension headers and an authentication header.
    pub protocol: Option<u8>,
    /// TCP flags.
    pub tcp_flags: Option<u8>,
    /// Source port, if the protocol has ports.
    pub source_port: Option<u16>,
    /// Destination port, if the protocol has ports.
    pub destination_port: Option<u16>,
    /// ICMP type.
    pub icmp_type: Option<u8>,
}

/// The bytes after the IP header and its extension headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) protocol: u8,
    /// Captured bytes. The slice is empty for a later fragment, which starts at an arbitrary offset in the payload.
    pub(crate) bytes: &'a [u8],
    /// Whether the packet is a fragment (the first or a later one).
    pub(crate) is_fragment: bool,
    /// Whether the packet is a fragment other than the first.
    pub(crate) is_later_fragment: bool,
}

/// Returns the segment of an IPv4 packet whose fixed header is complete and valid.
#[inline(always)]
pub(crate) fn ipv4(packet: &[u8]) -> Segment<'_> {
    let header = usize::from(packet[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    // In a frame, padding may follow the packet. If the total length is 0, the packet was captured before the network
    // card split it.
    let end = if total == 0 { packet.len() } else { packet.len().min(total) };
    let packet = &packet[..end];
    let fragment = u16::from_be_bytes([packet[6], packet[7]]);
    let is_later_fragment = fragment & 0x1fff != 0;
    let bytes = if is_later_fragment { &[] } else { packet.get(header..).unwrap_or_default() };
    let is_fragment = fragment & 0x3fff != 0;
    let (mut protocol, mut bytes) = (packet[9], bytes);
    // A truncated authentication header is not passed over. A call here would slow down all packets by 5 %.
    if protocol == AUTHENTICATION
        && let [next, length, ..] = *bytes
        && let Some(rest) = bytes.get(authentication_bytes(length)..)
    {
        (protocol, bytes) = (next, rest);
    }
    Segment { protocol, bytes, is_fragment, is_later_fragment }
}

/// Returns the length of an authentication header whose length field is `length`.
#[inline(always)]
fn authentication_bytes(length: u8) -> usize {
    4 * (usize::from(length) + 2)
}

/// Returns the segment of an IPv6 packet whose fixed header is complete. Returns `None` if an extension header is
/// truncated, or if there are [`MOST_HEADERS`] or more extension headers.
#[inline(always)]
pub(crate) fn ipv6(packet: &[u8]) -> Option<Segment<'_>> {
    let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    // If the payload length is 0, the packet is a jumbogram, or it was captured before the network card split it.
    let end = if length == 0 { packet.len() } else { packet.len().min(40 + length) };
    let mut bytes = &packet[40..end];
    let (mut protocol, mut is_fragment) = (packet[6], false);
    for _ in 0..MOST_HEADERS {
        let length = match protocol {
            // Hop-by-hop options, routing, destination options, mobility, HIP and shim6.
            0 | 43 | 60 | 135 | 139 | 140 => 8 * (usize::from(*bytes.get(1)?) + 1),
            AUTHENTICATION => authentication_bytes(*bytes.get(1)?),
            // Fragment header, with an offset and a flag for more fragments.
            44 => {
                let offset = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]);
                is_fragment |= offset & 0xfff9 != 0;
                if offset >> 3 != 0 {
                    let (protocol, is_later_fragment) = (bytes[0], true);
                    return Some(Segment { protocol, bytes: &[], is_fragment, is_later_fragment });
                }
                8
            }
            _ => {
                let is_later_fragment = false;
                return Some(Segment { protocol, bytes, is_fragment, is_later_fragment });
            }
        };
        protocol = bytes[0];
        bytes = bytes.get(length..)?;
    }
    None
}

impl<'a> Segment<'a> {
    #[inline(always)]
    pub(crate) fn transport(&self) -> Transport {
        let port =
            |at: usize| Some(u16::from_be_bytes(*self.bytes.get(at..at + 2)?.first_chunk()?));
        let (source_port, destination_port) = match self.protocol {
            TCP | UDP | DCCP | SCTP | UDP_LITE => (port(0), port(2)),
            _ => (None, None),
        };
        let tcp_flags = if self.protocol == TCP { self.bytes.get(13).copied() } else { None };
        let icmp_type = match self.protocol {
            ICMP | ICMP6 => self.bytes.first().copied(),
            _ => None,
        };
        let protocol = Some(self.protocol);
        Transport { protocol, tcp_flags, source_port, destination_port, icmp_type }
    }

    /// Returns the source port, the destination port and the payload of a complete UDP datagram.
    pub(crate) fn udp(&self) -> Result<([u16; 2], &'a [u8]), Skip> {
        if self.protocol != UDP {
            return Err(Skip::NotUdp);
        }
        if self.is_fragment {
            return Err(Skip::Fragment);
        }
        let (header, payload) = self.bytes.split_first_chunk::<8>().ok_or(Skip::CutHeader)?;
        let [source, destination, length] =
            [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let length = usize::from(length).checked_sub(8).ok_or(Skip::BadHeader)?;
        let payload = payload.get(..length).ok_or(Skip::CutPayload)?;
        Ok(([source, destination], payload))
    }
}

#[cfg(test)]
mod tests;
