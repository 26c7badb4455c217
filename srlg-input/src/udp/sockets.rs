//! The sockets to which exporters send, warnings about their counters, and the template file.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, process};

use socket2::{Domain, Protocol, Socket, Type};

use crate::contact::Networks;
use crate::error::InputError;
use crate::event::LogLine;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus, FlowCounts, Reason, is_state};
use crate::options::{InputOptions, SocketOptions};
use crate::status::{SocketStatus, Status};
use crate::threads::ContactSenders;
use crate::threads::queue::TICK;

use super::receive::{self, DecoderAssignment, ReceiverState};
use super::udp_drops::UdpDrops;

/// Interval between saves of the templates, and minimum interval between warnings.
const MINUTE: Duration = Duration::from_secs(60);

/// The counters that warnings report.
#[derive(Clone, Copy, Default, PartialEq)]
struct Warned {
    refused: u64,
    dropped: u64,
    /// Number of dropped exporters and observation domains.
    gone: u64,
}

pub(crate) struct Sockets {
    shared: Arc<ReceiverState>,
    /// The bound sockets. They stay open, because the system does not report the drops of closed sockets.
    sockets: Vec<Arc<UdpSocket>>,
    drops: Mutex<UdpDrops>,
    templates: Option<PathBuf>,
    warned_at: Instant,
    /// Counters at the last check.
    warned: Warned,
}

impl Sockets {
    pub(crate) fn open(
        options: &InputOptions,
        senders: &mut ContactSenders<'_>,
    ) -> Result<Self, InputError> {
        let (decoding, options) = (DecoderOptions::from(&options.decoding), &options.sockets);
        if options.exporters.is_empty() {
            return Err(InputError::NoExporters);
        }
        let mut bound = Vec::new();
        for &address in &options.listen {
            let sockets = bind_all(address, options)
                .map_err(|error| InputError::Listen { address, error })?;
            bound.extend(sockets);
        }
        let decoders: Result<Vec<_>, _> =
            bound.iter().map(|_| Decoder::new(decoding).map(Mutex::new)).collect();
        let shared = Arc::new(ReceiverState {
            permitted: Networks::new(options.exporters.iter().map(|network| (*network, ()))),
            decoders: decoders?,
            assignment: DecoderAssignment::new(bound.len()),
            received: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            last_refused: Mutex::default(),
        });
        if let Some(path) = &options.templates {
            let damage = load_templates(path, &shared)?;
            damage.into_iter().for_each(|damage| senders.shared.queue.log(damage));
            // The templates are saved at the start, so that an unwritable file is detected at once. A full disk is not
            // an error, because it may have room later.
            match save_templates(path, &shared) {
                Err(InputError::Templates { error, .. })
                    if error.kind() == ErrorKind::StorageFull => {}
                saved => saved?,
            }
        }
        let (mut drops, mut sockets) = (UdpDrops::default(), Vec::new());
        for (here, (socket, address)) in bound.into_iter().enumerate() {
            drops.watch(&socket);
            if let Some(warning) = short_buffer(&socket, address, options.receive_buffer) {
                senders.shared.queue.log(warning);
            }
            // A program may have set `receivers` to 0, which means 1.
            if here % options.receivers.max(1) as usize == 0 {
                senders
                    .shared
                    .queue
                    .log(LogLine::info(format!("receiving flow exports on {address}")));
            }
            let socket = Arc::new(UdpSocket::from(socket));
            sockets.push(Arc::clone(&socket));
            let shared = Arc::clone(&shared);
            senders.spawn("receive", move |sender| {
                receive::receive(&socket, address, here, &shared, sender)
            })?;
        }
        Ok(Self {
            shared,
            sockets,
            drops: Mutex::new(drops),
            templates: options.templates.clone(),
            warned_at: Instant::now(),
            warned: Warned::default(),
        })
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses: Vec<_> =
            self.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect();
        addresses.dedup();
        addresses
    }

    /// Once a minute, saves the templates and returns warnings about increased counters. Until the first warning, every
    /// call checks the counters.
    pub(crate) fn check_counters(&mut self) -> Vec<LogLine> {
        let is_first = self.warned == Warned::default();
        if !is_first && self.warned_at.elapsed() < MINUTE {
            return Vec::new();
        }
        let warnings = self.warnings();
        if warnings.is_empty() && self.warned_at.elapsed() < MINUTE {
            return warnings;
        }
        self.warned_at = Instant::now();
        [self.save(), warnings].concat()
    }

    /// Discards the clock skews of all exporters after the system clock was set, because each skew has changed by the
    /// step.
    pub(crate) fn clock_was_set(&self) {
        self.decoders().for_each(|mut decoder| decoder.forget_skews());
    }

    pub(crate) fn finish(&mut self) -> Vec<LogLine> {
        [self.save(), self.warnings()].concat()
    }

    /// Returns a warning for each counter that has increased since the last call.
    fn warnings(&mut self) -> Vec<LogLine> {
        let SocketStatus { refused, dropped, .. } = self.counts();
        let dropped = dropped.unwrap_or(0);
        let gone = self.decoders().map(|decoder| decoder.counts().of(Reason::SourceGone)).sum();
        let before = mem::replace(&mut self.warned, Warned { refused, dropped, gone });
        let mut warnings = Vec::new();
        if dropped > before.dropped {
            let more = dropped - before.dropped;
            warnings.push(LogLine::warning(format!(
                "the kernel dropped {more} datagrams with exports because the program was too slow; \
                 raise receive-buffer, or receivers if there are several exporters"
            )));
        }
        if gone > before.gone {
            let more = gone - before.gone;
            warnings.push(LogLine::warning(format!(
                "dropped {more} exporters or observation domains and their templates because there are too many; \
                 their addresses may be forged, so list single addresses in --exporters"
            )));
        }
        if refused > before.refused {
            let more = refused - before.refused;
            let last = *self.shared.last_refused.lock().unwrap_or_else(PoisonError::into_inner);
            let last = last.map(|last| last.to_string()).unwrap_or_default();
            warnings.push(LogLine::warning(format!(
                "{more} datagrams refused, because their senders are not among the exporters; the last one came from {last}"
            )));
        }
        warnings
    }

    fn save(&self) -> Vec<LogLine> {
        let Some(path) = &self.templates else { return Vec::new() };
        let failure = save_templates(path, &self.shared).err();
        failure.into_iter().map(|error| LogLine::warning(error.to_string())).collect()
    }

    fn decoders(&self) -> impl Iterator<Item = MutexGuard<'_, Decoder>> {
        let decoders = self.shared.decoders.iter();
        decoders.map(|decoder| decoder.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn counts(&self) -> SocketStatus {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        SocketStatus {
            received: self.shared.received.load(Relaxed),
            refused: self.shared.refused.load(Relaxed),
            dropped: drops.count(),
        }
    }

    pub(crate) fn status(&self) -> Status {
        let (mut flows, mut exporters) = (FlowCounts::default(), Vec::new());
        for decoder in self.decoders() {
            flows += decoder.counts();
            exporters.extend(ExporterStatus::of(&decoder));
        }
        exporters.sort_by_key(|exporter| exporter.address);
        Status { flows: Some(flows), sockets: Some(self.counts()), exporters, ..Status::default() }
    }
}

/// Binds the sockets of an address and returns each with its bound address.
fn bind_all(address: SocketAddr, options: &SocketOptions) -> io::Result<Vec<(Socket, SocketAddr)>> {
    let is_shared = options.receivers > 1;
    if is_shared && address.port() != 0 {
        // Sockets that share a port would also share it with other programs. Binding it exclusively first detects such
        // a program.
        drop(bind(address, options.receive_buffer, false)?);
    }
    let first = bind(address, options.receive_buffer, is_shared)?;
    let address = first.1;
    let more = (1..options.receivers).map(|_| bind(address, options.receive_buffer, true));
    [Ok(first)].into_iter().chain(more).collect()
}

fn bind(address: SocketAddr, buffer: u32, is_shared: bool) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if is_shared {
        socket.set_reuse_port(true)?;
    }
    set_receive_buffer(&socket, buffer as usize)?;
    socket.set_read_timeout(Some(TICK))?;
    socket.bind(&address.into())?;
    let bound = socket.local_addr()?.as_socket().unwrap_or(address);
    Ok((socket, bound))
}

/// Requests a receive buffer of `bytes` bytes. If the process has CAP_NET_ADMIN, the size may exceed the limit of the
/// system.
fn set_receive_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_ok() {
        return Ok(());
    }
    socket.set_recv_buffer_size(bytes)
}

fn short_buffer(socket: &Socket, address: SocketAddr, asked: u32) -> Option<LogLine> {
    // Linux includes its own overhead: it reports twice the size that is available to datagrams.
    let got = socket.recv_buffer_size().ok()? / 2;
    (got < asked as usize).then(|| {
        LogLine::warning(format!(
            "the receive buffer of {address} has {got} bytes instead of {asked}; raise net.core.rmem_max with sysctl"
        ))
    })
}

/// Size of the length field before each decoder's state in a template file, in bytes.
const LENGTH: usize = size_of::<u32>();

const FOREIGN: &str = "the file exists and is not a template file; use another path";

/// Checks that the template file at `path`, if it exists, is readable and does not belong to another program.
///
/// # Errors
/// Returns [`InputError::Templates`] if the file cannot be read or belongs to another program.
pub fn check_templates(path: &Path) -> Result<(), InputError> {
    read_templates(path).map(drop)
}

/// Returns the contents of the file at `path`, if it exists. Returns an error if the file cannot be read or belongs to
/// another program.
fn read_templates(path: &Path) -> Result<Option<Vec<u8>>, InputError> {
    // Reading a FIFO would wait for ever, and a device may have no end.
    let read = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
        }
        _ => fs::read(path),
    };
    let error = match read {
        Ok(bytes) if bytes.is_empty() || bytes.get(LENGTH..).is_some_and(is_state) => {
            return Ok(Some(bytes));
        }
        Ok(_) => io::Error::new(ErrorKind::InvalidData, FOREIGN),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => error,
    };
    Err(InputError::Templates { path: path.to_owned(), error })
}

/// Loads the templates from the file at `path`, if it exists, and returns warnings about damage. Returns an error if
/// the file cannot be read or belongs to another program.
fn load_templates(path: &Path, shared: &ReceiverState) -> Result<Vec<LogLine>, InputError> {
    let Some(bytes) = read_templates(path)? else { return Ok(Vec::new()) };
    let Some(parts) = parts(&bytes) else {
        let text = format!("template file {} is truncated: its templates are lost", path.display());
        return Ok(vec![LogLine::warning(text)]);
    };
    let mut damages = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let here = at % shared.decoders.len();
        let mut decoder = shared.decoders[here].lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(damage) = decoder.load(part) {
            damages.push(LogLine::warning(format!("{}: {damage}", path.display())));
        }
        for (exporter, _) in decoder.exporters() {
            shared.assignment.of(exporter.ip(), here);
        }
    }
    Ok(damages)
}

/// Saves the state of all decoders to `path`. For each decoder, the file contains the length of its state as a 32-bit
/// little-endian number, and the state. The file is always complete, because a new file is written and then renamed.
fn save_templates(path: &Path, shared: &ReceiverState) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    for decoder in &shared.decoders {
        let part = decoder.lock().unwrap_or_else(PoisonError::into_inner).save();
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
    }
    write(path, &bytes).map_err(|error| InputError::Templates { path: path.to_owned(), error })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (new, mut file) = create_beside(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // The error of the write is returned, and not one of the removal.
        let _left = fs::remove_file(&new);
    }
    written
}

/// Maximum number of names to try for a new file.
const NAMES: u32 = 16;

/// Creates a new file in the folder of `path`. If a name is taken by a file or link, the next name is tried.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 1;
    loop {
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}-{number}.new", process::id()));
        match File::create_new(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < NAMES => number += 1,
            created => return created.map(|file| (new.into(), file)),
        }
    }
}

/// Splits the contents of a template file into the states of the decoders. Returns `None` if the file is truncated.
fn parts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        parts.push(part);
        bytes = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;

    #[cfg(unix)]
    #[test]
    fn a_new_file_takes_no_name_of_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let other = folder.path().join("other");
        fs::write(&other, "of another program").unwrap();
        let of =
            |number: u32| folder.path().join(format!("file.{}-{number}.new", std::process::id()));
        std::os::unix::fs::symlink(&other, of(1)).unwrap();
        fs::copy(&other, of(2)).unwrap();
        super::write(&path, b"templates").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"templates");
        for other in [&other, &of(2)] {
            assert_eq!(fs::read(other).unwrap(), b"of another program");
        }
        assert!(!of(3).exists());
        (3..=super::NAMES).for_each(|number| fs::write(of(number), "").unwrap());
        assert_eq!(super::write(&path, b"").unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_failure_leaves_no_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir_all(path.join("full")).unwrap();
        super::write(&path, b"templates").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
