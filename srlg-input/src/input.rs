//! Inputs from files or live sources, and their events.

use std::fmt;
use std::mem;
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
    /// One or more contacts, in the order in which they were read.
    Contacts(&'a [Contact]),
    /// A clock tick: the system time, in nanoseconds since the Unix epoch. Everything read before this time has been
    /// delivered. Only live inputs yield ticks. If the caller keeps up, ticks are at most about 20 ms apart. Contacts
    /// of live inputs are never later than the time at which they were read.
    Time(u64),
    /// The system clock was set forward by a second or more. The contacts that follow may have been read before or
    /// after the step. Only live inputs yield this event.
    SetForward {
        /// Length of the step.
        step: Duration,
        /// System time after the step, in nanoseconds since the Unix epoch.
        now_ns: u64,
    },
    /// A line for the program's log.
    Log(LogLine),
}

/// A line for the program's log, with its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Severity of the line.
    pub level: LogLevel,
    /// Text of the line, without its severity.
    pub text: String,
}

/// The severity of a [`LogLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Normal operation.
    Info,
    /// A problem that needs attention, such as lost input.
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

/// Writes the text. If the line is a warning, the text is preceded by `warning: `.
impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            LogLevel::Info => f.write_str(&self.text),
            LogLevel::Warning => write!(f, "warning: {}", self.text),
        }
    }
}

/// A handle that stops an [`Input`]. All clones stop the same input.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the input to stop. Contacts that were already read are still delivered. Sockets, interfaces and growing
    /// files are still read for at most a second, to deliver what was received before this call.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns the flag that signal handlers set to stop the input.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The read progress of the regular files of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of bytes read so far.
    pub read: u64,
    /// Total size of all files, in bytes.
    pub of: u64,
}

/// A source of contacts: files, sockets, an interface or a broker.
pub struct Input {
    source: Source,
    stop: Stop,
    has_ended: bool,
}

enum Source {
    Files(Box<Files>),
    Live(Box<Live>),
}

/// The next event of a source. `Contacts` does not contain the contacts, which remain in the source.
#[derive(Debug)]
pub(crate) enum Next {
    Contacts,
    Event(Event<'static>),
}

impl Input {
    /// Opens the input that `options` describe. This opens files, binds sockets, starts captures, or starts to read
    /// from a broker.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be opened. The error message states the remedy.
    pub fn open(options: &InputOptions) -> Result<Self, InputError> {
        Self::resume(options, None)
    }

    /// Opens the input that `options` describe, and resumes reading a Kafka topic or a NATS stream at `position`.
    ///
    /// `position` is the result of [`position`](Self::position) in a previous run. Without a position, reading starts
    /// with the next message, or with the earliest message if the options request this.
    ///
    /// # Errors
    /// Returns [`InputError`] if the input cannot be opened. If a broker is unreachable, no error is returned, and the
    /// connection is retried.
    pub fn resume(options: &InputOptions, position: Option<Position>) -> Result<Self, InputError> {
        Self::open_source(options, |stop| Live::open(options, position, stop, None))
    }

    /// Opens the input as [`resume`](Self::resume) does, but delivers the contacts of live inputs to sinks.
    ///
    /// Each thread of a live input delivers the contacts that it reads to its own sink, which `sinks` creates. A live
    /// input then never yields [`Event::Contacts`].
    ///
    /// A [tick](Event::Time) means that the sinks have accepted everything that was read before the time of the tick.
    /// Sinks receive nothing until the caller requests the event after the first tick. If
    /// [`next_event`](Self::next_event) has not been called for 250 ms, the threads wait until it is called.
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
        Ok(Self { source, stop, has_ended: false })
    }

    /// Returns the next event, or `None` at the end of the input. A live input waits for an event for at most 20 ms.
    ///
    /// If packets, rows or datagrams were read but none of them has a contact, the last event is a warning with the
    /// reasons.
    ///
    /// # Errors
    /// Returns [`InputError`] if reading or decoding the input fails.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, InputError> {
        let next = match &mut self.source {
            Source::Files(files) => files.advance()?,
            Source::Live(live) => live.advance()?,
        };
        if next.is_none() {
            return Ok(self.end());
        }
        Ok(next.map(|next| match (next, &self.source) {
            (Next::Event(event), _) => event,
            (Next::Contacts, Source::Files(files)) => Event::Contacts(files.contacts()),
            (Next::Contacts, Source::Live(live)) => Event::Contacts(live.contacts()),
        }))
    }

    /// Returns the last event: a warning, if there is nothing but skipped packets.
    #[cold]
    fn end(&mut self) -> Option<Event<'static>> {
        let is_first = !mem::replace(&mut self.has_ended, true);
        let counts = is_first.then(|| self.status().without_contacts()).flatten()?;
        Some(Event::Log(LogLine::warning(format!("no contacts found: {counts}"))))
    }

    /// Returns a handle that stops the input.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Makes SIGINT and SIGTERM stop the input, as [`Stop::stop`] does.
    ///
    /// A SIGINT after the request to stop ends the process immediately, with exit code 2. If an input that is not live
    /// reads standard input or a pipe, signals are not handled, because a read may block until more data arrives.
    ///
    /// # Errors
    /// Returns [`InputError::Signals`] if the signal handlers cannot be installed.
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

    /// Returns the counters of everything read so far.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.source {
            Source::Files(files) => files.status(),
            Source::Live(live) => live.status(),
        }
    }

    /// Returns the position up to which a Kafka topic or a NATS stream has been read.
    ///
    /// All contacts of the messages before this position have been delivered. Inputs of other types have no position.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        match &self.source {
            Source::Files(_) => None,
            Source::Live(live) => live.position(),
        }
    }

    /// Returns the addresses on which flow exports are received. If the options request port 0, the address contains
    /// the port that the system chose.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.source {
            Source::Files(_) => Vec::new(),
            Source::Live(live) => live.addresses(),
        }
    }

    /// Returns the read progress of the files. For live inputs, both numbers are zero.
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
    /// Counters of what was read: packets of captures or of an interface, rows of CSV files or logs, or messages of
    /// IPFIX files.
    pub packets: Option<PacketCounts>,
    /// Counters of flow exports, or of the flows in messages.
    #[cfg(feature = "flow")]
    pub flows: Option<FlowCounts>,
    /// Counters of the sockets that receive flow exports.
    pub sockets: Option<SocketStatus>,
    /// Counters of the packets that were lost during a capture on an interface.
    pub drops: Option<Drops>,
    /// Counters of the Kafka topic, or of the NATS stream or subject.
    pub broker: Option<BrokerStatus>,
    /// Status of each known exporter.
    #[cfg(feature = "flow")]
    pub exporters: Vec<ExporterStatus>,
}

impl Status {
    /// Returns the counters that state why there are no contacts, as text. Returns `None` if there are contacts, or if
    /// nothing was read.
    fn without_contacts(&self) -> Option<String> {
        #[cfg(feature = "flow")]
        if let Some(flows) = self.flows.as_ref().filter(|flows| flows.datagrams > 0) {
            return (flows.contacts == 0).then(|| flows.to_string());
        }
        let packets = self.packets.as_ref().filter(|it| it.packets > 0 && it.contacts == 0);
        packets.map(ToString::to_string)
    }

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

/// Counters of the datagrams that were sent to the sockets of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Number of datagrams from permitted exporters.
    pub received: u64,
    /// Number of datagrams that were ignored because their senders are not permitted.
    pub refused: u64,
    /// Number of datagrams that the kernel dropped because the receive buffer was full. It is `None` if the system does
    /// not report this number.
    pub dropped: Option<u64>,
}

/// Counters of a Kafka topic, or of a NATS stream or subject. The flows in the messages are counted in `Status::flows`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerStatus {
    /// URL of the topic, stream or subject, as configured.
    pub source: String,
    /// Number of partitions that are being read. For a stream or a subject, the number is 1 while messages can be
    /// received, and 0 otherwise.
    pub partitions: usize,
    /// Number of messages read.
    pub messages: u64,
    /// Number of stored messages that have not been read yet. For a subject, the number is 0, because the broker does
    /// not store the messages of a subject.
    pub lag: u64,
    /// Number of messages that the broker deleted before they were read.
    pub expired: u64,
    /// Number of messages of a subject that were dropped because they were not read in time, as far as the NATS client
    /// reports them.
    pub dropped: u64,
    /// Number of flows from one-minute periods in which no flow had both a source and a destination address.
    pub without_hosts: u64,
    /// Number of errors of the broker, of a partition or of the schema. Reading is retried after each error.
    pub retries: u64,
    /// The current error of the broker, of a partition or of the schema, if there is one.
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

/// Writes one line for each type of counters. Exporters are omitted.
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
        write!(f, "{received} datagrams received, {refused} refused (sender not permitted), ")?;
        match dropped {
            Some(dropped) => write!(f, "{dropped} dropped by the kernel"),
            None => f.write_str("kernel drops not reported"),
        }
    }
}
