//! The sockets to which exporters send, and warnings about their counters.

mod datagrams;
mod state;
mod template_file;
mod udp;
mod udp_drops;

use std::io::ErrorKind;
use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::contact::Networks;
use crate::error::InputError;
use crate::event::LogLine;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus, FlowCounts, Reason};
use crate::options::InputOptions;
use crate::status::{SocketStatus, Status};
use crate::threads::ContactSenders;

use self::state::{DecoderAssignment, ReceiverState};
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
            let sockets = udp::bind_all(address, options)
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
