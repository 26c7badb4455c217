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

use crate::alerts::{Alert, Condition, Rule, Sighting, Subject, Terms, Tracker};
use crate::notify::notice::{Context, Notice};
use anyhow::Result;
use metrics::counter;
use serde::{Deserialize, Serialize};

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
    /// Makes a follower that reports by `terms`, in windows of `window` slices, and continues from what was `kept`.
    pub(super) fn new(
        terms: Terms,
        window: u32,
        lines: Lines,
        kept: Option<&FollowerState>,
    ) -> Self {
        let tracker = kept.map_or_else(|| Tracker::new(VIEW), |kept| kept.tracker.clone());
        let windows = [(window, terms)].into();
        let rule = Rule { name: "default".to_owned(), networks: Vec::new(), windows };
        Self { tracker, rule, window, lines }
    }

    /// Takes a slice that has closed, and its report, and writes what has become of alerts.
    pub(super) fn follow(&mut self, slice: &ClosedSlice<'_>) -> Result<()> {
        let number = slice.close.slice;
        let end_ms = number.saturating_add(1).saturating_mul(slice.slice_ms);
        let points: Vec<_> = slice.report.super_points.iter().map(Sighting::from).collect();
        let rule = |_: IpAddr| Some(&self.rule);
        let sightings = [(self.window, points)].into();
        let changes = self.tracker.close(end_ms, &sightings, rule, condition(slice));
        for alert in changes {
            counter!("srlg_alerts_total", "status" => alert.status.to_string()).increment(1);
            self.lines.write(number, &line(alert, slice))?;
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

/// A line of the file of alerts.
#[derive(Debug, Serialize)]
struct AlertLine<'a> {
    #[serde(flatten)]
    notice: Notice,
    slice: u64,
    /// Probes that have not delivered this slice, but were heard of recently.
    late: Vec<&'a str>,
    /// Probes that have not delivered this slice, and are silent.
    missing: Vec<&'a str>,
    /// Whether all probes have delivered every slice of the window.
    is_window_whole: bool,
}

/// Returns the line of `alert`, which has changed in `slice`.
fn line<'a>(alert: Alert, slice: &ClosedSlice<'a>) -> AlertLine<'a> {
    let ClosedSlice { names, close, report, slice_ms, sampling, .. } = *slice;
    let host = match &alert.subject {
        Subject::Host(host) => Some(*host),
        Subject::Network { largest, .. } => largest.first().map(|(host, _)| *host),
    };
    let mut points = report.super_points.iter();
    let point = points.find(|point| Some(point.host.to_canonical()) == host);
    let peers = point.into_iter().flat_map(|point| &point.peers);
    let peers = peers.map(|peer| peer.host).collect();
    AlertLine {
        notice: Notice::new(alert, Context { slice_ms, sampling, peers, ..Context::default() }),
        slice: close.slice,
        late: named(names, &close.late),
        missing: named(names, &close.missing),
        is_window_whole: close.is_window_whole,
    }
}
