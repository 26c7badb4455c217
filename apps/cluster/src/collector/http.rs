//! `GET /metrics` for Prometheus, `GET /status` as JSON.
//!
//! Shape: axum over what the engine has published last. Invariant: nobody who asks makes the engine wait.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use super::status::Status;

/// What the engine has published last.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) metrics: PrometheusHandle,
    pub(super) status: watch::Receiver<Status>,
}

/// Where to ask for it.
pub(super) fn router(last: Published) -> Router {
    Router::new().route("/metrics", get(metrics)).route("/status", get(status)).with_state(last)
}

async fn metrics(State(last): State<Published>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], last.metrics.render())
}

async fn status(State(last): State<Published>) -> Json<Status> {
    Json(last.status.borrow().clone())
}
