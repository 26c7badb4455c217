//! TCP connections to the servers of sinks, with or without TLS.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::connection::{Connection, after};
use super::tls::{TlsClient, is_timeout};

/// Time limit for a connection attempt, and for each read and write of a syslog sink.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Resolves `host`, which is `HOST:PORT`.
pub(super) fn resolve(host: &str) -> Result<Vec<SocketAddr>> {
    Ok(host.to_socket_addrs().with_context(|| format!("cannot resolve {host}"))?.collect())
}

/// Connects to the first address of `host` that responds. `timeout` limits each read and each write.
pub(super) fn open(host: &str, timeout: Duration) -> Result<TcpStream> {
    let mut cause = "it has no address".to_owned();
    for address in resolve(host)? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) if is_timeout(&error) => cause = after(TIMEOUT),
            Err(error) => cause = error.to_string(),
        }
    }
    bail!("cannot connect to {host}: {cause}")
}

pub(super) fn connect(
    host: &str,
    tls: Option<&TlsClient>,
    timeout: Duration,
) -> Result<Box<dyn Connection>> {
    let stream = open(host, timeout)?;
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    tls.connect(stream, timeout).with_context(|| format!("cannot connect to {host}"))
}
