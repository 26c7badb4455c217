//! Tunnels of overlay networks: VXLAN, VXLAN-GPE, Geneve, GUE and LISP.

use crate::packet::frame::walk;
use crate::packet::layer::{Layer, header};
use crate::packet::tag;
use crate::packet::tunnel::{Inner, Payload, gre, protocol, word};

/// Flag of VXLAN: the network identifier is valid.
const IS_VALID: u8 = 0x08;

/// Flag of VXLAN-GPE and LISP: the header states the type of the payload.
const HAS_TYPE: u8 = 0x04;

/// Parses VXLAN (RFC 7348): flags, a network identifier and a frame. Returns `None` if the flags do not mark the
/// identifier as valid.
pub(super) fn vxlan(payload: Payload<'_>) -> Inner<'_> {
    let (header, frame) = header::<8>(payload.bytes)?;
    if header[0] & IS_VALID == 0 { Ok(None) } else { walk(Layer::Ethernet(frame)).map(Some) }
}

/// Parses VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe): the header of VXLAN with a version, the type of the payload, and a flag
/// for messages about the network.
pub(super) fn vxlan_gpe(payload: Payload<'_>) -> Inner<'_> {
    let (header, bytes) = header::<8>(payload.bytes)?;
    match header[0] {
        flags if flags & 0x31 != 0 => Ok(None),
        flags if flags & HAS_TYPE != 0 => {
            Ok(payload.accept(walk(tag::next_protocol(header[3], bytes)?)?))
        }
        _ => vxlan(payload),
    }
}

/// Parses Geneve (RFC 8926): version, length of the options in units of 4 bytes, flags, protocol and network
/// identifier.
pub(super) fn geneve(payload: Payload<'_>) -> Inner<'_> {
    let (header, rest) = header::<8>(payload.bytes)?;
    if header[0] >> 6 != 0 {
        return Ok(None);
    }
    // If the options are cut, the protocol decides whether this is a tunnel.
    let bytes = rest.get(usize::from(header[0] & 0x3f) * 4..).unwrap_or_default();
    gre::payload_of(word(header, 2), bytes).map(Some)
}

/// Parses GUE (draft-ietf-intarea-gue). Variant 0 has a flag for control messages, the length of the options in units of
/// 4 bytes, an IP protocol number and flags. Variant 1 is an IP packet without a header before it.
pub(super) fn gue(payload: Payload<'_>) -> Inner<'_> {
    let ([first], _) = header::<1>(payload.bytes)?;
    match first >> 5 {
        0 => {
            let (header, _) = header::<4>(payload.bytes)?;
            let Some(parse) = protocol::parser(header[1]) else { return Ok(None) };
            let inner = parse(payload.behind(4 + usize::from(first & 0x1f) * 4)?)?;
            Ok(inner.and_then(|inner| payload.accept(inner)))
        }
        0b010 | 0b011 => payload.packet(),
        _ => Ok(None),
    }
}

/// Parses LISP (RFC 9300): flags, a nonce or versions of the mapping, and an identifier. The last two flags select a key
/// if the packet is encrypted (RFC 8061). A header may state the type of the payload (RFC 9305), which otherwise is an
/// IP packet.
pub(super) fn lisp(payload: Payload<'_>) -> Inner<'_> {
    let (header, bytes) = header::<8>(payload.bytes)?;
    match header[0] {
        flags if flags & 0x03 != 0 => Ok(None),
        flags if flags & HAS_TYPE != 0 => {
            Ok(payload.accept(walk(tag::next_protocol(header[3], bytes)?)?))
        }
        _ => payload.behind(8)?.packet(),
    }
}
