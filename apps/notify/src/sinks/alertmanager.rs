//! A sink that sends active alerts repeatedly to an Alertmanager (API v2), which creates notifications from them.
//!
//! Labels identify an alert in Alertmanager, so only a few fields become labels. Further fields become annotations.
//! Alertmanager ends an alert that is not sent again within three times `resend`, so a stopped program leaves no active
//! alerts behind.
//!
//! Routes match on the severity, so it is a label. An alert is sent once for each severity that it has reached, and all
//! of these end together. Therefore, Alertmanager resolves nothing while an attack runs, and an inhibition rule
//! (`alertmanager.yml`) mutes all but the highest severity. A silence of srlg becomes a silence of Alertmanager, so that
//! silenced alerts are not resolved either.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use srlg_alerts::{AlertId, Severity, Silencing, Status, Why};

use super::http::Client;
use super::{Channel, Failure};
use srlg_alerts::notification::{Direction, Kind, Notification};
use srlg_input::contact::Name;

const ALERT_NAME: &str = "SrlgSuperPoint";

/// Maximum number of active alerts that one request sends again.
const BATCH: usize = 512;

pub(super) struct Alertmanager {
    client: Client,
    resend: Duration,
    /// Time at which active alerts were last sent again.
    sent: Option<Instant>,
    /// Least severity that the sink wants.
    least: Severity,
}

impl Alertmanager {
    pub(super) const fn new(client: Client, resend: Duration, least: Severity) -> Self {
        Self { client, resend, sent: None, least }
    }

    /// Posts the alerts of `notifications`.
    fn post<'a>(
        &self,
        notifications: impl Iterator<Item = &'a Notification>,
    ) -> Result<String, Failure> {
        let now = SystemTime::now();
        let mut alerts = Vec::new();
        for notification in notifications {
            let is_over = notification.status == Status::End;
            let ends = if is_over { now } else { now + 3 * self.resend };
            let reached = Severity::ALL.into_iter().filter(|severity| {
                (self.least.min(notification.severity)..=notification.severity).contains(severity)
            });
            alerts.extend(reached.map(|severity| alert(notification, severity, now, ends)));
        }
        self.client.post("/alerts", &serde_json::to_vec(&alerts)?, &[])
    }

    /// Silences the alerts about the host of `notification` in its view, unless the silence is already over.
    fn silence(&self, notification: &Notification) -> Result<(), Failure> {
        let Some(Silencing { remark, until_ms, .. }) = &notification.silence else {
            return Ok(());
        };
        let now = SystemTime::now();
        let until = SystemTime::UNIX_EPOCH + Duration::from_millis((*until_ms).min(LAST_MS));
        if until <= now {
            return Ok(());
        }
        let matchers: Vec<Value> = matchers(notification)
            .map(|(name, value)| {
                json!({ "name": name, "value": value, "isRegex": false, "isEqual": true })
            })
            .to_vec();
        let silence = json!({
            "matchers": matchers,
            "startsAt": time(now),
            "endsAt": time(until),
            "createdBy": remark.by,
            "comment": format!("{COMMENT}{}", remark.text),
        });
        self.client.post("/silences", &serde_json::to_vec(&silence)?, &[]).map(drop)
    }

    /// Removes the silences of srlg about the host of `notification` in its view.
    fn end_silences(&self, notification: &Notification) -> Result<(), Failure> {
        let filters = matchers(notification)
            .map(|(name, value)| ("filter", format!("{name}={}", Value::from(value))));
        let silences = self.client.get("/silences", &filters)?;
        let silences: Vec<AmSilence> = serde_json::from_str(&silences)?;
        let is_ours = |silence: &&AmSilence| {
            silence.comment.starts_with(COMMENT) && silence.status.state != "expired"
        };
        silences
            .iter()
            .filter(is_ours)
            .try_for_each(|silence| self.client.delete(&format!("/silence/{}", silence.id)))
    }
}

/// Start of the comments of silences that come from srlg.
const COMMENT: &str = "srlg: ";

/// Start of the year 9000, in milliseconds since the Unix epoch. Alertmanager keeps a silence for some time after its
/// end, and rejects the silence if that time is beyond the year 9999.
const LAST_MS: u64 = 221_845_392_000_000;

/// A silence in a response of Alertmanager.
#[derive(Deserialize)]
struct AmSilence {
    id: String,
    comment: String,
    status: AmStatus,
}

#[derive(Deserialize)]
struct AmStatus {
    state: String,
}

/// Returns the labels, and their values, by which a silence selects the alerts of the host of `notification`.
fn matchers(notification: &Notification) -> [(&'static str, String); 3] {
    [
        ("alertname", ALERT_NAME.to_owned()),
        ("view", notification.view.clone()),
        ("host", notification.host.to_string()),
    ]
}

fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

fn alert(
    notification: &Notification,
    severity: Severity,
    now: SystemTime,
    ends: SystemTime,
) -> Value {
    let starts = SystemTime::UNIX_EPOCH + Duration::from_millis(notification.start_ms);
    let mut labels = json!({
        "alertname": ALERT_NAME,
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
        match notification.why {
            Why::Silenced => self.silence(notification)?,
            Why::Unsilenced => self.end_silences(notification)?,
            _ => {}
        }
        self.post(std::iter::once(notification))
    }

    fn tick(
        &mut self,
        open: &dyn Fn() -> Result<Vec<Notification>>,
    ) -> Result<Vec<AlertId>, Failure> {
        if self.sent.is_some_and(|sent| sent.elapsed() < self.resend) {
            return Ok(Vec::new());
        }
        let open = open()?;
        for notifications in open.chunks(BATCH) {
            self.post(notifications.iter())?;
        }
        self.sent = Some(Instant::now());
        Ok(open.into_iter().map(|notification| notification.id).collect())
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
