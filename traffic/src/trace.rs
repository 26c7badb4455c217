//! Record files of real traffic, which are named `NAME.spt.zst`.
//!
//! A file is one zstd frame that contains 12-byte records, sorted by time. A record consists of three 32-bit
//! little-endian integers: the time in milliseconds, the source address and the destination address. Reading ends with
//! an error if the file is damaged, for example truncated, longer than its frame, or inconsistent with its checksum.

use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::FrameDecoderError;
use srlg_core::{Address, Ipv4Pair};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::skip::skip;

const RECORD_BYTES: usize = 12;

/// Suffix of the names of record files.
pub const SUFFIX: &str = ".spt.zst";

/// One or more packets with the same source and destination in the same millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time in milliseconds since the start of the trace.
    pub time_ms: u32,
    /// Source address.
    pub source: Address,
    /// Destination address.
    pub destination: Address,
}

impl Record {
    /// Returns the two pairs of this record. Each of the two hosts is the inside host of one pair. If the source is
    /// also the destination, no pair is returned.
    pub fn pairs(&self) -> impl Iterator<Item = Ipv4Pair> + use<> {
        let &Self { source, destination, .. } = self;
        let ends = [(source, destination), (destination, source)].into_iter();
        ends.filter(|(inside, peer)| inside != peer).map(|(inside, peer)| Ipv4Pair { inside, peer })
    }
}

/// An error while reading a record file.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a zstd file.
    #[error("{path} is not a zstd file: {source}")]
    NotZstd {
        /// Path of the file.
        path: PathBuf,
        /// The error of the decoder.
        source: FrameDecoderError,
    },
    /// The file is truncated or damaged.
    #[error("{path} is damaged after {records} records: {source}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Number of records that were read before the error.
        records: u64,
        /// Cause of the error.
        source: io::Error,
    },
}

/// An iterator over the records of a file. It ends after its first error.
pub struct Trace {
    path: PathBuf,
    frame: StreamingDecoder<BufReader<File>, FrameDecoder>,
    /// Decoded bytes. The bytes before `position` have been read.
    buffer: Vec<u8>,
    position: usize,
    records: u64,
    ended: bool,
}

impl Trace {
    /// Opens the record file at `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or does not start with a zstd frame header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref().to_owned();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(TraceError::Open { path, source }),
        };
        let frame = match StreamingDecoder::new(BufReader::new(file)) {
            Ok(frame) => frame,
            Err(source) => return Err(TraceError::NotZstd { path, source }),
        };
        Ok(Self { path, frame, buffer: Vec::new(), position: 0, records: 0, ended: false })
    }

    fn read(&mut self) -> io::Result<Option<Record>> {
        if self.position == self.buffer.len() {
            self.fill()?;
        }
        let Some(bytes) = self.buffer[self.position..].first_chunk::<RECORD_BYTES>() else {
            return self.check_end().map(|()| None);
        };
        self.position += RECORD_BYTES;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        Ok(Some(Record { time_ms: word(0), source: word(4), destination: word(8) }))
    }

    /// Refills the buffer, which remains empty at the end of the frame.
    fn fill(&mut self) -> io::Result<()> {
        // The decoder is fastest if it is asked for many bytes at once.
        let many = 4096 * RECORD_BYTES as u64;
        self.buffer.clear();
        self.position = 0;
        self.frame.by_ref().take(many).read_to_end(&mut self.buffer)?;
        if !self.buffer.len().is_multiple_of(RECORD_BYTES) {
            return Err(damage("its decoded length is not a multiple of 12 bytes"));
        }
        Ok(())
    }

    fn check_end(&mut self) -> io::Result<()> {
        let decoder = &self.frame.decoder;
        let written = decoder.get_checksum_from_data();
        if written.is_some() && written != decoder.get_calculated_checksum() {
            return Err(damage("its checksum differs"));
        }
        if !self.frame.get_mut().fill_buf()?.is_empty() {
            return Err(damage("there are bytes after its zstd frame"));
        }
        Ok(())
    }
}

impl Iterator for Trace {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        self.records += u64::from(!self.ended);
        read.map(|record| record.map_err(|source| self.damaged(source)))
    }
}

impl Trace {
    fn damaged(&self, source: io::Error) -> TraceError {
        TraceError::Damaged { path: self.path.clone(), records: self.records, source }
    }
}

fn damage(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Returns the record files of `folder`, sorted by name.
///
/// # Errors
///
/// Returns an error if the folder cannot be read.
pub fn record_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.to_string_lossy().ends_with(SUFFIX));
    paths.sort();
    Ok(paths)
}

/// Returns the folder `name` of the recorded traffic, for tests. The environment variable `SRLG_DATA` names the folder
/// that contains it. If the variable is not set, reports that the running test is skipped, and returns `None`.
///
/// # Panics
///
/// Panics if the variable is set, but the folder does not exist.
#[must_use]
pub fn recorded(name: &str) -> Option<PathBuf> {
    let Some(data) = std::env::var_os("SRLG_DATA") else {
        skip("recorded traffic is missing; set SRLG_DATA to its folder");
        return None;
    };
    let folder = Path::new(&data).join(name);
    assert!(folder.is_dir(), "SRLG_DATA must be a folder that contains {}", folder.display());
    Some(folder)
}

/// Returns the record files in the folder `dev` of the recorded traffic, for tests. If `SRLG_DATA` is not set, reports
/// that the running test is skipped, and returns an empty list.
///
/// # Panics
///
/// Panics if the variable is set, but the folder does not exist or has no record files.
#[must_use]
pub fn dev_traces() -> Vec<PathBuf> {
    let Some(folder) = recorded("dev") else { return Vec::new() };
    let traces = record_files(&folder).expect("the folder dev/ must be readable");
    assert!(!traces.is_empty(), "the folder dev/ contains no record files");
    traces
}

#[cfg(test)]
mod tests;
