//! `GET /metrics` for Prometheus, `GET /status` as JSON; `GET /` has links to both.
//!
//! Shape: axum over what the engine has published last. Invariant: nobody who asks makes the engine wait.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::{Json, Router};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use super::status::CollectorStatus;

/// The last metrics and the last status of the engine.
#[derive(Clone)]
pub(super) struct HttpState {
    pub(super) metrics: PrometheusHandle,
    pub(super) status: watch::Receiver<CollectorStatus>,
}

/// Where to ask for it.
pub(super) fn router(last: HttpState) -> Router {
    let router = Router::new().route("/", get(links));
    router.route("/metrics", get(metrics)).route("/status", get(status)).with_state(last)
}

async fn links() -> Html<&'static str> {
    Html("<p><a href=\"/status\">status</a>, <a href=\"/metrics\">metrics</a></p>\n")
}

async fn metrics(State(last): State<HttpState>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], last.metrics.render())
}

async fn status(State(last): State<HttpState>) -> Json<CollectorStatus> {
    Json(last.status.borrow().clone())
}
