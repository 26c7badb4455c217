//! What an input yields.

use std::fmt;

use crate::contact::Contact;

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
