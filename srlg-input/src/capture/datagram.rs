//! The UDP datagrams of a capture, and the messages of an IPFIX file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::packet::Skip;
use crate::packet::ip::Headers;

/// Holds a whole UDP datagram: when and between whom it went, and what was in it; or a message of an IPFIX file, which does not
/// tell who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Nanoseconds since the Unix epoch. Of a message of an IPFIX file: the time of export in its header, in whole seconds.
    pub time_ns: u64,
    /// Sender; `0.0.0.0:0` of a message of an IPFIX file.
    pub source: SocketAddr,
    /// Receiver; `0.0.0.0:0` of a message of an IPFIX file.
    pub destination: SocketAddr,
    /// At most 65,535 bytes.
    pub payload: &'a [u8],
}

/// A datagram but for its payload.
pub(crate) struct Head {
    time_ns: u64,
    source: SocketAddr,
    destination: SocketAddr,
}

impl Head {
    /// Of a message in a file, which was sent from nowhere to nowhere.
    pub(crate) const fn without_ends(time_ns: u64) -> Self {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { time_ns, source: nowhere, destination: nowhere }
    }

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
