//! GRE, whose header states the EtherType of its payload, and ERSPAN inside it.

use crate::packet::Skip;
use crate::packet::ether_type::is_length;
use crate::packet::frame::walk;
use crate::packet::ip::{self, Headers};
use crate::packet::layer::{Layer, header};
use crate::packet::tunnel::{Inner, Payload, word};
use crate::packet::wifi;

/// EtherTypes that have this meaning only in tunnels.
const ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880b;
const ERSPAN_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const WCCP: u16 = 0x883e;

/// The number of EtherTypes in version 1 with which MikroTik marks an Ethernet frame (EoIP).
const EOIP: u16 = 0x6400;

/// Parses GRE (RFC 2784 and 2890): flags, version and protocol, then an optional checksum, key and sequence number.
/// PPTP (RFC 2637) uses version 1, which may have an acknowledgement number. A packet of version 1 without a sequence
/// number has no payload.
pub(super) fn inner(payload: Payload<'_>) -> Inner<'_> {
    let (header, rest) = header::<4>(payload.bytes)?;
    let (flags, version, kind) = (header[0], header[1] & 0x07, word(header, 2));
    let has = |bit: u8| usize::from(flags & bit != 0);
    let is_routed = flags & 0x40 != 0;
    let options = has(0x80) + has(0x20) + has(0x10);
    let options = match version {
        0 if !is_routed => options,
        1 if kind == EOIP => return eoip(rest),
        1 if has(0x10) == 0 => return Ok(None),
        1 => options + usize::from(header[1] & 0x80 != 0),
        _ => return Err(Skip::BadHeader),
    };
    let payload = rest.get(4 * options..).ok_or(Skip::CutHeader)?;
    let kind = match kind {
        // Without a sequence number, an ERSPAN packet has no ERSPAN header.
        ERSPAN_II if has(0x10) == 0 => ETHERNET,
        kind => kind,
    };
    payload_of(kind, payload).map(Some)
}

/// Parses the rest of the header of EoIP: the length of the frame and a tunnel identifier. A frame of no length keeps the
/// tunnel alive.
fn eoip(bytes: &[u8]) -> Inner<'_> {
    match header::<4>(bytes)? {
        ([0, 0, ..], _) => Ok(None),
        (_, frame) => walk(Layer::Ethernet(frame)).map(Some),
    }
}

/// Parses the payload of a tunnel whose header contains the EtherType `kind`.
pub(super) fn payload_of(kind: u16, payload: &[u8]) -> Result<Headers<'_>, Skip> {
    let layer = match kind {
        ETHERNET => Layer::Ethernet(payload),
        PPP => Layer::Ppp(payload),
        ERSPAN_II => Layer::Ethernet(payload.get(8..).ok_or(Skip::CutHeader)?),
        ERSPAN_III => {
            let (header, rest) = header::<12>(payload)?;
            let has_more = header[11] & 1 == 1;
            let frame = rest.get(if has_more { 8 } else { 0 }..).ok_or(Skip::CutHeader)?;
            // The frame type is either Ethernet or raw IP.
            if header[10] >> 2 & 0x1f == 2 { Layer::Ip(frame) } else { Layer::Ethernet(frame) }
        }
        WCCP => return wccp(payload),
        // Access points of Aruba (in Wireshark and Zeek).
        0x8200..=0x8370 | 0x9000 if kind & 0x0f == 0 => wifi::of_access_point(payload)?,
        // Smaller numbers are no lengths of LLC frames here. Keep-alive packets of GRE have the number 0.
        kind if is_length(kind) => return Err(Skip::NotIp),
        kind => Layer::Typed(kind, payload),
    };
    walk(layer)
}

/// Parses a packet that WCCP redirects. Version 2 puts a header of four bytes before it (draft-mclaggan-wccp-v2rev1,
/// 4.12.2), whose first byte is never the first byte of a valid IP header.
fn wccp(bytes: &[u8]) -> Result<Headers<'_>, Skip> {
    let packet = match bytes.first().ok_or(Skip::CutHeader)? {
        0x45..=0x4f | 0x60..=0x6f => bytes,
        _ => bytes.get(4..).ok_or(Skip::CutHeader)?,
    };
    ip::by_version(packet, Skip::NotIp)
}
