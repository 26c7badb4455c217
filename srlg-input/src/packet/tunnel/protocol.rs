//! Tunnels over IP, which have protocol numbers (IANA registry of protocol numbers).

use crate::packet::Skip;
use crate::packet::ether_type;
use crate::packet::frame::walk;
use crate::packet::ip;
use crate::packet::layer::{Layer, header};
use crate::packet::tunnel::{Inner, Parser, Payload, gre, l2tp, multicast};

/// Returns the parser of the tunnel with the protocol number `protocol`, if it is one.
pub(super) fn parser(protocol: u8) -> Option<Parser> {
    Some(match protocol {
        // RFC 2003, and RFC 2473 for the outer version 6.
        4 => |payload| ip::ipv4(payload.bytes).map(Some),
        // RFC 4213, and RFC 2473. This includes 6to4, 6rd and ISATAP.
        41 => |payload| ip::ipv6(payload.bytes).map(Some),
        47 => gre::inner,
        // IPIP is the former number of IP in IP in KA9Q NOS.
        94 => |payload| ip::by_version(payload.bytes, Skip::NotIp).map(Some),
        97 => ether_ip,
        103 => multicast::pim,
        115 => l2tp::session,
        // RFC 4023.
        137 => |payload| walk(Layer::Typed(ether_type::MPLS, payload.bytes)).map(Some),
        // Ethernet, mostly after a segment routing header (RFC 8986).
        143 => |payload| walk(Layer::Ethernet(payload.bytes)).map(Some),
        // RFC 9491.
        145 => |payload| walk(Layer::Typed(ether_type::NSH, payload.bytes)).map(Some),
        _ => return None,
    })
}

/// Parses EtherIP (RFC 3378): a version of four bits, which is 3, and twelve reserved bits. EoIPv6 of MikroTik swaps the
/// first four bits with the next four, and uses the other bits for a tunnel identifier.
fn ether_ip(payload: Payload<'_>) -> Inner<'_> {
    let (header, frame) = header::<2>(payload.bytes)?;
    if header[0] >> 4 == 3 || header[0] & 0x0f == 3 {
        walk(Layer::Ethernet(frame)).map(Some)
    } else {
        Err(Skip::BadHeader)
    }
}
