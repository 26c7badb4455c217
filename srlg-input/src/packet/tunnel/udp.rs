//! Tunnels over UDP.

use crate::packet::Skip;
use crate::packet::ether_type;
use crate::packet::frame::walk;
use crate::packet::ip::{self, Headers};
use crate::packet::layer::Layer;
use crate::packet::transport::Segment;
use crate::packet::tunnel::{gre, protocol};

/// UDP ports of VXLAN. Older Linux systems use the second port.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;
const MPLS_IN_UDP: u16 = 6635;

/// Returns the headers of the packet that a datagram carries, or `None` for an ordinary datagram.
pub(super) fn inner<'a>(segment: &Segment<'a>) -> Result<Option<Headers<'a>>, Skip> {
    // A datagram with fewer than eight captured bytes counts as an ordinary one.
    let Some((header, payload)) = segment.bytes.split_first_chunk::<8>() else { return Ok(None) };
    match protocol(header) {
        port if VXLAN.contains(&port) => vxlan(payload),
        GENEVE => geneve(payload),
        GTP_U => gtp(payload),
        MPLS_IN_UDP => walk(Layer::Typed(ether_type::MPLS, payload)).map(Some),
        _ => Ok(None),
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
    gre::payload_of(protocol(header), payload).map(Some)
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
