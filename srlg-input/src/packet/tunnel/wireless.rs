//! Tunnels between access points and their controllers: CAPWAP and LWAPP. TZSP carries what sniffers capture.

use crate::packet::Skip;
use crate::packet::frame::walk;
use crate::packet::layer::{Layer, header};
use crate::packet::tunnel::{Inner, Payload, word};
use crate::packet::wifi;

/// Parses a data message of CAPWAP (RFC 5415, 4.3): a preamble, the length of the header in units of 4 bytes, a radio,
/// the type of its frames, flags, a fragment and its offset, and options. The frame is of Ethernet or of 802.11.
///
/// Returns `None` for encrypted messages, keep-alive messages and later fragments.
pub(super) fn capwap(payload: Payload<'_>) -> Inner<'_> {
    const IS_NATIVE: u8 = 0x01;
    const IS_KEEP_ALIVE: u8 = 0x08;
    const WIFI: u8 = 1;
    let (start, _) = header::<8>(payload.bytes)?;
    let [preamble, length, kind, flags, ..] = *start;
    let length = usize::from(length >> 3) * 4;
    let is_later_fragment = word(start, 6) >> 3 != 0;
    // The preamble of a message in DTLS is 1.
    if preamble != 0 || length < start.len() || flags & IS_KEEP_ALIVE != 0 || is_later_fragment {
        return Ok(None);
    }
    let frame = payload.behind(length)?.bytes;
    let layer = match (kind & IS_NATIVE, kind >> 1 & 0x1f) {
        (0, _) => Layer::Ethernet(frame),
        (_, WIFI) => wifi::of_access_point(frame)?,
        _ => return Ok(None),
    };
    walk(layer).map(Some)
}

/// Parses a data message of LWAPP (RFC 5412, 3.2): version, radio and flags, a fragment, a length and a status of two
/// bytes, and a frame of 802.11.
///
/// Returns `None` for control messages and later fragments.
pub(super) fn lwapp(payload: Payload<'_>) -> Inner<'_> {
    const VERSION: u8 = 0xc0;
    const IS_CONTROL: u8 = 0x04;
    const IS_FRAGMENT: u8 = 0x02;
    const IS_NOT_LAST: u8 = 0x01;
    let ([flags, ..], frame) = header::<6>(payload.bytes)?;
    let is_later_fragment = flags & (IS_FRAGMENT | IS_NOT_LAST) == IS_FRAGMENT;
    if flags & (VERSION | IS_CONTROL) != 0 || is_later_fragment {
        return Ok(None);
    }
    walk(wifi::of_access_point(frame)?).map(Some)
}

/// Parses TZSP (in Wireshark): version, type of the message, type of the frame and tagged fields. Messages of types 0
/// and 1 carry a frame.
pub(super) fn tzsp(payload: Payload<'_>) -> Inner<'_> {
    const ETHERNET: u8 = 1;
    const WIFI: u8 = 18;
    const PADDING: u8 = 0;
    const END: u8 = 1;
    let (start, mut rest) = header::<4>(payload.bytes)?;
    if !matches!(start, [1, 0 | 1, 0, ETHERNET | WIFI]) {
        return Ok(None);
    }
    loop {
        let ([tag], behind) = header::<1>(rest)?;
        rest = match *tag {
            PADDING => behind,
            END => {
                rest = behind;
                break;
            }
            _ => {
                let ([length], field) = header::<1>(behind)?;
                field.get(usize::from(*length)..).ok_or(Skip::CutHeader)?
            }
        };
    }
    let layer = if start[3] == WIFI { wifi::of_access_point(rest)? } else { Layer::Ethernet(rest) };
    walk(layer).map(Some)
}
