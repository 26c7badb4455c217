//! Lines of text, read in constant memory.
//!
//! Lines end with LF or CR LF. The last line may have no line end.
//!
//! Invariant: a line is never buffered beyond the length that a decoder allows.
//!
//! The crate csv is not used, because its records grow with the longest line. It also cannot distinguish a last line
//! that has no line end from a line that was truncated because the gzip stream is damaged.

use std::io;

use crate::capture::error::Halt;
use crate::capture::stream::Stream;

/// Returns the result of `parse` for the next line for which it is `Some`. Returns `Some(None)` for a line longer than
/// `longest`, and `None` at the end of the input.
#[inline]
pub(crate) fn next<T>(
    input: &mut Stream,
    longest: usize,
    mut parse: impl FnMut(&[u8]) -> Option<T>,
) -> Result<Option<Option<T>>, Halt> {
    while !input.is_finished()? {
        let Some((text, with_end)) = find(input, longest)? else {
            discard(input)?;
            return Ok(Some(None));
        };
        let row = parse(without_cr(&input.need(with_end)?[..text]));
        input.consume(with_end);
        if row.is_some() {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the lines up to and including the first one that does not start with `comment`. At most `longest` bytes are
/// examined. Consumes nothing, and does not wait for bytes after these lines.
pub(crate) fn peek(input: &mut Stream, longest: usize, comment: u8) -> io::Result<Vec<Vec<u8>>> {
    let (mut lines, mut start, mut seen) = (Vec::new(), 0, 0);
    loop {
        let window = input.window(seen + 1)?;
        let head = &window[..window.len().min(longest)];
        let is_last = head.len() == seen || head.len() == longest;
        seen = head.len();
        while let Some(length) = head[start..].iter().position(|byte| *byte == b'\n') {
            let line = &head[start..start + length];
            lines.push(without_cr(line).to_vec());
            if !line.starts_with(&[comment]) {
                return Ok(lines);
            }
            start += length + 1;
        }
        if is_last {
            lines.push(without_cr(&head[start..]).to_vec());
            return Ok(lines);
        }
    }
}

pub(crate) fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the length of the next line without and with its line end, or `None` if the line is longer than `longest`.
/// Reads more bytes only until the line end is found, so that rows from a pipe are not delayed.
#[inline]
fn find(input: &mut Stream, longest: usize) -> Result<Option<(usize, usize)>, Halt> {
    let mut seen = 0;
    loop {
        let window = input.window(seen + 1)?;
        let head = &window[..window.len().min(longest + 1)];
        if let Some(more) = head[seen..].iter().position(|byte| *byte == b'\n') {
            return Ok(Some((seen + more, seen + more + 1)));
        }
        if head.len() > longest {
            return Ok(None);
        }
        if head.len() == seen {
            break;
        }
        seen = head.len();
    }
    // Half a row can look complete. If the gzip stream is damaged, this last line is a truncation.
    if input.damage().is_some() {
        input.need(seen + 1)?;
    }
    Ok(Some((seen, seen)))
}

/// Consumes a line of any length in constant memory.
#[cold]
fn discard(input: &mut Stream) -> Result<(), Halt> {
    // Bytes that are consumed in parts cannot be read again.
    input.hold(false);
    let offset = input.offset();
    while !input.is_finished().map_err(|stop| stop.moved_to(offset))? {
        let window = input.window(1)?;
        let end = window.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(window.len(), |end| end + 1);
        input.consume(length);
        if end.is_some() {
            break;
        }
    }
    Ok(())
}
