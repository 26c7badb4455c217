//! Contacts from files, which are read one after another.
//!
//! Invariant: no file is read before all files are known to exist. One decoder reads the exports of all files, so that
//! templates from one file also apply to the files after it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::vec;

use crate::capture::{CaptureError, Format, PacketCounts, Reader};
use crate::contact::Contact;
use crate::error::InputError;
use crate::event::{Event, LogLine, Next, Progress, Stop};
use crate::exports::Exports;
use crate::options::{InputOptions, Tunnels};
use crate::status::Status;

/// UDP ports to which routers usually send flow exports: NetFlow, IPFIX and sFlow.
const COLLECTOR_PORTS: [u16; 6] = [2055, 4739, 6343, 9555, 9995, 9996];

/// IP protocol number of UDP.
const UDP: u8 = 17;

pub(crate) struct Files {
    file: Option<OpenFile>,
    waiting: vec::IntoIter<PathBuf>,
    /// Decoder of flow exports, or `None` if packets and rows are read.
    exports: Option<Exports>,
    tunnels: Tunnels,
    /// Packet counters of all finished files.
    packets: PacketCounts,
    read: Arc<AtomicU64>,
    bytes: u64,
    stop: Stop,
    /// Line about the open file that is not yet in the log.
    hint: Option<LogLine>,
    #[cfg(any(feature = "flow", feature = "live"))]
    may_block: bool,
}

struct OpenFile {
    name: String,
    reader: Reader,
    /// Whether the first contacts have been examined for flow exports.
    is_examined: bool,
}

impl OpenFile {
    /// Returns a line for the log if at least half of the contacts just read are packets to the ports of flow
    /// collectors.
    #[cold]
    fn hint(&mut self) -> Option<LogLine> {
        self.is_examined = true;
        if !matches!(self.reader.format(), Format::Pcap | Format::PcapNg) {
            return None;
        }
        let contacts = self.reader.contacts();
        let datagrams = contacts.iter().filter(|contact| contact.protocol == Some(UDP));
        let ports = datagrams.filter_map(|contact| contact.destination_port);
        let ports: Vec<u16> = ports.filter(|port| COLLECTOR_PORTS.contains(port)).collect();
        let port = ports.first().filter(|_| 2 * ports.len() >= contacts.len())?;
        let name = &self.name;
        Some(LogLine::warning(format!(
            "{name} seems to contain flow exports (packets to udp/{port}), but the packets themselves are counted; use --exports to count the flows in them"
        )))
    }
}

impl Files {
    /// Checks that all files exist, and opens the first one. Reading ends once `stop` is set.
    pub(crate) fn open(options: &InputOptions, stop: &Stop) -> Result<Self, InputError> {
        let mut bytes = 0;
        for path in options.input.iter().filter(|path| !is_standard_input(path)) {
            let metadata = fs::metadata(path)
                .map_err(|error| InputError::Open { path: path.clone(), error })?;
            bytes += if metadata.is_file() { metadata.len() } else { 0 };
        }
        let mut files = Self {
            file: None,
            waiting: options.input.clone().into_iter(),
            exports: options.exports.then(|| Exports::new(options)).transpose()?,
            tunnels: options.tunnels,
            packets: PacketCounts::default(),
            read: Arc::default(),
            bytes,
            stop: stop.clone(),
            hint: None,
            #[cfg(any(feature = "flow", feature = "live"))]
            may_block: !options.input.iter().all(|path| path.is_file()),
        };
        if files.open_next()? { Ok(files) } else { Err(InputError::None) }
    }

    /// Reads until there are contacts or a warning. Returns `None` after the last file.
    pub(crate) fn advance(&mut self) -> Result<Option<Next>, InputError> {
        if let Some(hint) = self.hint.take() {
            return Ok(Some(Next::Event(Event::Log(hint))));
        }
        loop {
            let Some(file) = &mut self.file else {
                if self.open_next()? {
                    continue;
                }
                return Ok(None);
            };
            let is_read = if let Some(exports) = &mut self.exports {
                let datagram = file.reader.next_datagram();
                datagram.map(|datagram| datagram.map(|it| exports.decode(&it)).is_some())
            } else {
                file.reader.next_contacts().map(|contacts| contacts.is_some())
            };
            // If the input is stopped, a partly read file may look damaged.
            let is_read = match is_read {
                Err(_) if self.stop.is_asked() => false,
                is_read => is_read.map_err(failed(&file.name))?,
            };
            if !is_read {
                if let Some(warning) = self.end_file() {
                    return Ok(Some(Next::Event(warning)));
                }
            } else if !self.contacts().is_empty() {
                if let (None, Some(file)) = (&self.exports, &mut self.file)
                    && !file.is_examined
                {
                    self.hint = file.hint();
                }
                return Ok(Some(Next::Contacts));
            }
        }
    }

    pub(crate) fn contacts(&self) -> &[Contact] {
        match (&self.exports, &self.file) {
            (Some(exports), _) => exports.contacts(),
            (None, Some(file)) => file.reader.contacts(),
            (None, None) => &[],
        }
    }

    /// Opens the next file. Returns `false` if there is none, or if the input is stopped.
    #[cold]
    fn open_next(&mut self) -> Result<bool, InputError> {
        if self.stop.is_asked() {
            return Ok(false);
        }
        let Some(path) = self.waiting.next() else { return Ok(false) };
        let name = path.display().to_string();
        let reader = Reader::new(self.open_file(path)?).map_err(failed(&name))?;
        let reader = reader.with_tunnels(self.tunnels);
        self.file = Some(OpenFile { name, reader, is_examined: false });
        Ok(true)
    }

    fn open_file(&self, path: PathBuf) -> Result<Box<dyn Read + Send>, InputError> {
        if is_standard_input(&path) {
            return Ok(Box::new(io::stdin()));
        }
        match File::open(&path) {
            Ok(file) => Ok(Box::new(CountingFile::new(file, &self.read, &self.stop))),
            Err(error) => Err(InputError::Open { path, error }),
        }
    }

    /// Adds the counters of the finished file to the total and returns a warning if the file is truncated.
    #[cold]
    fn end_file(&mut self) -> Option<Event<'static>> {
        let OpenFile { name, reader, .. } = self.file.take()?;
        self.packets += reader.counts();
        let truncation = reader.truncation().filter(|_| !self.stop.is_asked());
        truncation.map(|truncation| Event::Log(LogLine::warning(format!("{name}: {truncation}"))))
    }

    pub(crate) fn status(&self) -> Status {
        let mut packets = self.packets.clone();
        if let Some(file) = &self.file {
            packets += file.reader.counts();
        }
        let of_exports = self.exports.as_ref().map(Exports::status).unwrap_or_default();
        Status { packets: Some(packets), ..of_exports }
    }

    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) fn may_block(&self) -> bool {
        self.may_block
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress { read: self.read.load(Relaxed), of: self.bytes }
    }
}

/// A file that counts the bytes read. Reads fail once the input is stopped.
pub(crate) struct CountingFile {
    file: File,
    read: Arc<AtomicU64>,
    stop: Stop,
}

impl CountingFile {
    pub(crate) fn new(file: File, read: &Arc<AtomicU64>, stop: &Stop) -> Self {
        Self { file, read: Arc::clone(read), stop: stop.clone() }
    }
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_asked() {
            // If this returned an end of file, half a line would become a contact.
            return Err(io::Error::other("the input is stopping"));
        }
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
