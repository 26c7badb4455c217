//! Headers that an EtherType announces.
//!
//! Switches put some of these headers before IP, especially on mirror ports.

use crate::packet::ether_type::{IPV4, IPV6, MPLS, NSH, PPPOE, VLAN, is_length};
use crate::packet::layer::{Layer, behind, header, typed};
use crate::packet::{Skip, mpls};

/// Returns the layer after the header that the EtherType `number` announces.
pub(crate) fn next(number: u16, bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    match number {
        // IEEE 802.1Q and 802.1ad, and the numbers of older switches for outer tags: two bytes and an EtherType.
        VLAN | 0x88a8 | 0x9100 | 0x9200 => typed::<4>(bytes),
        // RFC 3032: unicast and multicast.
        MPLS | 0x8848 => mpls::next(bytes),
        // RFC 2516.
        PPPOE => pppoe(bytes),
        // Cisco VN-Tag (802.1Qbh draft; vntag in Suricata): four bytes about the interfaces and an EtherType.
        0x8926 => typed::<6>(bytes),
        // IEEE 802.1BR E-TAG: six bytes about the ports and an EtherType.
        0x893f => typed::<8>(bytes),
        // Cisco TrustSec (CMD in Snort).
        0x8909 => cisco_metadata(bytes),
        // Cisco FabricPath (in Zeek and Snort): a tag of two bytes before the original frame.
        0x8903 => behind::<2>(bytes),
        // IEEE 802.1ah: flags and a service identifier of four bytes before the customer's frame.
        0x88e7 => behind::<4>(bytes),
        NSH => nsh(bytes),
        0xd28b => arista(bytes),
        0x88e5 => macsec(bytes),
        _ if is_length(number) => Ok(Layer::Llc(bytes)),
        _ => Err(Skip::NotIp),
    }
}

/// Returns the payload of a header of `length` bytes that ends with an EtherType.
fn tag(bytes: &[u8], length: usize) -> Result<Layer<'_>, Skip> {
    let (header, payload) = bytes.split_at_checked(length).ok_or(Skip::CutHeader)?;
    let kind = header.last_chunk().ok_or(Skip::BadHeader)?;
    Ok(Layer::Typed(u16::from_be_bytes(*kind), payload))
}

/// Parses the header of a PPPoE session: version, code, session and length.
fn pppoe(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    header::<6>(bytes).map(|(_, frame)| Layer::Ppp(frame))
}

/// Parses Cisco MetaData: version, length in units of 8 bytes, options with the security group, and an EtherType.
fn cisco_metadata(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([_, length], _) = header::<2>(bytes)?;
    tag(bytes, usize::from(*length) * 8)
}

/// Parses the network service header (RFC 8300): version, length in units of 4 bytes, type of the metadata and type of
/// the payload.
fn nsh(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([version, length, _, next], _) = header::<4>(bytes)?;
    let length = usize::from(length & 0x3f) * 4;
    if version >> 6 != 0 || length < 8 {
        return Err(Skip::BadHeader);
    }
    next_protocol(*next, bytes.get(length..).ok_or(Skip::CutHeader)?)
}

/// Returns the layer that a number in the registry of next protocols of NSH announces. VXLAN-GPE and LISP use the same
/// numbers.
pub(crate) fn next_protocol(number: u8, payload: &[u8]) -> Result<Layer<'_>, Skip> {
    match number {
        1 => Ok(Layer::Typed(IPV4, payload)),
        2 => Ok(Layer::Typed(IPV6, payload)),
        3 => Ok(Layer::Ethernet(payload)),
        4 => Ok(Layer::Typed(NSH, payload)),
        5 => Ok(Layer::Typed(MPLS, payload)),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a timestamp of Arista's tap aggregation (avsp in Wireshark): subtype, version, a time of 64 or 48 bits and an
/// EtherType. The second byte of the version states the width of the time.
fn arista(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let (header, _) = header::<4>(bytes)?;
    match header {
        [0, 1, _, 0x10 | 0x11] => tag(bytes, 14),
        [0, 1, _, 0x20 | 0x21] => tag(bytes, 12),
        _ => Err(Skip::NotIp),
    }
}

/// Parses the security tag of MACsec (IEEE 802.1AE, 9.3): flags, length and packet number, optionally a channel
/// identifier, and an EtherType that may be encrypted.
fn macsec(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([flags], _) = header::<1>(bytes)?;
    match flags {
        0x80.. => Err(Skip::BadHeader),
        // Without this flag, the text of the frame is unchanged, that is, only its integrity is protected.
        _ if flags & 0x04 != 0 => Err(Skip::Encrypted),
        _ if flags & 0x20 != 0 => tag(bytes, 16),
        _ => tag(bytes, 8),
    }
}
