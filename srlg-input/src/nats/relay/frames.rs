//! Limits of the frames that a server sends.
//!
//! A frame is a line that ends with CRLF. The lines MSG and HMSG end with the size of a message, which follows the line
//! and also ends with CRLF. [`Checked`] finds the start of each frame exactly as the client does, so the client never
//! waits for more than the checked size.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Largest line, in bytes with its end. The limit of servers for the lines of clients is 4 KiB, but INFO lists all
/// servers of a cluster.
pub const MAX_LINE: usize = 64 << 10;

/// Largest payload of a message, in bytes. `nats-server` warns if `max_payload` is set to more than 8 MiB, and the
/// messages of srlg have at most 1 MiB.
pub const MAX_PAYLOAD: usize = 8 << 20;

/// Largest headers of a message, in bytes. The client stores each header in a map, where a short header takes some ten
/// times its size.
pub const MAX_HEADERS: usize = 64 << 10;

/// The reason why a frame of a server is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A line is longer than [`MAX_LINE`].
    #[error("sent a line that is too long; at most {MAX_LINE} bytes are accepted")]
    Line,
    /// A payload is larger than [`MAX_PAYLOAD`].
    #[error("sent a message of {0} bytes; at most {MAX_PAYLOAD} are accepted")]
    Payload(usize),
    /// Headers are larger than [`MAX_HEADERS`].
    #[error("sent a message with headers of {0} bytes; at most {MAX_HEADERS} are accepted")]
    Headers(usize),
    /// The line of a message has no valid size.
    #[error("sent a message without a valid size")]
    NoSize,
}

/// The position in the frames of a server.
#[derive(Debug, Default)]
struct Frames {
    /// Bytes of the line so far.
    line: Vec<u8>,
    /// Number of bytes of the message that have not been received yet.
    left: usize,
}

impl Frames {
    /// Checks the next `bytes`. If a line or a stated size is too large, returns an error before any byte beyond the
    /// limit is received.
    fn check(&mut self, mut bytes: &[u8]) -> Result<(), FrameError> {
        while !bytes.is_empty() {
            let message = self.left.min(bytes.len());
            self.left -= message;
            bytes = &bytes[message..];
            let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
            if self.line.len() + end > MAX_LINE {
                return Err(FrameError::Line);
            }
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            if self.line.ends_with(b"\r\n") {
                self.left = following(&self.line)?;
                self.line.clear();
            }
        }
        Ok(())
    }
}

/// Returns the number of bytes that follow `line` and belong to the same frame.
fn following(line: &[u8]) -> Result<usize, FrameError> {
    let (line, has_headers) = match (line.strip_prefix(b"MSG "), line.strip_prefix(b"HMSG ")) {
        (Some(line), _) => (line, false),
        (_, Some(line)) => (line, true),
        _ => return Ok(0),
    };
    let line = std::str::from_utf8(line).map_err(|_| FrameError::NoSize)?;
    let mut words = line.split_whitespace().rev();
    let mut size = || words.next().and_then(|word| word.parse::<usize>().ok());
    let total = size().ok_or(FrameError::NoSize)?;
    let headers = if has_headers { size().ok_or(FrameError::NoSize)? } else { 0 };
    let payload = total.checked_sub(headers).ok_or(FrameError::NoSize)?;
    if headers > MAX_HEADERS {
        return Err(FrameError::Headers(headers));
    }
    if payload > MAX_PAYLOAD {
        return Err(FrameError::Payload(payload));
    }
    Ok(total + b"\r\n".len())
}

/// A connection to a server, with or without TLS.
pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection to a server whose reads fail at the first frame that is not allowed.
pub(super) struct Checked {
    stream: Box<dyn Transport>,
    frames: Frames,
}

impl Checked {
    /// Wraps a connection whose next byte is the first one of a frame.
    pub(super) fn new(stream: Box<dyn Transport>) -> Self {
        Self { stream, frames: Frames::default() }
    }
}

impl AsyncRead for Checked {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, frames } = self.get_mut();
        let before = buffer.filled().len();
        match ready!(Pin::new(stream).poll_read(context, buffer)) {
            // A server that ends TLS without notice has closed the connection. A frame that is not complete is lost in
            // either case, because its size is known.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
            Ok(()) => {
                let checked = frames.check(&buffer.filled()[before..]);
                Poll::Ready(checked.map_err(io::Error::other))
            }
        }
    }
}

impl AsyncWrite for Checked {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks `text` in pieces of each of several sizes, which must all have the same result.
    fn check(text: &[u8]) -> Result<(), FrameError> {
        let in_pieces = |size| {
            let mut frames = Frames::default();
            text.chunks(size).try_for_each(|piece| frames.check(piece))
        };
        let results = [1, 2, 3, 7, text.len()].map(in_pieces);
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        results[0]
    }

    #[test]
    fn frames_within_the_limits_are_passed_on() {
        let headers = MAX_HEADERS;
        let total = MAX_PAYLOAD + MAX_HEADERS;
        for text in [
            "PING\r\nPONG\r\n+OK\r\n-ERR 'Unknown'\r\n".to_owned(),
            // Payloads may look like lines, and like the ends of lines.
            "MSG a 1 12\r\nMSG b 2 9e9\n\r\nMSG a 1  reply 2 \r\n\r\n\r\nPING\r\n".to_owned(),
            "HMSG a 1 reply 12 14\r\nNATS/1.0\r\n\r\nab\r\nPING\r\n".to_owned(),
            // A line feed alone does not end a line.
            "-ERR 'a\nMSG b 2 99999999'\r\nPING\r\n".to_owned(),
            format!("INFO {}\r\n", "x".repeat(MAX_LINE - "INFO \r\n".len())),
            format!("MSG a 1 {MAX_PAYLOAD}\r\n"),
            format!("HMSG a 1 {headers} {total}\r\n"),
        ] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text:.60}");
        }
    }

    #[test]
    fn the_first_frame_beyond_a_limit_is_an_error() {
        let (payload, headers) = (MAX_PAYLOAD + 1, MAX_HEADERS + 1);
        for (text, expected) in [
            ("x".repeat(MAX_LINE + 1), FrameError::Line),
            ("\n".repeat(MAX_LINE + 1), FrameError::Line),
            (format!("PING\r\nMSG a 1 {payload}\r\n"), FrameError::Payload(payload)),
            ("MSG a 1 4000000000\r\n".to_owned(), FrameError::Payload(4_000_000_000)),
            (format!("MSG a 1 2\r\nab\r\nMSG a 1 r {payload}\r\n"), FrameError::Payload(payload)),
            (format!("HMSG a 1 0 {payload}\r\n"), FrameError::Payload(payload)),
            (format!("HMSG a 1 {headers} {headers}\r\n"), FrameError::Headers(headers)),
            ("MSG a 1\tx\r\n".to_owned(), FrameError::NoSize),
            ("MSG a 1 -1\r\n".to_owned(), FrameError::NoSize),
            (format!("MSG a 1 {}0\r\n", usize::MAX), FrameError::NoSize),
            ("HMSG a 1 7 6\r\n".to_owned(), FrameError::NoSize),
            ("HMSG 6\r\n".to_owned(), FrameError::NoSize),
        ] {
            assert_eq!(check(text.as_bytes()), Err(expected), "{text:.60}");
        }
    }
}
