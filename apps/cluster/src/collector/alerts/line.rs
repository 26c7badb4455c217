//! [`line()`]: what is told of an alert, with the fields of reports where they mean the same.

use serde::Serialize;
use srlg_alert::{Alert, Status, Subject};
use srlg_host::report::SamplePeer;
use srlg_input::contact::Sampling;

use super::super::reports::{ClosedSlice, named};

/// Sample peers that are told, at most.
const MOST_PEERS: usize = 32;

/// A line.
#[derive(Debug, Serialize)]
pub(super) struct AlertLine<'a> {
    #[serde(flatten)]
    alert: &'a Alert,
    slice: u64,
    window_ms: u64,
    /// Probes that have not delivered this slice: heard of recently, and silent.
    late: Vec<&'a str>,
    missing: Vec<&'a str>,
    /// Whether all probes have delivered every slice of the window.
    is_window_whole: bool,
    /// Where exporters told of contacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    /// Between which counts that without sampling lies; without an upper one where a rate is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
    /// Of the host, or of the largest one of a network, where it is in the report.
    peers: &'a [SamplePeer],
    /// A sentence.
    text: String,
}

/// The line of `alert`, which has changed in `slice`.
pub(super) fn line<'a>(alert: &'a Alert, slice: &ClosedSlice<'a>, window_ms: u64) -> AlertLine<'a> {
    let ClosedSlice { names, close, report, .. } = *slice;
    let host = match &alert.subject {
        Subject::Host(host) => Some(*host),
        Subject::Network { largest, .. } => largest.first().map(|(host, _)| *host),
    };
    let mut points = report.super_points.iter();
    let point = points.find(|point| Some(point.host.to_canonical()) == host);
    AlertLine {
        alert,
        slice: close.slice,
        window_ms,
        late: named(names, &close.late),
        missing: named(names, &close.missing),
        is_window_whole: close.is_window_whole,
        sampling: slice.sampling(),
        unsampled: slice.unsampled(alert.cardinality, alert.is_lower_bound),
        peers: point.map_or(&[], |point| &point.peers[..point.peers.len().min(MOST_PEERS)]),
        text: text(alert, window_ms),
    }
}

fn text(alert: &Alert, window_ms: u64) -> String {
    let Alert { subject, cardinality, std_error, threshold, peak, .. } = alert;
    if alert.status == Status::End {
        let until_ms = alert.until_ms.unwrap_or(alert.now_ms);
        let lasted = until_ms.saturating_sub(alert.start_ms) / 1_000;
        return format!("{subject}: over after {lasted} s, at most {peak:.0} hosts were counted");
    }
    let whom = match subject {
        Subject::Host(host) => host.to_string(),
        Subject::Network { network, hosts, .. } => {
            format!("the busiest of {hosts} hosts of {network}")
        }
    };
    let at_least = if alert.is_lower_bound { "at least " } else { "" };
    let seconds = window_ms as f64 / 1e3;
    format!(
        "{whom} was in contact with {at_least}{cardinality:.0} ± {std_error:.0} hosts in the last {seconds} s (threshold \
         {threshold})"
    )
}
