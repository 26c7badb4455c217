//! The outermost IP header: the end of every walk through a frame.
//!
//! Shape: bytes in, a directed pair of hosts or the reason why there is none out.
//! Invariant: only the fixed 20 bytes of IPv4 are looked at; a snap length may cut the rest.

use crate::Skip;

/// Source and destination, or why there are none.
pub(crate) type Hosts = Result<(u32, u32), Skip>;

const IPV4_FIXED_HEADER: usize = 20;

/// Hosts of a packet that is announced as IPv4. Fragments have them too.
#[inline]
pub(crate) fn ipv4(packet: &[u8]) -> Hosts {
    let header = packet.first_chunk::<IPV4_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    let header_length = u16::from(header[0] & 0x0f) * 4;
    let total_length = u16::from_be_bytes([header[2], header[3]]);
    if header[0] >> 4 != 4 || header_length < 20 || total_length < header_length {
        return Err(Skip::BadHeader);
    }
    let address = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    Ok((address(12), address(16)))
}

/// A packet that is announced as IPv6.
pub(crate) fn ipv6(packet: &[u8]) -> Hosts {
    match packet.first().map(|byte| byte >> 4) {
        Some(6) => Err(Skip::Ipv6),
        Some(_) => Err(Skip::BadHeader),
        None => Err(Skip::CutHeader),
    }
}

/// A packet whose first nibble tells the version; `other` is the verdict on the rest.
pub(crate) fn by_version(packet: &[u8], other: Skip) -> Hosts {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => Err(Skip::Ipv6),
        Some(_) => Err(other),
        None => Err(Skip::CutHeader),
    }
}

#[cfg(test)]
mod tests {
    use super::{by_version, ipv4, ipv6};
    use crate::Skip;

    const PACKET: [u8; 20] =
        [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7];
    const HOSTS: (u32, u32) = (0xc000_0201, 0xc633_6407);

    fn with(at: usize, value: u8) -> [u8; 20] {
        let mut packet = PACKET;
        packet[at] = value;
        packet
    }

    #[test]
    fn twenty_bytes_are_enough_and_nineteen_are_not() {
        assert_eq!(ipv4(&PACKET), Ok(HOSTS));
        assert_eq!(ipv4(&PACKET[..19]), Err(Skip::CutHeader));
        assert_eq!(ipv4(&[]), Err(Skip::CutHeader));
    }

    #[test]
    fn options_and_payload_may_be_cut() {
        let mut packet = with(0, 0x4f);
        packet[2..4].copy_from_slice(&1500_u16.to_be_bytes());
        assert_eq!(ipv4(&packet), Ok(HOSTS));
    }

    #[test]
    fn fragments_are_contacts() {
        assert_eq!(ipv4(&with(7, 0xb9)), Ok(HOSTS));
    }

    #[test]
    fn lying_headers_are_refused() {
        assert_eq!(ipv4(&with(0, 0x65)), Err(Skip::BadHeader), "version");
        assert_eq!(ipv4(&with(0, 0x44)), Err(Skip::BadHeader), "header length below 20");
        assert_eq!(ipv4(&with(0, 0x46)), Err(Skip::BadHeader), "total below header length");
        assert_eq!(ipv4(&with(3, 19)), Err(Skip::BadHeader), "total length below 20");
    }

    #[test]
    fn the_version_decides_where_nothing_announces_it() {
        assert_eq!(by_version(&PACKET, Skip::NotIp), Ok(HOSTS));
        assert_eq!(by_version(&[0x60], Skip::NotIp), Err(Skip::Ipv6));
        assert_eq!(by_version(&[0x00], Skip::NotIp), Err(Skip::NotIp));
        assert_eq!(by_version(&[], Skip::NotIp), Err(Skip::CutHeader));
        assert_eq!(ipv6(&[0x60]), Err(Skip::Ipv6));
        assert_eq!(ipv6(&PACKET), Err(Skip::BadHeader));
        assert_eq!(ipv6(&[]), Err(Skip::CutHeader));
    }
}
