//! A TCP connection of an exporter.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use crate::clock::now_ns;
use crate::contact::Contact;
use crate::flow::{MessageBuffer, Session};

use super::close_error::{CloseError, PATIENCE};
use super::state::ReceiverState;

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
