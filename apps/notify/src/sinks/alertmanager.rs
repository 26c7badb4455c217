//! A sink that sends active alerts repeatedly to an Alertmanager (API v2), which creates notifications from them.
//!
//! Labels identify an alert in Alertmanager, so only a few fields become labels. Further fields become annotations.
//! Alertmanager ends an alert that is not sent again within three times `resend`, so a stopped program leaves no active
//! alerts behind.
//!
//! Invariant: an active alert has only one set of labels at a time. Routes match on the severity, so it is a label.
//! When the severity rises, one request ends the alert with the old severity and sends the alert with the new one. An
//! alert that is silenced in srlg is over in Alertmanager until it is sent again.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use serde_json::{Value, json};
use srlg_alerts::{AlertId, Severity, Status};

use super::http::Client;
use super::{Channel, Failure};
use srlg_alerts::notification::{Direction, Kind, Notification};
use srlg_input::contact::Name;

/// Maximum number of active alerts that one request sends again.
const BATCH: usize = 512;

pub(super) struct Alertmanager {
    client: Client,
    resend: Duration,
    /// Time at which active alerts were last sent again.
    sent: Option<Instant>,
    /// Highest severity that was sent for each active alert.
    severities: HashMap<AlertId, Severity>,
}

impl Alertmanager {
    pub(super) fn new(client: Client, resend: Duration) -> Self {
        Self { client, resend, sent: None, severities: HashMap::new() }
    }

    /// Posts `notifications`, which must belong to different alerts.
    fn post<'a>(
        &mut self,
        notifications: impl Iterator<Item = &'a Notification> + Clone,
    ) -> Result<String, Failure> {
        let now = SystemTime::now();
        let mut alerts = Vec::new();
        for notification in notifications.clone() {
            let former =
                self.severities.get(&notification.id).copied().unwrap_or(notification.severity);
            // A waiting notification may be older than the last notification that was sent.
            let severity = notification.severity.max(former);
            if severity != former {
                alerts.push(alert(notification, former, now, now));
            }
            let is_over = notification.status == Status::End || notification.silence.is_some();
            let ends = if is_over { now } else { now + 3 * self.resend };
            alerts.push(alert(notification, severity, now, ends));
        }
        let answer = self.client.post(&serde_json::to_vec(&alerts)?, &[])?;
        for notification in notifications {
            if notification.status == Status::End {
                self.severities.remove(&notification.id);
            } else {
                let severity =
                    self.severities.entry(notification.id).or_insert(notification.severity);
                *severity = notification.severity.max(*severity);
            }
        }
        Ok(answer)
    }
}

fn alert(
    notification: &Notification,
    severity: Severity,
    now: SystemTime,
    ends: SystemTime,
) -> Value {
    let starts = SystemTime::UNIX_EPOCH + Duration::from_millis(notification.start_ms);
    let time = |time: SystemTime| humantime::format_rfc3339_millis(time).to_string();
    let mut labels = json!({
        "alertname": "SrlgSuperPoint",
        "rule": notification.rule,
        "view": notification.view,
        "direction": notification.direction,
        "host": notification.host.to_string(),
        "severity": severity,
    });
    // Programs that announce routes match on these labels. The kind at the start decides, because changing a label
    // would create another alert.
    if is_victim(notification) {
        labels["victim_ip"] = notification.host.to_string().into();
        labels["vector"] = "flood".into();
    }
    let mut alert = json!({
        "labels": labels,
        "annotations": {
            "summary": notification.text,
            "id": notification.id,
            "kind": notification.kind,
            "cardinality": format!("{:.0}", notification.main.cardinality),
            "std_error": format!("{:.0}", notification.main.std_error),
            "peak": format!("{:.0}", notification.main.peak),
            "threshold": notification.main.threshold.to_string(),
            "window": humantime::format_duration(Duration::from_millis(notification.main.window_ms)).to_string(),
            "label": notification.label.as_deref().unwrap_or_default(),
            "sampling": notification.sampling,
            "peers": join(&notification.peers),
            "top_ports": join(notification.top_ports.iter().map(|(port, _)| port)),
            "top_as": join(&notification.origins.top_as),
            "top_countries": join(&notification.origins.top_countries),
            "origin_sample": join(notification.origins.origin_sample),
            "exporters": join(notification.named_exporters()),
            "silent": join(&notification.silent),
            "sites": join(&notification.sites),
            "sites_without_details": join(&notification.sites_without_details),
            "acknowledged": notification.acknowledged.as_ref().map(|it| it.sentence("acknowledged")).unwrap_or_default(),
        },
        // In a replay, the time of the data may be ahead of the system clock.
        "startsAt": time(starts.min(now)),
        "endsAt": time(ends),
    });
    if let Some(url) = &notification.url {
        alert["generatorURL"] = url.as_str().into();
    }
    alert
}

/// Returns whether the alert started as a flood of an inside host. A busy server is not a victim.
fn is_victim(notification: &Notification) -> bool {
    let Notification { kind_at_start, direction, is_inside, port, .. } = notification;
    (*kind_at_start, *direction, *is_inside) == (Kind::Flood, Direction::FanIn, true)
        && port.is_none()
        && matches!(notification.host, Name::Address(_))
}

fn join(list: impl IntoIterator<Item = impl ToString>) -> String {
    list.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(", ")
}

impl Channel for Alertmanager {
    fn send(&mut self, _number: i64, notification: &Notification) -> Result<String, Failure> {
        self.post(std::iter::once(notification))
    }

    fn tick(
        &mut self,
        open: &dyn Fn() -> Result<Vec<Notification>>,
    ) -> Result<Vec<AlertId>, Failure> {
        if self.sent.is_some_and(|sent| sent.elapsed() < self.resend) {
            return Ok(Vec::new());
        }
        let mut open = open()?;
        open.retain(|notification| notification.silence.is_none());
        for notifications in open.chunks(BATCH) {
            self.post(notifications.iter())?;
        }
        let ids: HashSet<AlertId> = open.iter().map(|notification| notification.id).collect();
        // Alerts whose ends were rejected or dropped are removed here.
        self.severities.retain(|id, _| ids.contains(id));
        self.sent = Some(Instant::now());
        Ok(ids.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the labels that name a victim to programs.
    fn victim(notification: &Notification) -> [Value; 2] {
        let now = SystemTime::now();
        let labels = alert(notification, notification.severity, now, now)["labels"].take();
        ["victim_ip", "vector"].map(|name| labels[name].clone())
    }

    #[test]
    fn only_a_flood_of_an_inside_host_has_a_victim() {
        let flood = Notification { port: None, ..Notification::sample() };
        let named = [Value::from("192.0.2.7"), Value::from("flood")];
        assert_eq!(victim(&flood), named);
        // Labels never change, so a later kind makes no difference.
        assert_eq!(victim(&Notification { kind: Kind::ServerOrP2p, ..flood.clone() }), named);
        let kinds = [
            Kind::Scan,
            Kind::PortScan,
            Kind::ServiceScan,
            Kind::ServiceFlood,
            Kind::ServerOrP2p,
            Kind::Unknown,
        ];
        let others = kinds.map(|kind_at_start| Notification { kind_at_start, ..flood.clone() });
        let host = "192.0.2.0/24".parse().unwrap();
        let others = others.into_iter().chain([
            Notification { direction: Direction::FanOut, ..flood.clone() },
            Notification { direction: Direction::Any, ..flood.clone() },
            Notification { is_inside: false, ..flood.clone() },
            Notification { host, ..flood.clone() },
            Notification { port: Notification::sample().port, ..flood },
        ]);
        for other in others {
            assert_eq!(victim(&other), [Value::Null, Value::Null], "{other:?}");
        }
    }

    #[test]
    fn the_link_of_an_alert_is_its_incident() {
        let now = SystemTime::now();
        let link = |notification: &Notification| {
            alert(notification, notification.severity, now, now)["generatorURL"].clone()
        };
        let notification = Notification::sample();
        assert_eq!(link(&notification).as_str(), notification.url.as_deref());
        assert_eq!(link(&Notification { url: None, ..notification }), Value::Null);
    }

    #[test]
    fn shares_of_ases_and_countries_come_with_the_size_of_their_sample() {
        let now = SystemTime::now();
        let notification = Notification::sample();
        let annotations =
            alert(&notification, notification.severity, now, now)["annotations"].take();
        for (key, expected) in [
            ("top_as", "AS64500 Example Transit (100 %)"),
            ("top_countries", "DE (100 %)"),
            ("origin_sample", "1"),
            ("exporters", "edge-1 (198.51.100.1)"),
        ] {
            assert_eq!(annotations[key], expected, "{key}");
        }
    }
}
