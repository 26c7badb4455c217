//! A pcapng interface: what its packets look like and how its clock ticks.
//!
//! Shape: the link type and two options, all other options are ignored.
//! Invariant: a time is exact to the nanosecond (finer ticks are cut off) or it is none.

use crate::capture::byte_order::ByteOrder;

const OPTION_END: u16 = 0;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;
/// Microseconds, when no option says otherwise.
const DEFAULT_RESOLUTION: u8 = 6;
/// In a resolution: the exponent is of 2, not of 10.
const BINARY: u8 = 0x80;

/// One interface description block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) link_type: u16,
    /// Ticks per second as a negative exponent of 10 or 2.
    resolution: u8,
    /// Added to every time stamp.
    offset_s: i64,
}

impl Interface {
    /// Reads the body of a block: link type, reserved, snap length, options. `body` holds at
    /// least the first eight bytes. Options that overrun the block end the list.
    pub(crate) fn parse(order: ByteOrder, body: &[u8]) -> Self {
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

    /// Nanoseconds since the Unix epoch of a time stamp; `None` before it, or beyond 64 bit.
    #[inline]
    pub(crate) fn time_ns(&self, ticks: u64) -> Option<u64> {
        let exponent = u32::from(self.resolution & !BINARY);
        let unshifted = if self.resolution & BINARY != 0 {
            // At most 2^64 * 10^9: far below 2^127.
            (i128::from(ticks) * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            i128::from(ticks) * i128::from(10_u64.pow(9 - exponent))
        } else {
            // A divisor beyond 64 bit is larger than any tick count.
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
