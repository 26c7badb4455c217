//! The IPFIX messages in a byte stream (RFC 7011, section 10.4).
//!
//! Invariant: the messages do not depend on how the stream is divided into reads.

use std::io::{self, Read};

use crate::capture::ipfix;

/// Size of the buffer, in bytes. It has room for the longest message and at least one more byte.
const CAPACITY: usize = 1 << 16;

/// Number of bytes that contain the version and the length of a message.
const START: usize = 4;

/// A buffer that separates the IPFIX messages of a byte stream, such as a TCP connection.
///
/// ```
/// use srlg_input::flow::{Decoder, DecoderOptions, MessageBuffer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut connection: &[u8] = &[0, 10, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// let mut decoder = Decoder::new(DecoderOptions::default())?;
/// let (exporter, received_ns) = ("192.0.2.1:40000".parse()?, 1_700_000_000_000_000_000);
/// let (session, mut buffer) = (decoder.start_session(), MessageBuffer::default());
/// while buffer.fill(&mut connection)? > 0 {
///     while let Some(message) = buffer.next_message()? {
///         decoder.decode_message(session, exporter, received_ns, message, |contact| println!("{contact:?}"));
///     }
/// }
/// decoder.end_session(session, exporter);
/// # assert_eq!((decoder.counts().datagrams, buffer.pending()), (1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MessageBuffer {
    bytes: Box<[u8]>,
    /// Start and end of the bytes that have not been returned.
    start: usize,
    end: usize,
}

/// The header of a message with a version other than 10, or with a length below 16. The stream contains no IPFIX, or
/// the start of the next message is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an IPFIX message must have version 10 and at least 16 bytes, got version {version} and {length} bytes"
)]
pub struct BadHeader {
    /// Version that the header states.
    pub version: u16,
    /// Length that the header states, in bytes.
    pub length: u16,
}

impl MessageBuffer {
    /// Reads from `source` once. Returns the number of bytes read, which is 0 at the end of the stream. Before a call,
    /// all complete messages must have been taken, so that the buffer has room.
    ///
    /// # Errors
    /// Returns the error of `source`.
    pub fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let count = source.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count)
    }

    /// Returns the next message, or `None` if the buffer contains no complete message.
    ///
    /// # Errors
    /// Returns [`BadHeader`] if the header of the next message is invalid. All further calls return the same error.
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, BadHeader> {
        let rest = &self.bytes[self.start..self.end];
        let Some(header) = rest.first_chunk::<START>() else { return Ok(None) };
        let Some(length) = ipfix::length(header) else {
            let [a, b, c, d] = *header;
            let [version, length] = [[a, b], [c, d]].map(u16::from_be_bytes);
            return Err(BadHeader { version, length });
        };
        let message = rest.get(..length);
        self.start += message.map_or(0, <[u8]>::len);
        Ok(message)
    }

    /// Returns the number of bytes that have been read but do not form a complete message.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.end - self.start
    }
}

impl Default for MessageBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; CAPACITY].into(), start: 0, end: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a message of `length` bytes whose other bytes are `filler`.
    fn message(length: u16, filler: u8) -> Vec<u8> {
        let mut bytes = vec![filler; length.into()];
        bytes[..2].copy_from_slice(&10_u16.to_be_bytes());
        bytes[2..START].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// Returns the messages of `pieces`, the error after them, and the number of pending bytes.
    fn read(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Option<BadHeader>, usize) {
        let (mut buffer, mut messages) = (MessageBuffer::default(), Vec::new());
        for mut piece in pieces.iter().copied() {
            while !piece.is_empty() {
                assert!(buffer.fill(&mut piece).unwrap() > 0, "the buffer has room");
                loop {
                    match buffer.next_message() {
                        Ok(Some(message)) => messages.push(message.to_vec()),
                        Ok(None) => break,
                        Err(error) => return (messages, Some(error), buffer.pending()),
                    }
                }
            }
        }
        (messages, None, buffer.pending())
    }

    #[test]
    fn messages_may_be_cut_anywhere() {
        let messages = [message(16, 1), message(17, 2), message(300, 10)];
        let stream = messages.concat();
        assert_eq!(read(&[&stream]), (messages.to_vec(), None, 0));
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(read(&[head, tail]), (messages.to_vec(), None, 0), "{at}");
            let (complete, _, pending) = read(&[head]);
            assert_eq!([&complete.concat()[..], &vec![0; pending]].concat().len(), at);
        }
        let bytes: Vec<_> = stream.chunks(1).collect();
        assert_eq!(read(&bytes), (messages.to_vec(), None, 0));
    }

    #[test]
    fn the_longest_messages_fit() {
        let messages = [message(16, 1), message(u16::MAX, 2), message(u16::MAX, 3)];
        assert_eq!(read(&[&messages.concat()]), (messages.to_vec(), None, 0));
    }

    #[test]
    fn other_versions_and_impossible_lengths_end_the_stream() {
        let first = message(16, 1);
        for (version, length) in [(10, 15), (10, 0), (9, 20), (0x1603, 0x0100), (0, 0)] {
            let header = [version, length].map(u16::to_be_bytes).concat();
            let stream = [&first[..], &header, &message(16, 2)].concat();
            let (messages, error, _) = read(&[&stream]);
            assert_eq!(messages, [&first[..]]);
            assert_eq!(error, Some(BadHeader { version, length }));
        }
    }
}
