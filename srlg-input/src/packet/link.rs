//! Link types, numbered as in the registry of tcpdump.org, and the headers of their frames.

mod names;

use crate::packet::Skip;
use crate::packet::ether_type::{IPV4, IPV6, MPLS, PPPOE, is_length};
use crate::packet::layer::{Layer, behind, header, typed};
use crate::packet::{llc, wifi};

pub(crate) use names::name;

pub(crate) const ETHERNET: u16 = 1;

/// Parses the first header of a `frame` of type `link_type`.
pub(crate) fn next(link_type: u16, frame: &[u8]) -> Result<Layer<'_>, Skip> {
    match link_type {
        ETHERNET => Ok(Layer::Ethernet(frame)),
        0 | 108 => loopback(frame),
        9 | 50 => Ok(Layer::Ppp(frame)),
        10 => fddi(frame),
        // RAW has two historic numbers in addition to 101.
        12 | 14 | 101 => Ok(Layer::Ip(frame)),
        51 => Ok(Layer::Typed(PPPOE, frame)),
        // Cisco HDLC consists of an address, a control byte and an EtherType.
        104 => typed::<4>(frame),
        105 => wifi::next(frame),
        107 => frame_relay(frame),
        // A Linux cooked header has 14 bytes about the sender, then an EtherType.
        113 => typed::<16>(frame),
        117 => pflog(frame),
        127 => wifi::radiotap(frame),
        192 => ppi(frame),
        219 => Ok(Layer::Typed(MPLS, frame)),
        226 => ipnet(frame),
        228 => Ok(Layer::Typed(IPV4, frame)),
        229 => Ok(Layer::Typed(IPV6, frame)),
        239 => nflog(frame),
        242 => infiniband(frame),
        258 => pktap(frame),
        276 => linux_cooked_v2(frame),
        // Broadcom, Marvell DSA and EDSA: Ethernet with a switch tag between the addresses and the EtherType.
        281 | 284 => typed::<18>(frame),
        285 => typed::<22>(frame),
        // Broadcom with the tag before the frame.
        282 => behind::<4>(frame),
        _ => Err(Skip::LinkType),
    }
}

/// Returns the IP packet whose version is the address family `number`.
fn of_family(number: u32, packet: &[u8]) -> Result<Layer<'_>, Skip> {
    match number {
        2 => Ok(Layer::Typed(IPV4, packet)),
        // These are the numbers of AF_INET6 on Linux, on NetBSD and OpenBSD, on Solaris, on FreeBSD and on macOS.
        10 | 24 | 26 | 28 | 30 => Ok(Layer::Typed(IPV6, packet)),
        _ => Err(Skip::NotIp),
    }
}

/// Parses a BSD loopback frame: an address family in the byte order of the capturing host, then a packet. The family
/// numbers fit in one byte, so the byte order is unambiguous.
fn loopback(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let (family, packet) = header::<4>(frame)?;
    of_family(u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)), packet)
}

/// Parses a Linux cooked capture frame, version 2, which starts with the EtherType.
fn linux_cooked_v2(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([high, low, ..], payload) = header::<20>(frame)?;
    Ok(Layer::Typed(u16::from_be_bytes([*high, *low]), payload))
}

/// Parses an FDDI frame (ISO 9314-2): a control byte, two addresses and an LLC header.
fn fddi(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([control, ..], payload) = header::<13>(frame)?;
    // Of all classes of frames, only LLC carries packets.
    if control & 0x70 == 0x50 { Ok(Layer::Llc(payload)) } else { Err(Skip::NotIp) }
}

/// Parses a Frame Relay frame: an address of two to four bytes, of which only the last is odd, then either a control byte
/// and a protocol (RFC 2427) or, on Cisco routers, an EtherType.
fn frame_relay(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let address = frame.iter().take(4).position(|byte| byte & 1 == 1);
    let address = match address {
        Some(0) => return Err(Skip::BadHeader),
        Some(last) => last + 1,
        None if frame.len() < 4 => return Err(Skip::CutHeader),
        None => return Err(Skip::BadHeader),
    };
    match &frame[address..] {
        [0x03, rest @ ..] => {
            // A byte of padding may precede the protocol.
            let ([protocol], payload) = header::<1>(rest.strip_prefix(&[0]).unwrap_or(rest))?;
            match protocol {
                0xcc => Ok(Layer::Typed(IPV4, payload)),
                0x8e => Ok(Layer::Typed(IPV6, payload)),
                0xcf => Ok(Layer::Ppp(payload)),
                0x80 => llc::snap(payload),
                _ => Err(Skip::NotIp),
            }
        }
        rest => match typed::<2>(rest)? {
            Layer::Typed(kind, _) if is_length(kind) => Err(Skip::NotIp),
            layer => Ok(layer),
        },
    }
}

/// Parses the header of a firewall log of BSD: its length without padding, an address family, the rule and the
/// interface.
fn pflog(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    /// Length of the shortest header, which was that of OpenBSD 3.
    const SHORTEST: u8 = 45;
    let ([length, family], _) = header::<2>(frame)?;
    if *length < SHORTEST {
        return Err(Skip::BadHeader);
    }
    let length = usize::from(*length).next_multiple_of(4);
    of_family((*family).into(), frame.get(length..).ok_or(Skip::CutHeader)?)
}

/// Parses a PPI header: version, flags, length, link type of the frame, and fields. All numbers are little-endian.
fn ppi(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([_, _, low, high, link_type @ ..], _) = header::<8>(frame)?;
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    inside(frame, length, 8, *link_type)
}

/// Parses a header of Apple's PKTAP: length, type of the record, link type of the frame, and fields. All numbers are
/// little-endian.
fn pktap(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let (length, rest) = header::<4>(frame)?;
    let (record, rest) = header::<4>(rest)?;
    let (link_type, _) = header::<4>(rest)?;
    // A record of another type has no frame.
    if u32::from_le_bytes(*record) != 1 {
        return Err(Skip::NotIp);
    }
    inside(frame, u32::from_le_bytes(*length) as usize, 12, *link_type)
}

/// Returns the frame after a header of `length` bytes, which must be at least `least`.
fn inside(
    frame: &[u8],
    length: usize,
    least: usize,
    link_type: [u8; 4],
) -> Result<Layer<'_>, Skip> {
    if length < least {
        return Err(Skip::BadHeader);
    }
    let inner = frame.get(length..).ok_or(Skip::CutHeader)?;
    let number = u16::try_from(u32::from_le_bytes(link_type)).map_err(|_| Skip::LinkType)?;
    Ok(Layer::Link(number, inner))
}

/// Parses the header of Solaris IP observability: version, address family, interfaces and zones.
fn ipnet(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([_, family, ..], packet) = header::<24>(frame)?;
    of_family((*family).into(), packet)
}

/// Parses a frame of IP over InfiniBand (RFC 4391): an address header of 40 bytes, an EtherType and two reserved bytes.
fn infiniband(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([.., high, low, _, _], payload) = header::<44>(frame)?;
    Ok(Layer::Typed(u16::from_be_bytes([*high, *low]), payload))
}

/// Parses a frame of Linux netfilter: an address family, a version and a group, then attributes. The attribute of type 9
/// is the packet.
fn nflog(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    const PAYLOAD: u16 = 9;
    /// Maximum number of attributes. Linux defines 20 types.
    const MOST_ATTRIBUTES: usize = 32;
    let ([family, version, ..], mut rest) = header::<4>(frame)?;
    if *version != 0 {
        return Err(Skip::BadHeader);
    }
    for _ in 0..MOST_ATTRIBUTES {
        let ([length, kind], value) = attribute(rest)?;
        let length = usize::from(length).checked_sub(4).ok_or(Skip::BadHeader)?;
        if kind == PAYLOAD {
            return of_family((*family).into(), value.get(..length).unwrap_or(value));
        }
        rest = value.get(length.next_multiple_of(4)..).ok_or(Skip::CutHeader)?;
    }
    Err(Skip::NotIp)
}

/// Returns the length and the type of a netfilter attribute, and the bytes after them. They have the byte order of the
/// capturing host. All types fit in six bits, and the two highest bits of the field are flags, so the byte order is unambiguous.
fn attribute(bytes: &[u8]) -> Result<([u16; 2], &[u8]), Skip> {
    let ([length @ .., low, high], value) = header::<4>(bytes)?;
    let numbers = if high & 0x3f == 0 {
        [u16::from_le_bytes(*length), (*low).into()]
    } else {
        [u16::from_be_bytes(*length), (*high).into()]
    };
    Ok((numbers, value))
}
