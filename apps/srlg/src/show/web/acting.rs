//! Acts of people on incidents, by POST.
//!
//! Invariant: nobody acts without a token in a header, which a page elsewhere cannot make a browser send. So the checks of the
//! origin are a second wall. A token is taken from this machine, or from a proxy that says it was asked by TLS.
//! A body is read after these checks, and within a time, so that a client that sends none holds no connection for long.
//! Orders wait for the loop that owns the alerts; whoever acts waits for its answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, FromRequest as _, Path, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use super::api::{WebState, error};
use super::tokens::Tokens;
use crate::alerts::desk::acting::Order;
use crate::alerts::{Act, Every, Refusal};
use crate::notify::notice::Notice;

/// Bytes of a request.
pub(super) const BODY_BYTES: usize = 16 << 10;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(5);

/// Acts that wait for the loop.
const WAITING: usize = 16;

/// How long the loop has for an act.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time in which a reason of refusals is logged once: clients without a token must not fill the log.
const LOG: Duration = Duration::from_secs(10);

/// The address of the client of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// An order that waits for its answer.
#[derive(Debug)]
pub(crate) struct WaitingOrder {
    pub(crate) order: Order,
    answer: oneshot::Sender<Result<Box<Notice>, Refusal>>,
}

impl WaitingOrder {
    /// Answers whoever waits.
    pub(crate) fn answer(self, outcome: Result<Notice, Refusal>) {
        // Whoever asked may have gone.
        let _gone = self.answer.send(outcome.map(Box::new));
    }
}

/// Why a request to act is refused before the incident is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denial {
    /// The configuration has no tokens.
    NoTokens,
    /// The request came in plain text from another machine.
    Plain,
    /// A page of another site made it.
    CrossSite,
    /// It has no token.
    Missing,
    /// Nobody has its token.
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
            Self::NoTokens => "nobody may act here: name a file of tokens by http-tokens",
            Self::Plain => {
                "a token must not be sent in plain text: ask on the machine itself, or through a proxy with TLS that sets X-Forwarded-Proto"
            }
            Self::CrossSite => {
                "this looks like a request of another site: send JSON as application/json, with no other Origin than this server"
            }
            Self::Missing => "give a token as Authorization: Bearer TOKEN",
            Self::Wrong => "nobody has this token",
        }
    }
}

/// The way of orders to the loop, and the count of what was refused.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    tokens: Option<PathBuf>,
    sender: SyncSender<WaitingOrder>,
    denied: Arc<[AtomicU64; Denial::ALL.len()]>,
    log: Arc<Mutex<[Every; Denial::ALL.len()]>>,
}

impl Orders {
    /// Makes the way of orders of people whose tokens are in the file `tokens`.
    pub(super) fn new(tokens: Option<PathBuf>) -> (Self, Receiver<WaitingOrder>) {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let log = Arc::new(Mutex::new([Every::new(LOG); Denial::ALL.len()]));
        (Self { tokens, sender, denied: Arc::default(), log }, receiver)
    }

    /// Returns how many requests were refused, by reason.
    pub(super) fn denied(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = Denial::ALL.into_iter().zip(&*self.denied);
        counts.map(|(denial, count)| (denial.name(), count.load(Relaxed)))
    }

    fn deny(&self, denial: Denial, peer: SocketAddr) -> Response {
        self.denied[denial as usize].fetch_add(1, Relaxed);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log[denial as usize].is_due() {
            warn!("an act of {} was refused ({}): {}", peer.ip(), denial.name(), denial.text());
        }
        let mut response = error(denial.status(), denial.text());
        if denial.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

/// Does what a person asks for, and answers with the notice of it.
pub(super) async fn act(
    State(shared): State<WebState>,
    Extension(Peer(peer)): Extension<Peer>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (orders, headers) = (&shared.orders, request.headers());
    let Some(path) = &orders.tokens else { return orders.deny(Denial::NoTokens, peer) };
    if !is_confidential(headers, peer) {
        return orders.deny(Denial::Plain, peer);
    }
    if !is_same_site(headers) {
        return orders.deny(Denial::CrossSite, peer);
    }
    let Some(token) = bearer(headers) else { return orders.deny(Denial::Missing, peer) };
    let by = match Tokens::read(path) {
        Ok(tokens) => tokens.name(token).map(str::to_owned),
        Err(failure) => {
            warn!("nobody can act: {failure:#}");
            return error(StatusCode::INTERNAL_SERVER_ERROR, "the file of tokens cannot be used");
        }
    };
    let Some(by) = by else { return orders.deny(Denial::Wrong, peer) };
    let Ok(id) = id.parse() else {
        return error(StatusCode::NOT_FOUND, &Refusal::Unknown(id).to_string());
    };
    let Ok(body) = timeout(BODY, Bytes::from_request(request, &())).await else {
        return error(StatusCode::REQUEST_TIMEOUT, "the body of the request did not come in time");
    };
    let act: Act = match body.map(|body| serde_json::from_slice(&body)) {
        Ok(Ok(act)) => act,
        Ok(Err(cause)) => {
            let text = format!(
                "cannot read the act: {cause}; send one such as {{\"act\": \"silence\", \"for\": \"2h\", \"text\": \"why\"}}"
            );
            return error(StatusCode::BAD_REQUEST, &text);
        }
        Err(refused) => return error(refused.status(), &refused.body_text()),
    };
    let (answer, answered) = oneshot::channel();
    let order = WaitingOrder { order: Order { id, act, by }, answer };
    if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
        orders.sender.try_send(order)
    {
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many acts wait: try again");
    }
    match timeout(PATIENCE, answered).await {
        Ok(Ok(Ok(notice))) => Json(notice).into_response(),
        Ok(Ok(Err(refusal))) => error(status_of(&refusal), &refusal.to_string()),
        Ok(Err(_)) | Err(_) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "there was no answer in time: look whether it was done before you try again",
        ),
    }
}

const fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unknown(_) => StatusCode::NOT_FOUND,
        Refusal::Over | Refusal::StillThere | Refusal::NotSilenced | Refusal::TooManySilences => {
            StatusCode::CONFLICT
        }
        Refusal::NoText | Refusal::LongText(_) | Refusal::Length(_) => StatusCode::BAD_REQUEST,
    }
}

/// Whether nobody between here and the client can read the request: it comes from this machine, or a proxy had it by TLS.
fn is_confidential(headers: &HeaderMap, peer: SocketAddr) -> bool {
    let forwarded = HeaderName::from_static("x-forwarded-proto");
    match headers.get(forwarded) {
        Some(protocol) => protocol.as_bytes().eq_ignore_ascii_case(b"https"),
        None => peer.ip().to_canonical().is_loopback(),
    }
}

/// Whether the request is of no page, or of one of this server.
fn is_same_site(headers: &HeaderMap) -> bool {
    let fetch_site = HeaderName::from_static("sec-fetch-site");
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    });
    let is_of_host = headers.get(ORIGIN).is_none_or(|origin| {
        let authority = origin.to_str().ok().and_then(|it| Some(it.split_once("://")?.1));
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        authority.zip(host).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
    });
    let is_of_page =
        headers.get(fetch_site).is_none_or(|site| site == "same-origin" || site == "none");
    is_json && is_of_host && is_of_page
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let is_token = scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty();
    is_token.then_some(token.trim())
}
