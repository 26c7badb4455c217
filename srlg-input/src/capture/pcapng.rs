//! The pcapng format: sections of blocks. Packet blocks refer to the interface blocks of their section.
//!
//! A block consists of a type, a total length, a body and the length again. Blocks of relevant types are decoded as a
//! whole. Blocks of all other types are skipped without being buffered.
//!
//! Invariant: a block takes effect only if both copies of its length agree.
//!
//! The crate pcap-parser reads most of this format, and the tests compare results with it. Its version 0.17 is not
//! suitable, because it rejects all binary time resolutions and does not support obsolete packet blocks. It also reads
//! the time offset of big-endian sections as little-endian, and reports a packet that overruns its block as incomplete
//! input.

use crate::capture::byte_order::ByteOrder;
use crate::capture::error::{Cause, Halt};
use crate::capture::frame::{Frame, See};
use crate::capture::stream::{CAPACITY, Stream};
use crate::packet::Skip;

/// Block type of a section header. Its bytes are a palindrome, so it is recognised before the byte order is known.
const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BLOCK_HEAD: usize = 8;
const BLOCK_TAIL: usize = 4;
/// Offset of the frame in enhanced and obsolete packet blocks, from the start of the block.
const FRAME: usize = 28;

/// Maximum number of interfaces stored for a section, which take at most 1 MiB.
const MAX_INTERFACES: usize = 65_536;
/// Maximum length of a skipped block, in bytes. Wireshark has the same limit for all blocks.
const MAX_PASSED_OVER: usize = 16 * 1024 * 1024;

const OPTION_END: u16 = 0;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;
/// Default time resolution: microseconds.
const DEFAULT_RESOLUTION: u8 = 6;
/// Bit of a time resolution that selects a power of 2 instead of a power of 10.
const BINARY: u8 = 0x80;

#[derive(Default)]
pub(crate) struct PcapNg {
    /// Byte order of the current section. The default value is never used, because every file starts with a section
    /// header.
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

struct Head {
    kind: u32,
    length: usize,
}

impl PcapNg {
    pub(crate) fn detect(start: &[u8]) -> bool {
        start.starts_with(&SECTION.to_be_bytes())
    }

    #[inline]
    pub(crate) fn next_packet<T>(
        &mut self,
        input: &mut Stream,
        see: impl See<T>,
    ) -> Result<Option<Result<T, Skip>>, Halt> {
        while !input.is_finished()? {
            let head = self.read_head(input)?;
            if !head.is_held() {
                self.pass_over(&head, input)?;
                continue;
            }
            let offset = input.offset();
            let block = input.need(head.length)?;
            let (body, tail) = block.split_at(head.length - BLOCK_TAIL);
            self.check_tail(&head, tail, offset)?;
            let found = self.apply(head.kind, body);
            let Some(interface) = found else {
                input.consume(head.length);
                continue;
            };
            let packet = interface.and_then(|interface| self.packet(interface, body, see));
            input.consume(head.length);
            return Ok(Some(packet));
        }
        Ok(None)
    }

    fn read_head(&mut self, input: &mut Stream) -> Result<Head, Halt> {
        let offset = input.offset();
        if input.need(BLOCK_HEAD)?.starts_with(&SECTION.to_be_bytes()) {
            let start = input.need(16)?;
            let order = ByteOrder::of_magic(&start[8..12], BYTE_ORDER_MAGIC);
            self.order = order
                .filter(|order| order.u16(start, 12) == 1)
                .ok_or(Halt::damaged(offset, Cause::Section))?;
        }
        let start = input.need(BLOCK_HEAD)?;
        let (kind, length) = (self.order.u32(start, 0), self.order.u32(start, 4));
        let head = Head { kind, length: length as usize };
        if !head.is_possible() {
            return Err(Halt::damaged(offset, Cause::BlockLength { kind, length }));
        }
        Ok(head)
    }

    fn pass_over(&self, head: &Head, input: &mut Stream) -> Result<(), Halt> {
        let (offset, is_held) = (input.offset(), input.is_held());
        // Bytes that are consumed in parts cannot be read again.
        input.hold(false);
        input.skip(head.length - BLOCK_TAIL).map_err(|stop| stop.moved_to(offset))?;
        let tail = input.need(BLOCK_TAIL).map_err(|stop| stop.moved_to(offset))?;
        self.check_tail(head, tail, offset)?;
        input.consume(BLOCK_TAIL);
        input.hold(is_held);
        Ok(())
    }

    #[inline]
    fn check_tail(&self, head: &Head, tail: &[u8], offset: u64) -> Result<(), Halt> {
        let tail = self.order.u32(tail, 0);
        if tail as usize != head.length {
            let cause = Cause::BlockTail { head: head.length as u32, tail };
            return Err(Halt::damaged(offset, cause));
        }
        Ok(())
    }

    /// Applies one complete block. `body` is the block without its tail. For a packet block, returns the number of its
    /// interface, or the reason why the packet is skipped.
    #[inline]
    fn apply(&mut self, kind: u32, body: &[u8]) -> Option<Result<usize, Skip>> {
        match kind {
            ENHANCED_PACKET => Some(Ok(self.order.u32(body, 8) as usize)),
            OBSOLETE_PACKET => Some(Ok(self.order.u16(body, 8).into())),
            SIMPLE_PACKET => Some(Err(Skip::NoTime)),
            SECTION => {
                self.interfaces.clear();
                None
            }
            _ => {
                if self.interfaces.len() < MAX_INTERFACES {
                    self.interfaces.push(Interface::parse(self.order, &body[BLOCK_HEAD..]));
                }
                None
            }
        }
    }

    /// Decodes an enhanced or obsolete packet block. The two differ only in the width of the interface number.
    #[inline]
    fn packet<T>(&self, interface: usize, body: &[u8], see: impl See<T>) -> Result<T, Skip> {
        let interface = self.interfaces.get(interface).ok_or(Skip::NoInterface)?;
        let [high, low] = [12, 16].map(|at| u64::from(self.order.u32(body, at)));
        let time_ns = interface.time_ns(high << 32 | low).ok_or(Skip::BadTime)?;
        let captured = self.order.u32(body, 20) as usize;
        let bytes = body[FRAME..].get(..captured).ok_or(Skip::BadHeader)?;
        let (link_type, original) = (interface.link_type, self.order.u32(body, 24));
        see(Frame { time_ns, link_type, bytes, original })
    }
}

impl Head {
    /// Returns whether blocks of this type are decoded.
    fn is_held(&self) -> bool {
        matches!(self.kind, SECTION | INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET)
    }

    fn is_possible(&self) -> bool {
        let shortest = match self.kind {
            SECTION => 28,
            INTERFACE => 20,
            SIMPLE_PACKET => 16,
            ENHANCED_PACKET | OBSOLETE_PACKET => FRAME + BLOCK_TAIL,
            _ => BLOCK_HEAD + BLOCK_TAIL,
        };
        let longest = if self.is_held() { CAPACITY } else { MAX_PASSED_OVER };
        self.length.is_multiple_of(4) && (shortest..=longest).contains(&self.length)
    }
}

/// An interface description block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    link_type: u16,
    /// Length of a tick: 10^-n seconds, or 2^-n seconds if the bit [`BINARY`] is set. The other seven bits are n.
    resolution: u8,
    /// Offset added to every timestamp, in seconds.
    offset_s: i64,
}

impl Interface {
    /// Parses the body of a block, which must have at least eight bytes. An option that overruns the block ends the
    /// list of options.
    fn parse(order: ByteOrder, body: &[u8]) -> Self {
        let link_type = order.u16(body, 0);
        let mut interface = Self { link_type, resolution: DEFAULT_RESOLUTION, offset_s: 0 };
        let mut options = &body[8..];
        while options.len() >= 4 {
            let (code, length) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            let Some(value) = options.get(4..4 + length) else { break };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_RESOLUTION, [resolution]) => interface.resolution = *resolution,
                (OPTION_OFFSET, value) => {
                    interface.offset_s = value.try_into().map_or(0, |field| order.i64(field));
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        interface
    }

    /// Returns the time of `ticks` in nanoseconds since the Unix epoch, rounded down. Returns `None` if it is before
    /// the epoch or exceeds 64 bits.
    #[inline]
    fn time_ns(&self, ticks: u64) -> Option<u64> {
        let exponent = u32::from(self.resolution & !BINARY);
        let unshifted = if self.resolution & BINARY != 0 {
            // The product is at most 2^64 * 10^9, far below 2^127.
            (i128::from(ticks) * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            i128::from(ticks) * i128::from(10_u64.pow(9 - exponent))
        } else {
            // A divisor beyond 64 bits is larger than any tick count.
            10_u64.checked_pow(exponent - 9).map_or(0, |finer| (ticks / finer).into())
        };
        u64::try_from(unshifted + i128::from(self.offset_s) * 1_000_000_000).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Interface;
    use crate::capture::byte_order::ByteOrder;

    fn time_ns(resolution: u8, offset_s: i64, ticks: u64) -> Option<u64> {
        Interface { link_type: 1, resolution, offset_s }.time_ns(ticks)
    }

    #[test]
    fn ticks_become_nanoseconds() {
        assert_eq!(time_ns(0, 0, 7), Some(7_000_000_000));
        assert_eq!(time_ns(6, 0, 1_500_000), Some(1_500_000_000));
        assert_eq!(time_ns(9, 0, u64::MAX), Some(u64::MAX));
        assert_eq!(time_ns(12, 0, 1_999), Some(1), "finer ticks are cut off");
        assert_eq!(time_ns(28, 0, u64::MAX), Some(1), "10^19 is the last divisor in 64 bit");
        assert_eq!(time_ns(29, 0, u64::MAX), Some(0));
        assert_eq!(time_ns(127, 0, u64::MAX), Some(0));
        assert_eq!(time_ns(0x80, 0, 3), Some(3_000_000_000));
        assert_eq!(time_ns(0x80 + 10, 0, 1_536), Some(1_500_000_000));
        assert_eq!(time_ns(0xff, 0, u64::MAX), Some(0));
    }

    #[test]
    fn the_offset_moves_a_time_but_not_out_of_range() {
        assert_eq!(time_ns(6, 2, 500_000), Some(2_500_000_000));
        assert_eq!(time_ns(6, -1, 1_000_000), Some(0));
        assert_eq!(time_ns(6, -1, 999_999), None);
        assert_eq!(time_ns(6, 0, u64::MAX), None);
        assert_eq!(time_ns(9, i64::MAX, 0), None);
        assert_eq!(time_ns(9, i64::MIN, u64::MAX), None);
    }

    #[test]
    fn options_are_found_in_either_order_and_damage_ends_them() {
        let body = [
            &[0, 1, 0, 0, 0, 0, 0, 0][..], // link type 1, snap length 0
            &[0, 2, 0, 3, b'e', b't', b'h', 0],
            &[0, 14, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
            &[0, 9, 0, 1, 9, 0, 0, 0],
            &[0, 0, 0, 0, 0, 9, 0, 1, 3, 0, 0, 0],
        ]
        .concat();
        let whole = Interface { link_type: 1, resolution: 9, offset_s: -2 };
        assert_eq!(Interface::parse(ByteOrder::Big, &body), whole);
        let bare = Interface { link_type: 1, resolution: 6, offset_s: 0 };
        assert_eq!(Interface::parse(ByteOrder::Big, &body[..8]), bare);
        for end in 8..body.len() {
            Interface::parse(ByteOrder::Big, &body[..end]);
            Interface::parse(ByteOrder::Little, &body[..end]);
        }
    }
}
