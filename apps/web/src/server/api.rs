//! The API for the latest overview, and the stream that sends overviews to each open web page.
//!
//! An overview is serialised once for all open pages. A slow page misses overviews but does not delay other pages.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::responses::{error, refuse};
use super::state::{PAGES, WebState};
use crate::health::{Health, Status};
use srlg_alerts::open::OpenAlert;
use srlg_alerts::status::overview::TOP;
use srlg_system::now_ms;

pub(super) async fn unknown() -> Response {
    let paths = "/, /incident/ID, /host/ADDRESS, /metrics, /healthz, /events and, below /api/v1, status, alerts, top, incidents, incidents/ID, incidents/ID/acts, incidents/ID/peers.csv, incidents/ID/prefixes.csv, incidents/ID/series, incidents/ID/series.csv, hosts/ADDRESS and series";
    error(StatusCode::NOT_FOUND, &format!("path not found; the paths are {paths}"))
}

pub(super) async fn not_allowed() -> Response {
    error(
        StatusCode::METHOD_NOT_ALLOWED,
        "method not allowed; use POST for actions and GET for all other requests",
    )
}

pub(super) async fn status(State(shared): State<WebState>) -> Response {
    let overview = shared.overview();
    Json(Status::of(&overview, &overview.limited(usize::MAX))).into_response()
}

pub(super) async fn alerts(State(shared): State<WebState>) -> Json<Arc<[OpenAlert]>> {
    Json(Arc::clone(&shared.overview().alerts))
}

#[derive(Deserialize)]
pub(super) struct Top {
    view: String,
    limit: Option<usize>,
}

pub(super) async fn top(
    State(shared): State<WebState>,
    asked: Result<Query<Top>, QueryRejection>,
) -> Response {
    let Query(asked) = match asked {
        Ok(asked) => asked,
        Err(refused) => {
            return refuse(refused.body_text(), "/api/v1/top?view=NAME&limit=N");
        }
    };
    let overview = shared.overview();
    let view = match overview.view(&asked.view) {
        Ok(view) => view,
        Err(unknown) => return error(StatusCode::NOT_FOUND, &unknown.to_string()),
    };
    let limit = asked.limit.unwrap_or(TOP).min(view.top.len());
    Json(&view.top[..limit]).into_response()
}

/// Responds to `/healthz`. The status is 503 if slices have stopped closing, except in a replay. It is 200 in case of
/// other problems, because a restart would not solve them.
pub(super) async fn health(State(shared): State<WebState>) -> Response {
    let overview = shared.overview();
    let health = Health::of(&overview, now_ms());
    let status = if health.is_stalled { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (status, health.to_string()).into_response()
}

/// Time without a new overview after which a comment is sent, so that both sides notice a lost connection.
const SILENCE: Duration = Duration::from_secs(15);

/// The event stream of one page.
struct Page {
    shared: WebState,
    _place: OwnedSemaphorePermit,
}

impl Page {
    /// Waits for the next overview and returns its event, or returns a comment after [`SILENCE`]. Returns `None` when
    /// the program stops.
    async fn next(&mut self) -> Option<serde_json::Result<Bytes>> {
        match timeout(SILENCE, self.shared.overviews.changed()).await {
            Err(_elapsed) => Some(Ok(Bytes::from_static(b":\n\n"))),
            Ok(Err(_ended)) => None,
            Ok(Ok(())) => {
                let overview = Arc::clone(&self.shared.overviews.borrow_and_update());
                Some(self.shared.event(overview))
            }
        }
    }
}

/// Responds with a stream that starts with the current overview and continues with later overviews.
pub(super) async fn events(State(mut shared): State<WebState>) -> Response {
    let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
        let text = format!("the limit of {PAGES} open pages is reached; close one");
        return error(StatusCode::SERVICE_UNAVAILABLE, &text);
    };
    shared.overviews.mark_changed();
    let page = Page { shared, _place: place };
    let events =
        stream::unfold(page, async |mut page| page.next().await.map(|event| (event, page)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}
