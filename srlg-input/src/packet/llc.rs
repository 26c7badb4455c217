//! LLC headers (IEEE 802.2), and SNAP headers after them.

use crate::packet::Skip;
use crate::packet::ether_type::{IPV4, is_length};
use crate::packet::layer::{Layer, header};

/// Parses an LLC header: destination, source and control. Of the frames that are neither SNAP nor IP, for example those
/// of the spanning tree protocol, only three bytes are needed.
pub(crate) fn next(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let (header, payload) = header::<3>(bytes)?;
    match header {
        [0xaa, 0xaa, 0x03] => snap(payload),
        [0x06, 0x06, 0x03] => Ok(Layer::Typed(IPV4, payload)),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a SNAP header: the organisation that defines the type, and the type.
pub(crate) fn snap(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([organisation @ .., high, low], payload) = header::<5>(bytes)?;
    let kind = u16::from_be_bytes([*high, *low]);
    match organisation {
        // RFC 1042 and IEEE 802.1H.
        [0, 0, 0 | 0xf8] if !is_length(kind) => Ok(Layer::Typed(kind, payload)),
        // Bridged Ethernet, with or without a frame check sequence at the end (RFC 2427).
        [0x00, 0x80, 0xc2] if matches!(kind, 1 | 7) => Ok(Layer::Ethernet(payload)),
        _ => Err(Skip::NotIp),
    }
}
