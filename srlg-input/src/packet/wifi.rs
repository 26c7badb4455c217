//! Frames of 802.11 networks, with and without a radiotap header.

use crate::packet::Skip;
use crate::packet::layer::{Layer, header};

/// Bits of the second byte of an 802.11 header.
const BETWEEN_ACCESS_POINTS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

/// Bits of the subtype of a data frame.
const NO_DATA: u8 = 0x4;
const QUALITY_OF_SERVICE: u8 = 0x8;

/// Bit of the first byte of the quality-of-service field: the frame contains several packets.
const AGGREGATED: u8 = 0x80;

/// Parses an 802.11 frame (IEEE 802.11, 9.2). Only data frames carry packets.
pub(crate) fn next(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    data(frame, false, 1)
}

/// Parses an 802.11 frame in a tunnel of an access point. Access points of Cisco swap the bytes of the frame control and
/// of the sequence number.
pub(crate) fn of_access_point(frame: &[u8]) -> Result<Layer<'_>, Skip> {
    let ([first, second], _) = header::<2>(frame)?;
    data(frame, !is_data(*first) && is_data(*second), 1)
}

/// Parses a radiotap header (radiotap.org): version, length, bits that state which fields are present, and these
/// fields. All numbers are little-endian.
pub(crate) fn radiotap(bytes: &[u8]) -> Result<Layer<'_>, Skip> {
    let (start, _) = header::<8>(bytes)?;
    let length = usize::from(u16::from_le_bytes([start[2], start[3]]));
    if start[0] != 0 || length < start.len() {
        return Err(Skip::BadHeader);
    }
    let (header, frame) = bytes.split_at_checked(length).ok_or(Skip::CutHeader)?;
    /// Flag of frames whose header is padded to a multiple of 4 bytes.
    const PADDED: u8 = 0x20;
    data(frame, false, if flags(header) & PADDED != 0 { 4 } else { 1 })
}

/// Returns the flags in a radiotap header, or 0 if it has none. The first field is a time, and the second the flags.
fn flags(header: &[u8]) -> u8 {
    const TIME: u8 = 1;
    const FLAGS: u8 = 2;
    const FURTHER_BITS: u8 = 0x80;
    let words = header[4..].chunks_exact(4).take_while(|word| word[3] & FURTHER_BITS != 0).count();
    let fields = 4 + 4 * (words + 1);
    let at = if header[4] & TIME != 0 { fields.next_multiple_of(8) + 8 } else { fields };
    header.get(at).copied().filter(|_| header[4] & FLAGS != 0).unwrap_or_default()
}

/// Returns whether the first byte of a header is that of a data frame.
fn is_data(kind: u8) -> bool {
    kind & 0x0f == 0x08
}

/// Parses a data frame whose header is padded to a multiple of `alignment` bytes.
fn data(frame: &[u8], is_swapped: bool, alignment: usize) -> Result<Layer<'_>, Skip> {
    let ([first, second], _) = header::<2>(frame)?;
    let [kind, flags] = if is_swapped { [*second, *first] } else { [*first, *second] };
    let subtype = kind >> 4;
    if !is_data(kind) || subtype & NO_DATA != 0 {
        return Err(Skip::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Skip::Encrypted);
    }
    // Duration, three addresses and sequence number, then optional fields.
    let mut length = 24_usize;
    length += if flags & BETWEEN_ACCESS_POINTS == BETWEEN_ACCESS_POINTS { 6 } else { 0 };
    let quality = length;
    if subtype & QUALITY_OF_SERVICE != 0 {
        length += if flags & ORDER != 0 { 6 } else { 2 };
    }
    let payload = frame.get(length.next_multiple_of(alignment)..).ok_or(Skip::CutHeader)?;
    // A later fragment has no LLC header.
    if frame[if is_swapped { 23 } else { 22 }] & 0x0f != 0 {
        return Err(Skip::NotIp);
    }
    if subtype & QUALITY_OF_SERVICE != 0 && frame[quality] & AGGREGATED != 0 {
        // Only the first packet is read. Two addresses and a length precede it.
        return header::<14>(payload).map(|(_, payload)| Layer::Llc(payload));
    }
    Ok(Layer::Llc(payload))
}
