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

/// What there is to tell.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) metrics: PrometheusHandle,
    pub(super) status: watch::Receiver<Status>,
}

/// Where to ask for it.
pub(super) fn router(told: Told) -> Router {
    Router::new().route("/metrics", get(metrics)).route("/status", get(status)).with_state(told)
}

async fn metrics(State(told): State<Told>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], told.metrics.render())
}

async fn status(State(told): State<Told>) -> Json<Status> {
    Json(told.status.borrow().clone())
}
