//! Texts under one key of a JSON stream, found without parsing the values around them.
//!
//! Some services write an hour of flows as one JSON value, on one line or on many. Such a value may not fit into
//! memory, but its flows are short texts under one key: `"key": "text"` or `"key": ["text", "text"]`.
//!
//! Invariant: at most [`LONGEST`] bytes of a text are buffered. A line end ends a text, because JSON does not permit
//! line ends inside texts. A missing quotation mark therefore does no damage beyond its line.

use crate::capture::error::Halt;
use crate::capture::stream::Stream;
use crate::packet::Skip;

/// Maximum length of a text, in bytes. A row of a VPC flow log with all of its fields has about 600 bytes.
const LONGEST: usize = 4096;

/// A reader of the texts under one key.
pub(super) struct Texts {
    key: &'static [u8],
    place: Place,
    /// Number of open brackets.
    depth: usize,
    /// Whether the current value at depth 0 contains the key.
    has_key: bool,
}

/// The place of the next byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Elsewhere,
    AfterKey,
    AfterColon,
    InArray,
}

/// The text that starts at the next byte, which is a quotation mark.
struct Text {
    /// Length between the quotation marks, in bytes.
    length: usize,
    /// Whether the text ends with a quotation mark.
    is_complete: bool,
}

impl Texts {
    pub(super) fn new(key: &'static str) -> Self {
        Self { key: key.as_bytes(), place: Place::Elsewhere, depth: 0, has_key: false }
    }

    /// Returns the result of `parse` for the next text under the key. An incomplete text is a bad row, and a JSON value
    /// without the key is a row of another log.
    pub(super) fn next<T>(
        &mut self,
        input: &mut Stream,
        mut parse: impl FnMut(&str) -> Result<T, Skip>,
    ) -> Result<Option<Result<T, Skip>>, Halt> {
        while !input.is_finished()? {
            let byte = input.window(1)?[0];
            if byte == b'"' {
                if let Some(row) = self.read_text(input, &mut parse)? {
                    return Ok(Some(row));
                }
            } else {
                input.consume(1);
                if self.is_end_of_other(byte) {
                    return Ok(Some(Err(Skip::OtherLog)));
                }
            }
        }
        Ok(None)
    }

    /// Consumes the text that starts at the next byte. Returns the result of `parse` if the text is under the key.
    fn read_text<T>(
        &mut self,
        input: &mut Stream,
        parse: impl FnOnce(&str) -> Result<T, Skip>,
    ) -> Result<Option<Result<T, Skip>>, Halt> {
        let Text { length, is_complete } = find(input)?;
        let content = &input.need(1 + length)?[1..];
        let is_row = matches!(self.place, Place::AfterColon | Place::InArray);
        let row = is_row.then(|| match str::from_utf8(content) {
            Ok(text) if is_complete => parse(text),
            _ => Err(Skip::BadRow),
        });
        if self.place != Place::InArray {
            let is_key = !is_row && is_complete && content == self.key;
            self.place = if is_key { Place::AfterKey } else { Place::Elsewhere };
            self.has_key |= is_key;
        }
        input.consume(1 + length);
        if is_complete {
            input.consume(1);
        } else if length == LONGEST {
            discard(input)?;
        }
        Ok(row)
    }

    /// Updates the place after `byte`, which is not part of a text. Returns whether it ends a value without the key.
    fn is_end_of_other(&mut self, byte: u8) -> bool {
        let place = self.place;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return false,
            b',' if place == Place::InArray => return false,
            b':' if place == Place::AfterKey => self.place = Place::AfterColon,
            b'[' if place == Place::AfterColon => self.place = Place::InArray,
            _ => self.place = Place::Elsewhere,
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 1 => {
                self.depth = 0;
                return !std::mem::take(&mut self.has_key);
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        false
    }
}

/// Finds the end of the text that starts at the next byte. The length of a longer text is [`LONGEST`].
fn find(input: &mut Stream) -> Result<Text, Halt> {
    let (mut seen, mut is_escaped) = (1, false);
    loop {
        let window = input.window(seen + 1)?;
        let head = &window[..window.len().min(LONGEST + 2)];
        while let Some(byte) = head.get(seen) {
            match byte {
                b'"' if !is_escaped => return Ok(Text { length: seen - 1, is_complete: true }),
                b'\n' => return Ok(Text { length: seen - 1, is_complete: false }),
                byte => is_escaped = *byte == b'\\' && !is_escaped,
            }
            seen += 1;
        }
        if seen == LONGEST + 2 {
            return Ok(Text { length: LONGEST, is_complete: false });
        }
        if input.window(seen + 1)?.len() == seen {
            break;
        }
    }
    // Without the damage, the text might be complete.
    if input.damage().is_some() {
        input.need(seen + 1)?;
    }
    Ok(Text { length: seen - 1, is_complete: false })
}

/// Consumes the rest of a text of any length in constant memory.
#[cold]
fn discard(input: &mut Stream) -> Result<(), Halt> {
    // Bytes that are consumed in parts cannot be read again.
    input.hold(false);
    let (offset, mut is_escaped) = (input.offset(), false);
    while !input.is_finished().map_err(|stop| stop.moved_to(offset))? {
        let byte = input.window(1)?[0];
        input.consume(1);
        match byte {
            b'"' if !is_escaped => break,
            b'\n' => break,
            byte => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    Ok(())
}
