//! An input, files or what goes on now, and what it yields.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::contact::Contact;
use crate::error::InputError;
use crate::files::Files;
use crate::live::Live;
use crate::options::InputOptions;
use crate::status::Status;

/// An event of an input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Hosts were in contact.
    Contact(Contact),
    /// A clock tick: the time of day in nanoseconds since the Unix epoch. Everything that was read before this time has been
    /// delivered. Only live inputs tick, at least 50 times a second, and their contacts are never later than the time at which they
    /// were read.
    Time(u64),
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

/// A request to end a live [`Input`](crate::Input). Clones ask the same input.
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

/// Yields the contacts of files, sockets or an interface.
pub struct Input {
    source: Source,
    stop: Stop,
}

enum Source {
    Files(Box<Files>),
    Live(Box<Live>),
}

impl Input {
    /// Opens the input that `options` name: checks that files are there, binds sockets, starts to capture.
    ///
    /// # Errors
    /// [`InputError`], which says what to do about it.
    pub fn open(options: &InputOptions) -> Result<Self, InputError> {
        let stop = Stop::default();
        let source = if options.is_live() {
            Source::Live(Box::new(Live::open(options, &stop)?))
        } else {
            Source::Files(Box::new(Files::open(options)?))
        };
        Ok(Self { source, stop })
    }

    /// Returns what comes next, and `None` at the end; of what is live it waits 20 ms at most.
    ///
    /// # Errors
    /// [`InputError`] where the input cannot be read on.
    #[inline(always)]
    pub fn next_event(&mut self) -> Result<Option<Event>, InputError> {
        match &mut self.source {
            Source::Files(files) => files.next_event(),
            Source::Live(live) => live.next_event(),
        }
    }

    /// Returns what asks the input to end. Files are read to their end all the same.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Lets the first signal to interrupt or terminate this process end an input that is live, as [`stop`](Self::stop)
    /// does; the second ends the process at once, with exit code 2. It does nothing for files.
    ///
    /// # Errors
    /// [`InputError::Signals`] where the system does not let the process handle them.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub fn stop_at_signals(&self) -> Result<(), InputError> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;

        if let Source::Live(_) = self.source {
            for signal in [SIGINT, SIGTERM] {
                let flag = self.stop.flag();
                flag::register_conditional_shutdown(signal, 2, flag.clone())
                    .and_then(|_| flag::register(signal, flag))
                    .map_err(InputError::Signals)?;
            }
        }
        Ok(())
    }

    /// Returns what became of all that came so far.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.source {
            Source::Files(files) => files.status(),
            Source::Live(live) => live.status(),
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
