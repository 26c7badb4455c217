//! A relay between the NATS client of this process and a server, which bounds the memory that the server can use.
//!
//! ```text
//! client <--loopback--> relay: frames are checked <--TCP or TLS--> server
//! ```
//!
//! The client library has no limits: it stores a line until the line ends, and a message of any stated size until it is
//! complete. It can neither use another transport nor filter what it receives. Therefore, the client connects to a relay
//! in the same process, and the relay connects to the server. The relay reads the size of each frame before it passes
//! the frame on. If a frame is too large, the relay closes both connections.
//!
//! Invariants: the client stores at most one frame within the limits before it handles the frame. The relay passes on
//! nothing before the server has presented a valid certificate, unless TLS is off. The port of the relay stays open
//! until the client no longer connects, so no other process can receive the client's credentials there.

mod dial;
mod frames;
mod owner;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::ServerAddr;
use rustls::ClientConfig;
use tokio::io::{AsyncWriteExt, BufReader, copy, copy_buf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use dial::Server;
use frames::Checked;

pub use dial::DIAL_TIMEOUT;
pub use frames::{FrameError, MAX_HEADERS, MAX_LINE, MAX_PAYLOAD};

/// Size of the buffer for bytes from the server.
const TO_CLIENT: usize = 64 << 10;

/// Delay after a connection could not be accepted, for example because the process has too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A relay between a NATS client of this process and its servers.
///
/// A relay that is dropped accepts no further connection. It must live as long as the client, so the event callback of
/// the client owns it. A flush of the client ends when the relay has the messages. To know that the server has them, wait
/// for a reply.
#[derive(Debug)]
pub struct Relay {
    addresses: Vec<ServerAddr>,
    failure: Failure,
    _listeners: JoinSet<()>,
}

/// The reason why a relay could not connect to a server, or closed a connection to it.
#[derive(Debug, thiserror::Error)]
#[error("the server {server} {cause}")]
pub struct RelayError {
    /// Host and port of the server.
    pub server: String,
    /// The cause.
    pub cause: RelayCause,
}

/// The cause of a [`RelayError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayCause {
    /// The name of the server was not found, or no connection was established.
    #[error("cannot be reached: {0}")]
    Unreachable(io::Error),
    /// The server did not greet the client in time.
    #[error("did not answer within {} s", DIAL_TIMEOUT.as_secs())]
    Slow,
    /// The server did not greet the client as a NATS server does.
    #[error("did not send INFO as a NATS server does")]
    NoInfo,
    /// The server requires TLS, but TLS is off.
    #[error("requires TLS; set tls or ca")]
    TlsRequired,
    /// TLS was not established, for example because of the server's certificate.
    #[error("cannot be reached over TLS: {0}")]
    Tls(io::Error),
    /// The server sent a frame that is too large or has no valid size.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The relay could not accept the connection of the client, or could not check which process made the connection.
    #[error("cannot be reached: the connection inside this process failed: {0}")]
    Local(io::Error),
}

/// The last failure of a relay, until a server is reached or the failure is taken.
#[derive(Clone, Debug, Default)]
struct Failure(Arc<Mutex<Option<RelayError>>>);

impl Failure {
    fn replace(&self, error: Option<RelayError>) -> Option<RelayError> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), error)
    }
}

impl Relay {
    /// Starts a relay to `servers` in the current Tokio runtime. With `tls`, the connections to the servers use TLS.
    ///
    /// # Errors
    /// Returns an error if no port of the loopback interface can be opened.
    pub async fn start(
        servers: &[ServerAddr],
        tls: Option<&Arc<ClientConfig>>,
    ) -> io::Result<Self> {
        let (failure, mut listeners) = (Failure::default(), JoinSet::new());
        let mut addresses = Vec::new();
        for server in servers {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let address = listener.local_addr()?.to_string().parse();
            addresses.push(address?);
            let server = Server::new(server, tls.cloned());
            listeners.spawn(serve(listener, server, failure.clone()));
        }
        Ok(Self { addresses, failure, _listeners: listeners })
    }

    /// Returns one address for each server. The client must connect to these addresses without TLS.
    #[must_use]
    pub fn addresses(&self) -> &[ServerAddr] {
        &self.addresses
    }

    /// Returns the last failure and forgets it. A connection that succeeds clears the failure as well.
    pub fn take_failure(&self) -> Option<RelayError> {
        self.failure.replace(None)
    }
}

/// Accepts the connections of the client and connects each to `server`. The client has given up its former connection
/// when it makes a new one, so the former connection is closed.
async fn serve(listener: TcpListener, server: Server, failure: Failure) {
    let mut current: Option<AbortHandle> = None;
    loop {
        let accepted = listener.accept().await;
        let fail = |cause| failure.replace(Some(RelayError { server: server.name.clone(), cause }));
        let Ok((mut client, address)) = accepted.map_err(|error| fail(RelayCause::Local(error)))
        else {
            sleep(PAUSE).await;
            continue;
        };
        let is_own = is_own(address, &listener);
        if matches!(is_own, Ok(false)) {
            continue;
        }
        match connect(&server, &mut client, is_own).await {
            Ok(remote) => {
                failure.replace(None);
                if let Some(former) = current.take() {
                    former.abort();
                }
                let passing = pass(client, remote, server.name.clone(), failure.clone());
                current = Some(tokio::spawn(passing).abort_handle());
            }
            // The failure is stored before the connection of the client is closed, so the client finds it.
            Err(cause) => drop(fail(cause)),
        }
    }
}

/// Returns whether this process made the connection from `client`.
fn is_own(client: SocketAddr, listener: &TcpListener) -> io::Result<bool> {
    match (client, listener.local_addr()?) {
        (SocketAddr::V4(client), SocketAddr::V4(relay)) => owner::is_own(client, relay),
        _ => Ok(false),
    }
}

/// Connects to `server` and greets the client in its name.
async fn connect(
    server: &Server,
    client: &mut TcpStream,
    is_own: io::Result<bool>,
) -> Result<Checked, RelayCause> {
    let (remote, info) = server.dial().await?;
    is_own.map_err(RelayCause::Local)?;
    client.set_nodelay(true).map_err(RelayCause::Local)?;
    client.write_all(&info).await.map_err(RelayCause::Local)?;
    Ok(Checked::new(remote))
}

/// Passes bytes in both directions until one end closes the connection, or until the server sends a frame that is not
/// allowed. All that the client has sent before it closes the connection is passed on.
async fn pass(mut client: TcpStream, remote: Checked, server: String, failure: Failure) {
    let (mut from_client, mut to_client) = client.split();
    let (from_server, mut to_server) = split(remote);
    let mut from_server = BufReader::with_capacity(TO_CLIENT, from_server);
    let mut sending = pin!(async {
        // If the server does not receive the last bytes, the client has no use for the reason.
        let _lost = copy(&mut from_client, &mut to_server).await;
        let _lost = to_server.shutdown().await;
    });
    let received = tokio::select! {
        received = copy_buf(&mut from_server, &mut to_client) => received,
        () = &mut sending => return,
    };
    match received.map_err(io::Error::downcast::<FrameError>) {
        Err(Ok(error)) => drop(failure.replace(Some(RelayError { server, cause: error.into() }))),
        // A connection was lost, which the client notices itself.
        Err(Err(_)) => {}
        Ok(_) => {
            // The client reads the last bytes of the server before it closes the connection.
            let _lost = to_client.shutdown().await;
            sending.await;
        }
    }
}
