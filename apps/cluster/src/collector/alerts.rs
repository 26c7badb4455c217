//! [`Follower`]: alerts of the whole network, out of what the collector reports.
//!
//! Shape: [`follow`](Follower::follow) takes a closed slice and its report, a tracker says what has become of which alert,
//! and each of these is a line. Invariant: lines depend on nothing but closed slices and the state of the tracker, which
//! a checkpoint has beside the length of the file; so each line is written once, however often a collector is killed, and
//! an alert has one id. Reports know nothing of alerts.

mod line;
mod options;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use anyhow::Result;
use metrics::counter;
use serde::{Deserialize, Serialize};
use srlg_alert::{Condition, Rule, Sighting, Status, Tracker};
use srlg_host::report::EstimateRange;
use srlg_host::{SliceReport, SuperPoint};
use srlg_input::contact::Sampling;

use super::lines::{LineFile, Lines};
use super::reports::Frame;
use super::rule::Closed;
use line::{Told, line};
pub use options::AlertOptions;

/// Name of the view, which is in the ids of alerts: never another one.
const VIEW: &str = "network";

/// See the module.
#[derive(Debug)]
pub(super) struct Follower {
    tracker: Tracker,
    rule: Rule,
    /// Slices in the window.
    window: u32,
    lines: Lines,
}

/// What a checkpoint has of a follower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    tracker: Tracker,
    /// The file of alerts, if they go to one, and its length.
    pub(super) file: Option<LineFile>,
}

impl Follower {
    /// Makes a follower that tells by `rule`, in windows of `window` slices, and goes on from what was `kept`.
    pub(super) fn new(rule: Rule, window: u32, lines: Lines, kept: Option<&Kept>) -> Self {
        let tracker = kept.map_or_else(|| Tracker::new(VIEW), |kept| kept.tracker.clone());
        Self { tracker, rule, window, lines }
    }

    /// Takes a slice that has closed, and its report, and writes what has become of alerts.
    ///
    /// # Errors
    /// What the system says; a full disk, for one.
    pub(super) fn follow(
        &mut self,
        frame: Frame<'_>,
        closed: &Closed,
        (report, sampling): (&SliceReport, Sampling),
    ) -> Result<()> {
        let slice = closed.slice;
        let end_ms = slice.saturating_add(1).saturating_mul(frame.slice_ms);
        let points: Vec<_> = report.super_points.iter().map(sighting).collect();
        let rule = |_: IpAddr| Some(&self.rule);
        let changes = self.tracker.close(end_ms, &points, rule, condition(closed, report));
        let window_ms = frame.slice_ms.saturating_mul(self.window.into());
        let told = Told { frame, closed, report, sampling, window_ms };
        for alert in &changes {
            counter!("srlg_alerts_total", "status" => name(alert.status)).increment(1);
            self.lines.write(slice, &line(alert, &told))?;
        }
        Ok(())
    }

    /// How many alerts go on.
    pub(super) fn active(&self) -> usize {
        self.tracker.active()
    }

    /// Brings what was written to disk, and gives what a checkpoint has to have.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn keep(&self) -> Result<Kept> {
        Ok(Kept { tracker: self.tracker.clone(), file: self.lines.sync()? })
    }

    /// Whether a checkpoint with `kept` knows how long the file is.
    pub(super) fn is_known_by(&self, kept: Option<&Kept>) -> bool {
        kept.is_some_and(|kept| self.lines.are_known_by(kept.file.as_ref()))
    }
}

impl Kept {
    /// How many alerts went on.
    pub(super) fn active(&self) -> usize {
        self.tracker.active()
    }
}

/// How far a slice can be trusted. Where no probe has delivered it nothing is known of it. Where a delta of its window is
/// missing, or the detector was overloaded, there may be more than was counted: alerts start and go on, and none ends.
fn condition(closed: &Closed, report: &SliceReport) -> Condition {
    Condition {
        is_input_lost: closed.delivered.is_empty(),
        is_overloaded: !closed.is_window_whole || report.health.finder.overload.is_some(),
    }
}

fn sighting(point: &SuperPoint) -> Sighting {
    let mut sighting = Sighting::new(point.host, point.cardinality, point.std_error);
    sighting.is_lower_bound = point.range == EstimateRange::Beyond;
    sighting
}

/// In metrics.
const fn name(status: Status) -> &'static str {
    match status {
        Status::Start => "start",
        Status::Update => "update",
        Status::End => "end",
    }
}
