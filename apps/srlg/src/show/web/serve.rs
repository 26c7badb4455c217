//! Connections: so many at once, each with so much patience.
//!
//! Shape: a task per connection. Invariant: whoever sends no request, or reads no answer, is cut off; so a place comes free
//! however many wait for one.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, warn};

/// Connections at once; more wait in the queue of the system.
const CONNECTIONS: usize = 256;

/// How long the head of a request may take, which is how long a connection may be idle, too.
const HEAD: Duration = Duration::from_secs(5);

/// How long a client may read nothing of what waits for it.
const READ: Duration = Duration::from_secs(10);

/// Bytes of the head of a request, and headers in it.
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// Bytes that wait for a client in this process: a board that it does not take is not read again for it.
const WAITING_BYTES: usize = 64 << 10;

/// Accepts connections at `listener` until dropped, and answers by `router`.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    connection(stream, router).await;
                    drop(place);
                });
            }
            // Gone before it was looked at.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                warn!("http accepts no connection, and tries again in a second: {error}");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!("a connection of http waits for full packets: {error}");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_header_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .max_buf_size(WAITING_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router))
        .await;
    if let Err(error) = served {
        debug!("a connection of http was cut off: {error}");
    }
}
