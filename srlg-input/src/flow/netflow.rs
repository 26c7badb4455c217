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
    /// Parses the header. Returns the reason if the header is incomplete, or if there are fewer records than it states.
    pub(crate) fn new(version: Version, mut payload: &'a [u8]) -> Result<Self, Reason> {
        let rest = &mut payload;
        // The upper half is the version.
        let count = bytes::header_word(rest)? as u16;
        let uptime_ms = bytes::header_word(rest)?;
        let (export_s, nanoseconds) = (bytes::header_word(rest)?, bytes::header_word(rest)?);
        let number = bytes::header_word(rest)?;
        let word = bytes::header_word(rest)?;
        let (engine, sampling) = ((word >> 16) as u16, word & 0xffff);
        let is_v5 = version == Version::V5;
        let record_bytes = if is_v5 { 48 } else { 52 };
        // If the record count in the header is wrong, the records are not trusted either.
        let records = rest.get(..usize::from(count) * record_bytes).ok_or(Reason::Cut)?;
        Ok(Self {
            version,
            uptime_ms,
            export_s,
            export_rest_ns: nanoseconds.min(SECOND as u32 - 1),
            number,
            // The engine is reserved in v7.
            engine: if is_v5 { engine } else { 0 },
            // The two upper bits are the sampling mode.
            sampling: NonZeroU32::new(if is_v5 { sampling & 0x3fff } else { 0 }),
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
    pub(crate) sets: Sets<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sets<'a> {
    rest: &'a [u8],
    /// Reason to report for a set that exceeds the message.
    excess: Reason,
    /// Reason why the sets end early: the message is truncated, or the length of a set is invalid.
    pub(crate) fault: Option<Reason>,
}

/// Maximum truncation error of an export time that a header states in whole seconds.
pub(crate) const CUT_NS: u64 = SECOND - 1;

impl<'a> Message<'a> {
    /// Parses the header. Returns the reason if it is incomplete.
    pub(crate) fn v9(mut payload: &'a [u8]) -> Result<Self, Reason> {
        let rest = &mut payload;
        bytes::header_word(rest)?;
        let uptime_ms = Some(bytes::header_word(rest)?);
        let (export_s, number) = (bytes::header_word(rest)?, bytes::header_word(rest)?);
        let domain = bytes::header_word(rest)?;
        // The header states no length, so the message is truncated if a set exceeds it.
        let sets = Sets { rest, excess: Reason::Cut, fault: None };
        Ok(Self { version: Version::V9, export_s, uptime_ms, number, domain, sets })
    }

    /// Parses the header. Returns the reason if it is incomplete, or if its length is invalid.
    pub(crate) fn ipfix(mut payload: &'a [u8]) -> Result<Self, Reason> {
        let rest = &mut payload;
        // The upper half is the version.
        let length = usize::from(bytes::header_word(rest)? as u16);
        let (export_s, number) = (bytes::header_word(rest)?, bytes::header_word(rest)?);
        let domain = bytes::header_word(rest)?;
        let length = length.checked_sub(16).ok_or(Reason::Malformed)?;
        let sets = match rest.get(..length) {
            Some(rest) => Sets { rest, excess: Reason::Malformed, fault: None },
            None => Sets { rest, excess: Reason::Cut, fault: Some(Reason::Cut) },
        };
        let version = Version::Ipfix;
        Ok(Self { version, export_s, uptime_ms: None, number, domain, sets })
    }

    /// Returns whether the message has a template set or data set that is not empty.
    pub(crate) fn has_content(&self) -> bool {
        let mut sets = self.sets;
        sets.any(|(id, content)| matches!(id, 0..=3 | 256..) && !content.is_empty())
    }

    /// Returns the reason why the sets end early.
    pub(crate) fn fault(&self) -> Option<Reason> {
        let mut sets = self.sets;
        sets.by_ref().for_each(drop);
        sets.fault
    }
}

impl<'a> Iterator for Sets<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // If fewer bytes are left than a header has, they are padding.
        let mut rest = self.rest;
        let (id, length) = (bytes::u16(&mut rest)?, usize::from(bytes::u16(&mut rest)?));
        let content = match length.checked_sub(4) {
            Some(length) => bytes::split(&mut rest, length).ok_or(self.excess),
            None => Err(Reason::Malformed),
        };
        self.rest = if content.is_ok() { rest } else { &[] };
        if let Err(fault) = content {
            self.fault = self.fault.or(Some(fault));
        }
        content.ok().map(|content| (id, content))
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
