//! The outermost IP header: the end of every walk through a frame.
//!
//! Invariant: only the fixed header decides whether there is a contact, 20 bytes of IPv4 or 40 of IPv6; a snap length
//! may cut the rest.
//!
//! The addresses of IPv6 stand before all extension headers, so these may be any number, of any
//! kind, damaged or cut. Its payload length may be any, as it is 0 in jumbograms.

use std::num::NonZeroU64;

use crate::contact::Host;

use crate::packet::Skip;
use crate::packet::transport::{self, Segment, Transport};

/// The headers of a packet, from IP on: the outermost ones, or those of a packet in a tunnel.
// The addresses are read when they are asked for: kept here they would go through memory, as the headers come from many places,
// and a copy of them waits until they have been stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// All that was captured of it from the IP header on, which is whole.
    packet: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Returns the sender and the receiver.
    #[inline(always)]
    #[must_use]
    pub fn hosts(&self) -> [Host; 2] {
        if self.is_v4() {
            let host = |at| Host::v4(u32::from_be_bytes(self.bytes(at)));
            [host(12), host(16)]
        } else {
            let host = |at| Host::v6(u128::from_be_bytes(self.bytes(at)));
            [host(8), host(24)]
        }
    }

    #[inline(always)]
    fn is_v4(&self) -> bool {
        self.packet[0] >> 4 == 4
    }

    /// The bytes at `at` of the fixed header.
    #[inline(always)]
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.packet[at..].first_chunk().expect("the fixed header is whole")
    }

    /// Returns the bytes of the packet from the IP header on, captured or not. They are unknown if an IPv6 packet is longer than its
    /// header can state.
    #[inline(always)]
    #[must_use]
    pub fn octets(&self) -> Option<NonZeroU64> {
        if self.is_v4() {
            return NonZeroU64::new(u16::from_be_bytes(self.bytes(2)).into());
        }
        let payload = u16::from_be_bytes(self.bytes(4));
        NonZeroU64::new(payload.into())?.checked_add(IPV6_FIXED_HEADER as u64)
    }

    /// Returns what the transport header tells; nothing where extension headers of IPv6 are cut.
    #[inline(always)]
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.segment().map_or(Transport::default(), |segment| segment.transport())
    }

    /// What follows IP and its extension headers.
    #[inline(always)]
    pub(crate) fn segment(&self) -> Option<Segment<'a>> {
        if self.is_v4() { Some(transport::ipv4(self.packet)) } else { transport::ipv6(self.packet) }
    }
}

const IPV4_FIXED_HEADER: usize = 20;
const IPV6_FIXED_HEADER: usize = 40;

/// Headers of a packet that is announced as IPv4. Fragments have them too.
#[inline(always)]
pub(crate) fn ipv4(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV4_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    let header_length = u16::from(header[0] & 0x0f) * 4;
    let total_length = u16::from_be_bytes([header[2], header[3]]);
    if header[0] >> 4 != 4 || header_length < 20 || total_length < header_length {
        return Err(Skip::BadHeader);
    }
    Ok(Headers { packet })
}

/// Headers of a packet that is announced as IPv6. Fragments have them too.
#[inline(always)]
pub(crate) fn ipv6(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV6_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    if header[0] >> 4 != 6 {
        return Err(Skip::BadHeader);
    }
    Ok(Headers { packet })
}

/// A packet whose first nibble tells the version; `other` is the verdict on the rest.
#[inline(always)]
pub(crate) fn by_version(packet: &[u8], other: Skip) -> Result<Headers<'_>, Skip> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        Some(_) => Err(other),
        None => Err(Skip::CutHeader),
    }
}
