//! The frames of captures, and the datagrams in them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::packet::Skip;

/// A complete UDP datagram with its time and endpoints, or a message of an IPFIX file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Time in nanoseconds since the Unix epoch. For a message of an IPFIX file, this is the export time in its header,
    /// in whole seconds.
    pub time_ns: u64,
    /// Source address and port, or `0.0.0.0:0` for a message of an IPFIX file, which does not name the exporter.
    pub source: SocketAddr,
    /// Destination address and port, or `0.0.0.0:0` for a message of an IPFIX file.
    pub destination: SocketAddr,
    /// Payload of at most 65,535 bytes.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// Creates the datagram for a message of an IPFIX file, exported at `time_ns`. Its payload is empty.
    pub(crate) const fn of_file(time_ns: u64) -> Self {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { time_ns, source: nowhere, destination: nowhere, payload: &[] }
    }
}

/// A frame of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Time in nanoseconds since the Unix epoch.
    pub(crate) time_ns: u64,
    pub(crate) link_type: u16,
    /// Captured bytes.
    pub(crate) bytes: &'a [u8],
    /// Length before the capture, in bytes.
    pub(crate) original: u32,
}

impl Frame<'_> {
    /// Returns the number of bytes at the end of the frame that were not captured.
    #[inline(always)]
    pub(super) fn uncaptured(&self) -> u32 {
        // A frame that claims to be shorter than its captured part is believed to be whole.
        u64::from(self.original).saturating_sub(self.bytes.len() as u64) as u32
    }
}

/// A function that processes a frame.
pub(crate) trait See<T>: FnOnce(Frame<'_>) -> Result<T, Skip> {}

impl<T, F: FnOnce(Frame<'_>) -> Result<T, Skip>> See<T> for F {}
