//! The IP header, which is the last header that the frame parsers look for.
//!
//! Invariant: only the fixed header (20 bytes in IPv4, 40 in IPv6) decides whether a packet is a contact. The bytes
//! after the fixed header need not have been captured.
//!
//! The IPv6 addresses precede all extension headers. A packet may therefore have any number and kind of extension
//! headers, even damaged or truncated ones. The payload length is not checked, because it is 0 in jumbograms.
//!
//! A length of 0, in IPv4 too, means the rest of the frame. Linux hands such packets to a network card that splits them,
//! and a capture on the same host sees them before they are split (TSO and BIG TCP).

use std::num::NonZeroU64;

use crate::contact::Host;

use crate::packet::Skip;
use crate::packet::transport::{self, Segment, Transport};

/// The headers of a packet, starting with its IP header. The packet is either the outermost one or inside a tunnel.
// Addresses are read on demand. Storing them here would be slower, because the struct is copied through memory, and
// each copy waits for the stores before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// Captured bytes, starting with the IP header. The fixed header is complete.
    pub(super) packet: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Returns the source and the destination.
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

    #[inline(always)]
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.packet[at..].first_chunk().expect("the fixed header is complete")
    }

    /// Returns the length of the packet in bytes, including the IP header and bytes that were not captured. Returns
    /// `None` if the length in the IP header is 0, as in jumbograms and in packets that a network card has yet to split.
    #[inline(always)]
    #[must_use]
    pub fn octets(&self) -> Option<NonZeroU64> {
        if self.is_v4() {
            return NonZeroU64::new(u16::from_be_bytes(self.bytes(2)).into());
        }
        let payload = u16::from_be_bytes(self.bytes(4));
        NonZeroU64::new(payload.into())?.checked_add(IPV6_FIXED_HEADER as u64)
    }

    /// Returns the length of the outermost packet of a frame, of which the last `uncaptured` bytes were not captured.
    ///
    /// If the length in the IP header is 0, the packet is the rest of the frame, including any padding. Otherwise, the
    /// result is the same as that of [`octets`](Self::octets).
    #[inline(always)]
    #[must_use]
    pub fn octets_in_frame(&self, uncaptured: u32) -> Option<NonZeroU64> {
        self.octets().or_else(|| self.rest(uncaptured))
    }

    /// Returns the length from the IP header to the end of the frame.
    #[cold]
    fn rest(self, uncaptured: u32) -> Option<NonZeroU64> {
        NonZeroU64::new(self.packet.len() as u64 + u64::from(uncaptured))
    }

    /// Returns the number of bytes of this packet that were not captured, for a frame whose last `uncaptured` bytes were
    /// not captured. Padding may follow a packet with a length, but not one without.
    pub(crate) fn uncaptured_in_frame(&self, uncaptured: u32) -> u32 {
        let Some(octets) = self.octets() else { return uncaptured };
        // IP headers state at most 65,575 bytes.
        octets.get().saturating_sub(self.packet.len() as u64) as u32
    }

    /// Returns the contents of the transport header. All values are `None` if the IPv6 extension headers are truncated,
    /// or if there are too many of them.
    #[inline(always)]
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.segment().map_or(Transport::default(), |segment| segment.transport())
    }

    /// Returns the bytes after the IP header and its extension headers. Returns `None` if the IPv6 extension headers
    /// are truncated, or if there are too many of them.
    #[inline(always)]
    pub(crate) fn segment(&self) -> Option<Segment<'a>> {
        if self.is_v4() { Some(transport::ipv4(self.packet)) } else { transport::ipv6(self.packet) }
    }
}

const IPV4_FIXED_HEADER: usize = 20;
const IPV6_FIXED_HEADER: usize = 40;

/// Checks the header of a packet that is announced as IPv4. Fragments are accepted too.
#[inline(always)]
pub(crate) fn ipv4(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV4_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    let header_length = u16::from(header[0] & 0x0f) * 4;
    let total_length = u16::from_be_bytes([header[2], header[3]]);
    let is_too_short = total_length < header_length && total_length != 0;
    if header[0] >> 4 != 4 || header_length < 20 || is_too_short {
        return Err(Skip::BadHeader);
    }
    Ok(Headers { packet })
}

/// Checks the header of a packet that is announced as IPv6. Fragments are accepted too.
#[inline(always)]
pub(crate) fn ipv6(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV6_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    if header[0] >> 4 != 6 {
        return Err(Skip::BadHeader);
    }
    Ok(Headers { packet })
}

/// Checks a packet whose version is known only from its first four bits. Returns the error `other` if the version is
/// neither 4 nor 6.
#[inline(always)]
pub(crate) fn by_version(packet: &[u8], other: Skip) -> Result<Headers<'_>, Skip> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        Some(_) => Err(other),
        None => Err(Skip::CutHeader),
    }
}
