//! NetFlow v5 and v7: records of one fixed form.

use crate::contact::{Contact, Host};

use crate::flow::bytes;
use crate::flow::clock::{Clock, RecordTime, SECOND};
use crate::flow::counts::Reason;
use crate::flow::sink::{Details, Sink};
use crate::flow::version::Version;

use std::num::NonZeroU32;

/// A datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export<'a> {
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
    /// Reads the head of `payload`; nothing where there are fewer records than it says.
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
        // Of a datagram whose head lies, records are not believed either.
        let records = rest.get(..usize::from(count) * record_bytes)?;
        Some(Self {
            uptime_ms,
            export_s,
            export_rest_ns: nanoseconds.min(SECOND as u32 - 1),
            number,
            // Reserved in v7.
            engine: if is_v5 { engine } else { 0 },
            // Two bits above tell how packets are chosen.
            sampling: NonZeroU32::new(if is_v5 { u32::from(sampling & 0x3fff) } else { 0 }),
            count,
            record_bytes,
            records,
        })
    }

    /// Hands on the contacts of all records.
    pub(crate) fn read<F: FnMut(Contact)>(&self, clock: &Clock, sink: &mut Sink<'_, F>) {
        let records = self.records.chunks_exact(self.record_bytes);
        sink.counts.records += records.len() as u64;
        for record in records {
            // What v5 and v7 have in common.
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
        let told = |at| Some(word(at)).filter(|ms| *ms > 0).map(RecordTime::Uptime);
        let time_ns = sink.time_ns(clock.last(told(24), told(28), None));
        let details = Details {
            packets: Some(packets.into()),
            protocol: Some(record[38]),
            tcp_flags: Some(record[37]),
            destination_port: Some(u16::from_be_bytes([record[34], record[35]])),
            initiated: None,
            sampling: self.sampling,
        };
        sink.contact(time_ns, [source, destination].map(Host::v4), &details);
    }
}
