//! A parser that finds the headers of a packet inside a tunnel.
//!
//! Invariant: a packet that is not in a known tunnel is treated as an ordinary packet. If a packet is in a known tunnel
//! but its inner headers cannot be found, a [`Skip`] states the reason.

use std::num::NonZeroU64;

use crate::packet::Skip;
use crate::packet::ether_type::{self, is_length};
use crate::packet::frame::walk;
use crate::packet::ip::{self, Headers};
use crate::packet::layer::Layer;
use crate::packet::transport::{Segment, UDP};

/// Maximum number of nested tunnels that are entered.
pub const MOST_TUNNELS: usize = 4;

/// IP protocol numbers of tunnels: IPv4 in IP, IPv6 in IP, GRE, and MPLS in IP.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const MPLS: u8 = 137;

/// UDP ports of VXLAN. Older Linux systems use the second port.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;
const MPLS_IN_UDP: u16 = 6635;

/// EtherTypes that occur only in tunnels: Ethernet, PPP and ERSPAN.
const ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880b;
const ERSPAN_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

impl<'a> Headers<'a> {
    /// Returns the headers of the inner packet, if this packet belongs to a known tunnel: IP in IP, GRE, MPLS, VXLAN,
    /// Geneve or GTP-U.
    ///
    /// For ordinary packets, this function returns `None`. Ordinary packets include packets of unknown tunnels,
    /// encrypted packets, later fragments of UDP datagrams, and datagrams to tunnel ports that do not carry an IP
    /// packet.
    ///
    /// # Errors
    /// Returns [`Skip::CutTunnel`], [`Skip::TunnelFragment`] or [`Skip::TunnelContent`] if the inner headers cannot be
    /// found.
    pub fn inner(&self) -> Result<Option<Self>, Skip> {
        let Some(segment) = self.segment() else { return Ok(None) };
        let inner = match segment.protocol {
            IPV4 | IPV6 | GRE | MPLS if segment.is_later_fragment => {
                return Err(Skip::TunnelFragment);
            }
            IPV4 => ip::ipv4(segment.bytes).map(Some),
            IPV6 => ip::ipv6(segment.bytes).map(Some),
            GRE => gre(segment.bytes),
            MPLS => walk(Layer::Typed(ether_type::MPLS, segment.bytes)).map(Some),
            UDP => udp(&segment),
            _ => Ok(None),
        };
        inner.map_err(|reason| match reason {
            Skip::CutHeader => Skip::CutTunnel,
            _ => Skip::TunnelContent,
        })
    }

    /// Returns the headers of the innermost packet, inside up to [`MOST_TUNNELS`] tunnels. Returns `None` if this
    /// packet does not carry a packet through a known tunnel.
    ///
    /// # Errors
    /// Returns the errors of [`inner`](Self::inner), and [`Skip::DeepTunnel`] if there are more than [`MOST_TUNNELS`]
    /// tunnels.
    pub fn innermost(&self) -> Result<Option<Self>, Skip> {
        let mut innermost = None;
        for _ in 0..MOST_TUNNELS {
            match innermost.unwrap_or(*self).inner()? {
                Some(inner) => innermost = Some(inner),
                None => return Ok(innermost),
            }
        }
        match innermost.unwrap_or(*self).inner() {
            Ok(None) => Ok(innermost),
            _ => Err(Skip::DeepTunnel),
        }
    }

    /// Returns the length of the packet `inner`, whose header states none, in the tunnels of this packet. The packet ends
    /// where the packet around it ends. The last `uncaptured` bytes of the frame were not captured.
    #[cold]
    pub(crate) fn rest_of_inner(self, inner: Self, mut uncaptured: u32) -> Option<NonZeroU64> {
        let mut around = self;
        // Each tunnel header makes the rest of the frame shorter.
        while around.packet.len() > inner.packet.len() {
            uncaptured = around.uncaptured_in_frame(uncaptured);
            around = around.inner().ok()??;
        }
        inner.octets_in_frame(uncaptured)
    }
}

/// Returns the headers of the packet that a datagram carries, or `None` for an ordinary datagram.
fn udp<'a>(segment: &Segment<'a>) -> Result<Option<Headers<'a>>, Skip> {
    // A datagram with fewer than eight captured bytes counts as an ordinary one.
    let Some((header, payload)) = segment.bytes.split_first_chunk::<8>() else { return Ok(None) };
    let inner = match protocol(header) {
        port if VXLAN.contains(&port) => vxlan(payload),
        GENEVE => geneve(payload),
        GTP_U => gtp(payload),
        MPLS_IN_UDP => walk(Layer::Typed(ether_type::MPLS, payload)).map(Some),
        _ => return Ok(None),
    };
    // A length of 0 is unknown, because a datagram that the network card has yet to split has no other length.
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let is_whole = length != 0 && payload.len() + 8 >= length;
    match inner {
        Err(Skip::CutHeader) if !is_whole => Err(Skip::CutHeader),
        // The port alone does not prove a tunnel, because a scanner may probe it.
        inner => Ok(inner.unwrap_or_default()),
    }
}

/// Parses VXLAN (RFC 7348): flags, a network identifier and a frame. Returns `None` if the flags do not mark the
/// identifier as valid.
fn vxlan(bytes: &[u8]) -> Result<Option<Headers<'_>>, Skip> {
    let (header, frame) = bytes.split_first_chunk::<8>().ok_or(Skip::CutHeader)?;
    if header[0] & 0x08 == 0 { Ok(None) } else { walk(Layer::Ethernet(frame)).map(Some) }
}

/// Parses Geneve (RFC 8926): version, length of the options in units of 4 bytes, flags, protocol and network
/// identifier.
fn geneve(bytes: &[u8]) -> Result<Option<Headers<'_>>, Skip> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Skip::CutHeader)?;
    if header[0] >> 6 != 0 {
        return Ok(None);
    }
    let payload = rest.get(usize::from(header[0] & 0x3f) * 4..).ok_or(Skip::CutHeader)?;
    payload_of(protocol(header), payload).map(Some)
}

/// Parses GTP-U (3GPP TS 29.281). Only messages of version 1 and type 255 carry a packet, which follows the options and
/// extension headers.
fn gtp(bytes: &[u8]) -> Result<Option<Headers<'_>>, Skip> {
    const PACKET: u8 = 255;
    let (header, mut rest) = bytes.split_first_chunk::<8>().ok_or(Skip::CutHeader)?;
    let (flags, message) = (header[0], header[1]);
    if flags >> 4 != 0b0011 || message != PACKET {
        return Ok(None);
    }
    if flags & 0x07 != 0 {
        let (options, behind) = rest.split_first_chunk::<4>().ok_or(Skip::CutHeader)?;
        let mut next = if flags & 0x04 != 0 { options[3] } else { 0 };
        rest = behind;
        while next != 0 {
            let length = usize::from(*rest.first().ok_or(Skip::CutHeader)?) * 4;
            let last = length.checked_sub(1).ok_or(Skip::BadHeader)?;
            next = *rest.get(last).ok_or(Skip::CutHeader)?;
            rest = &rest[length..];
        }
    }
    ip::by_version(rest, Skip::NotIp).map(Some)
}

/// Parses GRE (RFC 2784 and 2890): flags, version and protocol, then an optional checksum, key and sequence number.
/// PPTP (RFC 2637) uses version 1, which may have an acknowledgement number. A packet of version 1 without a sequence
/// number has no payload.
fn gre(bytes: &[u8]) -> Result<Option<Headers<'_>>, Skip> {
    let (header, rest) = bytes.split_first_chunk::<4>().ok_or(Skip::CutHeader)?;
    let (flags, version) = (header[0], header[1] & 0x07);
    let has = |bit: u8| usize::from(flags & bit != 0);
    let is_routed = flags & 0x40 != 0;
    let options = has(0x80) + has(0x20) + has(0x10);
    let options = match version {
        0 if !is_routed => options,
        1 if has(0x10) == 0 => return Ok(None),
        1 => options + usize::from(header[1] & 0x80 != 0),
        _ => return Err(Skip::BadHeader),
    };
    let payload = rest.get(4 * options..).ok_or(Skip::CutHeader)?;
    let kind = match protocol(header) {
        // Without a sequence number, an ERSPAN packet has no ERSPAN header.
        ERSPAN_II if has(0x10) == 0 => ETHERNET,
        kind => kind,
    };
    payload_of(kind, payload).map(Some)
}

/// Returns bytes 2 and 3 of a header: an EtherType or a destination port.
fn protocol<const N: usize>(header: &[u8; N]) -> u16 {
    u16::from_be_bytes([header[2], header[3]])
}

/// Parses the payload of a tunnel whose header contains the EtherType `kind`.
fn payload_of(kind: u16, payload: &[u8]) -> Result<Headers<'_>, Skip> {
    let layer = match kind {
        ETHERNET => Layer::Ethernet(payload),
        PPP => Layer::Ppp(payload),
        ERSPAN_II => Layer::Ethernet(payload.get(8..).ok_or(Skip::CutHeader)?),
        ERSPAN_III => {
            let (header, rest) = payload.split_first_chunk::<12>().ok_or(Skip::CutHeader)?;
            let has_more = header[11] & 1 == 1;
            let frame = rest.get(if has_more { 8 } else { 0 }..).ok_or(Skip::CutHeader)?;
            // The frame type is either Ethernet or raw IP.
            if header[10] >> 2 & 0x1f == 2 { Layer::Ip(frame) } else { Layer::Ethernet(frame) }
        }
        // Smaller numbers are no lengths of LLC frames here. Keep-alive packets of GRE have the number 0.
        kind if is_length(kind) => return Err(Skip::NotIp),
        kind => Layer::Typed(kind, payload),
    };
    walk(layer)
}
