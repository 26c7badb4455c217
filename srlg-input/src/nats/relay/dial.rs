//! Connections to servers, up to the INFO line and the TLS handshake.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_nats::ServerAddr;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::RelayCause;
use super::frames::{FrameError, MAX_LINE, Transport};

/// Time after which an attempt to connect to a server fails.
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The first word of a connection, before the JSON object that describes the server.
const INFO: &[u8] = b"INFO ";

/// A server to which a relay connects.
pub(super) struct Server {
    /// Host and port, for log messages.
    pub(super) name: String,
    host: String,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
}

impl Server {
    pub(super) fn new(address: &ServerAddr, tls: Option<Arc<ClientConfig>>) -> Self {
        let (host, port) = (address.host().to_owned(), address.port());
        let name =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Self { name, host, port, tls }
    }

    /// Connects to the server, and returns the connection and the INFO line for the client. The line no longer requires
    /// TLS, because the client does not use it.
    pub(super) async fn dial(&self) -> Result<(Box<dyn Transport>, Vec<u8>), RelayCause> {
        timeout(DIAL_TIMEOUT, self.greet()).await.unwrap_or(Err(RelayCause::Slow))
    }

    async fn greet(&self) -> Result<(Box<dyn Transport>, Vec<u8>), RelayCause> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let mut stream = stream.map_err(RelayCause::Unreachable)?;
        stream.set_nodelay(true).map_err(RelayCause::Unreachable)?;
        let mut info = read_info(&mut stream).await?;
        let requires_tls = info.get("tls_required").and_then(Value::as_bool).unwrap_or(false);
        let stream: Box<dyn Transport> = match &self.tls {
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone());
                let name = name.map_err(|error| RelayCause::Tls(io::Error::other(error)))?;
                let stream = TlsConnector::from(tls.clone()).connect(name, stream).await;
                Box::new(stream.map_err(RelayCause::Tls)?)
            }
            None if requires_tls => return Err(RelayCause::TlsRequired),
            None => Box::new(stream),
        };
        info["tls_required"] = Value::Bool(false);
        Ok((stream, [INFO, info.to_string().as_bytes(), b"\r\n"].concat()))
    }
}

/// Reads the INFO line and nothing that follows it, because the TLS handshake may follow. The line of a connection is
/// short, so it is read byte by byte.
async fn read_info(stream: &mut TcpStream) -> Result<Value, RelayCause> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() == MAX_LINE {
            return Err(FrameError::Line.into());
        }
        line.push(stream.read_u8().await.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RelayCause::NoInfo,
            _ => RelayCause::Unreachable(error),
        })?);
    }
    let info = line.strip_prefix(INFO).and_then(|info| serde_json::from_slice(info).ok());
    info.filter(Value::is_object).ok_or(RelayCause::NoInfo)
}
