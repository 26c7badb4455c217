//! The report about notifications that the rate limit suppressed or holds back.

use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{AlertId, Severity, Status};

/// Maximum number of alerts that a report names.
const NAMED: usize = 20;

/// Notifications that the rate limit suppressed or holds back, and the alerts to which they belong.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Suppressed {
    /// Number of suppressed notifications, which are not sent.
    pub(super) count: u64,
    /// Number of starts that are held back until there is room.
    pub(super) held: usize,
    /// Up to [`NAMED`] alerts, most severe first.
    pub(super) alerts: Vec<SuppressedAlert>,
}

/// An alert with a suppressed or held notification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SuppressedAlert {
    /// ID of the alert.
    id: AlertId,
    /// Status in the last of these notifications.
    status: Status,
    /// Severity in the last of these notifications.
    severity: Severity,
    /// Probable cause.
    kind: Kind,
    /// Name of the view.
    view: String,
    /// Host or service.
    host: String,
    /// Largest number of peers so far.
    peak: f64,
}

impl SuppressedAlert {
    pub(super) fn new(notification: &Notification) -> Self {
        Self {
            id: notification.id,
            status: notification.status,
            severity: notification.severity,
            kind: notification.kind,
            view: notification.view.clone(),
            host: notification.host.to_string(),
            peak: notification.main.peak,
        }
    }

    /// Compares alerts: severe ones first, active ones before ended ones, then by the largest count.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        let rank = |it: &Self| (Reverse(it.severity), it.status == Status::End);
        match rank(self).cmp(&rank(other)) {
            std::cmp::Ordering::Equal => self.peak > other.peak,
            order => order.is_lt(),
        }
    }
}

impl fmt::Display for SuppressedAlert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, kind, host, status, .. } = self;
        let ended = if *status == Status::End { " (ended)" } else { "" };
        write!(f, "{severity} {kind} of {host}{ended}")
    }
}

impl Suppressed {
    /// Adds the alert of `notification`, of which `count` notifications were suppressed.
    pub(super) fn add(&mut self, notification: &Notification, count: u64) {
        self.count += count;
        self.insert(SuppressedAlert::new(notification));
    }

    /// Returns this report together with the alerts of `held` starts.
    pub(super) fn with_held<'a>(&self, held: impl Iterator<Item = &'a SuppressedAlert>) -> Self {
        let mut report = self.clone();
        for alert in held {
            report.held += 1;
            report.insert(alert.clone());
        }
        report
    }

    fn insert(&mut self, alert: SuppressedAlert) {
        self.alerts.retain(|known| known.id != alert.id);
        let at = self.alerts.partition_point(|known| !alert.is_before(known));
        self.alerts.insert(at, alert);
        self.alerts.truncate(NAMED);
    }

    /// Removes the alert `id`, but not the number of its suppressed notifications.
    pub(super) fn forget(&mut self, id: AlertId) {
        self.alerts.retain(|alert| alert.id != id);
    }

    /// Returns the report as one sentence.
    pub(super) fn text(&self) -> String {
        let count = format!(
            "rate limit: alerts waiting: {}, notifications suppressed: {}",
            self.held, self.count
        );
        if self.alerts.is_empty() {
            return count;
        }
        let names: Vec<_> = self.alerts.iter().map(ToString::to_string).collect();
        format!("{count}; the most severe: {}", names.join(", "))
    }

    /// Returns the report as JSON. Its fields differ from those of a notification.
    pub(super) fn json(&self) -> Value {
        let Self { count, held, alerts } = self;
        json!({ "count": count, "held": held, "suppressed": alerts, "text": self.text() })
    }

    /// Returns a report with all fields, for checking templates.
    pub(super) fn sample() -> Self {
        let mut sample = Self::default();
        sample.add(&Notification::sample(), 1);
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(at: u64, severity: Severity, kind: Kind, peak: f64) -> Notification {
        let sample = Notification::sample();
        let mut main = sample.main;
        main.peak = peak;
        let id = format!("{at:016x}").parse().unwrap();
        let host = std::net::IpAddr::from([10, 0, 0, at as u8]).into();
        Notification { id, severity, kind, main, host, syn_only: None, ..sample }
    }

    #[test]
    fn the_most_severe_alerts_are_named_and_servers_come_last() {
        let mut suppressed = Suppressed::default();
        for at in 0..30 {
            suppressed.add(&notification(at, Severity::Warning, Kind::Scan, at as f64), 1);
        }
        suppressed.add(&notification(40, Severity::Info, Kind::Server, 1e6), 1);
        suppressed.add(&notification(41, Severity::Critical, Kind::Flood, 1.0), 1);
        // A later notification of the same alert replaces the earlier one.
        suppressed.add(&notification(5, Severity::Major, Kind::Flood, 2.0), 1);
        let peaks: Vec<f64> = suppressed.alerts.iter().map(|alert| alert.peak).collect();
        let mut expected = vec![1.0, 2.0];
        expected.extend((12..30).rev().map(f64::from));
        assert_eq!((suppressed.count, peaks), (33, expected));
    }

    #[test]
    fn servers_are_named_when_there_is_room() {
        let mut suppressed = Suppressed::default();
        suppressed.add(&notification(1, Severity::Info, Kind::Server, 9_000.0), 1);
        let held = SuppressedAlert::new(&notification(2, Severity::Warning, Kind::Flood, 1_100.0));
        let suppressed = suppressed.with_held([held].iter());
        insta::assert_snapshot!(suppressed.text());
        assert_eq!(suppressed.json()["count"], 1);
        assert_eq!(suppressed.json()["held"], 1);
        assert_eq!(suppressed.json()["suppressed"][1]["host"], "10.0.0.1");
    }
}
