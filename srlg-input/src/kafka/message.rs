//! From a message to a contact.
//!
//! The wire format of protobuf is walked once, without an allocation. Fields that make no contact are passed over.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use lru::LruCache;

use crate::contact::{Contact, Host};
use crate::flow::{Details, ExporterStatus, FlowCounts, Losses, Reason, table};
use crate::kafka::schema::{Layout, Part};
use crate::options::{ExportOptions, Timestamps};

/// Exporters that are remembered. The one that was heard least recently is forgotten.
const EXPORTERS: usize = 16_384;

const SECOND: u64 = 1_000_000_000;

/// Reads flows out of messages of one [`Layout`], and counts what becomes of them.
#[derive(Debug)]
pub struct FlowReader {
    layout: Layout,
    timestamps: Timestamps,
    /// Rate of flows that state none.
    sampling: Option<NonZeroU32>,
    counts: FlowCounts,
    exporters: LruCache<Host, Heard>,
}

/// Counters of an exporter.
#[derive(Debug, Default)]
struct Heard {
    last_ns: u64,
    counts: FlowCounts,
}

/// The fields of a message that make a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flow {
    source: Option<Host>,
    destination: Option<Host>,
    exporter: Option<Host>,
    sampling: u64,
    received_ns: u64,
    end_ns: u64,
    packets: u64,
    protocol: u64,
    destination_port: u64,
    tcp_flags: u64,
}

/// A message that is no message of protobuf, or whose addresses have a length that no address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Malformed;

impl FlowReader {
    /// Makes a reader of messages of `layout`. Of the options, `nat` has no meaning here.
    #[must_use]
    pub fn new(layout: Layout, options: &ExportOptions) -> Self {
        let ExportOptions { timestamps, sampling, .. } = *options;
        let (counts, exporters) = (FlowCounts::default(), table(EXPORTERS));
        Self { layout, timestamps, sampling, counts, exporters }
    }

    /// Returns the contact of `message`, if it has one. Kafka stored the message at `stored_ns`, and now it is `now_ns`, both
    /// nanoseconds since the Unix epoch.
    pub fn read(&mut self, message: &[u8], stored_ns: u64, now_ns: u64) -> Option<Contact> {
        self.counts.datagrams += 1;
        let Ok(flow) = Flow::read(message, &self.layout) else {
            self.counts.add(Reason::Malformed);
            return None;
        };
        let received_ns = if flow.received_ns == 0 { stored_ns } else { flow.received_ns };
        let received_ns = received_ns.min(now_ns);
        let exporter = flow.exporter.unwrap_or(Host::v4(0));
        let heard = self.exporters.get_or_insert_mut(exporter, Heard::default);
        heard.last_ns = heard.last_ns.max(received_ns);
        heard.counts.datagrams += 1;
        self.counts.records += 1;
        heard.counts.records += 1;
        let hosts = match flow.hosts() {
            Ok(hosts) => hosts,
            Err(reason) => {
                self.counts.add(reason);
                heard.counts.add(reason);
                return None;
            }
        };
        self.counts.contacts += 1;
        heard.counts.contacts += 1;
        let time_ns = match self.timestamps {
            Timestamps::Trusted if flow.end_ns > 0 => flow.end_ns.min(now_ns),
            // Messages have no time of export, by which an exporter's clock could be corrected.
            Timestamps::Trusted | Timestamps::Corrected | Timestamps::Received => received_ns,
        };
        Some(flow.details().contact(time_ns, hosts, exporter, self.sampling))
    }

    /// Reads all further messages by `layout`. Counters are kept.
    pub fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// Returns what became of all messages.
    #[must_use]
    pub const fn counts(&self) -> &FlowCounts {
        &self.counts
    }

    /// Returns what is remembered of the exporters, in the order of their addresses.
    #[must_use]
    pub fn exporters(&self) -> Vec<ExporterStatus> {
        let status = |(host, heard): (&Host, &Heard)| ExporterStatus {
            address: SocketAddr::new(IpAddr::from(*host), 0),
            last_seen_ns: heard.last_ns,
            last_read_ns: heard.last_ns,
            last_record_ns: heard.last_ns,
            counts: heard.counts.clone(),
            losses: Losses::default(),
            skew_ns: 0,
            templates: 0,
            backlog: None,
            undecodable: Vec::new(),
        };
        let mut exporters: Vec<_> = self.exporters.iter().map(status).collect();
        exporters.sort_by_key(|exporter| exporter.address);
        exporters
    }
}

impl Flow {
    /// Reads a message of `layout`, with its length in front or without.
    #[inline]
    fn read(message: &[u8], layout: &Layout) -> Result<Self, Malformed> {
        let mut rest = message;
        if varint(&mut rest) == Ok(rest.len() as u64) {
            // A bare message may begin like that by accident, but it has no source and destination behind its first tag.
            let flow = Self::read_bare(rest, layout);
            if let Ok(Self { source: Some(_), destination: Some(_), .. }) = flow {
                return flow;
            }
        }
        Self::read_bare(message, layout)
    }

    #[inline(always)]
    fn read_bare(mut rest: &[u8], layout: &Layout) -> Result<Self, Malformed> {
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
            // Nanoseconds are more exact, in whichever order both come.
            Part::ReceivedSeconds if self.received_ns == 0 => {
                self.received_ns = value.saturating_mul(SECOND);
            }
            Part::EndSeconds if self.end_ns == 0 => self.end_ns = value.saturating_mul(SECOND),
            Part::ReceivedSeconds | Part::EndSeconds => {}
            Part::ReceivedNs => self.received_ns = value,
            Part::EndNs => self.end_ns = value,
            Part::Packets => self.packets = value,
            Part::Protocol => self.protocol = value,
            Part::DestinationPort => self.destination_port = value,
            Part::TcpFlags => self.tcp_flags = value,
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

    #[inline(always)]
    fn hosts(&self) -> Result<[Host; 2], Reason> {
        let (Some(source), Some(destination)) = (self.source, self.destination) else {
            return Err(Reason::NoHosts);
        };
        let is_zero = |host: Host| host == Host::v4(0) || host == Host::v6(0);
        let has_zero = is_zero(source) || is_zero(destination);
        if has_zero { Err(Reason::ZeroHost) } else { Ok([source, destination]) }
    }

    /// Zero is what is not known: no other value is left out of a message.
    #[inline(always)]
    fn details(&self) -> Details {
        let known = |value: u64| Some(value).filter(|value| *value > 0);
        Details {
            packets: known(self.packets),
            protocol: known(self.protocol).and_then(|it| it.try_into().ok()),
            // The low eight flags.
            tcp_flags: known(self.tcp_flags).map(|flags| flags as u8),
            destination_port: known(self.destination_port).and_then(|it| it.try_into().ok()),
            initiated: None,
            sampling: u32::try_from(self.sampling).ok().and_then(NonZeroU32::new),
        }
    }
}

/// Returns the host of an address of either family; no bytes are no host.
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

/// Takes a number of at most 64 bits in groups of seven.
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

#[cfg(test)]
mod tests;
