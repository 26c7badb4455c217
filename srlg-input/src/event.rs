//! Events of inputs, and the handle that stops an input.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::contact::Contact;

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

/// A handle that stops an [`Input`](crate::Input). All clones stop the same input.
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

/// The next event of a source. `Contacts` does not contain the contacts, which remain in the source.
#[derive(Debug)]
pub(crate) enum Next {
    Contacts,
    Event(Event<'static>),
}
