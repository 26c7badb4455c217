//! The UDP datagrams of a capture.

use std::net::{IpAddr, SocketAddr};

use crate::Skip;
use crate::ip::Headers;

/// Holds a whole UDP datagram: when and between whom it went, and what was in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// At most 65,527 bytes.
    pub payload: &'a [u8],
}

/// A datagram but for its payload.
pub(crate) struct Head {
    time_ns: u64,
    source: SocketAddr,
    destination: SocketAddr,
}

impl Head {
    pub(crate) fn with(self, payload: &[u8]) -> Datagram<'_> {
        let Self { time_ns, source, destination } = self;
        Datagram { time_ns, source, destination, payload }
    }
}

/// Copies what the datagram at `headers` holds to `payload`.
pub(crate) fn copy(
    time_ns: u64,
    headers: &Headers<'_>,
    payload: &mut Vec<u8>,
) -> Result<Head, Skip> {
    let segment = headers.segment().ok_or(Skip::CutHeader)?;
    let ([from, to], bytes) = segment.udp()?;
    payload.clear();
    payload.extend_from_slice(bytes);
    let [source, destination] = [(headers.source, from), (headers.destination, to)]
        .map(|(host, port)| SocketAddr::new(IpAddr::from(host), port));
    Ok(Head { time_ns, source, destination })
}
