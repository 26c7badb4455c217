//! The sockets to which exporters send, and warnings about their counters.

mod close_error;
mod connection;
mod datagrams;
mod state;
mod tcp;
mod template_file;
mod udp;
mod udp_drops;

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{iter, mem};

use crate::error::InputError;
use crate::event::LogLine;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus, FlowCounts, Reason};
use crate::options::InputOptions;
use crate::status::{SocketStatus, Status};
use crate::threads::ContactSenders;

use self::state::ReceiverState;
use self::template_file::{load_templates, save_templates};
use self::udp_drops::UdpDrops;

pub use self::template_file::check_templates;

/// Interval between saves of the templates, and minimum interval between warnings.
const MINUTE: Duration = Duration::from_secs(60);

/// The counters that warnings report.
#[derive(Clone, Copy, Default, PartialEq)]
struct Warned {
    refused: u64,
    dropped: u64,
    /// Number of dropped exporters and observation domains.
    gone: u64,
    /// Number of TCP connections that were closed before their end.
    closed: u64,
}

pub(crate) struct Sockets {
    shared: Arc<ReceiverState>,
    /// The bound sockets. They stay open, because the system does not report the drops of closed sockets.
    sockets: Vec<Arc<UdpSocket>>,
    tcp_addresses: Vec<SocketAddr>,
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
        let (decoding, options) = (DecoderOptions::from(options), &options.sockets);
        if options.exporters.is_empty() {
            return Err(InputError::NoExporters);
        }
        let mut bound = Vec::new();
        for &address in &options.listen {
            let sockets = udp::bind_all(address, options)
                .map_err(|error| InputError::Listen { address, error })?;
            bound.extend(sockets);
        }
        let listeners: Result<Vec<_>, _> = (options.listen_tcp.iter())
            .map(|&address| {
                tcp::listen(address).map_err(|error| InputError::Listen { address, error })
            })
            .collect();
        let (listeners, tcp_addresses): (Vec<_>, Vec<_>) = listeners?.into_iter().unzip();
        let shared = Arc::new(ReceiverState::new(&options.exporters, bound.len(), decoding)?);
        // Exporters send templates at the start of each TCP connection.
        let templates = options.templates.clone().filter(|_| !bound.is_empty());
        if let Some(path) = &templates {
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
            if let Some(warning) = udp::short_buffer(&socket, address, options.receive_buffer) {
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
                udp::receive(&socket, address, here, &shared, sender)
            })?;
        }
        for address in &tcp_addresses {
            let line = LogLine::info(format!("receiving IPFIX over TCP on {address}"));
            senders.shared.queue.log(line);
        }
        if let Some(&address) = tcp_addresses.first() {
            let receiver = tcp::Receiver::new(listeners, address, Arc::clone(&shared));
            senders.spawn("receive-tcp", move |sender| receiver.run(sender))?;
        }
        Ok(Self {
            shared,
            sockets,
            tcp_addresses,
            drops: Mutex::new(drops),
            templates,
            warned_at: Instant::now(),
            warned: Warned::default(),
        })
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let mut addresses: Vec<_> =
            self.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect();
        addresses.dedup();
        addresses.extend(&self.tcp_addresses);
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
        let SocketStatus { refused, dropped, connections, .. } = self.counts();
        let dropped = dropped.unwrap_or(0);
        let gone = self.decoders().map(|decoder| decoder.counts().of(Reason::SourceGone)).sum();
        let closed = connections.map_or(0, |connections| connections.all_closed());
        let before = mem::replace(&mut self.warned, Warned { refused, dropped, gone, closed });
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
                "{more} datagrams or connections refused, because their senders are not among the exporters; the last one came from {last}"
            )));
        }
        if closed > before.closed {
            let more = closed - before.closed;
            let last = &self.shared.connections().last_closed;
            warnings.push(LogLine::warning(format!(
                "{more} TCP connections of exporters closed before their end; the last one: {last}"
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
        let of_datagrams = (0..self.shared.decoders.len()).map(|at| self.shared.decoder(at));
        of_datagrams.chain(iter::once_with(|| self.shared.sessions()))
    }

    fn counts(&self) -> SocketStatus {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        SocketStatus {
            received: self.shared.received.load(Relaxed),
            refused: self.shared.refused.load(Relaxed),
            // TCP drops nothing.
            dropped: if self.sockets.is_empty() { Some(0) } else { drops.count() },
            connections: (!self.tcp_addresses.is_empty()).then(|| self.shared.connections().counts),
        }
    }

    pub(crate) fn status(&self) -> Status {
        let (mut flows, mut exporters) = (FlowCounts::default(), Vec::new());
        for decoder in self.decoders() {
            flows += decoder.counts();
            exporters.extend(ExporterStatus::of(&decoder));
        }
        exporters.sort_by_key(|exporter| exporter.address);
        // An exporter may send both datagrams and messages in connections.
        exporters.dedup_by(|next, first| {
            let is_same = next.address == first.address;
            if is_same {
                first.add(next);
            }
            is_same
        });
        Status { flows: Some(flows), sockets: Some(self.counts()), exporters, ..Status::default() }
    }
}
