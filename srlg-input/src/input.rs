//! Inputs from files or live sources, and their events.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::capture::PacketCounts;
use crate::contact::Contact;
use crate::error::InputError;
use crate::files::Files;
#[cfg(feature = "flow")]
use crate::flow::{ExporterStatus, FlowCounts};
use crate::live::{ContactSink, Drops, Live, SinkError};
use crate::options::InputOptions;
use crate::position::Position;

/// An event of an input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// At least one contact, in order of arrival.
    Contacts(&'a [Contact]),
    /// A clock tick: the time of day, in nanoseconds since the Unix epoch. Everything received before this time has
    /// been delivered. Only live inputs yield ticks, at least 50 times a second. Contacts of live inputs are never
    /// later than the time at which they were read.
    Time(u64),
    /// The system clock was set forward by a second or more. The contacts that follow may have been read before or
    /// after the step. Only live inputs yield this event.
    SetForward {
        /// Length of the step.
        step: Duration,
        /// Time of day after the step, in nanoseconds since the Unix epoch.
        now_ns: u64,
    },
    /// A line for the program's log.
    Log(LogLine),
}

/// A line for a program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Severity of the line.
    pub level: LogLevel,
    /// Text of the line, without its severity.
    pub text: String,
}

/// The level of a [`LogLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Normal operation.
    Info,
    /// Input is lost or incomplete, or may soon be lost.
    Warning,
}

impl LogLine {
    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) const fn info(text: String) -> Self {
        Self { level: LogLevel::Info, text }
    }

    pub(crate) const fn warning(text: String) -> Self {
        Self { level: LogLevel::Warning, text }
    }
}

/// Writes the text, preceded by `warning: ` for a warning.
impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            LogLevel::Info => f.write_str(&self.text),
            LogLevel::Warning => write!(f, "warning: {}", self.text),
        }
    }
}

/// A handle that stops an [`Input`]. Clones stop the same input.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the input to stop. Everything received before this call is still delivered.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns the flag that stops the input when it is set. Signal handlers set it.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Read progress of regular files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub read: u64,
    /// Total size of all files, in bytes.
    pub of: u64,
}

/// A source of contacts: files, sockets, an interface or a broker.
pub struct Input {
    source: Source,
    stop: Stop,
}

enum Source {
    Files(Box<Files>),
    Live(Box<Live>),
}

/// The next event of a source. `Contacts` does not carry the contacts, which stay in the source.
#[derive(Debug)]
pub(crate) enum Next {
    Contacts,
    Event(Event<'static>),
}

impl Input {
    /// Opens the input that `options` describe: checks that files exist, binds sockets and starts captures.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be opened. The text of the error states the remedy.
    pub fn open(options: &InputOptions) -> Result<Self, InputError> {
        Self::resume(options, None)
    }

    /// Opens the input that `options` describe, and continues a Kafka topic or a NATS stream at `position`.
    ///
    /// `position` is a value that [`position`](Self::position) returned for an earlier input. Without one, only new
    /// messages are read, unless the options request the earliest ones.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be opened. An unreachable broker is not an error: the connection is
    /// retried.
    pub fn resume(options: &InputOptions, position: Option<Position>) -> Result<Self, InputError> {
        Self::open_source(options, |stop| Live::open(options, position, stop, None))
    }

    /// Opens the input as [`resume`](Self::resume) does, but delivers the contacts of live inputs to sinks.
    ///
    /// Each thread of a live input delivers the contacts that it reads to its own sink, which `sinks` creates.
    /// [`Event::Contacts`] is then never yielded.
    ///
    /// A [tick](Event::Time) means that the sinks have accepted everything that was read before. Sinks receive nothing
    /// before the first tick. If [`next_event`](Self::next_event) has not been called for 250 ms, the threads wait.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be opened, and [`InputError::Sink`] if `sinks` returns an error.
    pub fn resume_with(
        options: &InputOptions,
        position: Option<Position>,
        sinks: &mut dyn FnMut() -> Result<Box<dyn ContactSink>, SinkError>,
    ) -> Result<Self, InputError> {
        Self::open_source(options, |stop| Live::open(options, position, stop, Some(sinks)))
    }

    fn open_source(
        options: &InputOptions,
        live: impl FnOnce(&Stop) -> Result<Live, InputError>,
    ) -> Result<Self, InputError> {
        let stop = Stop::default();
        let source = if options.is_live() {
            Source::Live(Box::new(live(&stop)?))
        } else {
            Source::Files(Box::new(Files::open(options, &stop)?))
        };
        Ok(Self { source, stop })
    }

    /// Returns the next event, or `None` at the end. A live input waits for at most 20 ms.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be read further.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, InputError> {
        let next = match &mut self.source {
            Source::Files(files) => files.advance()?,
            Source::Live(live) => live.advance()?,
        };
        Ok(next.map(|next| match (next, &self.source) {
            (Next::Event(event), _) => event,
            (Next::Contacts, Source::Files(files)) => Event::Contacts(files.contacts()),
            (Next::Contacts, Source::Live(live)) => Event::Contacts(live.contacts()),
        }))
    }

    /// Returns a handle that stops the input. Data that was already read from a file is still delivered.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Makes interrupt and termination signals stop the input, as [`Stop::stop`] does.
    ///
    /// A second interrupt ends the process immediately, with exit code 2. Signals are not handled for standard input
    /// and pipes, because a read from them may block until more data arrives.
    ///
    /// # Errors
    /// Returns [`InputError::Signals`] if the system does not let the process handle signals.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub fn stop_at_signals(&self) -> Result<(), InputError> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;

        if matches!(&self.source, Source::Files(files) if files.may_block()) {
            return Ok(());
        }
        let flag = || self.stop.flag();
        flag::register_conditional_shutdown(SIGINT, 2, flag())
            .and_then(|_| flag::register(SIGINT, flag()))
            .and_then(|_| flag::register(SIGTERM, flag()))
            .map(drop)
            .map_err(InputError::Signals)
    }

    /// Returns the counters of everything that was read so far.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.source {
            Source::Files(files) => files.status(),
            Source::Live(live) => live.status(),
        }
    }

    /// Returns the position up to which a Kafka topic or a NATS stream has been read.
    ///
    /// All contacts of the messages before this position have been yielded. Other inputs have no position.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        match &self.source {
            Source::Files(_) => None,
            Source::Live(live) => live.position(),
        }
    }

    /// Returns the addresses on which exports are received, including ports that the system has chosen.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.source {
            Source::Files(_) => Vec::new(),
            Source::Live(live) => live.addresses(),
        }
    }

    /// Returns how much of the files has been read. For live inputs, all numbers are zero.
    #[must_use]
    pub fn progress(&self) -> Progress {
        match &self.source {
            Source::Files(files) => files.progress(),
            Source::Live(_) => Progress::default(),
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// Counters of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Counters of packets from captures and interfaces, of rows from CSV files and logs, or of datagrams from captures
    /// of exports.
    pub packets: Option<PacketCounts>,
    /// Counters of flow exports.
    #[cfg(feature = "flow")]
    pub flows: Option<FlowCounts>,
    /// Counters of the sockets that receive exports.
    pub sockets: Option<SocketStatus>,
    /// Packets that were lost while capturing on an interface.
    pub drops: Option<Drops>,
    /// Counters of the Kafka topic, or of the NATS stream or subject.
    pub broker: Option<BrokerStatus>,
    /// Known exporters.
    #[cfg(feature = "flow")]
    pub exporters: Vec<ExporterStatus>,
}

impl Status {
    /// Adds the counters of another capture on the same interface.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { packets, drops, .. } = other;
        if let Some(packets) = packets {
            *self.packets.get_or_insert_default() += packets;
        }
        if let Some(drops) = drops {
            *self.drops.get_or_insert_default() += *drops;
        }
    }
}

/// Counters of the datagrams sent to sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Number of datagrams from permitted exporters.
    pub received: u64,
    /// Number of datagrams from senders that are not permitted. These datagrams were ignored.
    pub refused: u64,
    /// Number of datagrams that the kernel dropped because the receive buffer was full. `None` if the system does not
    /// report it.
    pub dropped: Option<u64>,
}

/// Counters of a Kafka topic, or of a NATS stream or subject. The flows in its messages are counted as flow exports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerStatus {
    /// URL of the topic, stream or subject, as configured.
    pub source: String,
    /// Number of partitions read. It is 1 for a stream or a subject.
    pub partitions: usize,
    /// Number of messages read.
    pub messages: u64,
    /// Number of messages that the broker stores and that have not been read yet. It is 0 for a subject, because the
    /// broker does not store its messages.
    pub lag: u64,
    /// Number of messages that the broker deleted before they were read.
    pub expired: u64,
    /// Number of messages of a subject that were dropped because they were not read in time.
    pub dropped: u64,
    /// Number of flows from minutes in which no flow had two hosts.
    pub without_hosts: u64,
    /// Number of attempts to reach a broker after an error.
    pub retries: u64,
    /// The reason why a partition or the topic cannot be read at present.
    pub error: Option<String>,
}

impl fmt::Display for BrokerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, partitions, messages, lag, expired, dropped, retries, error, .. } = self;
        write!(
            f,
            "{source}: {messages} messages read from {partitions} partitions, {lag} waiting, {expired} deleted unread, {dropped} dropped, {retries} retries"
        )?;
        error.iter().try_for_each(|error| write!(f, "; {error}"))
    }
}

/// Writes a line for each source of contacts. Exporters are omitted.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, sockets, drops, broker, .. } = self;
        let mut lines = Vec::new();
        lines.extend(packets.as_ref().map(ToString::to_string));
        #[cfg(feature = "flow")]
        lines.extend(self.flows.as_ref().map(ToString::to_string));
        lines.extend(sockets.as_ref().map(ToString::to_string));
        lines.extend(drops.as_ref().map(ToString::to_string));
        lines.extend(broker.as_ref().map(ToString::to_string));
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for SocketStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, refused, dropped } = self;
        write!(f, "{received} datagrams received, {refused} from other senders refused, ")?;
        match dropped {
            Some(dropped) => write!(f, "{dropped} dropped by the kernel"),
            None => f.write_str("kernel drops not reported"),
        }
    }
}
