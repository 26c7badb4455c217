//! A fuzz target that separates the IPFIX messages of a stream, once in large reads and once in small ones. The first
//! byte is the size of a small read, minus one.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use srlg_input::flow::{BadHeader, MessageBuffer};

/// A stream that returns at most `most` bytes per read.
struct Pieces<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.most);
        self.bytes.read(&mut buffer[..length])
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    let whole = messages(Pieces { bytes, most: usize::MAX });
    assert_eq!(whole, messages(Pieces { bytes, most: 1 + usize::from(*size) }));
    let (messages, end) = whole;
    assert!(bytes.starts_with(&messages.concat()));
    if let Ok(pending) = end {
        assert_eq!(messages.concat().len() + pending, bytes.len());
    }
});

/// Returns the messages of `stream`, and either the error or the number of bytes after the last message.
fn messages(mut stream: Pieces<'_>) -> (Vec<Vec<u8>>, Result<usize, BadHeader>) {
    let (mut buffer, mut messages) = (MessageBuffer::default(), Vec::new());
    while buffer.fill(&mut stream).expect("slices can be read") > 0 {
        loop {
            match buffer.next_message() {
                Ok(Some(message)) => messages.push(message.to_vec()),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    (messages, Ok(buffer.pending()))
}
