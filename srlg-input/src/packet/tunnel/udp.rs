//! Tunnels over UDP, which have well-known ports (IANA registry of port numbers).

use crate::packet::ether_type;
use crate::packet::frame::walk;
use crate::packet::layer::Layer;
use crate::packet::tunnel::{
    Inner, Parser, Payload, gre, gtp, l2tp, multicast, nat, overlay, wireless, word,
};

/// Returns the headers of the packet that a datagram carries, or `None` for an ordinary datagram.
pub(super) fn inner(datagram: &[u8]) -> Inner<'_> {
    // A datagram with fewer than eight captured bytes counts as an ordinary one.
    let Some((header, bytes)) = datagram.split_first_chunk::<8>() else { return Ok(None) };
    let [source, destination, length] = [0, 2, 4].map(|at| word(header, at));
    let Some(parse) = of_any_source(destination).or_else(|| of_fixed_ports([source, destination]))
    else {
        return Ok(None);
    };
    // A length of 0 is unknown, because a datagram that the network card has yet to split has no other length.
    parse(Payload { bytes, length: usize::from(length).checked_sub(8) })
}

/// Returns the parser of a tunnel whose datagrams are sent to the port `destination` from any port.
fn of_any_source(destination: u16) -> Option<Parser> {
    Some(match destination {
        // The second port is that of older Linux systems.
        4789 | 8472 => overlay::vxlan,
        4790 => overlay::vxlan_gpe,
        6081 => overlay::geneve,
        6080 => overlay::gue,
        4341 => overlay::lisp,
        // RFC 8086.
        4754 => gre::inner,
        // RFC 7510.
        6635 => |payload| Ok(payload.accept(walk(Layer::Typed(ether_type::MPLS, payload.bytes))?)),
        37008 => wireless::tzsp,
        _ => return None,
    })
}

/// Returns the parser of a tunnel of which one end, or each end, uses a fixed port.
fn of_fixed_ports(ports: [u16; 2]) -> Option<Parser> {
    ports.into_iter().find_map(|port| {
        Some(match port {
            2152 => gtp::inner,
            1701 => l2tp::datagram,
            3544 => nat::teredo,
            5072 => nat::ayiya,
            5247 => wireless::capwap,
            12222 => wireless::lwapp,
            2268 => multicast::amt,
            // 6a44 (RFC 6751), TSP (RFC 5572), and the Mobile IPv6 of hosts and of proxies (RFC 5555 and 5844).
            1027 | 3653 | 4191 | 5437 => packet,
            _ => return None,
        } as Parser)
    })
}

/// Returns the packet that a datagram consists of, without a header before it.
fn packet(payload: Payload<'_>) -> Inner<'_> {
    payload.packet()
}
