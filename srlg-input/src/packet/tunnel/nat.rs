//! Tunnels through NAT, which mostly carry IPv6: Teredo and AYIYA.

use crate::contact::Host;
use crate::packet::Skip;
use crate::packet::ip;
use crate::packet::layer::header;
use crate::packet::tunnel::{Inner, Payload};

/// Parses Teredo (RFC 4380, 5.1.1): an optional authentication header, an optional origin header, and an IPv6 packet.
/// Trailers may follow the packet (RFC 6081). One of its addresses is a Teredo address or link-local.
pub(super) fn teredo(payload: Payload<'_>) -> Inner<'_> {
    let mut packet = payload;
    if starts_with(packet, [0, 1])? {
        // Lengths of the client identifier and of the authentication value, a nonce and a confirmation byte.
        let ([_, _, client, value], _) = header::<4>(packet.bytes)?;
        packet = packet.behind(13 + usize::from(*client) + usize::from(*value))?;
    }
    if starts_with(packet, [0, 0])? {
        packet = packet.behind(8)?;
    }
    let headers = ip::by_version(packet.bytes, Skip::NotIp)?;
    let is_teredo = headers.hosts().into_iter().any(is_of_teredo);
    Ok(packet.accept(headers).filter(|_| is_teredo))
}

/// Returns whether `payload` starts with `kind`, whose first byte is never that of an IP packet.
fn starts_with(payload: Payload<'_>, kind: [u8; 2]) -> Result<bool, Skip> {
    let is_header = payload.bytes.first() == Some(&kind[0]);
    Ok(is_header && *header::<2>(payload.bytes)?.0 == kind)
}

/// Returns whether `host` is in 2001::/32 or fe80::/10.
fn is_of_teredo(host: Host) -> bool {
    host.as_v6() >> 96 == 0x2001_0000 || host.as_v6() >> 118 == 0xfe80 >> 6
}

/// Parses AYIYA (draft-massar-v6ops-ayiya-02): the lengths of an identity (as a power of two) and of a signature (in
/// units of 4 bytes), the methods of the signature, an operation, an IP protocol number and a time. Two operations
/// forward a packet.
pub(super) fn ayiya(payload: Payload<'_>) -> Inner<'_> {
    let ([identity, signature, operation, protocol, ..], _) = header::<8>(payload.bytes)?;
    if !matches!(operation & 0x0f, 1 | 3) || !matches!(protocol, 4 | 41) {
        return Ok(None);
    }
    let length = 8 + (1 << (identity >> 4)) + 4 * usize::from(signature >> 4);
    Ok(payload.accept(ip::by_version(payload.behind(length)?.bytes, Skip::NotIp)?))
}
