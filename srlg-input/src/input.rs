//! Inputs from files or live sources, and their events.

use std::fmt;
use std::mem;
use std::net::SocketAddr;

use crate::error::InputError;
use crate::event::{Event, LogLine, Next, Progress, Stop};
#[cfg(not(feature = "flow"))]
use crate::exports::Sockets;
use crate::files::Files;
use crate::live::Live;
use crate::options::InputOptions;
use crate::position::Position;
use crate::shortfall::Shortfall;
use crate::sink::{ContactSink, SinkError, SinkMaker};
#[cfg(feature = "flow")]
use crate::sockets::Sockets;
use crate::status::Status;
use crate::threads::{ContactSenders, SharedState};

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
        Self::open_source(options, |stop| open_live(options, position, stop, None))
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
        Self::open_source(options, |stop| open_live(options, position, stop, Some(sinks)))
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
    /// If less than a tenth of the packets, rows or records yields contacts, the last event is a warning with the reasons
    /// and a remedy.
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

    /// Returns the last event: a warning, if there are no contacts or only a few.
    #[cold]
    fn end(&mut self) -> Option<Event<'static>> {
        let is_first = !mem::replace(&mut self.has_ended, true);
        let shortfall = is_first.then(|| Shortfall::of(&self.status())).flatten()?;
        Some(Event::Log(LogLine::warning(shortfall.warning())))
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

fn open_live(
    options: &InputOptions,
    start: Option<Position>,
    stop: &Stop,
    sinks: Option<SinkMaker<'_>>,
) -> Result<Live, InputError> {
    // If an error follows, `live` is dropped, which stops the threads that have been started.
    let mut live = Live::of(SharedState::new(stop));
    let mut senders = ContactSenders { shared: live.shared(), sinks };
    if options.sockets.is_listening() {
        live.set_sockets(Sockets::open(options, &mut senders)?);
    } else if let Some(name) = &options.interface {
        #[cfg(feature = "live")]
        crate::interface::open(name, options, &mut senders)?;
        #[cfg(not(feature = "live"))]
        return Err(InputError::NoLive { interface: name.clone() });
    } else if let Some(url) = &options.broker.url {
        crate::broker::open(url, options, start.as_ref(), &mut senders)?;
        live.set_position(start);
    } else {
        crate::follow::open(options, &mut senders)?;
    }
    Ok(live)
}
