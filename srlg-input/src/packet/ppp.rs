//! PPP frames.

use crate::packet::Skip;
use crate::packet::ether_type::{IPV4, IPV6, MPLS};
use crate::packet::layer::{Layer, header};

/// Parses a PPP frame, with or without the HDLC framing bytes.
pub(crate) fn next(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    match frame {
        [0xff, 0x03, rest @ ..] => protocol(rest),
        // This is half of the framing bytes, because no protocol has this number (RFC 1661, 6.5).
        [0xff] => Err(Skip::CutHeader),
        _ => protocol(frame),
    }
}

/// Parses the protocol field of PPP, which has two bytes, or one byte if both ends have agreed to compress it (RFC 1661,
/// 6.5). Only the last byte of the field is odd.
fn protocol(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([first], behind_first) = header::<1>(bytes)?;
    let (protocol, packet) = if first & 1 == 1 {
        (u16::from(*first), behind_first)
    } else {
        let (field, packet) = header::<2>(bytes)?;
        (u16::from_be_bytes(*field), packet)
    };
    match protocol {
        0x0021 => Ok(Layer::Typed(IPV4, packet)),
        0x0057 => Ok(Layer::Typed(IPV6, packet)),
        0x0281 | 0x0283 => Ok(Layer::Typed(MPLS, packet)),
        _ => Err(Skip::NotIp),
    }
}
