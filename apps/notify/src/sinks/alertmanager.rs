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

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use srlg_alerts::{AlertId, Severity, Silencing, Status, Why};

use super::http::Client;
use super::{Channel, Failure};
use srlg_alerts::notification::{Direction, Kind, Notification};
use srlg_input::contact::Name;
use srlg_system::now_ms;
use srlg_system::pacing::LastError;

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
    /// Ends of the silences that Alertmanager has, by view and host, in milliseconds since the Unix epoch. The end is
    /// unknown if Alertmanager has not accepted the last change.
    silenced: BTreeMap<(String, Name), Option<u64>>,
    silence_error: LastError,
}

impl Alertmanager {
    pub(super) fn new(client: Client, resend: Duration, least: Severity) -> Self {
        let (silenced, silence_error) = (BTreeMap::new(), LastError::default());
        Self { client, resend, sent: None, least, silenced, silence_error }
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

    /// Makes Alertmanager silence the host of `notification` in its view exactly as srlg does. Former silences of srlg
    /// are removed afterwards, so that alerts are never unmuted in between.
    fn set_silence(&self, notification: &Notification) -> Result<(), Failure> {
        let former = self.silences_of(notification)?;
        let now = SystemTime::now();
        if let Some(Silencing { remark, until_ms, .. }) = &notification.silence {
            let until = SystemTime::UNIX_EPOCH + Duration::from_millis((*until_ms).min(LAST_MS));
            let silence = json!({
                "matchers": matchers(notification),
                "startsAt": time(now),
                "endsAt": time(until),
                "createdBy": remark.by,
                "comment": format!("{COMMENT}{}", remark.text),
            });
            if until > now {
                self.client.post("/silences", &serde_json::to_vec(&silence)?, &[])?;
            }
        }
        for id in former {
            self.client.delete(&format!("/silence/{id}"))?;
        }
        Ok(())
    }

    /// Returns the IDs of the silences of srlg about the host of `notification` in its view.
    fn silences_of(&self, notification: &Notification) -> Result<Vec<String>, Failure> {
        let matchers = matchers(notification);
        let filters = matchers
            .iter()
            .map(|it| ("filter", format!("{}={}", it.name, Value::from(it.value.as_str()))));
        let silences = self.client.get("/silences", &filters.collect::<Vec<_>>())?;
        let silences: Vec<AmSilence> = serde_json::from_str(&silences)?;
        let is_ours = |silence: &AmSilence| {
            silence.comment.starts_with(COMMENT)
                && silence.status.state != "expired"
                && silence.matchers.len() == matchers.len()
                && silence.matchers.iter().all(|matcher| matchers.contains(matcher))
        };
        Ok(silences.into_iter().filter(is_ours).map(|silence| silence.id).collect())
    }

    /// Makes the silence of the host of `notification` the same as in srlg, unless it already is. Returns whether the
    /// alert may be sent: a silenced alert would notify people if Alertmanager did not accept its silence. An error is
    /// logged, and [`tick`](Channel::tick) tries again.
    fn follow_silence(&mut self, notification: &Notification) -> bool {
        let key = (notification.view.clone(), notification.host);
        let until_ms = notification.silence.as_ref().map(|silence| silence.until_ms);
        if self.silenced.get(&key).copied() == until_ms.map(Some) {
            return true;
        }
        let set = self.set_silence(notification);
        let is_set = set.is_ok();
        let set = set.map_err(Failure::into_error);
        let (failure, recovery) =
            ("Alertmanager does not accept a silence", "Alertmanager accepts silences again");
        self.silence_error.log(set, failure, recovery);
        if is_set && until_ms.is_none() {
            self.silenced.remove(&key);
        } else {
            self.silenced.insert(key, until_ms.filter(|_| is_set));
        }
        is_set || until_ms.is_none()
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
    matchers: Vec<Matcher>,
}

#[derive(Deserialize)]
struct AmStatus {
    state: String,
}

/// A condition on a label.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Matcher {
    name: String,
    value: String,
    is_regex: bool,
    is_equal: bool,
}

/// Returns the matchers that select the alerts about the host of `notification` in its view.
fn matchers(notification: &Notification) -> [Matcher; 3] {
    [
        ("alertname", ALERT_NAME.to_owned()),
        ("view", notification.view.clone()),
        ("host", notification.host.to_string()),
    ]
    .map(|(name, value)| Matcher {
        name: name.to_owned(),
        value,
        is_regex: false,
        is_equal: true,
    })
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
        labels["vector"] = notification.kind_at_start.to_string().into();
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
            "top_source_ports": join(notification.top_source_ports.iter().map(|(port, _)| port)),
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

/// Returns whether the alert started as a flood or a reflection on an inside host. A busy server is not a victim.
fn is_victim(notification: &Notification) -> bool {
    let Notification { kind_at_start, direction, is_inside, port, .. } = notification;
    matches!(kind_at_start, Kind::Flood | Kind::Reflection)
        && (*direction, *is_inside) == (Direction::FanIn, true)
        && !notification.is_test
        && port.is_none()
        && matches!(notification.host, Name::Address(_))
}

fn join(list: impl IntoIterator<Item = impl ToString>) -> String {
    list.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(", ")
}

impl Channel for Alertmanager {
    fn send(&mut self, _number: i64, notification: &Notification) -> Result<String, Failure> {
        let is_change = matches!(notification.why, Why::Silenced | Why::Unsilenced);
        let is_silenced = notification.silence.is_some();
        if (is_change || is_silenced) && !self.follow_silence(notification) {
            return Ok("not sent, because its silence was not accepted".to_owned());
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
        let now_ms = now_ms();
        self.silenced.retain(|_, until_ms| until_ms.is_none_or(|until_ms| until_ms > now_ms));
        let mut open = open()?;
        open.retain(|notification| self.follow_silence(notification));
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
    fn only_floods_and_reflections_on_inside_hosts_have_a_victim() {
        let flood = Notification { port: None, ..Notification::sample() };
        let named = [Value::from("192.0.2.7"), Value::from("flood")];
        assert_eq!(victim(&flood), named);
        // Labels never change, so a later kind makes no difference.
        assert_eq!(victim(&Notification { kind: Kind::Server, ..flood.clone() }), named);
        let reflection = Notification { kind_at_start: Kind::Reflection, ..flood.clone() };
        assert_eq!(victim(&reflection)[1], "reflection");
        let kinds =
            Kind::ALL.into_iter().filter(|it| !matches!(it, Kind::Flood | Kind::Reflection));
        let others = kinds.map(|kind_at_start| Notification { kind_at_start, ..flood.clone() });
        let host = "192.0.2.0/24".parse().unwrap();
        let others = others.chain([
            Notification { direction: Direction::FanOut, ..flood.clone() },
            Notification { direction: Direction::Any, ..flood.clone() },
            Notification { is_inside: false, ..flood.clone() },
            Notification { host, ..flood.clone() },
            Notification { port: Notification::sample().port, ..flood.clone() },
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
