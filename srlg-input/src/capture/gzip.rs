//! The inflater of a gzip stream, which tells damage in the data from a source that fails.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::capture::stream::ByteSource;

/// Bytes asked of the inflater at once: what it has ready when it meets damage is lost, and that
/// is at most this and its window of 32 KiB.
const INFLATE_STEP: usize = 16 * 1024;

pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// An inflater over a source that began with [`MAGIC`].
pub(crate) struct Gzip(MultiGzDecoder<CompressedSource>);

/// The compressed source. It remembers that it failed itself: an error that comes out of the
/// inflater while it did not is damage in the data.
struct CompressedSource {
    inner: Chain<Cursor<Vec<u8>>, ByteSource>,
    failed: bool,
}

impl Read for CompressedSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.inner.read(buffer);
        self.failed = matches!(&outcome, Err(e) if e.kind() != io::ErrorKind::Interrupted);
        outcome
    }
}

impl Gzip {
    /// An inflater of `peeked` and what follows it in `source`.
    pub(crate) fn new(peeked: &[u8], source: ByteSource) -> Self {
        let inner = Cursor::new(peeked.to_vec()).chain(source);
        Self(MultiGzDecoder::new(CompressedSource { inner, failed: false }))
    }

    /// Reads once into `free`. The outer error is that of the source, the inner one is damage in the data.
    pub(crate) fn read(&mut self, free: &mut [u8]) -> io::Result<Result<usize, String>> {
        let step = free.len().min(INFLATE_STEP);
        match self.0.read(&mut free[..step]) {
            Ok(count) => Ok(Ok(count)),
            Err(error) if self.0.get_ref().failed || error.kind() == io::ErrorKind::Interrupted => {
                Err(error)
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}
