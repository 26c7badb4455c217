//! Parsers of integers in network byte order.

use crate::flow::counts::Reason;

pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

/// Takes `length` bytes from the front of `bytes`.
pub(crate) fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

pub(crate) fn u8(bytes: &mut &[u8]) -> Option<u8> {
    take(bytes).map(u8::from_be_bytes)
}

pub(crate) fn u16(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_be_bytes)
}

pub(crate) fn u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_be_bytes)
}

pub(crate) fn u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_be_bytes)
}

/// Takes four bytes of the header of a datagram. A datagram that ends in its header is truncated.
pub(crate) fn header_word(bytes: &mut &[u8]) -> Result<u32, Reason> {
    u32(bytes).ok_or(Reason::Cut)
}

/// Returns the big-endian number in the first `length` bytes, or `None` if there are fewer bytes. `length` must be from
/// 1 to 8.
#[inline(always)]
pub(crate) fn number(bytes: &[u8], length: usize) -> Option<u64> {
    match bytes.first_chunk() {
        // With eight bytes available, all lengths share one branch-free path.
        Some(word) => Some(u64::from_be_bytes(*word) >> (64 - 8 * length)),
        None => Some(bytes.get(..length)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
    }
}
