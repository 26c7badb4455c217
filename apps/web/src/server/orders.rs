//! A queue of user actions that wait for the main loop, and the requests that are rejected before they are read.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::{HeaderValue, WWW_AUTHENTICATE};
use axum::response::Response;
use tokio::sync::oneshot;
use tracing::warn;

use super::responses::error;
use srlg_alerts::Refusal;
use srlg_alerts::manager::acting::Order;
use srlg_alerts::notification::Notification;
use srlg_system::pacing::Every;

/// Maximum number of orders that wait for the loop.
const WAITING: usize = 16;

/// Minimum interval between two log lines with the same reason for a rejection, so that clients cannot fill the log.
const LOG: Duration = Duration::from_secs(10);

/// The address of a connected client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

#[derive(Debug)]
pub(crate) struct WaitingOrder {
    pub(crate) order: Order,
    pub(super) answer: oneshot::Sender<Result<Box<Notification>, Refusal>>,
}

impl WaitingOrder {
    pub(crate) fn answer(self, outcome: Result<Notification, Refusal>) {
        // The client may have disconnected.
        let _gone = self.answer.send(outcome.map(Box::new));
    }
}

/// Reason for rejecting an action before the body of its request is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denial {
    NoTokens,
    /// The request came from another machine without an X-Forwarded-Proto header, or the header does not report TLS.
    Plain,
    /// A page of another site may have sent the request.
    CrossSite,
    Missing,
    Wrong,
}

impl Denial {
    const ALL: [Self; 5] =
        [Self::NoTokens, Self::Plain, Self::CrossSite, Self::Missing, Self::Wrong];

    const fn name(self) -> &'static str {
        match self {
            Self::NoTokens => "no-tokens",
            Self::Plain => "plain",
            Self::CrossSite => "cross-site",
            Self::Missing => "missing-token",
            Self::Wrong => "wrong-token",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::NoTokens | Self::Plain | Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Missing | Self::Wrong => StatusCode::UNAUTHORIZED,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::NoTokens => "actions are disabled; set http-tokens to a token file",
            Self::Plain => {
                "token sent without encryption; connect from the same machine, or through a TLS proxy that sets X-Forwarded-Proto"
            }
            Self::CrossSite => {
                "request appears to come from another site; send Content-Type: application/json, and either no Origin header or the origin of this server"
            }
            Self::Missing => "token missing; send the header Authorization: Bearer TOKEN",
            Self::Wrong => "unknown token",
        }
    }
}

/// A queue of orders to the main loop, and the counts of rejected requests.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    pub(super) tokens: Option<PathBuf>,
    pub(super) sender: SyncSender<WaitingOrder>,
    denied: Arc<[AtomicU64; Denial::ALL.len()]>,
    log: Arc<Mutex<[Every; Denial::ALL.len()]>>,
}

impl Orders {
    /// Creates a queue for orders from the users in the token file `tokens`.
    pub(super) fn new(tokens: Option<PathBuf>) -> (Self, Receiver<WaitingOrder>) {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let log = Arc::new(Mutex::new([Every::new(LOG); Denial::ALL.len()]));
        (Self { tokens, sender, denied: Arc::default(), log }, receiver)
    }

    pub(super) fn denied(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = Denial::ALL.into_iter().zip(&*self.denied);
        counts.map(|(denial, count)| (denial.name(), count.load(Relaxed)))
    }

    pub(super) fn deny(&self, denial: Denial, peer: SocketAddr) -> Response {
        self.denied[denial as usize].fetch_add(1, Relaxed);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log[denial as usize].is_due() {
            warn!("rejected an action from {} ({}): {}", peer.ip(), denial.name(), denial.text());
        }
        let mut response = error(denial.status(), denial.text());
        if denial.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
