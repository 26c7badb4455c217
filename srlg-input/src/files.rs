//! Contacts out of files, one after the other.
//!
//! Invariant: all files are there before any is read, and all exports go through one decoder, so that templates of
//! one file are known in the next.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::vec;

use crate::capture::{CaptureError, PacketCounts, Reader};

use crate::error::InputError;
use crate::exports::Exports;
use crate::input::Status;
use crate::input::{Event, LogLine, Progress};
use crate::options::InputOptions;

/// Files, of which one is being read.
pub(crate) struct Files {
    file: Option<OpenFile>,
    waiting: vec::IntoIter<PathBuf>,
    /// The decoder, if the datagrams of captures are exports.
    exports: Option<Exports>,
    /// Of the files that have been read.
    packets: PacketCounts,
    read: Arc<AtomicU64>,
    bytes: u64,
}

struct OpenFile {
    name: String,
    reader: Reader,
}

impl Files {
    /// Begins with the first file.
    pub(crate) fn open(options: &InputOptions) -> Result<Self, InputError> {
        let mut bytes = 0;
        for path in options.input.iter().filter(|path| !is_standard_input(path)) {
            let metadata = fs::metadata(path)
                .map_err(|error| InputError::Open { path: path.clone(), error })?;
            bytes += if metadata.is_file() { metadata.len() } else { 0 };
        }
        let mut files = Self {
            file: None,
            waiting: options.input.clone().into_iter(),
            exports: options.exports.then(|| Exports::new(&options.decoding)).transpose()?,
            packets: PacketCounts::default(),
            read: Arc::default(),
            bytes,
        };
        if files.open_next()? { Ok(files) } else { Err(InputError::None) }
    }

    #[inline(always)]
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>, InputError> {
        loop {
            if let Some(contact) = self.exports.as_mut().and_then(Exports::next_contact) {
                return Ok(Some(Event::Contact(contact)));
            }
            let Some(file) = &mut self.file else {
                if self.open_next()? {
                    continue;
                }
                return Ok(None);
            };
            let is_read = if let Some(exports) = &mut self.exports {
                let datagram = file.reader.next_datagram().map_err(failed(&file.name))?;
                datagram.map(|it| exports.decode(it.source, it.time_ns, it.payload)).is_some()
            } else {
                match file.reader.next_contact().map_err(failed(&file.name))? {
                    Some(contact) => return Ok(Some(Event::Contact(contact))),
                    None => false,
                }
            };
            if !is_read && let Some(warning) = self.end_file() {
                return Ok(Some(warning));
            }
        }
    }

    /// Begins with the next file; whether there is one.
    #[cold]
    fn open_next(&mut self) -> Result<bool, InputError> {
        let Some(path) = self.waiting.next() else { return Ok(false) };
        let name = path.display().to_string();
        let reader = Reader::new(self.open_file(path)?).map_err(failed(&name))?;
        self.file = Some(OpenFile { name, reader });
        Ok(true)
    }

    fn open_file(&self, path: PathBuf) -> Result<Box<dyn Read + Send>, InputError> {
        if is_standard_input(&path) {
            return Ok(Box::new(io::stdin()));
        }
        match File::open(&path) {
            Ok(file) => Ok(Box::new(CountingFile::new(file, &self.read))),
            Err(error) => Err(InputError::Open { path, error }),
        }
    }

    /// Takes the counts of the file that has been read, and returns a warning if it ended early.
    #[cold]
    fn end_file(&mut self) -> Option<Event> {
        let OpenFile { name, reader, .. } = self.file.take()?;
        self.packets += reader.counts();
        reader
            .truncation()
            .map(|truncation| Event::Log(LogLine::warning(format!("{name}: {truncation}"))))
    }

    pub(crate) fn status(&self) -> Status {
        let mut packets = self.packets.clone();
        if let Some(file) = &self.file {
            packets += file.reader.counts();
        }
        let of_exports = self.exports.as_ref().map(Exports::status).unwrap_or_default();
        Status { packets: Some(packets), ..of_exports }
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress { read: self.read.load(Relaxed), of: self.bytes }
    }
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

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn failed(name: &str) -> impl Fn(CaptureError) -> InputError {
    move |error| {
        let name = name.to_owned();
        match error {
            CaptureError::Exports => InputError::Exports { name },
            error => InputError::Capture { name, error },
        }
    }
}
