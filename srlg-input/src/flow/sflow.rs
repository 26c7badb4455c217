//! sFlow v5 datagrams: their headers and samples.
//!
//! Only flow samples are read. All others are skipped by their lengths. A record that cannot be read ends its sample,
//! and a sample that exceeds the datagram ends the datagram. The samples and packets before the damage are used.

mod packet;

use std::net::IpAddr;
use std::num::NonZeroU32;

use crate::contact::{Contact, Host};
use crate::flow::bytes;
use crate::flow::counts::Reason;
use crate::flow::sflow::packet::{Packet, Records};
use crate::flow::sink::{Details, Sink};
use crate::packet::Choice;

/// Formats of samples. The upper 20 bits of a format are an enterprise number, which is 0 for the formats of sFlow v5.
const FLOW: u32 = 1;
const EXPANDED_FLOW: u32 = 3;
const DISCARDED_PACKET: u32 = 5;

/// Maximum length of a UDP payload, in bytes.
const MOST_PAYLOAD_BYTES: u32 = 65_535 - 8;

/// A datagram whose samples have not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    /// Address of the agent, or `None` if the agent does not state it.
    pub(crate) agent: Option<IpAddr>,
    pub(crate) sub_agent: u32,
    pub(crate) number: u32,
    pub(crate) uptime_ms: u32,
    samples: Samples<'a>,
}

/// The samples of a datagram.
#[derive(Clone, Copy, Debug)]
struct Samples<'a> {
    rest: &'a [u8],
    left: u32,
    /// Reason why the samples end before the stated number.
    fault: Option<Reason>,
}

/// A sample, or a record of a sample.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    format: u32,
    content: &'a [u8],
}

/// A compact or expanded flow sample.
struct FlowSample<'a> {
    rate: u32,
    ingress: Option<NonZeroU32>,
    records: Records<'a>,
}

impl<'a> Datagram<'a> {
    /// Parses the header. Returns the reason if it is incomplete, or if the type of the address is unknown.
    pub(crate) fn new(mut payload: &'a [u8]) -> Result<Self, Reason> {
        let rest = &mut payload;
        bytes::header_word(rest)?;
        let agent = match bytes::header_word(rest)? {
            0 => None,
            1 => Some(bytes::take::<4>(rest).ok_or(Reason::Cut)?.into()),
            2 => Some(bytes::take::<16>(rest).ok_or(Reason::Cut)?.into()),
            _ => return Err(Reason::Malformed),
        };
        let (sub_agent, number, uptime_ms) =
            (bytes::header_word(rest)?, bytes::header_word(rest)?, bytes::header_word(rest)?);
        let samples = Samples { left: bytes::header_word(rest)?, rest, fault: None };
        Ok(Self { agent, sub_agent, number, uptime_ms, samples })
    }

    /// Returns whether the datagram contains at least one sample.
    pub(crate) fn has_content(&self) -> bool {
        let mut samples = self.samples;
        samples.next().is_some()
    }

    /// Passes the contacts of the samples to `sink`. Each contact has the time of receipt, `time_ns`, because the
    /// datagram does not state a time.
    pub(crate) fn read<F: FnMut(Contact)>(&self, time_ns: u64, sink: &mut Sink<'_, F>) {
        let mut samples = self.samples;
        for Part { format, content } in samples.by_ref() {
            sink.counts.records += 1;
            let sample = match format {
                FLOW => FlowSample::compact(content),
                EXPANDED_FLOW => FlowSample::expanded(content),
                DISCARDED_PACKET => {
                    sink.count(Reason::DiscardedPacket);
                    continue;
                }
                _ => {
                    sink.count(Reason::OtherSample);
                    continue;
                }
            };
            match sample {
                Some(sample) => sample.read(time_ns, sink),
                None => sink.count(Reason::BadSample),
            }
        }
        samples.fault.into_iter().for_each(|fault| sink.count(fault));
    }
}

impl<'a> Iterator for Samples<'a> {
    type Item = Part<'a>;

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        self.left = self.left.checked_sub(1)?;
        let before = self.rest;
        let part = Part::take(&mut self.rest);
        if part.is_none() {
            self.left = 0;
            let length = before.get(4..).and_then(|mut length| bytes::u32(&mut length));
            // If no datagram can contain the sample, the length is wrong, and the datagram is not truncated.
            let is_impossible = length.is_some_and(|length| length > MOST_PAYLOAD_BYTES);
            self.fault = Some(if is_impossible { Reason::Malformed } else { Reason::Cut });
        }
        part
    }
}

impl<'a> Part<'a> {
    /// Takes the next part from the front of `bytes`. Returns `None` if the part is longer than `bytes`.
    #[inline]
    fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        let format = bytes::u32(bytes)?;
        let length = bytes::u32(bytes)?;
        let content = bytes::split(bytes, usize::try_from(length).ok()?)?;
        Some(Self { format, content })
    }
}

impl<'a> FlowSample<'a> {
    /// Parses a compact sample. Returns `None` if its header is incomplete.
    fn compact(content: &'a [u8]) -> Option<Self> {
        let ([_, _, rate, _, _, input, _, count], records) = words(content)?;
        Some(Self { rate, ingress: compact_index(input), records: Records::new(count, records) })
    }

    /// Parses an expanded sample. Returns `None` if its header is incomplete.
    fn expanded(content: &'a [u8]) -> Option<Self> {
        let ([_, _, _, rate, _, _, input_format, input, _, _, count], records) = words(content)?;
        let ingress = if input_format == 0 { if_index(input) } else { None };
        Some(Self { rate, ingress, records: Records::new(count, records) })
    }

    #[inline]
    fn read<F: FnMut(Contact)>(self, time_ns: u64, sink: &mut Sink<'_, F>) {
        let Self { rate, ingress, mut records } = self;
        let packet = records.packet();
        if records.is_damaged {
            sink.count(Reason::BadSample);
        }
        let base = Details { sampling: NonZeroU32::new(rate), ingress, ..Details::default() };
        match packet {
            Ok(Packet::Fields { hosts, details }) => pass(time_ns, hosts, details, &base, sink),
            Ok(Packet::Bytes { headers, uncaptured }) => {
                let Choice { is_outer, inner, .. } = sink.choose(headers);
                let outer = Some(headers).filter(|_| is_outer);
                // Two calls instead of a loop would not be inlined, which takes 7 % more instructions.
                for packet in [outer, inner].into_iter().flatten() {
                    let rest = || headers.rest_of_inner(packet, uncaptured?);
                    let details = Details::of_packet(packet, packet.octets().or_else(rest));
                    pass(time_ns, packet.hosts(), details, &base, sink);
                }
            }
            // The damage may hide the packet.
            Err(Reason::NoHosts) if records.is_damaged => {}
            Err(reason) => sink.count(reason),
        }
    }
}

/// Passes the contact of a sampled packet to `sink`. The sampling rate and the interface are those of `sample`.
#[inline(always)]
fn pass<F: FnMut(Contact)>(
    time_ns: u64,
    hosts: [Host; 2],
    details: Details,
    sample: &Details,
    sink: &mut Sink<'_, F>,
) {
    let Details { sampling, ingress, .. } = *sample;
    if let Some(hosts) = sink.nonzero(hosts) {
        sink.contact(time_ns, hosts, &Details { sampling, ingress, ..details });
    }
}

/// Returns the first `N` words of `bytes` and the rest.
#[inline]
fn words<const N: usize>(bytes: &[u8]) -> Option<([u32; N], &[u8])> {
    let (head, rest) = bytes.split_at_checked(4 * N)?;
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(head.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    Some((words, rest))
}

/// Returns the ingress interface of a compact sample. The two highest bits of `value` are a format. In formats other
/// than 0, the lower 30 bits are not an interface, but a reason or a number of interfaces.
fn compact_index(value: u32) -> Option<NonZeroU32> {
    /// Interface number that means the device itself.
    const INTERNAL: u32 = 0x3fff_ffff;
    Some(value).filter(|value| *value < INTERNAL).and_then(if_index)
}

/// Returns `index` if it is a valid SNMP index, that is, from 1 to 2^31 - 1.
fn if_index(index: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(index).filter(|index| index.get() >> 31 == 0)
}

#[cfg(test)]
mod tests;
