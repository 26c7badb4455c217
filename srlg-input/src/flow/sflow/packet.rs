//! The packet that the records of a flow sample describe, by its first bytes or by fields that the agent decoded.

use std::num::{NonZeroU8, NonZeroU64};

use crate::contact::Host;
use crate::flow::bytes;
use crate::flow::counts::Reason;
use crate::flow::sflow::{Part, words};
use crate::flow::sink::Details;
use crate::packet::Headers;

/// Formats of the records that describe a packet.
const RAW_HEADER: u32 = 1;
const SAMPLED_IPV4: u32 = 3;
const SAMPLED_IPV6: u32 = 4;

/// The records of a flow sample.
pub(super) struct Records<'a> {
    rest: &'a [u8],
    left: u32,
    /// Whether a record was found that cannot be read.
    pub(super) is_damaged: bool,
}

/// A sampled packet.
pub(super) enum Packet<'a> {
    /// A packet of which the agent sent the first bytes.
    Bytes {
        headers: Headers<'a>,
        /// Number of bytes at the end of the frame that the agent did not send, if the record states it.
        uncaptured: Option<u32>,
    },
    /// A packet that the agent decoded.
    Fields { hosts: [Host; 2], details: Details },
}

impl<'a> Records<'a> {
    /// Creates the list of `count` records in `bytes`. Bytes after the last record are ignored.
    pub(super) fn new(count: u32, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, left: count, is_damaged: false }
    }

    /// Reads the records up to the first one that cannot be read, and returns the packet that they describe. If the
    /// first bytes of the packet can be decoded, they take precedence over the fields that the agent decoded.
    #[inline]
    pub(super) fn packet(&mut self) -> Result<Packet<'a>, Reason> {
        let mut outcome = Err(Reason::NoHosts);
        let mut is_from_bytes = false;
        while let Some(Part { format, content }) = self.next() {
            if is_from_bytes {
                continue;
            }
            let found = match format {
                RAW_HEADER => raw(content),
                SAMPLED_IPV4 => ipv4(content),
                SAMPLED_IPV6 => ipv6(content),
                _ => continue,
            };
            match found {
                Ok(packet) => {
                    is_from_bytes = format == RAW_HEADER;
                    outcome = Ok(packet);
                }
                Err(Reason::BadSample) => {
                    self.is_damaged = true;
                    break;
                }
                Err(reason) if outcome.is_err() => outcome = Err(reason),
                Err(_) => {}
            }
        }
        outcome
    }

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        self.left = self.left.checked_sub(1)?;
        let record = Part::take(&mut self.rest);
        self.is_damaged |= record.is_none();
        record
    }
}

/// Decodes the first bytes of a packet. They end with the record, even if the record states that there are more.
#[inline]
fn raw(record: &[u8]) -> Result<Packet<'_>, Reason> {
    let ([protocol, frame_length, stripped, length], bytes) = fields(record)?;
    let link_type = match protocol {
        1 => 1,
        // PPP.
        7 => 9,
        11 => 228,
        12 => 229,
        _ => return Err(Reason::BadFrame),
    };
    let captured = bytes.get(..length as usize).unwrap_or(bytes);
    let headers = crate::packet::headers(link_type, captured).map_err(|_| Reason::BadFrame)?;
    // The stripped bytes include the frame check sequence. If the lengths contradict each other, they are not used.
    let sent = frame_length.checked_sub(stripped);
    let uncaptured = sent.and_then(|length| length.checked_sub(captured.len() as u32));
    Ok(Packet::Bytes { headers, uncaptured })
}

fn ipv4(record: &[u8]) -> Result<Packet<'static>, Reason> {
    let ([length, protocol, source, destination, ports @ .., tcp_flags], _) = fields::<7>(record)?;
    let hosts = [source, destination].map(Host::v4);
    Ok(Packet::Fields { hosts, details: details(length, protocol, ports, tcp_flags) })
}

fn ipv6(record: &[u8]) -> Result<Packet<'static>, Reason> {
    let ([length, protocol], mut rest) = fields(record)?;
    let mut host = || bytes::take(&mut rest).ok_or(Reason::BadSample);
    let hosts = [host()?, host()?].map(|host| Host::v6(u128::from_be_bytes(host)));
    let ([ports @ .., tcp_flags], _) = fields::<3>(rest)?;
    Ok(Packet::Fields { hosts, details: details(length, protocol, ports, tcp_flags) })
}

/// Returns the first `N` words of a record and the rest.
#[inline]
fn fields<const N: usize>(record: &[u8]) -> Result<([u32; N], &[u8]), Reason> {
    words(record).ok_or(Reason::BadSample)
}

fn details(length: u32, protocol: u32, ports: [u32; 2], tcp_flags: u32) -> Details {
    let [source_port, destination_port] = ports.map(|port| u16::try_from(port).ok());
    Details {
        packets: Some(NonZeroU64::MIN),
        octets: NonZeroU64::new(length.into()),
        protocol: u8::try_from(protocol).ok(),
        tcp_flags: NonZeroU8::new(tcp_flags as u8),
        source_port,
        destination_port,
        ..Details::default()
    }
}
