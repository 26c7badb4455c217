//! EtherTypes, and the headers that they announce.
//!
//! Switches put some of these headers before IP, especially on mirror ports.

use crate::packet::frame::{Layer, behind, header, typed};
use crate::packet::{Skip, llc, mpls};

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const VLAN: u16 = 0x8100;
pub(crate) const MPLS: u16 = 0x8847;
pub(crate) const PPPOE: u16 = 0x8864;
const NSH: u16 = 0x894f;

/// A function that passes over the header after an EtherType.
type Reader = fn(&[u8]) -> Result<Layer<'_>, Skip>;

/// An EtherType and its header.
struct Kind {
    number: u16,
    name: &'static str,
    /// Reader of the header, or `None` if it does not lead to IP.
    reader: Option<Reader>,
}

const fn read(number: u16, name: &'static str, reader: Reader) -> Kind {
    Kind { number, name, reader: Some(reader) }
}

const fn named(number: u16, name: &'static str) -> Kind {
    Kind { number, name, reader: None }
}

/// All EtherTypes that are read or named. The most frequent ones come first, because the table is searched in order.
const KINDS: [Kind; 46] = [
    // IEEE 802.1Q and 802.1ad, and the numbers of older switches for outer tags: two bytes and an EtherType.
    read(VLAN, "VLAN", typed::<4>),
    read(0x88a8, "VLAN", typed::<4>),
    read(0x9100, "VLAN", typed::<4>),
    read(0x9200, "VLAN", typed::<4>),
    // RFC 3032.
    read(MPLS, "MPLS", mpls::next),
    read(0x8848, "MPLS multicast", mpls::next),
    // RFC 2516.
    read(PPPOE, "PPPoE", pppoe),
    // Cisco VN-Tag (802.1Qbh draft; vntag in Suricata): four bytes about the interfaces and an EtherType.
    read(0x8926, "VN-Tag", typed::<6>),
    // IEEE 802.1BR E-TAG: six bytes about the ports and an EtherType.
    read(0x893f, "802.1BR", typed::<8>),
    // Cisco TrustSec (CMD in Snort).
    read(0x8909, "Cisco MetaData", cisco_metadata),
    // Cisco FabricPath (in Zeek and Snort): a tag of two bytes before the original frame.
    read(0x8903, "FabricPath", behind::<2>),
    // IEEE 802.1ah: flags and a service identifier of four bytes before the customer's frame.
    read(0x88e7, "PBB", behind::<4>),
    read(NSH, "NSH", nsh),
    read(0xd28b, "Arista", arista),
    read(0x88e5, "MACsec", macsec),
    // The following are only named (IEEE registry of EtherTypes).
    named(ARP, "ARP"),
    named(0x0842, "Wake-on-LAN"),
    named(0x22ea, "SRP"),
    named(0x22f0, "AVTP"),
    named(0x22f3, "TRILL"),
    named(0x8035, "RARP"),
    named(0x809b, "AppleTalk"),
    named(0x8137, "IPX"),
    named(0x8808, "flow control"),
    named(0x8809, "LACP"),
    named(0x8863, "PPPoE discovery"),
    named(0x887b, "HomePlug"),
    named(0x888e, "EAPOL"),
    named(0x8892, "PROFINET"),
    named(0x88a2, "ATA over Ethernet"),
    named(0x88a4, "EtherCAT"),
    named(0x88b8, "GOOSE"),
    named(0x88ba, "sampled values"),
    named(0x88ca, "TIPC"),
    named(0x88cc, "LLDP"),
    named(0x88e1, "HomePlug AV"),
    named(0x88f5, "MVRP"),
    named(0x88f7, "PTP"),
    named(0x88fb, "PRP"),
    named(0x8902, "CFM"),
    named(0x8906, "FCoE"),
    named(0x8914, "FCoE initialization"),
    named(0x8915, "RoCE"),
    named(0x892f, "HSR"),
    named(0x9000, "loopback"),
    named(0x6558, "bridged Ethernet"),
];

fn find(number: u16) -> Option<&'static Kind> {
    const { &KINDS }.iter().find(|kind| kind.number == number)
}

/// Returns the name of an EtherType, if it has a well-known one.
pub(crate) fn name(number: u16) -> Option<&'static str> {
    find(number).map(|kind| kind.name)
}

/// Returns whether `number` is an EtherType of IP or in the table.
pub(crate) fn is_known(number: u16) -> bool {
    matches!(number, IPV4 | IPV6) || find(number).is_some()
}

/// Returns the layer after the header that `number` announces.
pub(crate) fn next(number: u16, bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    if llc::is_length(number) {
        return Ok(Layer::Llc(bytes));
    }
    let reader = find(number).and_then(|kind| kind.reader).ok_or(Skip::NotIp)?;
    reader(bytes)
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
    let payload = bytes.get(length..).ok_or(Skip::CutHeader)?;
    match next {
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
