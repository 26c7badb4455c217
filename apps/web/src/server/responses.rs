//! Responses to wrong requests.

use std::fmt::Display;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

pub(super) fn error(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

pub(super) fn refuse(reason: impl Display, usage: &str) -> Response {
    let reason = reason.to_string();
    let reason = reason.strip_prefix("Failed to deserialize query string: ").unwrap_or(&reason);
    let reason = reason.replace("missing field", "missing parameter");
    error(StatusCode::BAD_REQUEST, &format!("{reason}; use {usage}"))
}
