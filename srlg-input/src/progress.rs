//! How much of files has been read.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Tells how many bytes of regular files have been read, and how many there are in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that have been read.
    pub read: u64,
    /// Bytes of all files.
    pub of: u64,
}

/// Counts what is read of a file.
pub(crate) struct CountingFile {
    file: File,
    read: Arc<AtomicU64>,
}

impl CountingFile {
    pub(crate) fn new(file: File, read: &Arc<AtomicU64>) -> Self {
        Self { file, read: Arc::clone(read) }
    }
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
