//! IPFIX files (RFC 5655): a sequence of messages in their wire format.
//!
//! A message consists of a 16-byte header, which contains the message length, and of sets. The sets are not parsed
//! here, but by the decoder of flow exports.
//!
//! Invariant: a message is consumed only when it is complete, so that a truncation states the offset of the message's
//! first byte.
//!
//! There is no magic number. A file is recognised by the version and length of its first message, and by the header of
//! its first set.

use std::io;

use crate::capture::byte_order::ByteOrder;
use crate::capture::error::{Cause, Halt};
use crate::capture::frame::Datagram;
use crate::capture::stream::Stream;
use crate::packet::Skip;

const HEADER: usize = 16;
const SET_HEADER: usize = 4;
const VERSION: u16 = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Returns whether the stream starts with a message. Bytes after the version are read only if the version is correct,
/// because a pipe may not have more.
pub(crate) fn detect(input: &mut Stream) -> io::Result<bool> {
    if !input.window(2)?.starts_with(&VERSION.to_be_bytes()) {
        return Ok(false);
    }
    Ok(input
        .window(HEADER + SET_HEADER)?
        .split_first_chunk()
        .is_some_and(|(header, rest)| is_first(header, rest)))
}

/// Returns whether a file can start with `header` and `rest`. The header must be followed by a set or, if the message
/// has no sets, by the next message or the end of the file.
fn is_first(header: &[u8; HEADER], rest: &[u8]) -> bool {
    let Some(content) = length(header).and_then(|length| length.checked_sub(HEADER)) else {
        return false;
    };
    if content == 0 {
        return rest.is_empty() || rest.starts_with(&VERSION.to_be_bytes());
    }
    let Some(set) = rest.first_chunk::<SET_HEADER>() else { return false };
    // Other set IDs are unused or reserved (RFC 7011, section 3.3.2).
    let has_known_id = matches!(ByteOrder::Big.u16(set, 0), 2 | 3 | 256..);
    has_known_id && (SET_HEADER..=content).contains(&ByteOrder::Big.u16(set, 2).into())
}

/// Returns the length of the message that starts with `header`, or `None` if the header is invalid. Only the first four
/// bytes matter, which contain the version and the length.
pub(crate) fn length(header: &[u8]) -> Option<usize> {
    let length = usize::from(ByteOrder::Big.u16(header, 2));
    (ByteOrder::Big.u16(header, 0) == VERSION && length >= HEADER).then_some(length)
}

/// Copies the next message to `payload`. The returned datagram has an empty payload.
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
