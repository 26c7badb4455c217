//! An alert as it is written: what it is, all else that is known of it, and a sentence for people.
//!
//! Shape: one flat record, the same for files, sinks, the history and the page. docs/monitor.md has its fields.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use crate::alerts::{
    Alert, AlertId, Remark, Severity, Silencing, SilentSource, Status, Subject, Why, WindowCount,
};
use crate::exporters::NamedExporter;
use crate::origins::PeerOrigins;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::{Name, Packing, PeerKey, Port, Role};

mod rates;
mod text;

pub use rates::{InterfaceShare, Rates};

/// A host is a server, or a peer of peers, where both directions are alike within this factor.
const ALIKE: f64 = 3.0;

/// The direction of the contacts of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// To the hosts of the view.
    FanIn,
    /// From the hosts of the view.
    FanOut,
    /// Either.
    #[default]
    Any,
}

impl From<Role> for Direction {
    fn from(role: Role) -> Self {
        match role {
            Role::Destination => Self::FanIn,
            Role::Source => Self::FanOut,
            Role::Any => Self::Any,
        }
    }
}

/// The probable cause of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One host, to many.
    Scan,
    /// Many hosts, to one, or to those of a network.
    Flood,
    /// Many ports of one host, or one host that contacts many ports.
    PortScan,
    /// One host, to many ports of many hosts.
    ServiceScan,
    /// Many hosts, to one port of one host.
    ServiceFlood,
    /// As many from as to.
    ServerOrP2p,
    /// The other direction is not known.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "scan",
            Self::Flood => "flood",
            Self::PortScan => "port-scan",
            Self::ServiceScan => "service-scan",
            Self::ServiceFlood => "service-flood",
            Self::ServerOrP2p => "server-or-p2p",
            Self::Unknown => "unknown",
        })
    }
}

/// The kind of the hosts or the peers of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Hosts, or networks that count as hosts.
    #[default]
    Hosts,
    /// Ports.
    Ports,
    /// Ports of hosts that the host contacts.
    Services,
    /// Hosts that contact the host, each with the port.
    HostsWithPorts,
}

impl Unit {
    /// Returns the unit of a view whose peers are packed by `peers`, and whose contacts go in `direction`.
    pub(crate) const fn of(peers: Packing, direction: Direction) -> Self {
        match (peers.key(), direction) {
            (PeerKey::Address, _) => Self::Hosts,
            (PeerKey::Port, _) => Self::Ports,
            (PeerKey::AddressPort, Direction::FanOut) => Self::Services,
            (PeerKey::AddressPort, _) => Self::HostsWithPorts,
        }
    }

    /// Returns the unit of the hosts of a view that are packed by `hosts`, and whose contacts go in `direction`.
    const fn of_hosts(hosts: Packing, direction: Direction) -> Self {
        match (hosts.key(), direction) {
            (PeerKey::Address | PeerKey::Port, _) => Self::Hosts,
            (PeerKey::AddressPort, Direction::FanOut) => Self::HostsWithPorts,
            (PeerKey::AddressPort, _) => Self::Services,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hosts => "hosts",
            Self::Ports => "ports",
            Self::Services => "services",
            Self::HostsWithPorts => "hosts with ports",
        })
    }
}

/// A notification of an alert that starts, is active, or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The same from start to end, and over restarts.
    pub id: AlertId,
    /// What has become of the alert.
    pub status: Status,
    /// Why the alert is told.
    pub why: Why,
    /// What the alert is probably about.
    pub kind: Kind,
    /// How far above the threshold; never less than it was.
    pub severity: Severity,
    /// Name of the view.
    pub view: String,
    /// Which way its contacts go.
    pub direction: Direction,
    /// The kind of the peers that the view counts.
    #[serde(default)]
    pub unit: Unit,
    /// Whether the host is inside.
    pub is_inside: bool,
    /// Name of the rule.
    pub rule: String,
    /// The host, or the first address of the network.
    pub host: Name,
    /// The port of the host, in a view of services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The network, of an alert of many of its hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<IpNet>,
    /// Hosts of the network that are part of the alert; else 1.
    pub hosts: u32,
    /// Up to 20 of them, those with the most opposite hosts first, and how many those are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<(Name, f64)>,
    /// What the configuration calls the network of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch at which the alert started.
    pub start_ms: u64,
    /// The same, at which it is told.
    pub now_ms: u64,
    /// The same, up to which there were as many opposite hosts; of what ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// From `start_ms` until `until_ms`, or until now.
    pub duration_ms: u64,
    /// Counts within the most severe active window, of several the shortest; of an end, within the most severe window.
    #[serde(flatten)]
    pub main: WindowNotice,
    /// Counts within all windows that have passed their threshold: active ones first, of these the most severe one.
    pub windows: Vec<WindowNotice>,
    /// Opposite hosts in the other direction, within the longest window; absent where that is not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opposite: Option<f64>,
    /// How the contacts were sampled.
    pub sampling: String,
    /// Milliseconds between the newest contact that was read and `now_ms`.
    pub data_age_ms: u64,
    /// Up to 8 exporters or sites that saw the host and are silent, while the end cannot be confirmed for that reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<SilentSource>,
    /// Sites of a network that had not delivered the slice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_sites: Vec<String>,
    /// Counts of the host at the sites of a network within the main window, the largest first; of a network those of its
    /// largest host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteNotice>,
    /// Sites of a network that did not answer when they were asked about the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites_without_details: Vec<String>,
    /// Up to 8 exporters that told of the host since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exporters: Vec<IpAddr>,
    /// Names of those of them that the configuration names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exporter_names: BTreeMap<IpAddr, String>,
    /// Up to 32 opposite hosts: a uniform sample of those since `detail_since_ms`, else those that the detector has.
    pub peers: Vec<Name>,
    /// ASes and countries of `peers` and `top_prefixes`.
    #[serde(flatten)]
    pub origins: PeerOrigins,
    /// Since when contacts of the host were looked at one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_since_ms: Option<u64>,
    /// Up to 8 protocols and ports of receivers, as `tcp/445`, with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_ports: Vec<(String, f64)>,
    /// Up to 8 networks of opposite hosts, /24 or /48, with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_prefixes: Vec<(IpNet, f64)>,
    /// Up to 8 interfaces at which packets came in, with their shares of contacts since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top_interfaces: Vec<InterfaceShare>,
    /// Packets and bits per second of the contacts that count.
    #[serde(flatten)]
    pub rates: Rates,
    /// The largest rates so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rates: Option<Rates>,
    /// Share of contacts of TCP with a SYN and no ACK since `detail_since_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_only: Option<f64>,
    /// What a person did, if that is why the alert is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Remark>,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Remark>,
    /// The silence of the host or the network, during which no sink is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silencing>,
    /// URL of the incident on the page; absent if the configuration has no public URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A sentence.
    pub text: String,
}

/// The peers of a host within one window; of a network those of its largest host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowNotice {
    /// Length of the window.
    pub window_ms: u64,
    /// Whether the window is active: at its threshold, or not below for long.
    pub is_active: bool,
    /// Peers now; 0 if there are fewer than are reported.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether there are more peers than can be counted.
    pub is_lower_bound: bool,
    /// θ of the rule for this window.
    pub threshold: f64,
    /// The largest count so far.
    pub peak: f64,
    /// The time of `peak`, milliseconds since the Unix epoch.
    pub peak_ms: u64,
    /// The most peers that there may be without sampling; there are at least `cardinality`. Absent if a rate is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsampled_most: Option<f64>,
}

impl WindowNotice {
    pub(crate) fn new(count: WindowCount, context: &Context) -> Self {
        let WindowCount { cardinality, is_lower_bound, .. } = count;
        // Nothing is known above a lower bound.
        let unsampled_most =
            context.sampling.unsampled_most(cardinality).filter(|_| !is_lower_bound);
        Self {
            window_ms: u64::from(count.slices) * context.slice_ms,
            is_active: count.is_active,
            cardinality,
            std_error: count.std_error,
            is_lower_bound,
            threshold: count.threshold,
            peak: count.peak,
            peak_ms: count.peak_ms,
            unsampled_most,
        }
    }
}

/// The peers of a host at one site of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteNotice {
    /// Name of the site.
    pub site: String,
    /// Peers that the site saw.
    pub cardinality: f64,
    /// Their share of all peers, at most 1. Several sites see the same peers, so shares may sum to more than 1.
    pub share: f64,
}

impl SiteNotice {
    /// Makes the notices of the sites that saw the host, of whose peers the network counted `all`; the largest first.
    fn of(counts: &[SiteCount], all: f64) -> Vec<Self> {
        let is_seen = |count: &&SiteCount| count.cardinality.is_finite() && count.cardinality > 0.0;
        let seen = counts.iter().filter(is_seen);
        // The network counts 0 where it has fewer peers than are reported.
        let all = seen.clone().map(|count| count.cardinality).fold(all, f64::max);
        let mut sites: Vec<Self> = seen
            .map(|SiteCount { site, cardinality }| Self {
                site: site.clone(),
                cardinality: *cardinality,
                share: cardinality / all,
            })
            .collect();
        sites.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality));
        sites
    }
}

impl fmt::Display for SiteNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.0} %)", self.site, self.share * 100.0)
    }
}

/// Everything that is known of an alert besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Which way the contacts of the view go.
    pub direction: Direction,
    /// Whether hosts of the view are inside.
    pub is_inside: bool,
    /// How the hosts of the view are packed.
    pub host_packing: Packing,
    /// How their peers are packed.
    pub peer_packing: Packing,
    /// What the configuration calls the network of the host.
    pub label: Option<String>,
    /// Length of a slice.
    pub slice_ms: u64,
    /// Opposite hosts in the other direction.
    pub opposite: Option<f64>,
    /// How contacts were sampled.
    pub sampling: srlg_input::contact::Sampling,
    /// Milliseconds since the newest contact.
    pub data_age_ms: u64,
    /// Sites of a network that have not delivered the slice.
    pub missing_sites: Vec<String>,
    /// Evidence from single contacts and from sites.
    pub evidence: Evidence,
    /// Packed peers that the detector has.
    pub peers: Vec<IpAddr>,
    /// The largest rates before.
    pub peak_rates: Rates,
}

/// What single contacts of the hosts of an alert, and the sites of a network, show besides the count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Details of all hosts together, if there are any.
    pub detail: Option<Detail>,
    /// Rates of all hosts together.
    pub rates: Rates,
    /// Counts of the first host at the sites of a network within the main window, in any order.
    pub sites: Vec<SiteCount>,
    /// Sites that did not answer.
    pub sites_without_details: Vec<String>,
}

/// The count of a host at one site of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteCount {
    /// Name of the site.
    pub site: String,
    /// Peers that the site saw.
    pub cardinality: f64,
}

/// Details of a host, from its single contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Since when, milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// A uniform sample of packed peers.
    pub peers: Vec<IpAddr>,
    /// Exporters.
    pub exporters: Vec<IpAddr>,
    /// Protocols and ports with their shares.
    pub ports: Vec<(String, f64)>,
    /// Networks of opposite hosts with their shares.
    pub prefixes: Vec<(IpNet, f64)>,
    /// Interfaces with their shares.
    pub interfaces: Vec<InterfaceShare>,
    /// Share of contacts with a SYN alone.
    pub syn_only: f64,
}

impl Context {
    /// Returns the kind of the alerts of a view of ports or services.
    fn kind_of_ports(&self) -> Option<Kind> {
        match (self.host_packing.key(), self.peer_packing.key(), self.direction) {
            (PeerKey::Address, PeerKey::Address, _) => None,
            (_, PeerKey::Port, _) => Some(Kind::PortScan),
            (_, PeerKey::AddressPort, Direction::FanOut) => Some(Kind::ServiceScan),
            // One client may contact many ports, or many clients one.
            (_, PeerKey::AddressPort, _) => Some(Kind::Unknown),
            (_, PeerKey::Address, Direction::FanIn) => Some(Kind::ServiceFlood),
            (_, PeerKey::Address, Direction::FanOut) => Some(Kind::Scan),
            (_, PeerKey::Address, Direction::Any) => Some(Kind::Unknown),
        }
    }

    fn unit(&self) -> Unit {
        Unit::of(self.peer_packing, self.direction)
    }

    /// Returns what a host and its peers have done, in the words between them.
    const fn did(&self) -> &'static str {
        match (self.direction, self.peer_packing.key()) {
            (Direction::FanIn, PeerKey::Port) => "was contacted on",
            (Direction::FanIn, _) => "was contacted by",
            (Direction::FanOut, _) => "contacted",
            (Direction::Any, PeerKey::Port) => "was in contact on",
            (Direction::Any, _) => "was in contact with",
        }
    }

    /// Whether most contacts go to one port, or are attempts.
    fn is_like_scan(&self) -> bool {
        self.evidence.detail.as_ref().is_some_and(|detail| {
            let port = detail.ports.first().filter(|(port, _)| port.contains('/'));
            detail.syn_only >= MOSTLY || port.is_some_and(|(_, share)| *share >= MOSTLY)
        })
    }
}

impl Notice {
    /// Returns a notice that has all fields, to try templates with.
    pub(crate) fn sample() -> Self {
        serde_json::from_str(include_str!("notice/sample.json")).expect("a test reads it")
    }

    /// Returns notices of each status, the last one without the fields that may be missing.
    pub(crate) fn samples() -> Vec<Self> {
        let with = |status| Self { status, ..Self::sample() };
        let mut samples = [Status::Start, Status::Update, Status::End].map(with).to_vec();
        let Self { main, .. } = Self::sample();
        let main = WindowNotice { unsampled_most: None, ..main };
        samples.push(Self {
            port: None,
            network: None,
            largest: Vec::new(),
            label: None,
            until_ms: None,
            main,
            windows: vec![main],
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

    /// Makes the notice of `alert`, of which `context` is known besides.
    #[must_use]
    pub fn new(alert: Alert, context: Context) -> Self {
        let sites = SiteNotice::of(&context.evidence.sites, alert.main().cardinality);
        let text = text::sentence(&alert, &context, &sites);
        let (kind_of_ports, unit) = (context.kind_of_ports(), context.unit());
        let Context { direction, is_inside, opposite, host_packing, peer_packing, .. } = context;
        let windows = alert.windows.iter().map(|count| WindowNotice::new(*count, &context));
        let windows: Vec<_> = windows.collect();
        let main = windows.first().copied().unwrap_or_default();
        let count = if alert.status == Status::End { main.peak } else { main.cardinality };
        let kind = kind_of_ports.unwrap_or_else(|| match opposite {
            // Replies of a busy server go to many ports, and have no SYN alone.
            None if direction == Direction::FanOut && context.is_like_scan() => Kind::Scan,
            None => Kind::Unknown,
            Some(opposite) if opposite * ALIKE >= count => Kind::ServerOrP2p,
            Some(_) => match direction {
                Direction::FanIn => Kind::Flood,
                Direction::FanOut => Kind::Scan,
                Direction::Any => Kind::Unknown,
            },
        });
        let (host, network, hosts, largest) = match alert.subject {
            Subject::Host(host) => (host_packing.name(host), None, 1, Vec::new()),
            Subject::Network { network, hosts, largest } => {
                let largest = largest.into_iter();
                let largest = largest.map(|(host, count)| (host_packing.name(host), count));
                (network.addr().into(), Some(network), hosts, largest.collect())
            }
        };
        let Evidence { detail, rates, sites_without_details, .. } = context.evidence;
        let peak_rates = Some(context.peak_rates.max(rates)).filter(Rates::is_known);
        let detail_since_ms = detail.as_ref().map(|detail| detail.since_ms);
        let syn_only = detail.as_ref().map(|detail| detail.syn_only);
        let detail = detail.unwrap_or_default();
        let peers = if detail.peers.is_empty() { context.peers } else { detail.peers };
        Self {
            id: alert.id,
            status: alert.status,
            why: alert.why,
            kind,
            severity: alert.severity,
            view: alert.view,
            direction,
            unit,
            is_inside,
            rule: alert.rule,
            host,
            port: host.port(),
            network,
            hosts,
            largest,
            label: context.label,
            start_ms: alert.start_ms,
            now_ms: alert.now_ms,
            until_ms: alert.until_ms,
            duration_ms: alert.until_ms.unwrap_or(alert.now_ms).saturating_sub(alert.start_ms),
            main,
            windows,
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

    /// Ends the alert, because its view is no more, or counts something else.
    #[must_use]
    pub fn end_without_view(self) -> Self {
        let text = format!("{}: the view {} no longer counts this", self.subject(), self.view);
        let until_ms = Some(self.now_ms);
        Self { status: Status::End, why: Why::Rule, until_ms, text, ..self }
    }

    /// Returns the notice of what a person did at the time of `remark`: `what` was done, for the reason `why`.
    #[must_use]
    pub(crate) fn with_remark(&self, why: Why, what: &str, remark: Remark) -> Self {
        let text = format!("{}: {}", self.subject(), remark.sentence(what));
        Self { remark: Some(remark), ..self.again(why, text) }
    }

    /// Returns the notice at the end of a silence.
    #[must_use]
    pub(crate) fn after_silence(&self, now_ms: u64) -> Self {
        let text = format!("{}: the silence is over, and the alert goes on", self.subject());
        let duration_ms = now_ms.saturating_sub(self.start_ms);
        Self { silence: None, now_ms, duration_ms, ..self.again(Why::Unsilenced, text) }
    }

    /// Returns the notice once more, as an update unless it is an end.
    fn again(&self, why: Why, text: String) -> Self {
        let status = if self.status == Status::End { Status::End } else { Status::Update };
        Self { status, why, text, remark: None, ..self.clone() }
    }

    /// Returns the exporters as people see them.
    pub(crate) fn named_exporters(&self) -> impl Iterator<Item = NamedExporter> {
        self.exporters.iter().map(|exporter| NamedExporter {
            name: self.exporter_names.get(exporter).cloned(),
            address: *exporter,
        })
    }

    /// Notes `rates`, which may be larger than those before.
    pub(crate) fn note_rates(&mut self, rates: Rates) {
        let peak = self.peak_rates.unwrap_or_default().max(rates);
        self.peak_rates = Some(peak).filter(Rates::is_known);
    }

    /// Returns whom the alert is about: the host, or the network with its length.
    #[must_use]
    pub fn subject(&self) -> String {
        self.network.map_or_else(|| self.host.to_string(), |network| network.to_string())
    }
}

/// The most peers of a notification.
pub(crate) const MOST_PEERS: usize = 32;

/// Returns up to [`MOST_PEERS`] of `peers` at even distances. A detector sorts its peers, so the first ones would be of the
/// lowest addresses, and of few ASes.
fn spread(peers: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let most = peers.len().min(MOST_PEERS);
    (0..most).map(move |at| peers[at * peers.len() / most])
}

/// Of what share of contacts a port is most of them.
const MOSTLY: f64 = 0.5;

#[cfg(test)]
mod tests;
