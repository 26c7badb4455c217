//! The interface of programs.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::shared::{WebState, error};
use crate::notify::notice::Notice;
use crate::now_ms;
use crate::show::board::{Board, TOP};

/// Slices must end at least so often, or within ten of their own length.
const LONGEST_MS: u64 = 10_000;

pub(super) async fn unknown() -> Response {
    let paths = "/, /metrics, /healthz, /events, /api/v1/status, /api/v1/alerts, /api/v1/top";
    error(StatusCode::NOT_FOUND, &format!("there is no such path: there are {paths}"))
}

pub(super) async fn not_allowed() -> Response {
    error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed: ask by GET")
}

pub(super) async fn status(State(shared): State<WebState>) -> Json<Arc<Board>> {
    Json(shared.board())
}

pub(super) async fn alerts(State(shared): State<WebState>) -> Json<Vec<Arc<Notice>>> {
    Json(shared.board().alerts.clone())
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
            let text = format!("{}: ask as /api/v1/top?view=NAME&limit=N", refused.body_text());
            return error(StatusCode::BAD_REQUEST, &text);
        }
    };
    let board = shared.board();
    let Some(view) = board.views.iter().find(|view| view.name == asked.view) else {
        let names: Vec<&str> = board.views.iter().map(|view| view.name.as_str()).collect();
        let text = format!("there is no view {:?}: there are {}", asked.view, names.join(", "));
        return error(StatusCode::NOT_FOUND, &text);
    };
    let limit = asked.limit.unwrap_or(TOP).min(view.top.len());
    Json(&view.top[..limit]).into_response()
}

/// Whether slices end; a replay has no clock that they must keep up with.
pub(super) async fn health(State(shared): State<WebState>) -> Response {
    let board = shared.board();
    let age_ms = now_ms().saturating_sub(board.now_ms.max(board.started_ms));
    if board.is_live && age_ms > LONGEST_MS.max(10 * board.slice_ms) {
        let text = format!("the last slice ended {} s ago", age_ms / 1_000);
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    "slices end in time".into_response()
}
