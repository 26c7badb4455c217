//! GTP-U, the tunnel of mobile networks.

use crate::packet::Skip;
use crate::packet::ip;
use crate::packet::layer::header;
use crate::packet::tunnel::{Inner, Payload};

/// Parses GTP-U (3GPP TS 29.281). Only messages of version 1 and type 255 carry a packet, which follows the options and
/// extension headers.
pub(super) fn inner(payload: Payload<'_>) -> Inner<'_> {
    const PACKET: u8 = 255;
    let (start, mut rest) = header::<8>(payload.bytes)?;
    let (flags, message) = (start[0], start[1]);
    if flags >> 4 != 0b0011 || message != PACKET {
        return Ok(None);
    }
    if flags & 0x07 != 0 {
        let (options, behind) = header::<4>(rest)?;
        let mut next = if flags & 0x04 != 0 { options[3] } else { 0 };
        rest = behind;
        while next != 0 {
            let length = usize::from(*rest.first().ok_or(Skip::CutHeader)?) * 4;
            let last = length.checked_sub(1).ok_or(Skip::BadHeader)?;
            next = *rest.get(last).ok_or(Skip::CutHeader)?;
            rest = &rest[length..];
        }
    }
    Ok(payload.accept(ip::by_version(rest, Skip::NotIp)?))
}
