//! The status of a collector, as JSON and as gauges, and over HTTP: `GET /metrics` for Prometheus, `GET /status` as JSON; `GET /`
//! has links to both.
//!
//! Invariant: nothing secret is in it, and no request makes the engine wait.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::{Json, Router};
use metrics::gauge;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use tokio::sync::watch;

use super::tally::MessageCounts;

/// The status of a collector. Slices are numbers; a value that is not known yet is null.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct CollectorStatus {
    /// Whether the stream is being read.
    pub(super) reading: bool,
    pub(super) device: String,
    pub(super) running: Option<u64>,
    /// Where the probes are.
    pub(super) front: Option<u64>,
    pub(super) pending_bytes: usize,
    /// The last message that was read, and how many come after it.
    pub(super) sequence: u64,
    pub(super) unread: u64,
    /// The running slice of the last checkpoint.
    pub(super) checkpoint: Option<u64>,
    pub(super) last_report: Option<LastReport>,
    /// Alerts that go on, where they are followed.
    pub(super) alerts: Option<usize>,
    /// Messages that were not merged, by reason.
    pub(super) refused: BTreeMap<&'static str, u64>,
    pub(super) probes: Vec<ProbeStatus>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct LastReport {
    pub(super) slice: u64,
    pub(super) closed: &'static str,
    pub(super) super_points: usize,
    pub(super) late: Vec<String>,
    pub(super) missing: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ProbeStatus {
    pub(super) name: String,
    /// The slice that it spoke of last.
    pub(super) newest: Option<u64>,
    pub(super) silent: bool,
    /// The slice up to which everything of it is in a checkpoint.
    pub(super) durable: Option<u64>,
    #[serde(flatten)]
    pub(super) counts: MessageCounts,
}

impl CollectorStatus {
    /// The same for Prometheus; its numbers are exact up to 2^53.
    pub(super) fn to_gauges(&self) {
        let set = |name: &'static str, value: u64| gauge!(name).set(value as f64);
        set("srlg_reading", self.reading.into());
        set("srlg_running_slice", self.running.unwrap_or(0));
        set("srlg_front_slice", self.front.unwrap_or(0));
        set("srlg_pending_bytes", self.pending_bytes as u64);
        set("srlg_stream_sequence", self.sequence);
        set("srlg_stream_unread_messages", self.unread);
        set("srlg_checkpoint_slice", self.checkpoint.unwrap_or(0));
        if let Some(alerts) = self.alerts {
            set("srlg_alerts_active", alerts as u64);
        }
        for ProbeStatus { name, newest, silent, durable, .. } in &self.probes {
            let of_probe = |gauge: &'static str, value: u64| {
                gauge!(gauge, "probe" => name.clone()).set(value as f64);
            };
            of_probe("srlg_probe_newest_slice", newest.unwrap_or(0));
            of_probe("srlg_probe_durable_slice", durable.unwrap_or(0));
            of_probe("srlg_probe_silent", (*silent).into());
        }
    }
}

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
