//! The errors after which a TCP connection is closed, and the limits that they state.

use std::io;
use std::time::Duration;

use crate::connections::CloseReason;
use crate::flow::BadHeader;

/// Maximum number of open connections. Each one uses a message buffer of 64 KiB and a receive buffer of the system.
pub(super) const MOST: usize = 64;

/// Maximum number of open connections from one address. An exporter needs one connection, or a few if it has several
/// processes. After it lost power, its former connection stays open until keepalive probes fail.
pub(super) const MOST_OF_ADDRESS: usize = 4;

/// Maximum time without data inside a message. Exporters write whole messages, and TCP repeats lost segments after less
/// than a second at first, and after twice that time from then on, so this is the time for about five losses in a row.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The cause for which a connection is closed before its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum CloseError {
    #[error("{MOST} connections are already open")]
    Full,
    #[error("{MOST_OF_ADDRESS} connections from this address are already open")]
    AddressFull,
    #[error("{0}; configure the exporter to send IPFIX without TLS")]
    Header(#[from] BadHeader),
    #[error("the rest of a message did not arrive within {} s", PATIENCE.as_secs())]
    Timeout,
    #[error("it ended inside a message")]
    Cut,
    #[error("{0}")]
    Aborted(io::Error),
    #[error("the system does not accept it: {0}")]
    System(io::Error),
}

impl CloseError {
    pub(super) const fn reason(&self) -> CloseReason {
        match self {
            Self::Full => CloseReason::Full,
            Self::AddressFull => CloseReason::AddressFull,
            Self::Header(_) => CloseReason::Header,
            Self::Timeout => CloseReason::Timeout,
            Self::Cut => CloseReason::Cut,
            Self::Aborted(_) => CloseReason::Aborted,
            Self::System(_) => CloseReason::System,
        }
    }
}
