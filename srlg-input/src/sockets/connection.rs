//! A TCP connection of an exporter, and the errors after which it is closed.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use crate::clock::now_ns;
use crate::connections::CloseReason;
use crate::contact::Contact;
use crate::flow::{BadHeader, MessageBuffer, Session};

use super::state::ReceiverState;

/// Maximum number of open connections. Each one uses a message buffer of 64 KiB and a receive buffer of the system.
pub(super) const MOST: usize = 64;

/// Maximum number of open connections from one address. An exporter needs one connection, or a few if it has several
/// processes. After it lost power, its former connection stays open until keepalive probes fail.
pub(super) const MOST_OF_ADDRESS: usize = 4;

/// Maximum time without data inside a message. Exporters write whole messages, and TCP repeats lost segments after less
/// than a second at first, and after twice that time from then on, so this is the time for about five losses in a row.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Silence after which the system checks whether an exporter still exists.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// An open connection. Its decoder forgets its templates when [`close`](Self::close) is called.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) exporter: SocketAddr,
    session: Session,
    buffer: MessageBuffer,
    /// Time at which data was last received.
    heard: Instant,
}

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

impl Connection {
    /// Prepares an accepted connection of `exporter`.
    pub(super) fn new(
        stream: TcpStream,
        exporter: SocketAddr,
        shared: &ReceiverState,
    ) -> Result<Self, CloseError> {
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
        SockRef::from(&stream)
            .set_tcp_keepalive(&keepalive)
            .and_then(|()| stream.set_nonblocking(true))
            .map_err(CloseError::System)?;
        let session = shared.sessions().start_session();
        let buffer = MessageBuffer::default();
        Ok(Self { stream, exporter, session, buffer, heard: Instant::now() })
    }

    /// Reads once, so that other connections get their turn, and decodes the complete messages. `now` is the current
    /// time. Returns whether the connection is still open.
    pub(super) fn read(
        &mut self,
        now: Instant,
        shared: &ReceiverState,
        mut receive: impl FnMut(Contact),
    ) -> Result<bool, CloseError> {
        match self.buffer.fill(&mut self.stream) {
            Ok(0) => return self.check_end().map(|()| false),
            Ok(_) => self.heard = now,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(true),
                    _ => Err(CloseError::Aborted(error)),
                };
            }
        }
        let at_ns = now_ns();
        while let Some(message) = self.buffer.next_message()? {
            shared.decode_message(self.session, self.exporter, at_ns, message, &mut receive);
        }
        Ok(true)
    }

    /// Returns an error if the rest of a message has not arrived in time. The system must have no data of the
    /// connection at time `now`, because data also waits while this program is slow.
    pub(super) fn check_time(&self, now: Instant) -> Result<(), CloseError> {
        let is_late = now.saturating_duration_since(self.heard) >= PATIENCE;
        if is_late && self.buffer.pending() > 0 { Err(CloseError::Timeout) } else { Ok(()) }
    }

    /// Returns an error if the connection ends inside a message.
    pub(super) fn check_end(&self) -> Result<(), CloseError> {
        if self.buffer.pending() > 0 { Err(CloseError::Cut) } else { Ok(()) }
    }

    /// Closes the connection, and counts the error that caused this, if there is one.
    pub(super) fn close(self, outcome: Result<(), CloseError>, shared: &ReceiverState) {
        shared.sessions().end_session(self.session, self.exporter);
        if let Err(error) = outcome {
            shared.count_closed(Some(self.exporter), &error);
        }
    }
}
