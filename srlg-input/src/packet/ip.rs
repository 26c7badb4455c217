//! The outermost IP header: the end of every walk through a frame.
//!
//! Shape: bytes in, [`Headers`] or the reason why there are none out.
//! Invariant: only the fixed header decides whether there is a contact, 20 bytes of IPv4 or 40 of IPv6; a snap length
//! may cut the rest.
//!
//! The addresses of IPv6 stand before all extension headers, so these may be any number, of any
//! kind, damaged or cut. Its payload length may be any, as it is 0 in jumbograms.

use crate::contact::Host;

use crate::packet::Skip;
use crate::packet::transport::{self, Segment, Transport};

/// Holds the outermost headers of a packet, from IP on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// Sender.
    pub source: Host,
    /// Receiver.
    pub destination: Host,
    /// All that was captured of it from the IP header on.
    packet: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Returns what the transport header tells; nothing where extension headers of IPv6 are cut.
    #[inline(always)]
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.segment().map_or(Transport::default(), |segment| segment.transport())
    }

    /// What follows IP and its extension headers.
    #[inline(always)]
    pub(crate) fn segment(&self) -> Option<Segment<'a>> {
        match self.packet[0] >> 4 {
            4 => Some(transport::ipv4(self.packet)),
            _ => transport::ipv6(self.packet),
        }
    }
}

const IPV4_FIXED_HEADER: usize = 20;
const IPV6_FIXED_HEADER: usize = 40;

/// Headers of a packet that is announced as IPv4. Fragments have them too.
#[inline(always)]
pub(crate) fn ipv4(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV4_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    let header_length = u16::from(header[0] & 0x0f) * 4;
    let total_length = u16::from_be_bytes([header[2], header[3]]);
    if header[0] >> 4 != 4 || header_length < 20 || total_length < header_length {
        return Err(Skip::BadHeader);
    }
    let address = |at: usize| {
        Host::v4(u32::from_be_bytes(*header[at..].first_chunk().expect("inside the header")))
    };
    Ok(Headers { source: address(12), destination: address(16), packet })
}

/// Headers of a packet that is announced as IPv6. Fragments have them too.
#[inline(always)]
pub(crate) fn ipv6(packet: &[u8]) -> Result<Headers<'_>, Skip> {
    let header = packet.first_chunk::<IPV6_FIXED_HEADER>().ok_or(Skip::CutHeader)?;
    if header[0] >> 4 != 6 {
        return Err(Skip::BadHeader);
    }
    let address = |at: usize| {
        Host::v6(u128::from_be_bytes(*header[at..].first_chunk().expect("inside the header")))
    };
    Ok(Headers { source: address(8), destination: address(24), packet })
}

/// A packet whose first nibble tells the version; `other` is the verdict on the rest.
#[inline(always)]
pub(crate) fn by_version(packet: &[u8], other: Skip) -> Result<Headers<'_>, Skip> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        Some(_) => Err(other),
        None => Err(Skip::CutHeader),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use crate::contact::Host;
    use crate::packet::Skip;

    type Hosts = Result<(Host, Host), Skip>;

    fn hosts_of(headers: Result<super::Headers<'_>, Skip>) -> Hosts {
        headers.map(|headers| (headers.source, headers.destination))
    }

    fn ipv4(packet: &[u8]) -> Hosts {
        hosts_of(super::ipv4(packet))
    }

    fn ipv6(packet: &[u8]) -> Hosts {
        hosts_of(super::ipv6(packet))
    }

    fn by_version(packet: &[u8], other: Skip) -> Hosts {
        hosts_of(super::by_version(packet, other))
    }

    const IPV4: [u8; 20] =
        [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7];

    fn host(text: &str) -> Host {
        text.parse::<IpAddr>().unwrap().into()
    }

    fn hosts(source: &str, destination: &str) -> (Host, Host) {
        (host(source), host(destination))
    }

    fn ipv4_hosts() -> (Host, Host) {
        hosts("192.0.2.1", "198.51.100.7")
    }

    /// The fixed header of a packet from 2001:db8::1 to fe80::2.
    fn ipv6_header(payload_length: u16, next_header: u8) -> [u8; 40] {
        let mut header = [0; 40];
        header[0] = 0x6f;
        header[4..6].copy_from_slice(&payload_length.to_be_bytes());
        header[6] = next_header;
        header[8..12].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        header[23] = 1;
        header[24..26].copy_from_slice(&[0xfe, 0x80]);
        header[39] = 2;
        header
    }

    fn ipv6_hosts() -> (Host, Host) {
        hosts("2001:db8::1", "fe80::2")
    }

    fn with(at: usize, value: u8) -> [u8; 20] {
        let mut packet = IPV4;
        packet[at] = value;
        packet
    }

    #[test]
    fn the_fixed_header_is_enough_and_a_byte_less_is_not() {
        let packet = ipv6_header(0, 17);
        assert_eq!(ipv4(&IPV4), Ok(ipv4_hosts()));
        assert_eq!(ipv6(&packet), Ok(ipv6_hosts()));
        assert!((0..20).all(|length| ipv4(&IPV4[..length]) == Err(Skip::CutHeader)));
        assert!((0..40).all(|length| ipv6(&packet[..length]) == Err(Skip::CutHeader)));
    }

    #[test]
    fn options_and_payload_may_be_cut() {
        let mut packet = with(0, 0x4f);
        packet[2..4].copy_from_slice(&1500_u16.to_be_bytes());
        assert_eq!(ipv4(&packet), Ok(ipv4_hosts()));
    }

    #[test]
    fn ipv6_has_hosts_whatever_follows_and_however_long_it_claims_to_be() {
        // Hop by hop options, TCP, 6in6, routing, fragment, ESP, nothing, unassigned.
        for next_header in [0, 6, 41, 43, 44, 50, 59, 253] {
            for payload_length in [0, 1, u16::MAX] {
                let header = ipv6_header(payload_length, next_header);
                // An extension header of no sensible length or kind, cut at every byte.
                let packet = [&header[..], &[0xff; 9]].concat();
                for length in 40..=packet.len() {
                    assert_eq!(ipv6(&packet[..length]), Ok(ipv6_hosts()), "{next_header}");
                }
            }
        }
    }

    #[test]
    fn fragments_are_contacts() {
        assert_eq!(ipv4(&with(7, 0xb9)), Ok(ipv4_hosts()));
    }

    #[test]
    fn lying_headers_are_refused() {
        assert_eq!(ipv4(&with(0, 0x65)), Err(Skip::BadHeader), "version");
        assert_eq!(ipv4(&with(0, 0x44)), Err(Skip::BadHeader), "header length below 20");
        assert_eq!(ipv4(&with(0, 0x46)), Err(Skip::BadHeader), "total below header length");
        assert_eq!(ipv4(&with(3, 19)), Err(Skip::BadHeader), "total length below 20");
        for version in (0..16).filter(|version| *version != 6) {
            let mut packet = ipv6_header(0, 17);
            packet[0] = version << 4;
            assert_eq!(ipv6(&packet), Err(Skip::BadHeader), "version {version}");
        }
    }

    #[test]
    fn the_version_decides_where_nothing_announces_it() {
        assert_eq!(by_version(&IPV4, Skip::NotIp), Ok(ipv4_hosts()));
        assert_eq!(by_version(&ipv6_header(0, 17), Skip::NotIp), Ok(ipv6_hosts()));
        assert_eq!(by_version(&[0x60], Skip::NotIp), Err(Skip::CutHeader));
        assert_eq!(by_version(&[0x00], Skip::NotIp), Err(Skip::NotIp));
        assert_eq!(by_version(&[], Skip::NotIp), Err(Skip::CutHeader));
    }
}
