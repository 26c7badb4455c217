//! Layers of a frame, and helpers that pass over their headers.

use crate::packet::Skip;

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
