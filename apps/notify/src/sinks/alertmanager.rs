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
use super::suppressed::Suppressed;
use super::{Channel, Failure};
use srlg_alerts::notice::{Direction, Kind, Notice};
use srlg_input::contact::Name;

/// Maximum number of active alerts that one request sends again.
const BATCH: usize = 512;

pub(super) struct Alertmanager {
    client: Client,
    resend: Duration,
    told: Option<Instant>,
    /// Highest severity that was sent for each active alert.
    severities: HashMap<AlertId, Severity>,
}

impl Alertmanager {
    pub(super) fn new(client: Client, resend: Duration) -> Self {
        Self { client, resend, told: None, severities: HashMap::new() }
    }

    /// Posts `notices`, which must belong to different alerts.
    fn tell<'a>(
        &mut self,
        notices: impl Iterator<Item = &'a Notice> + Clone,
    ) -> Result<(), Failure> {
        let now = SystemTime::now();
        let mut alerts = Vec::new();
        for notice in notices.clone() {
            let former = self.severities.get(&notice.id).copied().unwrap_or(notice.severity);
            // A waiting notification may be older than the last notification that was sent.
            let severity = notice.severity.max(former);
            if severity != former {
                alerts.push(alert(notice, former, now, now));
            }
            let is_over = notice.status == Status::End || notice.silence.is_some();
            let ends = if is_over { now } else { now + 3 * self.resend };
            alerts.push(alert(notice, severity, now, ends));
        }
        self.client.post(&serde_json::to_vec(&alerts)?, &[])?;
        for notice in notices {
            if notice.status == Status::End {
                self.severities.remove(&notice.id);
            } else {
                let severity = self.severities.entry(notice.id).or_insert(notice.severity);
                *severity = notice.severity.max(*severity);
            }
        }
        Ok(())
    }
}

fn alert(notice: &Notice, severity: Severity, now: SystemTime, ends: SystemTime) -> Value {
    let starts = SystemTime::UNIX_EPOCH + Duration::from_millis(notice.start_ms);
    let time = |time: SystemTime| humantime::format_rfc3339_millis(time).to_string();
    let mut labels = json!({
        "alertname": "SrlgSuperPoint",
        "rule": notice.rule,
        "view": notice.view,
        "direction": notice.direction,
        "host": notice.subject(),
        "severity": severity,
    });
    // Programs that announce routes match on these labels. The kind at the start decides, because changing a label would
    // create another alert.
    if is_victim(notice) {
        labels["victim_ip"] = notice.host.to_string().into();
        labels["vector"] = "flood".into();
    }
    let mut alert = json!({
        "labels": labels,
        "annotations": {
            "summary": notice.text,
            "id": notice.id,
            "kind": notice.kind,
            "cardinality": format!("{:.0}", notice.main.cardinality),
            "std_error": format!("{:.0}", notice.main.std_error),
            "peak": format!("{:.0}", notice.main.peak),
            "threshold": notice.main.threshold.to_string(),
            "window": humantime::format_duration(Duration::from_millis(notice.main.window_ms)).to_string(),
            "hosts": notice.hosts.to_string(),
            "label": notice.label.as_deref().unwrap_or_default(),
            "sampling": notice.sampling,
            "peers": join(&notice.peers),
            "top_ports": join(notice.top_ports.iter().map(|(port, _)| port)),
            "top_as": join(&notice.origins.top_as),
            "top_countries": join(&notice.origins.top_countries),
            "origin_sample": join(notice.origins.origin_sample),
            "exporters": join(notice.named_exporters()),
            "silent": join(&notice.silent),
            "sites": join(&notice.sites),
            "sites_without_details": join(&notice.sites_without_details),
            "acknowledged": notice.acknowledged.as_ref().map(|it| it.sentence("acknowledged")).unwrap_or_default(),
        },
        // In a replay, the time of the data may be ahead of the system clock.
        "startsAt": time(starts.min(now)),
        "endsAt": time(ends),
    });
    if let Some(url) = &notice.url {
        alert["generatorURL"] = url.as_str().into();
    }
    alert
}

/// Returns whether the alert started as a flood of a single inside host. A busy server is not a victim.
fn is_victim(notice: &Notice) -> bool {
    let Notice { kind_at_start, direction, is_inside, network, port, .. } = notice;
    (*kind_at_start, *direction, *is_inside) == (Kind::Flood, Direction::FanIn, true)
        && network.is_none()
        && port.is_none()
        && matches!(notice.host, Name::Address(_))
}

fn join(list: impl IntoIterator<Item = impl ToString>) -> String {
    list.into_iter().map(|it| it.to_string()).collect::<Vec<_>>().join(", ")
}

impl Channel for Alertmanager {
    fn send(&mut self, _number: i64, notice: &Notice) -> Result<(), Failure> {
        self.tell(std::iter::once(notice))
    }

    /// Reports nothing, because Alertmanager has its own silences and groups.
    fn tell_held(&mut self, _suppressed: &Suppressed) -> Result<(), Failure> {
        Ok(())
    }

    fn tick(&mut self, open: &dyn Fn() -> Result<Vec<Notice>>) -> Result<Vec<AlertId>, Failure> {
        if self.told.is_some_and(|told| told.elapsed() < self.resend) {
            return Ok(Vec::new());
        }
        let mut open = open()?;
        open.retain(|notice| notice.silence.is_none());
        for notices in open.chunks(BATCH) {
            self.tell(notices.iter())?;
        }
        let ids: HashSet<AlertId> = open.iter().map(|notice| notice.id).collect();
        // Alerts whose ends were rejected or dropped are removed here.
        self.severities.retain(|id, _| ids.contains(id));
        self.told = Some(Instant::now());
        Ok(ids.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the labels that name a victim to programs.
    fn victim(notice: &Notice) -> [Value; 2] {
        let now = SystemTime::now();
        let labels = alert(notice, notice.severity, now, now)["labels"].take();
        ["victim_ip", "vector"].map(|name| labels[name].clone())
    }

    #[test]
    fn only_a_flood_of_a_single_inside_host_has_a_victim() {
        let flood = Notice { network: None, port: None, ..Notice::sample() };
        let named = [Value::from("192.0.2.7"), Value::from("flood")];
        assert_eq!(victim(&flood), named);
        // Labels never change, so a later kind makes no difference.
        assert_eq!(victim(&Notice { kind: Kind::ServerOrP2p, ..flood.clone() }), named);
        let kinds = [
            Kind::Scan,
            Kind::PortScan,
            Kind::ServiceScan,
            Kind::ServiceFlood,
            Kind::ServerOrP2p,
            Kind::Unknown,
        ];
        let others = kinds.map(|kind_at_start| Notice { kind_at_start, ..flood.clone() });
        let network = Some("192.0.2.0/24".parse().unwrap());
        let host = "192.0.2.0/24".parse().unwrap();
        let others = others.into_iter().chain([
            Notice { direction: Direction::FanOut, ..flood.clone() },
            Notice { direction: Direction::Any, ..flood.clone() },
            Notice { is_inside: false, ..flood.clone() },
            Notice { network, hosts: 9, ..flood.clone() },
            Notice { host, ..flood.clone() },
            Notice { port: Notice::sample().port, ..flood },
        ]);
        for other in others {
            assert_eq!(victim(&other), [Value::Null, Value::Null], "{other:?}");
        }
    }

    #[test]
    fn the_link_of_an_alert_is_its_incident() {
        let now = SystemTime::now();
        let link =
            |notice: &Notice| alert(notice, notice.severity, now, now)["generatorURL"].clone();
        let notice = Notice::sample();
        assert_eq!(link(&notice).as_str(), notice.url.as_deref());
        assert_eq!(link(&Notice { url: None, ..notice }), Value::Null);
    }

    #[test]
    fn shares_of_ases_and_countries_come_with_the_size_of_their_sample() {
        let now = SystemTime::now();
        let notice = Notice::sample();
        let annotations = alert(&notice, notice.severity, now, now)["annotations"].take();
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
