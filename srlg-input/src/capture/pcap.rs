//! Classic pcap: a file header, then records. Each record consists of a 16-byte header and a frame.
//!
//! Invariant: a record is consumed only when it is complete, so that a truncation states the offset of the record's
//! first byte.
//!
//! The crate pcap-parser also reads this format, and the tests compare results with it. Its streaming readers are not
//! used, because they drop the cause of a failed read. They also cannot distinguish an impossible length from a buffer
//! that is too small.

use crate::capture::byte_order::ByteOrder;
use crate::capture::error::{Cause, Halt};
use crate::capture::frame::{Frame, See};
use crate::capture::stream::Stream;
use crate::packet::Skip;

const MICROSECOND_MAGIC: u32 = 0xa1b2_c3d4;
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Maximum captured length of a frame, equal to `MAXIMUM_SNAPLEN` in libpcap. The snap length of the file is not used,
/// because some tools write longer frames and libpcap accepts them.
const MAX_CAPTURED: u32 = 262_144;

pub(crate) struct Pcap {
    order: ByteOrder,
    /// Unit of the fractional seconds in record headers: 1 or 1,000 nanoseconds.
    tick_ns: u32,
    /// Link type, or `None` before the file header has been read.
    link_type: Option<u16>,
}

impl Pcap {
    pub(crate) fn detect(start: &[u8]) -> Option<Self> {
        let magic = start.get(..4)?;
        [(MICROSECOND_MAGIC, 1_000), (NANOSECOND_MAGIC, 1)].into_iter().find_map(
            |(number, tick_ns)| {
                let order = ByteOrder::of_magic(magic, number)?;
                Some(Self { order, tick_ns, link_type: None })
            },
        )
    }

    #[inline(always)]
    pub(crate) fn next_packet<T>(
        &mut self,
        input: &mut Stream,
        see: impl See<T>,
    ) -> Result<Option<Result<T, Skip>>, Halt> {
        let link_type = match self.link_type {
            Some(known) => known,
            None => self.read_file_header(input)?,
        };
        if input.is_finished()? {
            return Ok(None);
        }
        let captured = self.order.u32(input.need(RECORD_HEADER)?, 8);
        if captured > MAX_CAPTURED {
            return Err(Halt::damaged(input.offset(), Cause::CapturedLength(captured)));
        }
        let length = RECORD_HEADER + captured as usize;
        let packet = self.decode(link_type, input.need(length)?, see);
        input.consume(length);
        Ok(Some(packet))
    }

    #[cold]
    fn read_file_header(&mut self, input: &mut Stream) -> Result<u16, Halt> {
        // The upper half is not needed: it is the length of a frame check sequence, which follows the frame.
        let link_type = self.order.u32(input.need(FILE_HEADER)?, 20) as u16;
        input.consume(FILE_HEADER);
        self.link_type = Some(link_type);
        Ok(link_type)
    }

    #[inline(always)]
    fn decode<T>(&self, link_type: u16, record: &[u8], see: impl See<T>) -> Result<T, Skip> {
        let (seconds, ticks) = (self.order.u32(record, 0), self.order.u32(record, 4));
        let fraction_ns = u64::from(ticks) * u64::from(self.tick_ns);
        // Some writers store fractions of a second or more. As in tcpdump, they carry over. The sum fits in 63 bits.
        let time_ns = u64::from(seconds) * 1_000_000_000 + fraction_ns;
        let (bytes, original) = (&record[RECORD_HEADER..], self.order.u32(record, 12));
        see(Frame { time_ns, link_type, bytes, original })
    }
}
