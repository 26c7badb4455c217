//! GRE, whose header states the EtherType of its payload.

use crate::packet::Skip;
use crate::packet::ether_type::is_length;
use crate::packet::frame::walk;
use crate::packet::ip::Headers;
use crate::packet::layer::Layer;
use crate::packet::tunnel::protocol;

/// EtherTypes that occur only in tunnels: Ethernet, PPP and ERSPAN.
const ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880b;
const ERSPAN_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

/// Parses GRE (RFC 2784 and 2890): flags, version and protocol, then an optional checksum, key and sequence number.
/// PPTP (RFC 2637) uses version 1, which may have an acknowledgement number. A packet of version 1 without a sequence
/// number has no payload.
pub(super) fn inner(bytes: &[u8]) -> Result<Option<Headers<'_>>, Skip> {
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

/// Parses the payload of a tunnel whose header contains the EtherType `kind`.
pub(super) fn payload_of(kind: u16, payload: &[u8]) -> Result<Headers<'_>, Skip> {
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
