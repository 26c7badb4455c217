//! L2TP of versions 2 and 3, over UDP and over IP.

use crate::packet::Skip;
use crate::packet::frame::walk;
use crate::packet::layer::{Layer, header};
use crate::packet::tunnel::{Inner, Payload, word};

/// Bits of the first two bytes of a datagram: control message, length, sequence numbers, offset, and the bits that must
/// be 0 in version 2.
const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const RESERVED: u16 = 0x34f0;

/// Parses a datagram of L2TP. Control messages carry no packet.
pub(super) fn datagram(payload: Payload<'_>) -> Inner<'_> {
    let (header, _) = header::<2>(payload.bytes)?;
    match (word(header, 0), word(header, 0) & 0x0f) {
        (CONTROL.., _) => Ok(None),
        (flags, 2) if flags & RESERVED == 0 => version_2(flags, payload),
        (3, _) => session(payload.behind(4)?),
        _ => Ok(None),
    }
}

/// Parses a data message of version 2 (RFC 2661, 3.1): flags, an optional length, a tunnel and a session, optional
/// sequence numbers and an optional offset, and a PPP frame.
fn version_2(flags: u16, payload: Payload<'_>) -> Inner<'_> {
    let has = |bit: u16| usize::from(flags & bit != 0);
    let mut length = 6 + 2 * has(LENGTH) + 4 * has(SEQUENCE);
    if flags & OFFSET != 0 {
        let field = payload.bytes.get(length..).and_then(|rest| rest.first_chunk::<2>());
        length += 2 + usize::from(word(field.ok_or(Skip::CutHeader)?, 0));
    }
    walk(Layer::Ppp(payload.behind(length)?.bytes)).map(Some)
}

/// Parses a data message of version 3 (RFC 3931, 4.1): a session, which is 0 in control messages, a cookie of up to 8
/// bytes, an optional sublayer of 4 bytes, and a frame.
///
/// Both ends have agreed on the lengths, and the packet does not state them. The frame is therefore searched for at
/// each possible position. It must be an Ethernet frame with an IP packet that is not longer than the message.
pub(super) fn session(payload: Payload<'_>) -> Inner<'_> {
    if *header::<4>(payload.bytes)?.0 == [0; 4] {
        return Ok(None);
    }
    let mut outcome = Err(Skip::NotIp);
    for before in [4, 8, 12, 16] {
        let frame = payload.behind(before)?;
        match walk(Layer::Ethernet(frame.bytes)) {
            Ok(headers) if frame.contains(&headers) => return Ok(Some(headers)),
            Err(Skip::CutHeader) => outcome = Err(Skip::CutHeader),
            _ => {}
        }
    }
    outcome
}
