//! IPFIX files (RFC 5655): messages one after another, as they went over the wire.
//!
//! Shape: a message has a header of 16 bytes, which tells its length, and sets. Sets are left to a decoder of exports.
//! Invariant: a message is consumed only when it is whole, so that the offset of a truncation is that of its first byte.
//!
//! There is no magic number: what a file is, its first message tells, by its version, its length and the header of its first set.

use std::io;

use crate::capture::byte_order::ByteOrder;
use crate::capture::error::{Cause, Halt};
use crate::capture::reader::Datagram;
use crate::capture::stream::Stream;
use crate::packet::Skip;

const HEADER: usize = 16;
const SET_HEADER: usize = 4;
const VERSION: u16 = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Whether the stream begins with a message. No more is asked of a pipe than the version, unless that is right.
pub(crate) fn detect(input: &mut Stream) -> io::Result<bool> {
    if !input.window(2)?.starts_with(&VERSION.to_be_bytes()) {
        return Ok(false);
    }
    Ok(input
        .window(HEADER + SET_HEADER)?
        .split_first_chunk()
        .is_some_and(|(header, rest)| is_first(header, rest)))
}

/// Whether a file may begin with a message of this header and `rest` behind it: a set, or another message behind one without sets.
fn is_first(header: &[u8; HEADER], rest: &[u8]) -> bool {
    let Some(content) = length(header).and_then(|length| length.checked_sub(HEADER)) else {
        return false;
    };
    if content == 0 {
        return rest.is_empty() || rest.starts_with(&VERSION.to_be_bytes());
    }
    let Some(set) = rest.first_chunk::<SET_HEADER>() else { return false };
    // Other ids are not used, or reserved (RFC 7011, section 3.3.2).
    let has_known_id = matches!(ByteOrder::Big.u16(set, 0), 2 | 3 | 256..);
    has_known_id && (SET_HEADER..=content).contains(&ByteOrder::Big.u16(set, 2).into())
}

/// Length of the message of this header, which is part of it; nothing where the header is of none.
fn length(header: &[u8]) -> Option<usize> {
    let length = usize::from(ByteOrder::Big.u16(header, 2));
    (ByteOrder::Big.u16(header, 0) == VERSION && length >= HEADER).then_some(length)
}

/// Copies the next message to `payload`; returns it without that.
pub(crate) fn next_message(
    input: &mut Stream,
    payload: &mut Vec<u8>,
) -> Result<Option<Result<Datagram<'static>, Skip>>, Halt> {
    if input.is_finished()? {
        return Ok(None);
    }
    let offset = input.offset();
    let header = input.need(HEADER)?;
    let Some(length) = length(header) else {
        let [version, length] = [0, 2].map(|at| ByteOrder::Big.u16(header, at));
        return Err(Halt::damaged(offset, Cause::MessageHeader { version, length }));
    };
    let message = input.need(length)?;
    let export_s = ByteOrder::Big.u32(message, 4);
    payload.clear();
    payload.extend_from_slice(message);
    input.consume(length);
    Ok(Some(Ok(Datagram::of_file(u64::from(export_s) * SECOND_NS))))
}
