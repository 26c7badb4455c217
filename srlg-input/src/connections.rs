//! Counters of the TCP connections of exporters.

use std::fmt;

use crate::reason::{reasons, write_counts};

reasons! {
    /// The reason why a TCP connection of a permitted exporter was closed before its end.
    CloseReason {
        /// Too many connections are open.
        Full = "full",
        /// Too many connections from the address of the exporter are open.
        AddressFull = "address-full",
        /// The header of a message is invalid, so that the start of the next message is unknown.
        Header = "header",
        /// The rest of a message did not arrive in time.
        Timeout = "timeout",
        /// The connection or the input ended inside a message.
        Cut = "cut",
        /// The connection was aborted by the exporter or the network.
        Aborted = "aborted",
        /// The system refused to accept a connection, for example because too many files are open. A connection that
        /// keeps waiting counts once a second.
        System = "system",
    }
}

/// Counters of the TCP connections of permitted exporters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Number of open connections.
    pub open: usize,
    closed: [u64; CloseReason::ALL.len()],
}

impl ConnectionCounts {
    /// Returns how many connections were closed for `reason`.
    #[must_use]
    pub const fn closed(&self, reason: CloseReason) -> u64 {
        self.closed[reason as usize]
    }

    /// Returns how many connections were closed for any reason.
    #[must_use]
    pub fn all_closed(&self) -> u64 {
        self.closed.iter().sum()
    }

    #[cfg(feature = "flow")]
    pub(crate) const fn add(&mut self, reason: CloseReason) {
        self.closed[reason as usize] += 1;
    }
}

/// Writes both counts, and the reasons that occurred.
impl fmt::Display for ConnectionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} TCP connections open, {} closed early", self.open, self.all_closed())?;
        write_counts(f, CloseReason::ALL.map(|reason| (reason.name(), self.closed(reason))))
    }
}
