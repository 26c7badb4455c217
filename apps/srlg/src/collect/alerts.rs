//! [`Follower`]: alerts of the whole network, out of what the collector reports.
//!
//! Shape: [`follow`](Follower::follow) takes a closed slice and its report, a tracker says what has become of which alert,
//! and each of these is a line. Invariant: lines depend on nothing but closed slices and the state of the tracker, which
//! a checkpoint has beside the length of the file; so each line is written once, however often a collector is killed, and
//! an alert has one id. Reports know nothing of alerts.

mod options;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::alerts::{Alert, Condition, Rule, Sighting, Status, Subject, Tracker};
use anyhow::Result;
use metrics::counter;
use serde::{Deserialize, Serialize};
use srlg_host::SuperPoint;
use srlg_host::report::{EstimateRange, SamplePeer};
use srlg_input::contact::Sampling;

use super::lines::{LineFile, Lines};
use super::reports::{ClosedSlice, named};
pub use options::AlertOptions;

/// Name of the view, which is in the ids of alerts: never another one.
const VIEW: &str = "network";

/// A writer of alerts.
#[derive(Debug)]
pub(super) struct Follower {
    tracker: Tracker,
    rule: Rule,
    /// Slices in the window.
    window: u32,
    lines: Lines,
}

/// The part of a checkpoint that is about alerts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FollowerState {
    tracker: Tracker,
    /// The file of alerts, if they go to one, and its length.
    pub(super) file: Option<LineFile>,
}

impl Follower {
    /// Makes a follower that tells by `rule`, in windows of `window` slices, and goes on from what was `kept`.
    pub(super) fn new(rule: Rule, window: u32, lines: Lines, kept: Option<&FollowerState>) -> Self {
        let tracker = kept.map_or_else(|| Tracker::new(VIEW), |kept| kept.tracker.clone());
        Self { tracker, rule, window, lines }
    }

    /// Takes a slice that has closed, and its report, and writes what has become of alerts.
    pub(super) fn follow(&mut self, slice: &ClosedSlice<'_>) -> Result<()> {
        let number = slice.close.slice;
        let end_ms = number.saturating_add(1).saturating_mul(slice.slice_ms);
        let points: Vec<_> = slice.report.super_points.iter().map(sighting).collect();
        let rule = |_: IpAddr| Some(&self.rule);
        let changes = self.tracker.close(end_ms, &points, rule, condition(slice));
        let window_ms = slice.slice_ms.saturating_mul(self.window.into());
        for alert in &changes {
            counter!("srlg_alerts_total", "status" => alert.status.to_string()).increment(1);
            self.lines.write(number, &line(alert, slice, window_ms))?;
        }
        Ok(())
    }

    /// How many alerts go on.
    pub(super) fn active(&self) -> usize {
        self.tracker.active()
    }

    /// Brings what was written to disk, and gives what a checkpoint has to have.
    pub(super) fn state(&self) -> Result<FollowerState> {
        Ok(FollowerState { tracker: self.tracker.clone(), file: self.lines.sync()? })
    }

    /// Whether a checkpoint with `kept` knows how long the file is.
    pub(super) fn is_known_by(&self, kept: Option<&FollowerState>) -> bool {
        kept.is_some_and(|kept| self.lines.are_known_by(kept.file.as_ref()))
    }
}

impl FollowerState {
    /// How many alerts went on.
    pub(super) fn active(&self) -> usize {
        self.tracker.active()
    }
}

/// How far a slice can be trusted. Where no probe has delivered it nothing is known of it. Where a delta of its window is
/// missing, or the detector was overloaded, there may be more than was counted: alerts start and go on, and none ends.
fn condition(slice: &ClosedSlice<'_>) -> Condition {
    Condition {
        is_input_lost: slice.close.delivered.is_empty(),
        is_overloaded: !slice.close.is_window_whole
            || slice.report.health.finder.overload.is_some(),
    }
}

fn sighting(point: &SuperPoint) -> Sighting {
    Sighting {
        host: point.host,
        cardinality: point.cardinality,
        std_error: point.std_error,
        is_lower_bound: point.range == EstimateRange::Beyond,
    }
}

/// The largest number of sample peers of an alert.
const MOST_PEERS: usize = 32;

/// A line of the file of alerts.
#[derive(Debug, Serialize)]
struct AlertLine<'a> {
    #[serde(flatten)]
    alert: &'a Alert,
    slice: u64,
    window_ms: u64,
    /// Probes that have not delivered this slice, but were heard of recently.
    late: Vec<&'a str>,
    /// Probes that have not delivered this slice, and are silent.
    missing: Vec<&'a str>,
    /// Whether all probes have delivered every slice of the window.
    is_window_whole: bool,
    /// Sampling rates, if exporters stated them.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    /// Lower and upper limit of the count without sampling; no upper limit if a rate is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
    /// Sample peers of the host, or of the largest host of a network, if it is in the report.
    peers: &'a [SamplePeer],
    /// The alert as a sentence.
    text: String,
}

/// The line of `alert`, which has changed in `slice`.
fn line<'a>(alert: &'a Alert, slice: &ClosedSlice<'a>, window_ms: u64) -> AlertLine<'a> {
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
