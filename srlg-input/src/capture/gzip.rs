//! The inflater of a gzip stream, which distinguishes damaged data from a failing source.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// Maximum number of bytes requested from the inflater at a time. If the data is damaged, at most this number of bytes
/// and the inflater's window of 32 KiB are lost.
const INFLATE_STEP: usize = 16 * 1024;

pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

pub(crate) struct Gzip(MultiGzDecoder<CompressedSource>);

/// A source that records whether its last read failed. If the inflater fails but the source has not failed, the data is
/// damaged.
struct CompressedSource {
    inner: Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>,
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
    pub(crate) fn new(peeked: &[u8], source: Box<dyn Read + Send>) -> Self {
        let inner = Cursor::new(peeked.to_vec()).chain(source);
        Self(MultiGzDecoder::new(CompressedSource { inner, failed: false }))
    }

    /// Reads once into `free`. If the source fails, returns the outer error. If the data is damaged, returns the inner
    /// error.
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
