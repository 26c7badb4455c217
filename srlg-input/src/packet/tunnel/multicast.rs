//! Tunnels that carry multicast packets between routers: PIM and AMT.

use crate::packet::Skip;
use crate::packet::ip;
use crate::packet::layer::header;
use crate::packet::tunnel::{Inner, Payload};

/// Parses a Register message of PIM (RFC 7761, 4.9.3): version and type, a checksum, flags and an IP packet. All other
/// messages are ordinary packets, including Registers without data.
pub(super) fn pim(payload: Payload<'_>) -> Inner<'_> {
    const REGISTER: u8 = 0x21;
    const IS_NULL: u8 = 0x40;
    match header::<8>(payload.bytes) {
        Ok(([REGISTER, _, _, _, flags, ..], packet)) if flags & IS_NULL == 0 => {
            ip::by_version(packet, Skip::NotIp).map(Some)
        }
        Err(reason) if payload.bytes.first() == Some(&REGISTER) => Err(reason),
        _ => Ok(None),
    }
}

/// Parses a data message of AMT (RFC 7450, 5.1.6): version and type, a reserved byte and an IP packet.
pub(super) fn amt(payload: Payload<'_>) -> Inner<'_> {
    const DATA: u8 = 0x06;
    if header::<2>(payload.bytes)?.0[0] == DATA { payload.behind(2)?.packet() } else { Ok(None) }
}
