//! An input, files or what goes on now, and what it yields.

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
    /// Contacts in the order in which they came, at least one.
    Contacts(&'a [Contact]),
    /// A clock tick: the time of day in nanoseconds since the Unix epoch. Everything that was read before this time has been
    /// delivered. Only live inputs tick, at least 50 times a second, and their contacts are never later than the time at which they
    /// were read.
    Time(u64),
    /// The system clock was set forward by a second or more. Contacts that follow were read before or after the step. Only live
    /// inputs have this event.
    SetForward {
        /// The time that was skipped.
        step: Duration,
        /// The time of day after the step, nanoseconds since the Unix epoch.
        now_ns: u64,
    },
    /// A line for the log of the program.
    Log(LogLine),
}

/// A line for the log of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// The line, without its level.
    pub text: String,
}

/// The level of a [`LogLine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Normal operation.
    Info,
    /// Input is lost or incomplete, or may be soon.
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

/// The text, behind `warning: ` if it is one.
impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            LogLevel::Info => f.write_str(&self.text),
            LogLevel::Warning => write!(f, "warning: {}", self.text),
        }
    }
}

/// A request to end an [`Input`]. Clones ask the same input.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the input to end: its last events are what has come by then.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// The flag that asks when it is set, for handlers of signals.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Tells how many bytes of regular files have been read, and how many there are in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that have been read.
    pub read: u64,
    /// Bytes of all files.
    pub of: u64,
}

/// Yields the contacts of files, sockets, an interface or a broker.
pub struct Input {
    source: Source,
    stop: Stop,
}

enum Source {
    Files(Box<Files>),
    Live(Box<Live>),
}

/// The next event of a source. Contacts stay with the source.
#[derive(Debug)]
pub(crate) enum Next {
    Contacts,
    Event(Event<'static>),
}

impl Input {
    /// Opens the input that `options` name: checks that files are there, binds sockets, starts to capture.
    ///
    /// # Errors
    /// [`InputError`], which says what to do about it.
    pub fn open(options: &InputOptions) -> Result<Self, InputError> {
        Self::resume(options, None)
    }

    /// Opens the input that `options` name. If it is a topic of Kafka or a stream of NATS, it is read from `position` on, which an input before has
    /// [stated](Self::position). Without a position only messages that are new are read, unless the options ask for the earliest.
    ///
    /// # Errors
    /// [`InputError`], which says what to do about it. A broker that is not there is no error: it is tried again.
    pub fn resume(options: &InputOptions, position: Option<Position>) -> Result<Self, InputError> {
        Self::open_source(options, |stop| Live::open(options, position, stop, None))
    }

    /// Opens the input that `options` name, as [`resume`](Self::resume) does. If it is live, each of its threads delivers the contacts
    /// that it reads to a sink of its own, which `sinks` makes, and [`Event::Contacts`] never comes.
    ///
    /// A [tick](Event::Time) then says that sinks have taken everything that was read before. Sinks take nothing before the first tick
    /// has been passed, and wait while [`next_event`](Self::next_event) is not called for longer than 250 ms.
    ///
    /// # Errors
    /// [`InputError`], which says what to do about it; [`InputError::Sink`] from `sinks`.
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

    /// Returns what comes next, and `None` at the end; of what is live it waits 20 ms at most.
    ///
    /// # Errors
    /// [`InputError`] where the input cannot be read on.
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

    /// Returns the request that ends the input. What was read of a file until then still comes.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Lets signals to interrupt or terminate this process end the input, as [`stop`](Self::stop) does. A second interrupt
    /// ends the process at once, with exit code 2. Standard input and pipes may not return before more comes, so signals
    /// are not handled for them.
    ///
    /// # Errors
    /// [`InputError::Signals`] where the system does not let the process handle them.
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

    /// Returns what became of all that came so far.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.source {
            Source::Files(files) => files.status(),
            Source::Live(live) => live.status(),
        }
    }

    /// Returns how far a topic of Kafka or a stream of NATS has been read. All contacts of the messages before this position have been yielded. Other
    /// inputs have no position.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        match &self.source {
            Source::Files(_) => None,
            Source::Live(live) => live.position(),
        }
    }

    /// Returns the addresses at which exports are received, with the ports that the system has chosen.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match &self.source {
            Source::Files(_) => Vec::new(),
            Source::Live(live) => live.addresses(),
        }
    }

    /// Returns how much of the files has been read, which is nothing of what is live.
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
    /// Packets of captures and interfaces, rows of lists and logs; datagrams, where captures hold exports.
    pub packets: Option<PacketCounts>,
    /// Exports.
    #[cfg(feature = "flow")]
    pub flows: Option<FlowCounts>,
    /// Sockets that exports are received at.
    pub sockets: Option<SocketStatus>,
    /// Packets of an interface that were lost.
    pub drops: Option<Drops>,
    /// Topic of Kafka, or stream or subject of NATS.
    pub broker: Option<BrokerStatus>,
    /// All exporters that are remembered.
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

/// Counters of the datagrams that were sent to sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Datagrams of permitted exporters.
    pub received: u64,
    /// Datagrams from elsewhere, which were not read.
    pub refused: u64,
    /// Datagrams that the kernel dropped, as the receive buffer was full; `None` where the system does not tell.
    pub dropped: Option<u64>,
}

/// Counters of a topic of Kafka, or of a stream or a subject of NATS. What became of its messages is counted as that of datagrams of
/// exports is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerStatus {
    /// URL of the topic, the stream or the subject, as it is configured.
    pub source: String,
    /// Partitions that are read; a stream and a subject are one.
    pub partitions: usize,
    /// Messages that were read.
    pub messages: u64,
    /// Messages that the broker has beyond those. It keeps none of a subject.
    pub lag: u64,
    /// Messages that the broker had deleted before they were read.
    pub expired: u64,
    /// Messages of a subject that were dropped because they were not read in time.
    pub dropped: u64,
    /// Flows of minutes in which no flow had two hosts.
    pub without_hosts: u64,
    /// Attempts to reach a broker again after an error.
    pub retries: u64,
    /// Why some partition is not read now, or the topic.
    pub error: Option<String>,
}

impl fmt::Display for BrokerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, partitions, messages, lag, expired, dropped, retries, error, .. } = self;
        write!(
            f,
            "{source}: {messages} messages read of {partitions} partitions, {lag} to read, {expired} deleted before, {dropped} dropped, {retries} retries"
        )?;
        error.iter().try_for_each(|error| write!(f, "; {error}"))
    }
}

/// A line for each source of contacts; exporters are not among them.
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
        write!(f, "{received} datagrams received, {refused} of other senders refused, ")?;
        match dropped {
            Some(dropped) => write!(f, "{dropped} dropped by the kernel"),
            None => f.write_str("unknown how many the kernel dropped"),
        }
    }
}
