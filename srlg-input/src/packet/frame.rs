//! A parser that finds the outermost IP header of a captured frame.
//!
//! [`walk`] passes over one [`Layer`] after another until it reaches an IP header. Captures, interfaces, sampled headers
//! in flow exports and the contents of tunnels all use this walk.
//!
//! Invariant: at most [`MOST_LAYERS`] layers are read, so parsing always ends.
//!
//! This parser does not enter tunnels. [`Headers::inner`] enters a tunnel.

use std::ops::ControlFlow::{self, Break, Continue};

use crate::packet::ether_type::{self, IPV4, IPV6, VLAN};
use crate::packet::ip::{self, Headers};
use crate::packet::{Skip, link, llc, ppp};

/// Maximum number of layers, from the link type to the IP packet. Frames in networks have fewer than ten.
const MOST_LAYERS: usize = 32;

/// A part of a frame that starts with a header, together with the type of this header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layer<'a> {
    /// A frame of a link type.
    Link(u16, &'a [u8]),
    /// An Ethernet frame.
    Ethernet(&'a [u8]),
    /// A payload whose EtherType is known. Numbers below 0x600 are lengths of LLC frames.
    Typed(u16, &'a [u8]),
    /// A payload that starts with an LLC header.
    Llc(&'a [u8]),
    /// A PPP frame.
    Ppp(&'a [u8]),
    /// A packet of IPv4 or IPv6.
    Ip(&'a [u8]),
}

impl<'a> Layer<'a> {
    /// Returns the next layer, or the headers if this layer is an IP packet.
    #[inline(always)]
    fn step(self) -> Result<ControlFlow<Headers<'a>, Self>, Skip> {
        match self {
            Self::Typed(IPV4, packet) => ip::ipv4(packet).map(Break),
            Self::Typed(IPV6, packet) => ip::ipv6(packet).map(Break),
            Self::Typed(kind, payload) => ether_type::next(kind, payload).map(Continue),
            Self::Ethernet(frame) => typed::<14>(frame).map(Continue),
            Self::Ip(packet) => ip::by_version(packet, Skip::BadHeader).map(Break),
            Self::Llc(payload) => llc::next(payload).map(Continue),
            Self::Ppp(frame) => ppp::next(frame).map(Continue),
            Self::Link(number, frame) => link::next(number, frame).map(Continue),
        }
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
        match layer.step()? {
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
                types.ether_type = Some(kind).filter(|it| !llc::is_length(*it));
            }
            _ => {}
        }
        let Ok(Continue(next)) = layer.step() else { break };
        layer = next;
    }
    types
}

/// Returns the first `N` bytes and the bytes after them.
#[inline(always)]
pub(crate) fn header<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Skip> {
    bytes.split_first_chunk().ok_or(Skip::CutHeader)
}

/// Returns the payload of a header of `N` bytes that ends with an EtherType.
#[inline(always)]
pub(crate) fn typed<const N: usize>(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let (header, payload) = header::<N>(bytes)?;
    Ok(Layer::Typed(u16::from_be_bytes([header[N - 2], header[N - 1]]), payload))
}

/// Returns the Ethernet frame after a header of `N` bytes.
pub(crate) fn behind<const N: usize>(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    header::<N>(bytes).map(|(_, frame)| Layer::Ethernet(frame))
}

#[cfg(test)]
mod tests;
