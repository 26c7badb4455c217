//! A buffer between a source of bytes and the decoders. It also decompresses gzip.
//!
//! Invariant: [`Stream::window`] returns fewer bytes than requested only at the end of the stream. A window is never
//! larger than [`CAPACITY`].

use std::io::{self, Read};

use crate::capture::error::{Cause, Halt};
#[cfg(feature = "gzip")]
use crate::capture::gzip::{self, Gzip};

/// Size of the buffer, and therefore of the largest record that can be decoded as a whole.
// It is twice the size of the largest pcap record and fits into a second-level cache.
pub(crate) const CAPACITY: usize = 512 * 1024;

pub(crate) type ByteSource = Box<dyn Read + Send>;

enum Source {
    Plain(ByteSource),
    #[cfg(feature = "gzip")]
    Gzip(Box<Gzip>),
}

pub(crate) struct Stream {
    source: Source,
    buffer: Box<[u8]>,
    /// Start of the unconsumed bytes, which are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the decompressed stream.
    base: u64,
    ended: bool,
    /// Whether reads from the source are forbidden, because they might block.
    is_held: bool,
    /// Error that ended a gzip stream early.
    damage: Option<String>,
}

impl Stream {
    /// Opens a stream that reads `source`, and decompresses it if it starts with the gzip magic number.
    #[cfg(feature = "gzip")]
    pub(crate) fn open(source: ByteSource) -> io::Result<Self> {
        let mut plain = Self::over(Source::Plain(source));
        let is_gzip = plain.window(gzip::MAGIC.len())?.starts_with(&gzip::MAGIC);
        match plain.source {
            Source::Plain(source) if is_gzip => {
                let gzip = Gzip::new(&plain.buffer[plain.start..plain.end], source);
                Ok(Self::over(Source::Gzip(Box::new(gzip))))
            }
            _ => Ok(plain),
        }
    }

    #[cfg(not(feature = "gzip"))]
    pub(crate) fn open(source: ByteSource) -> io::Result<Self> {
        Ok(Self::over(Source::Plain(source)))
    }

    fn over(source: Source) -> Self {
        let buffer = vec![0; CAPACITY].into_boxed_slice();
        Self {
            source,
            buffer,
            start: 0,
            end: 0,
            base: 0,
            ended: false,
            is_held: false,
            damage: None,
        }
    }

    /// Returns the offset of the next unconsumed byte in the decompressed stream.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the error that ended the gzip stream early, or `None` if no such error has occurred.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Reads until at least `want` bytes are buffered or the stream ends, and returns all buffered bytes.
    #[inline]
    pub(crate) fn window(&mut self, want: usize) -> io::Result<&[u8]> {
        if self.end - self.start < want {
            self.refill(want)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns the next `want` bytes. If the stream ends earlier, returns a truncation error.
    #[inline]
    pub(crate) fn need(&mut self, want: usize) -> Result<&[u8], Halt> {
        if self.window(want)?.len() < want {
            return Err(self.truncated());
        }
        Ok(&self.buffer[self.start..self.start + want])
    }

    /// Returns whether the stream ends here, between two records. If it ends here because the gzip stream is damaged,
    /// returns a truncation error.
    #[inline]
    pub(crate) fn is_finished(&mut self) -> Result<bool, Halt> {
        if !self.window(1)?.is_empty() {
            return Ok(false);
        }
        if self.damage.is_some() { Err(self.truncated()) } else { Ok(true) }
    }

    /// Forbids or allows reads from the source. While they are forbidden, [`window`](Self::window) fails with
    /// `WouldBlock` if it would have to read.
    #[inline]
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Consumes the next `count` bytes, which must have been part of a window.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Skips `count` bytes, which may be more than the size of the buffer.
    pub(crate) fn skip(&mut self, mut count: usize) -> Result<(), Halt> {
        while count > 0 {
            let here = self.window(1)?.len().min(count);
            if here == 0 {
                return Err(self.truncated());
            }
            self.consume(here);
            count -= here;
        }
        Ok(())
    }

    #[cold]
    fn truncated(&self) -> Halt {
        Halt::damaged(self.offset(), self.damage.clone().map_or(Cause::EndOfInput, Cause::Gzip))
    }

    #[cold]
    fn refill(&mut self, want: usize) -> io::Result<()> {
        debug_assert!(want <= CAPACITY);
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < want && !self.ended {
            if self.is_held {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match self.read_once() {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads once into the free part of the buffer. If the gzip stream is damaged, sets `damage` and returns 0.
    fn read_once(&mut self) -> io::Result<usize> {
        let free = &mut self.buffer[self.end..];
        match &mut self.source {
            Source::Plain(source) => source.read(free),
            #[cfg(feature = "gzip")]
            Source::Gzip(gzip) => Ok(gzip.read(free)?.unwrap_or_else(|damage| {
                self.damage = Some(damage);
                0
            })),
        }
    }
}
