//! A parser that finds the outermost IP header of a captured frame.
//!
//! [`walk`] passes over one [`Layer`] after another until it reaches an IP header. Captures, interfaces, sampled headers
//! in flow exports and the contents of tunnels all use this walk.
//!
//! Invariant: at most [`MOST_LAYERS`] layers are read, so parsing always ends.
//!
//! This parser does not enter tunnels. [`Headers::inner`] enters a tunnel.

use std::ops::ControlFlow::{self, Break, Continue};

use crate::packet::ether_type::{IPV4, IPV6, VLAN, is_length};
use crate::packet::ip::{self, Headers};
use crate::packet::layer::{Layer, typed};
use crate::packet::{Skip, link, llc, ppp, tag};

/// Maximum number of layers, from the link type to the IP packet. Frames in networks have fewer than ten.
const MOST_LAYERS: usize = 32;

/// Returns the layer after `layer`, or the headers if `layer` is an IP packet.
#[inline(always)]
fn step(layer: Layer<'_>) -> Result<ControlFlow<Headers<'_>, Layer<'_>>, Skip> {
    match layer {
        Layer::Typed(IPV4, packet) => ip::ipv4(packet).map(Break),
        Layer::Typed(IPV6, packet) => ip::ipv6(packet).map(Break),
        Layer::Typed(kind, payload) => tag::next(kind, payload).map(Continue),
        Layer::Ethernet(frame) => typed::<14>(frame).map(Continue),
        Layer::Ip(packet) => ip::by_version(packet, Skip::BadHeader).map(Break),
        Layer::Llc(payload) => llc::next(payload).map(Continue),
        Layer::Ppp(frame) => ppp::next(frame).map(Continue),
        Layer::Link(number, frame) => link::next(number, frame).map(Continue),
    }
}

/// Finds the outermost IP header in a `frame` of type `link_type`. Link types are numbered as in the tcpdump.org
/// registry, for example 1 for Ethernet and 101 for raw IPv4 or IPv6.
///
/// # Errors
/// Returns a [`Skip`] with the reason if no valid IP header is found.
#[inline(always)]
pub fn headers(link_type: u16, frame: &[u8]) -> Result<Headers<'_>, Skip> {
    match of_common(link_type, frame) {
        Some(headers) => Ok(headers),
        None => walk(Layer::Link(link_type, frame)),
    }
}

/// Returns the headers of a frame of the most common kind: IP in Ethernet, with at most one VLAN tag. Such frames do not
/// need the walk, which takes a call. Returns `None` for all other frames.
#[inline(always)]
pub(crate) fn of_common(link_type: u16, frame: &[u8]) -> Option<Headers<'_>> {
    if link_type != link::ETHERNET {
        return None;
    }
    let mut layer = typed::<14>(frame).ok()?;
    if let Layer::Typed(VLAN, payload) = layer {
        layer = typed::<4>(payload).ok()?;
    }
    match layer {
        Layer::Typed(IPV4, packet) => ip::ipv4(packet).ok(),
        Layer::Typed(IPV6, packet) => ip::ipv6(packet).ok(),
        _ => None,
    }
}

/// Finds the outermost IP header in a layer or in the layers after it.
#[inline(never)]
pub(crate) fn walk(mut layer: Layer<'_>) -> Result<Headers<'_>, Skip> {
    for _ in 0..MOST_LAYERS {
        match step(layer)? {
            Break(headers) => return Ok(headers),
            Continue(next) => layer = next,
        }
    }
    Err(Skip::NotIp)
}

/// The types of the last layers that the walk reached in a frame without an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastTypes {
    /// Link type of the frame, or of the frame inside it if it is in a frame of PPI or PKTAP.
    pub(crate) link_type: u16,
    /// EtherType of the last payload, or `None` if there is none, as in LLC frames.
    pub(crate) ether_type: Option<u16>,
}

/// Returns the last types in a frame that was skipped.
#[cold]
pub(crate) fn last_types(link_type: u16, frame: &[u8]) -> LastTypes {
    let mut types = LastTypes { link_type, ether_type: None };
    let mut layer = Layer::Link(link_type, frame);
    for _ in 0..MOST_LAYERS {
        match layer {
            Layer::Link(number, _) => types = LastTypes { link_type: number, ether_type: None },
            Layer::Typed(kind, _) => {
                types.ether_type = Some(kind).filter(|it| !is_length(*it));
            }
            _ => {}
        }
        let Ok(Continue(next)) = step(layer) else { break };
        layer = next;
    }
    types
}

#[cfg(test)]
mod tests;
