//! MPLS label stacks, and the packets and Ethernet frames after them.

use crate::packet::Skip;
use crate::packet::ether_type::is_known;
use crate::packet::layer::{Layer, header};

/// Maximum number of labels. Routers impose at most about 12.
const MOST_LABELS: usize = 32;

/// Length of the control word of a pseudowire.
const CONTROL_WORD: usize = 4;

/// Parses a label stack. In the last entry of the stack, bit 0 of the third byte is set.
pub(crate) fn next(mut stack: &[u8]) -> Result<Layer<'_>, Skip> {
    for _ in 0..MOST_LABELS {
        let (entry, inner) = header::<4>(stack)?;
        if entry[2] & 1 == 1 {
            return payload(inner);
        }
        stack = inner;
    }
    Err(Skip::NotIp)
}

/// Returns the payload of a label stack, which does not state its type. Routers use the same first four bits to
/// distinguish IP from pseudowires (RFC 4928).
fn payload(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    match bytes.first().ok_or(Skip::CutHeader)? >> 4 {
        4 | 6 => Ok(Layer::Ip(bytes)),
        0 if has_control_word(bytes) => {
            Ok(Layer::Ethernet(bytes.get(CONTROL_WORD..).ok_or(Skip::CutHeader)?))
        }
        _ => Ok(Layer::Ethernet(bytes)),
    }
}

/// Returns whether a control word precedes the Ethernet frame of a pseudowire. Its use is negotiated and not visible in
/// the label stack (RFC 4448, 4.6). The first two bytes of a control word are 0, but MAC addresses may start with 0 too.
fn has_control_word(bytes: &[u8]) -> bool {
    let is_frame = |start| {
        let kind = bytes.get(start + 12..).and_then(|rest| rest.first_chunk());
        kind.is_some_and(|kind| is_known(u16::from_be_bytes(*kind)))
    };
    match [0, CONTROL_WORD].map(is_frame) {
        [false, true] => true,
        [true, false] => false,
        _ => bytes.starts_with(&[0, 0]),
    }
}
