//! Parsers that find the outermost IP header of a captured frame.
//!
//! Invariant: each step consumes at least one byte of the frame, so parsing always ends.
//!
//! These parsers do not enter tunnels. [`Headers::inner`] enters a tunnel.

use crate::packet::Skip;
use crate::packet::ip::{self, Headers};

/// EtherType of ARP.
pub(crate) const ARP: u16 = 0x0806;

/// Finds the outermost IP header in a `frame` of type `link_type`. Link types are numbered as in the tcpdump.org
/// registry, for example 1 for Ethernet and 101 for raw IPv4 or IPv6.
///
/// # Errors
/// Returns a [`Skip`] with the reason if no valid IP header is found.
#[inline(always)]
pub fn headers(link_type: u16, frame: &[u8]) -> Result<Headers<'_>, Skip> {
    match link_type {
        1 => behind_ether_type::<14>(frame),
        0 | 108 => loopback(frame),
        9 | 50 => ppp(frame),
        // RAW has two historic numbers in addition to 101.
        12 | 14 | 101 => ip::by_version(frame, Skip::BadHeader),
        51 => pppoe(frame),
        // Cisco HDLC consists of an address, a control byte and an EtherType.
        104 => behind_ether_type::<4>(frame),
        // A Linux cooked header has 14 bytes about the sender, then an EtherType.
        113 => behind_ether_type::<16>(frame),
        228 => ip::ipv4(frame),
        229 => ip::ipv6(frame),
        276 => linux_cooked_v2(frame),
        _ => Err(Skip::LinkType),
    }
}

#[inline(always)]
fn header<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Skip> {
    bytes.split_first_chunk().ok_or(Skip::CutHeader)
}

/// Parses the payload of a header of `N` bytes that ends with an EtherType.
#[inline(always)]
fn behind_ether_type<const N: usize>(frame: &[u8]) -> Result<Headers<'_>, Skip> {
    let (header, payload) = header::<N>(frame)?;
    ether_type(u16::from_be_bytes([header[N - 2], header[N - 1]]), payload)
}

/// Parses a payload whose EtherType is `kind`, and skips any VLAN tags. If `kind` is below 0x600, it is the length of
/// an LLC frame, which is not parsed.
#[inline(always)]
pub(crate) fn ether_type(mut kind: u16, mut payload: &[u8]) -> Result<Headers<'_>, Skip> {
    loop {
        match kind {
            0x0800 => return ip::ipv4(payload),
            0x86dd => return ip::ipv6(payload),
            kind_of_tag if is_vlan(kind_of_tag) => (kind, payload) = behind_tag(payload)?,
            0x8847 | 0x8848 => return mpls(payload),
            0x8864 => return pppoe(payload),
            _ => return Err(Skip::NotIp),
        }
    }
}

const fn is_vlan(kind: u16) -> bool {
    matches!(kind, 0x8100 | 0x88a8 | 0x9100)
}

/// Returns the EtherType and the payload after a VLAN tag.
#[inline(always)]
fn behind_tag(payload: &[u8]) -> Result<(u16, &[u8]), Skip> {
    let ([.., high, low], inner) = header::<4>(payload)?;
    Ok((u16::from_be_bytes([*high, *low]), inner))
}

/// Returns the EtherType of a `frame` that was skipped, after any VLAN tags. Returns `None` if the frame has no
/// EtherType, as an LLC frame, or if the EtherType was not captured.
#[cold]
pub(crate) fn ether_type_of(link_type: u16, frame: &[u8]) -> Option<u16> {
    let (at, payload) = match link_type {
        1 => (12, 14),
        104 => (2, 4),
        113 => (14, 16),
        276 => (0, 20),
        _ => return None,
    };
    let mut kind = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
    let mut payload = frame.get(payload..)?;
    while is_vlan(kind) {
        (kind, payload) = behind_tag(payload).ok()?;
    }
    // Smaller numbers are lengths of LLC frames.
    Some(kind).filter(|kind| *kind >= 0x600)
}

/// Parses the payload of an MPLS label stack. In the last entry of the stack, bit 0 of the third byte is set. The stack
/// does not state the type of the payload. A payload whose first four bits are neither 4 nor 6 belongs to a pseudowire.
pub(crate) fn mpls(mut stack: &[u8]) -> Result<Headers<'_>, Skip> {
    loop {
        let (entry, inner) = header::<4>(stack)?;
        if entry[2] & 1 == 1 {
            return ip::by_version(inner, Skip::NotIp);
        }
        stack = inner;
    }
}

/// Parses a PPPoE session frame: version, code, session and length, then PPP without framing bytes.
fn pppoe(frame: &[u8]) -> Result<Headers<'_>, Skip> {
    let (_, inner) = header::<6>(frame)?;
    ppp_protocol(inner)
}

/// Parses a PPP frame, with or without the HDLC framing bytes.
fn ppp(frame: &[u8]) -> Result<Headers<'_>, Skip> {
    match frame {
        [0xff, 0x03, rest @ ..] => ppp_protocol(rest),
        // This is half of the framing bytes, because no protocol has this number (RFC 1661, 6.5).
        [0xff] => Err(Skip::CutHeader),
        _ => ppp_protocol(frame),
    }
}

/// Parses the protocol field of PPP, which has two bytes, or one byte if both ends have agreed to compress it (RFC 1661,
/// 6.5). Only the last byte of the field is odd.
fn ppp_protocol(bytes: &[u8]) -> Result<Headers<'_>, Skip> {
    let ([first], behind_first) = header::<1>(bytes)?;
    let (protocol, packet) = if first & 1 == 1 {
        (u16::from(*first), behind_first)
    } else {
        let (field, packet) = header::<2>(bytes)?;
        (u16::from_be_bytes(*field), packet)
    };
    match protocol {
        0x0021 => ip::ipv4(packet),
        0x0057 => ip::ipv6(packet),
        0x0281 | 0x0283 => mpls(packet),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a BSD loopback frame: an address family in the byte order of the capturing host, then a packet. The family
/// numbers fit in one byte, so the byte order is unambiguous.
fn loopback(frame: &[u8]) -> Result<Headers<'_>, Skip> {
    let (family, packet) = header::<4>(frame)?;
    match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
        2 => ip::ipv4(packet),
        // These are the numbers of AF_INET6 on Linux, on NetBSD and OpenBSD, on FreeBSD and on macOS.
        10 | 24 | 28 | 30 => ip::ipv6(packet),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a Linux cooked capture frame, version 2, which starts with the EtherType.
fn linux_cooked_v2(frame: &[u8]) -> Result<Headers<'_>, Skip> {
    let ([high, low, ..], payload) = header::<20>(frame)?;
    ether_type(u16::from_be_bytes([*high, *low]), payload)
}

#[cfg(test)]
mod tests;
