//! User actions on incidents, sent by POST.
//!
//! An action requires a token in a header. Pages of other sites cannot make a browser send this header, so the checks
//! of the request's origin are a second layer of protection. A token is accepted only from this machine, or from a
//! proxy that reports a TLS connection. The body is read only after the token is checked, and with a time limit, so
//! that a silent client cannot hold a connection.
//!
//! An accepted action becomes an order to the main loop, which owns the alerts. The request waits for the loop's
//! answer.

use std::net::SocketAddr;
use std::sync::mpsc::TrySendError;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, FromRequest as _, Path, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use super::orders::{Denial, Peer, WaitingOrder};
use super::responses::error;
use super::state::WebState;
use super::tokens::Tokens;
use srlg_alerts::manager::acting::Order;
use srlg_alerts::{Act, Refusal};

/// Maximum size of a request body, in bytes.
pub(super) const BODY_BYTES: usize = 16 << 10;

/// Time limit for reading a request body.
const BODY: Duration = Duration::from_secs(5);

/// Time limit for the loop to answer an order.
const PATIENCE: Duration = Duration::from_secs(10);

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
            warn!("cannot perform actions: {failure:#}");
            return error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "cannot read the token file; see the log of srlg",
            );
        }
    };
    let Some(by) = by else { return orders.deny(Denial::Wrong, peer) };
    let Ok(id) = id.parse() else {
        return error(StatusCode::NOT_FOUND, &Refusal::Unknown(id).to_string());
    };
    let Ok(body) = timeout(BODY, Bytes::from_request(request, &())).await else {
        return error(StatusCode::REQUEST_TIMEOUT, "request body not received in time");
    };
    let act: Act = match body.map(|body| serde_json::from_slice(&body)) {
        Ok(Ok(act)) => act,
        Ok(Err(cause)) => {
            let text = format!(
                "cannot parse the action: {cause}; send JSON such as {{\"act\": \"silence\", \"for\": \"2h\", \"text\": \"why\"}}"
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
        return error(StatusCode::SERVICE_UNAVAILABLE, "too many actions are waiting; try again");
    }
    match timeout(PATIENCE, answered).await {
        Ok(Ok(Ok(notification))) => Json(notification).into_response(),
        Ok(Ok(Err(refusal))) => error(status_of(&refusal), &refusal.to_string()),
        Ok(Err(_)) | Err(_) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "no answer in time; before you try again, check whether the action was performed",
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

/// Returns whether the request was sent confidentially: from this machine, or over TLS to a proxy.
fn is_confidential(headers: &HeaderMap, peer: SocketAddr) -> bool {
    let forwarded = HeaderName::from_static("x-forwarded-proto");
    match headers.get(forwarded) {
        Some(protocol) => protocol.as_bytes().eq_ignore_ascii_case(b"https"),
        None => peer.ip().to_canonical().is_loopback(),
    }
}

/// Returns false if a page of another site may have sent the request.
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
