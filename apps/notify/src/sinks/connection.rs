//! A connection to the server of a sink, with or without TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Result;

/// A connection to a server.
pub(super) trait Connection: Read + Write + Send {
    /// Returns whether the connection is still open. Data written to a closed connection is lost without an error.
    fn is_open(&mut self) -> Result<bool>;
}

impl Connection for TcpStream {
    fn is_open(&mut self) -> Result<bool> {
        self.set_nonblocking(true)?;
        let is_open = match self.peek(&mut [0]) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        self.set_nonblocking(false)?;
        Ok(is_open)
    }
}

/// Returns the error text for an operation that timed out after `timeout`.
pub(super) fn after(timeout: Duration) -> String {
    format!("timeout after {}", humantime::format_duration(timeout))
}
