//! NetFlow and IPFIX datagrams: versions, headers and sets.

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use crate::contact::{Contact, Host};
use crate::flow::bytes;
use crate::flow::clock::{Clock, RecordTime, SECOND};
use crate::flow::counts::Reason;
use crate::flow::sink::{Details, Sink};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    V5,
    V7,
    V9,
    Ipfix,
    Sflow,
}

impl Version {
    /// Detects the protocol of `payload` by its version number. The number has two bytes in NetFlow and IPFIX and four
    /// in sFlow, so NetFlow v5 starts with 0x0005 and sFlow v5 with 0x00000005.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        match *payload.first_chunk()? {
            [0, 5, _, _] => Some(Self::V5),
            [0, 7, _, _] => Some(Self::V7),
            [0, 9, _, _] => Some(Self::V9),
            [0, 10, _, _] => Some(Self::Ipfix),
            [0, 0, 0, 5] => Some(Self::Sflow),
            _ => None,
        }
    }
}

/// A NetFlow v5 or v7 datagram, whose records have a fixed format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export<'a> {
    pub(crate) version: Version,
    pub(crate) uptime_ms: u32,
    pub(crate) export_s: u32,
    pub(crate) export_rest_ns: u32,
    pub(crate) number: u32,
    pub(crate) engine: u16,
    sampling: Option<NonZeroU32>,
    pub(crate) count: u16,
    record_bytes: usize,
    records: &'a [u8],
}

impl<'a> Export<'a> {
    /// Returns `None` if the header is incomplete, or if there are fewer records than the header states.
    pub(crate) fn new(version: Version, mut payload: &'a [u8]) -> Option<Self> {
        let rest = &mut payload;
        bytes::u16(rest)?;
        let count = bytes::u16(rest)?;
        let uptime_ms = bytes::u32(rest)?;
        let (export_s, nanoseconds) = (bytes::u32(rest)?, bytes::u32(rest)?);
        let number = bytes::u32(rest)?;
        let (engine, sampling) = (bytes::u16(rest)?, bytes::u16(rest)?);
        let is_v5 = version == Version::V5;
        let record_bytes = if is_v5 { 48 } else { 52 };
        // If the record count in the header is wrong, the records are not trusted either.
        let records = rest.get(..usize::from(count) * record_bytes)?;
        Some(Self {
            version,
            uptime_ms,
            export_s,
            export_rest_ns: nanoseconds.min(SECOND as u32 - 1),
            number,
            // The engine is reserved in v7.
            engine: if is_v5 { engine } else { 0 },
            // The two upper bits are the sampling mode.
            sampling: NonZeroU32::new(if is_v5 { u32::from(sampling & 0x3fff) } else { 0 }),
            count,
            record_bytes,
            records,
        })
    }

    pub(crate) fn read<F: FnMut(Contact)>(&self, clock: &Clock, sink: &mut Sink<'_, F>) {
        let records = self.records.chunks_exact(self.record_bytes);
        sink.counts.records += records.len() as u64;
        for record in records {
            // These are the fields that v5 and v7 share.
            let record = record.first_chunk().expect("records are longer");
            self.contact(record, clock, sink);
        }
    }

    #[inline]
    fn contact<F: FnMut(Contact)>(&self, record: &[u8; 40], clock: &Clock, sink: &mut Sink<'_, F>) {
        let word = |at: usize| {
            u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        let (source, destination) = (word(0), word(4));
        if source == 0 || destination == 0 {
            return sink.count(Reason::ZeroHost);
        }
        let (packets, octets) = (word(16), word(20));
        if packets == 0 && octets == 0 {
            return sink.count(Reason::NoPackets);
        }
        let uptime = |at| Some(word(at)).filter(|ms| *ms > 0).map(RecordTime::Uptime);
        let time_ns = sink.time_ns(clock.last(uptime(24), uptime(28), None));
        let details = Details {
            packets: NonZeroU64::new(packets.into()),
            octets: NonZeroU64::new(octets.into()),
            protocol: Some(record[38]),
            tcp_flags: NonZeroU8::new(record[37]),
            source_port: Some(u16::from_be_bytes([record[32], record[33]])),
            destination_port: Some(u16::from_be_bytes([record[34], record[35]])),
            icmp_type: None,
            initiated: None,
            sampling: self.sampling,
            // The word contains two interface numbers of 16 bits. The ingress interface comes first.
            ingress: NonZeroU32::new(word(12) >> 16),
        };
        sink.contact(time_ns, [Host::v4(source), Host::v4(destination)], &details);
    }
}

/// A NetFlow v9 or IPFIX message whose sets have not been decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) version: Version,
    pub(crate) export_s: u32,
    /// Uptime of the exporter in milliseconds, or `None` for IPFIX, whose messages do not state it.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) number: u32,
    pub(crate) domain: u32,
    sets: &'a [u8],
    is_cut: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sets<'a> {
    rest: &'a [u8],
    /// Whether the message is truncated or the length of a set is invalid.
    pub(crate) is_cut: bool,
}

/// Maximum truncation error of an export time that a header states in whole seconds.
pub(crate) const CUT_NS: u64 = SECOND - 1;

impl<'a> Message<'a> {
    pub(crate) fn v9(mut payload: &'a [u8]) -> Option<Self> {
        let rest = &mut payload;
        bytes::u32(rest)?;
        let uptime_ms = bytes::u32(rest);
        let (export_s, number) = (bytes::u32(rest)?, bytes::u32(rest)?);
        let domain = bytes::u32(rest)?;
        let (version, sets) = (Version::V9, *rest);
        Some(Self { version, export_s, uptime_ms, number, domain, sets, is_cut: false })
    }

    pub(crate) fn ipfix(mut payload: &'a [u8]) -> Option<Self> {
        let rest = &mut payload;
        bytes::u16(rest)?;
        let length = usize::from(bytes::u16(rest)?);
        let (export_s, number) = (bytes::u32(rest)?, bytes::u32(rest)?);
        let domain = bytes::u32(rest)?;
        let length = length.checked_sub(16)?;
        let is_cut = length > rest.len();
        let sets = &rest[..length.min(rest.len())];
        let version = Version::Ipfix;
        Some(Self { version, export_s, uptime_ms: None, number, domain, sets, is_cut })
    }

    /// Returns whether the message has a template set or data set that is not empty.
    pub(crate) fn has_content(&self) -> bool {
        self.sets().any(|(id, content)| matches!(id, 0..=3 | 256..) && !content.is_empty())
    }

    /// Returns whether the message is truncated or the length of a set is invalid.
    pub(crate) fn is_cut(&self) -> bool {
        let mut sets = self.sets();
        sets.by_ref().for_each(drop);
        sets.is_cut
    }

    pub(crate) fn sets(&self) -> Sets<'a> {
        Sets { rest: self.sets, is_cut: self.is_cut }
    }
}

impl<'a> Iterator for Sets<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // If fewer bytes are left than a header has, they are padding.
        let mut rest = self.rest;
        let (id, length) = (bytes::u16(&mut rest)?, usize::from(bytes::u16(&mut rest)?));
        let content = length.checked_sub(4).and_then(|length| bytes::split(&mut rest, length));
        self.is_cut |= content.is_none();
        self.rest = if content.is_some() { rest } else { &[] };
        content.map(|content| (id, content))
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn version_5_of_netflow_and_of_sflow_differ_in_width() {
        assert_eq!(Version::of(&[0, 5, 0, 1]), Some(Version::V5));
        assert_eq!(Version::of(&[0, 0, 0, 5]), Some(Version::Sflow));
        for other in [&[0, 0, 0, 4][..], &[0, 1, 0, 5], &[0, 8, 0, 1], &[0, 5, 0], &[]] {
            assert_eq!(Version::of(other), None, "{other:?}");
        }
    }
}
