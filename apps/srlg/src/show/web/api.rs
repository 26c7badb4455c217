//! The API for the latest board, and the stream that sends boards to each open web page.
//!
//! A board is serialised once for all open pages. A slow page misses boards but does not delay other pages.

use std::sync::{Arc, Mutex, PoisonError};
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
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::acting::Orders;
use super::history::refuse;
use crate::notify::store::Store;
use crate::now_ms;
use crate::show::board::{Board, Boards, TOP};
use crate::show::health::{Health, Status};
use crate::show::open::OpenAlert;

/// Maximum time since the last slice closed in a healthy program, in milliseconds. If slices are longer than a second,
/// the limit is ten slices instead. A collector also waits for late probes.
const LONGEST_MS: u64 = 10_000;

pub(super) async fn unknown() -> Response {
    let paths = "/, /incident/ID, /host/ADDRESS, /metrics, /healthz, /events and, below /api/v1, status, alerts, top, incidents, incidents/ID, incidents/ID/acts, incidents/ID/peers.csv, incidents/ID/prefixes.csv, hosts/ADDRESS and series";
    error(StatusCode::NOT_FOUND, &format!("path not found; the paths are {paths}"))
}

pub(super) async fn not_allowed() -> Response {
    error(
        StatusCode::METHOD_NOT_ALLOWED,
        "method not allowed; use POST for actions and GET for all other requests",
    )
}

pub(super) async fn status(State(shared): State<WebState>) -> Response {
    Json(Status::of(&shared.board())).into_response()
}

pub(super) async fn alerts(State(shared): State<WebState>) -> Json<Arc<[OpenAlert]>> {
    Json(Arc::clone(&shared.board().alerts))
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
    let board = shared.board();
    let view = match board.view(&asked.view) {
        Ok(view) => view,
        Err(unknown) => return error(StatusCode::NOT_FOUND, &unknown.to_string()),
    };
    let limit = asked.limit.unwrap_or(TOP).min(view.top.len());
    Json(&view.top[..limit]).into_response()
}

/// Responds to `/healthz`. The status is 503 if slices have stopped closing, except in a replay. It is 200 in case of
/// other problems, because a restart would not solve them.
pub(super) async fn health(State(shared): State<WebState>) -> Response {
    let board = shared.board();
    let age_ms = now_ms().saturating_sub(board.closed_ms.max(board.started_ms));
    let longest_ms = LONGEST_MS.max(10 * board.slice_ms) + board.deadline_ms;
    if board.is_live && age_ms > longest_ms {
        let text = format!("no slice has closed for {} s", age_ms / 1_000);
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    Health::of(&board).to_string().into_response()
}

/// Maximum number of alerts on the web page. `/api/v1/alerts` returns all alerts.
pub(super) const ALERTS: usize = 200;

/// Maximum number of pages that receive boards.
pub(super) const PAGES: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct WebState {
    pub(super) boards: Boards,
    pub(super) store: Store,
    /// Permits for pages that receive boards.
    pub(super) places: Arc<Semaphore>,
    pub(super) orders: Orders,
    /// The last board that was serialised, and its event.
    last: Arc<Mutex<Option<BoardEvent>>>,
}

/// A board, and the server-sent event that contains it.
type BoardEvent = (Arc<Board>, Bytes);

impl WebState {
    pub(super) fn new(boards: Boards, store: Store, orders: Orders) -> Self {
        let places = Arc::new(Semaphore::new(PAGES));
        Self { boards, store, places, orders, last: Arc::default() }
    }

    pub(super) fn board(&self) -> Arc<Board> {
        Arc::clone(&self.boards.borrow())
    }

    /// Returns the server-sent event that contains `board`, with at most [`ALERTS`] alerts.
    pub(super) fn event(&self, board: Arc<Board>) -> serde_json::Result<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, event)) = last.as_ref().filter(|(sent, _)| Arc::ptr_eq(sent, &board)) {
            return Ok(event.clone());
        }
        let mut event = b"data: ".to_vec();
        serde_json::to_writer(&mut event, &Status::of(&board.with_alerts(ALERTS)))?;
        event.extend_from_slice(b"\n\n");
        let event = Bytes::from(event);
        *last = Some((board, event.clone()));
        Ok(event)
    }
}

pub(super) fn error(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

/// Time without a new board after which a comment is sent, so that both sides notice a lost connection.
const SILENCE: Duration = Duration::from_secs(15);

/// The event stream of one page.
struct Page {
    shared: WebState,
    _place: OwnedSemaphorePermit,
}

impl Page {
    /// Waits for the next board and returns its event, or returns a comment after [`SILENCE`]. Returns `None` when the
    /// program stops.
    async fn next(&mut self) -> Option<serde_json::Result<Bytes>> {
        match timeout(SILENCE, self.shared.boards.changed()).await {
            Err(_elapsed) => Some(Ok(Bytes::from_static(b":\n\n"))),
            Ok(Err(_ended)) => None,
            Ok(Ok(())) => {
                let board = Arc::clone(&self.shared.boards.borrow_and_update());
                Some(self.shared.event(board))
            }
        }
    }
}

/// Responds with a stream that starts with the current board and continues with later boards.
pub(super) async fn events(State(mut shared): State<WebState>) -> Response {
    let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
        let text = format!("the limit of {PAGES} open pages is reached; close one");
        return error(StatusCode::SERVICE_UNAVAILABLE, &text);
    };
    shared.boards.mark_changed();
    let page = Page { shared, _place: place };
    let events =
        stream::unfold(page, async |mut page| page.next().await.map(|event| (event, page)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}
