//! What a capture is opened with.
//!
//! Shape: plain fields, and the one check that they pass before libpcap sees them.
//! Invariant: libpcap would replace a size out of range by one of its own; none gets there.

use crate::live::error::LiveError;

/// Least bytes of a frame: those up to and including the fixed header of IPv6, behind Ethernet and two VLAN tags.
const LEAST_SNAP_LENGTH: u32 = 62;
/// libpcap takes more for "all".
const MOST_SNAP_LENGTH: u32 = 262_144;
/// Two blocks of 256 KiB, of which libpcap makes a ring for Linux: one is read while the other is filled.
const LEAST_BUFFER: u32 = 524_288;
const MOST_BUFFER: u32 = i32::MAX as u32;

/// Says what to capture of an interface, and in which buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// Expression in the language of tcpdump (`man 7 pcap-filter`); `None` captures all.
    ///
    /// On Linux the outermost VLAN tag of a received frame is off before the expression is asked: `udp` is true of tagged and of
    /// untagged packets, and `vlan` and `vlan 7` find the tag.
    pub filter: Option<String>,
    /// Bytes that are captured of a frame, 62 to 262,144. 256 hold the headers that a contact needs, behind tags and labels.
    pub snap_length: u32,
    /// Whether frames to other stations are captured, too. The pseudo-interface `any` captures none of them.
    pub promiscuous: bool,
    /// Bytes of the kernel's buffer, 524,288 to 2,147,483,647. What comes while it is full is dropped, and counted
    /// ([`Drops::buffer_full`](crate::Drops::buffer_full)).
    ///
    /// On Linux it is blocks of 256 KiB, and packets that have waited for 20 ms close theirs. So a caller may pause for 20 ms for
    /// each block, 2.5 s for 32 MiB, while few packets come, and until the bytes are full while many do.
    pub buffer_bytes: u32,
}

/// All packets, in promiscuous mode: 256 bytes of each, in a buffer of 32 MiB.
impl Default for LiveOptions {
    fn default() -> Self {
        Self { filter: None, snap_length: 256, promiscuous: true, buffer_bytes: 32 << 20 }
    }
}

impl LiveOptions {
    /// Checks the sizes; returns them, snap length first, as libpcap takes them.
    pub(crate) fn sizes(&self) -> Result<(i32, i32), LiveError> {
        let snap_length =
            size("snap_length", self.snap_length, LEAST_SNAP_LENGTH..=MOST_SNAP_LENGTH)?;
        let buffer_bytes = size("buffer_bytes", self.buffer_bytes, LEAST_BUFFER..=MOST_BUFFER)?;
        Ok((snap_length, buffer_bytes))
    }
}

fn size(
    option: &'static str,
    value: u32,
    range: std::ops::RangeInclusive<u32>,
) -> Result<i32, LiveError> {
    let (least, most) = (*range.start(), *range.end());
    let refused = LiveError::Size { option, value, least, most };
    if !range.contains(&value) {
        return Err(refused);
    }
    i32::try_from(value).map_err(|_| refused)
}

#[cfg(test)]
mod tests {
    use super::LiveOptions;

    #[test]
    fn sizes_out_of_range_are_refused_with_the_range() {
        assert_eq!(LiveOptions::default().sizes(), Ok((256, 33_554_432)));
        for snap_length in [0, 61, 262_145, u32::MAX] {
            let refused = LiveOptions { snap_length, ..LiveOptions::default() }.sizes();
            let said = refused.unwrap_err().to_string();
            assert_eq!(said, format!("snap_length is {snap_length}: give 62 to 262144"));
        }
        for buffer_bytes in [0, 524_287, 1 << 31] {
            let refused = LiveOptions { buffer_bytes, ..LiveOptions::default() }.sizes();
            let said = refused.unwrap_err().to_string();
            assert_eq!(said, format!("buffer_bytes is {buffer_bytes}: give 524288 to 2147483647"));
        }
        let least =
            LiveOptions { snap_length: 62, buffer_bytes: 524_288, ..LiveOptions::default() };
        assert_eq!(least.sizes(), Ok((62, 524_288)));
    }
}
