//! The conversion of a Protobuf message to a flow.
//!
//! The wire format is parsed in one pass, without allocations. Fields that are not used are skipped.

use crate::contact::Host;
use crate::messages::flow::{Flow, Malformed};
use crate::messages::schema::{Layout, Part};

const SECOND: u64 = 1_000_000_000;

impl Flow {
    /// Decodes a message according to `layout`. The message may have a length prefix.
    #[inline]
    pub(super) fn of_protobuf(message: &[u8], layout: &Layout) -> Result<Self, Malformed> {
        let mut rest = message;
        if varint(&mut rest) == Ok(rest.len() as u64) {
            // The first byte of a message without a prefix may look like a prefix by accident. In this case, no source
            // and destination can be decoded after it.
            let flow = Self::of_bare_protobuf(rest, layout);
            if let Ok(Self { source: Some(_), destination: Some(_), .. }) = flow {
                return flow;
            }
        }
        Self::of_bare_protobuf(message, layout)
    }

    #[inline(always)]
    fn of_bare_protobuf(mut rest: &[u8], layout: &Layout) -> Result<Self, Malformed> {
        if rest.is_empty() {
            return Err(Malformed);
        }
        let mut flow = Self::default();
        while !rest.is_empty() {
            let tag = varint(&mut rest)?;
            let (number, wire_type) = (tag >> 3, tag & 7);
            if number == 0 {
                return Err(Malformed);
            }
            let part = layout.part(number);
            match wire_type {
                0 => flow.set_number(part, varint(&mut rest)?)?,
                1 => flow.set_number(part, u64::from_le_bytes(*take_array(&mut rest)?))?,
                2 => {
                    let length = usize::try_from(varint(&mut rest)?).map_err(|_| Malformed)?;
                    let (bytes, after) = rest.split_at_checked(length).ok_or(Malformed)?;
                    rest = after;
                    flow.set_bytes(part, bytes)?;
                }
                5 => flow.set_number(part, u32::from_le_bytes(*take_array(&mut rest)?).into())?,
                _ => return Err(Malformed),
            }
        }
        Ok(flow)
    }

    #[inline(always)]
    fn set_number(&mut self, part: Option<Part>, value: u64) -> Result<(), Malformed> {
        let Some(part) = part else { return Ok(()) };
        match part {
            Part::Sampling => self.sampling = value,
            // Nanoseconds are more precise, so they take precedence, whichever field comes first.
            Part::ReceivedSeconds if self.received_ns == 0 => {
                self.received_ns = value.saturating_mul(SECOND);
            }
            Part::EndSeconds if self.end_ns == 0 => self.end_ns = value.saturating_mul(SECOND),
            Part::ReceivedSeconds | Part::EndSeconds => {}
            Part::ReceivedNs => self.received_ns = value,
            Part::EndNs => self.end_ns = value,
            Part::Packets => self.packets = value,
            Part::Octets => self.octets = value,
            Part::Protocol => self.protocol = value,
            Part::SourcePort => self.source_port = value,
            Part::DestinationPort => self.destination_port = value,
            Part::TcpFlags => self.tcp_flags = value,
            Part::Ingress => self.ingress = value,
            Part::Source | Part::Destination | Part::Exporter => return Err(Malformed),
        }
        Ok(())
    }

    #[inline(always)]
    fn set_bytes(&mut self, part: Option<Part>, bytes: &[u8]) -> Result<(), Malformed> {
        let place = match part {
            None => return Ok(()),
            Some(Part::Source) => &mut self.source,
            Some(Part::Destination) => &mut self.destination,
            Some(Part::Exporter) => &mut self.exporter,
            Some(_) => return Err(Malformed),
        };
        *place = host(bytes)?;
        Ok(())
    }
}

/// Returns the host whose IPv4 or IPv6 address is in `bytes`, or `None` if there are no bytes.
#[inline(always)]
fn host(bytes: &[u8]) -> Result<Option<Host>, Malformed> {
    if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        Ok(Some(Host::v6(u128::from_be_bytes(octets))))
    } else if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        Ok(Some(Host::from(octets)))
    } else if bytes.is_empty() {
        Ok(None)
    } else {
        Err(Malformed)
    }
}

/// Reads a variable-length number of at most 64 bits, encoded in groups of seven bits.
#[inline(always)]
fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or(Malformed)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

#[inline(always)]
fn take_array<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], Malformed> {
    let (bytes, after) = rest.split_first_chunk().ok_or(Malformed)?;
    *rest = after;
    Ok(bytes)
}
