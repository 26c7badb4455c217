//! Notifications. A notification describes an alert and its context in fields and in one sentence.
//!
//! A notification is a flat record, which sinks, the history and the web page share. `docs/alerts.md` lists its fields.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::exporters::NamedExporter;
use crate::origins::PeerOrigins;
use crate::{Alert, AlertId, Remark, Severity, Silencing, SilentSource, Status, Why};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::{Name, Port};

mod cause;
mod context;
mod counts;
mod kind;
mod rates;
mod text;

use cause::{Cause, Doubt};
pub use context::{Context, Detail, Evidence, Former, OppositeCounts, SiteCount};
pub use counts::{NotifiedSite, NotifiedWindow};
pub use kind::{Direction, Kind, Unit};
pub use rates::{InterfaceShare, Rates};

/// A notification that an alert has started, is active or has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// ID of the alert, which stays the same across restarts.
    pub id: AlertId,
    /// ID of the alert to which the incident belongs, if it is not the first incident of its alert. If the cause of an
    /// alert changes between an attack and a busy host, its incident ends, and another starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<AlertId>,
    /// Whether the alert starts, is active or ends.
    pub status: Status,
    /// Reason for the notification.
    pub why: Why,
    /// Probable cause.
    pub kind: Kind,
    /// Probable cause when the alert started. It never changes, so programs that act on an alert can rely on it.
    #[serde(default)]
    pub kind_at_start: Kind,
    /// Reflected protocol, such as `ntp`, if the kind is a reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Number of inside hosts that scan the same port, if the kind is a worm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worm_hosts: Option<usize>,
    /// ID of the active alert that stands for all hosts of a worm; absent in the notifications of that alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<AlertId>,
    /// Highest severity so far. A busy host ([`Kind::is_benign`]) and a host of a worm that has a leader have the severity
    /// `info`.
    pub severity: Severity,
    /// Name of the view.
    pub view: String,
    /// Direction of the view's contacts.
    pub direction: Direction,
    /// Type of the peers that the view counts.
    #[serde(default)]
    pub unit: Unit,
    /// Whether the host is an inside host.
    pub is_inside: bool,
    /// Name of the rule.
    pub rule: String,
    /// Host, or network if the view counts whole networks.
    pub host: Name,
    /// Port of the host, if the view counts each port of a host as a separate host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// Configured label of the network that contains the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// ID of the active alert of the host's network, if a view counts whole networks in the same direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_alert: Option<AlertId>,
    /// Up to 8 hosts that have the most peers: the other hosts of a worm or, if the host is a network and a view counts
    /// its hosts in the same direction, hosts of the network. A host is listed only if it is among the 200 largest hosts of that view, and not far below
    /// its threshold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest_hosts: Vec<LargestHost>,
    /// Start of the alert, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// Time of the notification, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Whether this is a test notification, on which no program should act.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_test: bool,
    /// End of the alert, in milliseconds since the Unix epoch; absent while the alert is active. If the count became
    /// too low for the alert, this is the time since which it has been too low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// Time from `start_ms` to `until_ms`, or to `now_ms` while the alert is active, in milliseconds.
    pub duration_ms: u64,
    /// Peer count in the most severe active window, or in the most severe window if no window is active. Among equally
    /// severe windows, the shortest one is used.
    #[serde(flatten)]
    pub main: NotifiedWindow,
    /// Peer counts in all windows that have been active during the alert. Active windows precede inactive windows, and
    /// both start with the most severe window.
    pub windows: Vec<NotifiedWindow>,
    /// Whether the host answers most of its peers, as a busy host does, but has far more of them than is usual at this
    /// hour of the week. The kind is then `flood`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unusual: bool,
    /// Number of peers in the opposite direction within the main window: peers that the host has answered, or that have
    /// answered it, if this is known. Absent if no view counts that direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opposite: Option<f64>,
    /// Sampling rates of the contacts, such as `1:10`.
    pub sampling: String,
    /// Age of the newest contact at `now_ms`, in milliseconds.
    pub data_age_ms: u64,
    /// Up to 8 silent exporters or sites that saw the host. While they are silent, the end of the alert cannot be
    /// confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<SilentSource>,
    /// Sites whose data had not arrived when the slice closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_sites: Vec<String>,
    /// Peer count of the host within the main window, at each site that saw the host, in descending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<NotifiedSite>,
    /// Sites that did not report the host's peer count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites_without_details: Vec<String>,
    /// Up to 8 exporters that reported contacts of the host since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exporters: Vec<IpAddr>,
    /// Configured names of the exporters in `exporters`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exporter_names: BTreeMap<IpAddr, String>,
    /// Up to 32 peers: a uniform sample since `detail_since_ms` or, without details, peers from the detector.
    pub peers: Vec<Name>,
    /// ASes and countries of `peers` and `top_prefixes`.
    #[serde(flatten)]
    pub origins: PeerOrigins,
    /// Start of the period that the details cover, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_since_ms: Option<u64>,
    /// Up to 8 destination ports, such as `tcp/445`, with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_ports: Vec<(String, f64)>,
    /// Up to 8 source ports, such as `udp/123`, with their shares of contacts since `detail_since_ms`. A port that
    /// cannot be told from noise is not listed, here and in `top_ports`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_source_ports: Vec<(String, f64)>,
    /// Up to 8 prefixes of peers, /24 or /48, with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_prefixes: Vec<(IpNet, f64)>,
    /// Up to 8 input interfaces with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_interfaces: Vec<InterfaceShare>,
    /// Packets and bits per second of the counted contacts.
    #[serde(flatten)]
    pub rates: Rates,
    /// Largest rates so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rates: Option<Rates>,
    /// Share of contacts since `detail_since_ms` that are TCP and have the flag SYN but not ACK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_only: Option<f64>,
    /// Action of a user, if it is the reason for the notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
    /// Acknowledgement of the alert, with the user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Remark>,
    /// Silence of the host, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silencing>,
    /// URL of the incident on the web page; absent if the configuration has no public URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Description of the alert in one sentence, which starts with the probable cause.
    pub text: String,
}

/// A host of a network, and its peer count within the longest window of the view that counts it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LargestHost {
    /// Host.
    pub host: IpAddr,
    /// Number of peers.
    pub cardinality: f64,
}

impl Notification {
    /// Returns a notification that has all fields, for checking templates.
    ///
    /// # Panics
    /// Does not panic, because a test checks that the sample is valid.
    pub fn sample() -> Self {
        serde_json::from_str(include_str!("notification/sample.json"))
            .expect("a test checks that the sample is valid")
    }

    /// Returns a notification for each status, and one that has no optional fields.
    pub fn samples() -> Vec<Self> {
        let with = |status| Self { status, ..Self::sample() };
        let mut samples = [Status::Start, Status::Update, Status::End].map(with).to_vec();
        let Self { main, .. } = Self::sample();
        let main = NotifiedWindow { unsampled_most: None, usual: None, ..main };
        samples.push(Self {
            alert: None,
            port: None,
            protocol: None,
            worm_hosts: None,
            leader: None,
            label: None,
            network_alert: None,
            largest_hosts: Vec::new(),
            until_ms: None,
            main,
            windows: vec![main],
            is_unusual: false,
            opposite: None,
            silent: Vec::new(),
            missing_sites: Vec::new(),
            sites: Vec::new(),
            sites_without_details: Vec::new(),
            exporters: Vec::new(),
            exporter_names: BTreeMap::new(),
            peers: Vec::new(),
            origins: PeerOrigins::default(),
            detail_since_ms: None,
            top_ports: Vec::new(),
            top_source_ports: Vec::new(),
            top_prefixes: Vec::new(),
            top_interfaces: Vec::new(),
            rates: Rates::default(),
            peak_rates: None,
            syn_only: None,
            remark: None,
            acknowledged: None,
            silence: None,
            url: None,
            ..Self::sample()
        });
        samples
    }

    /// Returns a test notification, whose addresses are reserved for documentation. Each kind has its own host. All
    /// notifications of one kind and one time belong to the same alert.
    #[must_use]
    pub fn test(kind: Kind, status: Status, now_ms: u64) -> Self {
        let (direction, view) = match kind {
            Kind::Scan | Kind::PortScan | Kind::ServiceScan | Kind::Worm => {
                (Direction::FanOut, "fan-out")
            }
            _ => (Direction::FanIn, "fan-in"),
        };
        let sample = Self::sample();
        let facts = sample.text.split_once(": ").map_or("", |(_, facts)| facts);
        let is_end = status == Status::End;
        Self {
            id: AlertId::of(&["test", &kind.to_string()], now_ms),
            status,
            why: match status {
                Status::Start => Why::Threshold,
                Status::Update => Why::Repeat,
                Status::End => Why::Below,
            },
            kind,
            kind_at_start: kind,
            view: view.to_owned(),
            direction,
            is_test: true,
            host: Name::Address([192, 0, 2, 1 + kind as u8].into()),
            start_ms: now_ms,
            now_ms,
            until_ms: is_end.then_some(now_ms),
            duration_ms: 0,
            port: None,
            network_alert: None,
            alert: None,
            silent: Vec::new(),
            remark: None,
            acknowledged: None,
            silence: None,
            url: None,
            protocol: (kind == Kind::Reflection).then(|| "ntp".to_owned()),
            worm_hosts: None,
            leader: None,
            text: format!("test: {}", kind.sentence(None, facts)),
            ..sample
        }
    }

    /// Creates a notification from `alert` and its `context`.
    #[must_use]
    pub fn new(alert: Alert, context: Context) -> Self {
        let sites = NotifiedSite::of(&context.evidence.sites, alert.main().cardinality);
        let facts = text::facts(&alert, &context, &sites);
        let unit = context.unit();
        let windows = alert.windows.iter().map(|count| NotifiedWindow::new(*count, &context));
        let windows: Vec<_> = windows.collect();
        let main = windows.first().copied().unwrap_or_default();
        let count = if alert.status == Status::End { main.peak } else { main.cardinality };
        let Cause { mut kind, protocol, doubt, mut is_unusual } =
            Cause::of(&context, count).given(main.usual, &context, count);
        let mut protocol = protocol.map(str::to_owned);
        let mut opposite = context.opposite();
        if let Some(former) = &context.former
            && context.keeps_kind(former.kind, kind, &alert)
        {
            (kind, protocol) = (former.kind, former.protocol.clone());
            is_unusual = former.is_unusual;
        }
        // The change that ends an alert carries no evidence, so the last notification provides it.
        if alert.status == Status::End || context.is_stale {
            opposite = context.former.as_ref().and_then(|former| former.opposite);
        }
        let doubt = doubt.map(Doubt::phrase).filter(|_| kind == Kind::Unknown);
        let text = kind.sentence(protocol.as_deref().or(doubt), &facts);
        let Context { direction, is_inside, host_packing, peer_packing, former, .. } = context;
        // A busy host is not more severe because it has more peers.
        let severity = if kind.is_benign() { Severity::Info } else { alert.severity };
        let host = host_packing.name(alert.host);
        let Evidence { detail, rates, sites_without_details, .. } = context.evidence;
        let peak_rates = Some(context.peak_rates.max(rates)).filter(Rates::is_known);
        let detail_since_ms = detail.as_ref().map(|detail| detail.since_ms);
        let syn_only = detail.as_ref().map(|detail| detail.syn_only);
        let detail = detail.unwrap_or_default();
        let peers = if detail.peers.is_empty() { context.peers } else { detail.peers };
        Self {
            id: alert.id,
            alert: None,
            status: alert.status,
            why: alert.why,
            kind,
            kind_at_start: former.map_or(kind, |former| former.kind_at_start),
            protocol,
            worm_hosts: None,
            leader: None,
            severity,
            view: alert.view,
            direction,
            unit,
            is_inside,
            rule: alert.rule,
            host,
            port: host.port(),
            label: context.label,
            network_alert: None,
            largest_hosts: Vec::new(),
            start_ms: alert.start_ms,
            now_ms: alert.now_ms,
            is_test: false,
            until_ms: alert.until_ms,
            duration_ms: alert.until_ms.unwrap_or(alert.now_ms).saturating_sub(alert.start_ms),
            main,
            windows,
            is_unusual,
            opposite,
            sampling: context.sampling.to_string(),
            data_age_ms: context.data_age_ms,
            silent: alert.silent,
            missing_sites: context.missing_sites,
            sites,
            sites_without_details,
            exporters: detail.exporters,
            exporter_names: BTreeMap::new(),
            peers: spread(&peers).map(|it| peer_packing.name(it)).collect(),
            origins: PeerOrigins::default(),
            detail_since_ms,
            top_ports: detail.ports,
            top_source_ports: detail.source_ports,
            top_prefixes: detail.prefixes,
            top_interfaces: detail.interfaces,
            rates,
            peak_rates,
            syn_only,
            remark: None,
            acknowledged: None,
            silence: None,
            url: None,
            text,
        }
    }

    /// Returns the destination port of at least half of the contacts, such as `tcp/445`, if there is one.
    #[must_use]
    pub fn main_port(&self) -> Option<&str> {
        main_port(&self.top_ports)
    }

    /// Returns whether the alert is active and at least `major`. Such a notification must reach people soon.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.status != Status::End && self.severity >= Severity::Major
    }

    /// Returns the statements that affect the next notification of the alert.
    pub(crate) fn former(&self) -> Former {
        let Self { kind, kind_at_start, is_unusual, opposite, .. } = *self;
        Former { kind, kind_at_start, is_unusual, protocol: self.protocol.clone(), opposite }
    }

    /// Returns the sentence about the alert: its kind, followed by `facts`.
    pub(crate) fn sentence(&self, facts: &str) -> String {
        let of_worm = self.worm_hosts.map(|hosts| format!("{hosts} hosts"));
        self.kind.sentence(self.protocol.as_deref().or(of_worm.as_deref()), facts)
    }

    /// Makes this the notification of an incident of the alert `alert` that has started at `start_ms`.
    pub(crate) fn be_of(&mut self, alert: AlertId, start_ms: u64) {
        self.alert = Some(alert).filter(|alert| *alert != self.id);
        self.start_ms = start_ms;
        self.duration_ms = self.until_ms.unwrap_or(self.now_ms).saturating_sub(start_ms);
    }

    /// Returns the ID of the alert to which the incident belongs.
    #[must_use]
    pub fn alert_id(&self) -> AlertId {
        self.alert.unwrap_or(self.id)
    }

    /// Returns the notification that ends the incident at `now_ms` because its host is only busy now, or no longer.
    #[must_use]
    pub(crate) fn end_by_cause(&self, now_ms: u64) -> Self {
        let now = if self.kind.is_benign() { "no longer only busy" } else { "only busy now" };
        let facts = format!("{}: {now}", self.host);
        Self {
            status: Status::End,
            now_ms,
            until_ms: Some(now_ms),
            duration_ms: now_ms.saturating_sub(self.start_ms),
            ..self.again(Why::Cause, &facts)
        }
    }

    /// Returns the notification that ends the alert because its view was removed or now counts something else.
    #[must_use]
    pub fn end_without_view(self) -> Self {
        let facts = format!("{}: no longer counted by view {}", self.host, self.view);
        let text = self.sentence(&facts);
        let until_ms = Some(self.now_ms);
        Self { status: Status::End, why: Why::Rule, until_ms, text, ..self }
    }

    /// Returns the notification of a user's action. `what` describes the action.
    #[must_use]
    pub(crate) fn with_remark(&self, why: Why, what: &str, remark: Remark) -> Self {
        let facts = format!("{}: {}", self.host, remark.sentence(what));
        Self { remark: Some(remark), ..self.again(why, &facts) }
    }

    #[must_use]
    pub(crate) fn after_silence(&self, now_ms: u64) -> Self {
        let facts = format!("{}: the silence is over; the alert is still active", self.host);
        let duration_ms = now_ms.saturating_sub(self.start_ms);
        Self { silence: None, now_ms, duration_ms, ..self.again(Why::Unsilenced, &facts) }
    }

    /// Returns a copy of this notification that has the given `why`, a text about `facts`, and no remark. Unless the
    /// alert has ended, the copy is an update.
    pub(crate) fn again(&self, why: Why, facts: &str) -> Self {
        let text = self.sentence(facts);
        let status = if self.status == Status::End { Status::End } else { Status::Update };
        Self { status, why, text, remark: None, ..self.clone() }
    }

    pub fn named_exporters(&self) -> impl Iterator<Item = NamedExporter> {
        self.exporters.iter().map(|exporter| NamedExporter {
            name: self.exporter_names.get(exporter).cloned(),
            address: *exporter,
        })
    }

    pub(crate) fn raise_peak_rates(&mut self, rates: Rates) {
        let peak = self.peak_rates.unwrap_or_default().max(rates);
        self.peak_rates = Some(peak).filter(Rates::is_known);
    }
}

/// Maximum number of peers in a notification.
pub(crate) const MOST_PEERS: usize = 32;

/// Returns up to [`MOST_PEERS`] evenly spaced elements of `peers`. A detector sorts its peers, so the first peers would
/// have the lowest addresses and belong to few ASes.
fn spread(peers: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let most = peers.len().min(MOST_PEERS);
    (0..most).map(move |at| peers[at * peers.len() / most])
}

/// Minimum share of contacts that counts as most of the contacts.
const MOSTLY: f64 = 0.5;

/// Returns the first of `ports` if it belongs to at least half of the contacts. A protocol without a port is not a port.
fn main_port(ports: &[(String, f64)]) -> Option<&str> {
    let (port, share) = ports.first()?;
    (*share >= MOSTLY && port.contains('/')).then_some(port)
}

#[cfg(test)]
mod tests;
