//! The state that the web page, the metrics and the API show.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize, Serializer};
use srlg_host::SlidingDetector;
use srlg_input::contact::{Name, Sampling};
use srlg_input::flow::Reason;
use srlg_input::live::{ConnectionCounts, Drops};
use srlg_input::{BrokerStatus, Status as InputStatus};

use crate::exporters::NamedExporter;
use crate::notification::Unit;
use crate::open::OpenAlert;
use crate::silences::Silence;
use crate::status::problems::{ProblemCounts, ProblemOverview};
use crate::status::recent::{Counters, ExporterRecords, RecentCounts, RecentRates};

/// Maximum number of exporters on the web page and in the API.
pub const EXPORTERS: usize = 200;

/// Maximum number of hosts that are shown per view.
pub const TOP: usize = 50;

/// Maximum time after the start for which the absence of flow records is no problem, in milliseconds.
pub const FIRST_FLOWS_MS: u64 = 300_000;

/// The complete state of the program after a slice.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Overview {
    /// Time at which the program started, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// End of the last slice, in milliseconds since the Unix epoch. In a replay, the time of the data is used.
    pub now_ms: u64,
    /// System time at which the last slice closed, in milliseconds since the Unix epoch; 0 if no slice has closed.
    pub closed_ms: u64,
    /// Time for which a slice waits for late probes, in milliseconds; 0 without probes.
    #[serde(skip)]
    pub deadline_ms: u64,
    /// Length of a slice, in milliseconds.
    pub slice_ms: u64,
    /// Whether the input is live rather than a replay.
    pub is_live: bool,
    /// Whether input has been missing for so long that alerts are paused.
    pub is_input_lost: bool,
    /// Whether the program waits for the first flow records, which exporters send only after their active timeout. It
    /// waits for at most [`FIRST_FLOWS_MS`].
    pub is_waiting: bool,
    /// Memory of the recorders of all views, in bytes.
    pub memory_bytes: u64,
    /// Views, in the order of the configuration.
    pub views: Vec<ViewOverview>,
    /// Active alerts, most severe first. Alerts of equal severity are ordered by their number of peers, largest first.
    pub alerts: Arc<[OpenAlert]>,
    /// Phrases about active alerts that have the same probable cause and port, such as "10 hosts probably scan tcp/445".
    pub shared: Vec<String>,
    /// Silences of hosts and networks, ordered by their end.
    pub silences: Vec<Silence>,
    /// Whether users may act on incidents, which requires a token file.
    pub can_act: bool,
    /// Counters of the input.
    pub input: InputOverview,
    /// Exporters and their counters. The web page and the API show only some of many exporters.
    pub exporters: Vec<ExporterOverview>,
    /// Time at which the counters of `exporters` were read, in milliseconds since the Unix epoch. `None` if it is
    /// `now_ms`.
    #[serde(skip)]
    pub exporters_read_ms: Option<u64>,
    /// Rates of the input in the last ten minutes.
    #[serde(skip)]
    pub recent: RecentRates,
    /// Number of all exporters.
    pub exporter_count: usize,
    /// Problems with the input: data that is not used, or is used late.
    pub problems: Vec<ProblemOverview>,
    /// The Kafka topic, or the NATS stream or subject, from which flows are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker: Option<BrokerOverview>,
    /// The network of probes: its sites and the stream of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkOverview>,
    /// The probe, if this program is one. It has no alerts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeOverview>,
    /// Sinks of notifications.
    pub sinks: Vec<SinkOverview>,
    /// Number of notifications that the database has not stored yet.
    pub waiting_notifications: usize,
    /// Whether the last checkpoint of at least one view could not be written.
    pub is_checkpoint_failing: bool,
    /// Time at which the configuration was last applied, at least in part, in milliseconds since the Unix epoch.
    pub last_reload_ms: u64,
    /// Whether the last reload of the configuration was applied completely.
    pub is_last_reload_good: bool,
    /// Whether the program learns what is usual, so that no sink is notified.
    pub is_learning: bool,
}

impl Overview {
    /// Returns the view `name`.
    pub fn view(&self, name: &str) -> Result<&ViewOverview> {
        let names = || self.views.iter().map(|view| view.name.as_str()).collect::<Vec<_>>();
        let view = self.views.iter().find(|view| view.name == name);
        view.with_context(|| {
            format!("view {name:?} not found; the views are {}", names().join(", "))
        })
    }

    /// Returns whether a program with a live input of flow records still waits for the first ones at `now_ms`, in
    /// milliseconds since the Unix epoch.
    #[must_use]
    pub fn lacks_first_flows(&self, now_ms: u64) -> bool {
        let is_young = now_ms.saturating_sub(self.started_ms) < FIRST_FLOWS_MS;
        let has_records = self.exporters.iter().any(|exporter| exporter.records > 0);
        self.is_live && is_young && self.input.contacts == 0 && !has_records
    }

    /// Returns the counters of the input.
    pub fn counters(&self) -> Counters {
        let exporters = self.exporters.iter();
        let records = exporters.map(|it| ExporterRecords {
            exporter: it.address,
            records: it.records,
            is_silent: it.is_silent,
        });
        let mut records: Vec<_> = records.collect();
        records.sort_unstable_by_key(|it| it.exporter);
        Counters {
            now_ms: self.now_ms,
            contacts: self.network.is_none().then_some(self.input.contacts),
            read_ms: self.exporters_read_ms.unwrap_or(self.now_ms),
            records,
            is_input_lost: self.is_input_lost || self.is_waiting,
            is_waiting: self.is_waiting,
        }
    }

    /// Returns the overview with at most `alerts` alerts and [`EXPORTERS`] exporters. Of the exporters, silent ones come
    /// first, followed by those with the most records.
    pub fn limited(&self, alerts: usize) -> Cow<'_, Self> {
        if self.alerts.len() <= alerts && self.exporters.len() <= EXPORTERS {
            return Cow::Borrowed(self);
        }
        let alerts = self.alerts.get(..alerts).map_or_else(|| self.alerts.clone(), Into::into);
        let mut first: Vec<_> = self.exporters.iter().collect();
        first.sort_by_key(|exporter| Reverse((exporter.is_silent, exporter.records)));
        first.truncate(EXPORTERS);
        first.sort_by_key(|exporter| exporter.address);
        let exporters = first.into_iter().cloned().collect();
        Cow::Owned(Self { alerts, exporters, ..self.clone() })
    }
}

/// A view.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ViewOverview {
    /// Name of the view.
    pub name: String,
    /// Type of the peers that the view counts.
    pub unit: Unit,
    /// Length of the longest window, in milliseconds.
    pub window_ms: u64,
    /// Minimum number of peers of a reported host.
    pub threshold: u32,
    /// Number of peers from which 99 % of the hosts are reported, at least `threshold`. It rises if there are too many
    /// pairs for the memory, and is `None` if no number suffices.
    pub found_from: Option<u64>,
    /// Number of reported hosts in the last slice.
    pub super_points: usize,
    /// Up to [`TOP`] reported hosts, ordered by their number of peers, largest first.
    pub top: Vec<TopHost>,
    /// Number of reported hosts and largest number of peers in the last ten minutes.
    #[serde(skip)]
    pub recent: RecentCounts,
    /// Number of closed slices.
    pub slices: u64,
    /// Number of slices in which super points may have been missed.
    pub overloads: u64,
    /// Number of hosts that reached their threshold in the last slice but have no alert, because the alert limit was
    /// reached.
    pub left_out: usize,
    /// Time that the last close took, in seconds.
    pub close_seconds: f64,
    /// Load of the detector: the number of distinct pairs in the window divided by the number of recorders.
    /// `docs/sizing.md` explains it.
    pub load: f64,
    /// Number of pairs of which one was counted, the largest in the window.
    pub share: u32,
    /// Memory of the recorders, in bytes.
    pub memory_bytes: u64,
    /// Number of contacts that arrived after their slice had closed, but within the window.
    pub late: u64,
    /// Number of contacts that were not counted because they were older than the window.
    pub too_late: u64,
    /// Number of contacts that were not counted because their time was too far in the future.
    pub future: u64,
    /// Number of active alerts by severity, in the order of [`Severity::ALL`](crate::Severity::ALL).
    pub alerts: [usize; 4],
    /// Number of active alerts whose end cannot be confirmed because exporters, sites or the input are silent.
    pub unconfirmed: usize,
    /// Number of contacts that were ignored in at least one direction because of an allow list.
    pub allowed: u64,
    /// Number of contacts that a view of ports cannot count, because they have no port.
    pub without_port: u64,
    /// Entries of the allow lists, in the order of the configuration.
    pub allows: Vec<AllowOverview>,
}

impl ViewOverview {
    /// Adds the sizes, the load and the limits of the view's detector.
    #[must_use]
    pub fn with_detector(self, detector: &SlidingDetector) -> Self {
        let (threshold, health) = (detector.params().threshold(), detector.health());
        let found_from = health.finder.found_from;
        let found_from = found_from.max(health.finder.found_from_v6.unwrap_or(found_from));
        let found_from = found_from.max(threshold.into()).ceil();
        Self {
            threshold,
            found_from: found_from.is_finite().then_some(found_from as u64),
            memory_bytes: detector.memory_bytes() as u64,
            load: health.load,
            share: health.share,
            ..self
        }
    }
}

/// An allow-list entry.
#[derive(Clone, Debug, Serialize)]
pub struct AllowOverview {
    /// Reason for the entry, from the configuration.
    pub why: String,
    /// Number of ignored contacts. If the entry ignores whole hosts, each slice instead adds one for every window in
    /// which an ignored host reaches its threshold.
    pub hits: u64,
}

/// A super point.
#[derive(Clone, Debug, Serialize)]
pub struct TopHost {
    /// The host.
    pub host: Name,
    /// Configured label of the network that contains the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Estimated number of peers of the host within the longest window.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether the host has more peers than can be counted, so that `cardinality` is a lower bound.
    pub is_lower_bound: bool,
    /// Whether an alert about the host is active.
    pub is_alert: bool,
    /// Up to [`LINE`](crate::LINE) values of `cardinality`, one for each of the last slices, oldest first. A value is 0 if the host
    /// was not among the largest super points of that slice.
    pub line: Vec<u32>,
}

/// Counters of the input.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InputOverview {
    /// Number of contacts that were read.
    pub contacts: u64,
    /// Counters of datagrams.
    #[serde(flatten)]
    pub datagrams: DatagramCounts,
    /// Counters of TCP connections, if the input listens for them.
    #[serde(skip)]
    pub connections: Option<ConnectionCounts>,
    /// Counts of problems that do not belong to an exporter, by kind.
    pub problems: ProblemCounts,
}

/// Counters of the datagrams of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramCounts {
    /// Number of datagrams from permitted exporters, and of messages in their TCP connections.
    pub received: u64,
    /// Number of datagrams and TCP connections from senders that are not permitted.
    pub refused: u64,
    /// Number of datagrams or packets that the kernel or the interface dropped.
    pub dropped: u64,
}

impl DatagramCounts {
    pub fn of(input: &InputStatus) -> Self {
        let sockets = input.sockets.unwrap_or_default();
        let dropped = sockets.dropped.or(input.drops.map(Drops::total)).unwrap_or(0);
        Self { received: sockets.received, refused: sockets.refused, dropped }
    }
}

/// A Kafka topic, or a NATS stream or subject.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BrokerOverview {
    /// URL of the topic, stream or subject.
    pub source: String,
    /// Number of partitions that are read.
    pub partitions: usize,
    /// Number of messages that were read.
    pub messages: u64,
    /// Number of messages and flows that were not used or had an anomaly, by reason.
    pub unused: BTreeMap<&'static str, u64>,
    /// Number of messages that the broker stores and that have not been read yet.
    pub lag: u64,
    /// Number of messages that the broker deleted before they were read.
    pub expired: u64,
    /// Number of messages that were dropped because they were not read in time.
    pub dropped: u64,
    /// Number of errors after which reading was retried.
    pub retries: u64,
    /// Current error of the broker, of a partition or of the schema, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BrokerOverview {
    /// Returns the counters of the broker from which `input` is read, if there is one.
    pub fn of(input: &InputStatus) -> Option<Self> {
        let BrokerStatus {
            source,
            partitions,
            messages,
            lag,
            expired,
            dropped,
            retries,
            error,
            ..
        } = input.broker.clone()?;
        let flows = input.flows.as_ref();
        let counts = Reason::ALL.map(|it| (it.name(), flows.map_or(0, |flows| flows.of(it))));
        let unused = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        Some(Self { source, partitions, messages, unused, lag, expired, dropped, retries, error })
    }
}

/// An exporter.
#[derive(Clone, Debug, Serialize)]
pub struct ExporterOverview {
    /// Address of the exporter.
    pub address: IpAddr,
    /// Name of the exporter in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of datagrams.
    pub datagrams: u64,
    /// Number of flow records.
    pub records: u64,
    /// Number of contacts in the flow records.
    pub contacts: u64,
    /// Number of lost records, datagrams or flows, according to the sequence numbers of the exports. `None` if it is
    /// unknown, because several exporters send from this address.
    pub lost: Option<u64>,
    /// Number of known templates of NetFlow v9 and IPFIX.
    pub templates: usize,
    /// Number of datagrams, data sets and contacts that were not used, or were used late, by kind of problem.
    pub problems: ProblemCounts,
    /// Arrival time of the first data set that waits for a template, in milliseconds since the Unix epoch.
    pub waiting_since_ms: Option<u64>,
    /// Arrival time of the last datagram, in milliseconds since the Unix epoch. `None` if no datagram has arrived.
    pub last_seen_ms: Option<u64>,
    /// Whether the exporter is silent: no datagram has arrived for the time `silent-after`.
    pub is_silent: bool,
    /// Time by which the exporter's clock is ahead of the system clock, in milliseconds.
    pub skew_ms: i64,
    /// Packet sampling rates of the exporter.
    #[serde(serialize_with = "as_text")]
    pub sampling: Sampling,
}

impl ExporterOverview {
    /// Creates the state of an exporter that has not sent data.
    pub fn new(address: IpAddr) -> Self {
        Self {
            address,
            name: None,
            datagrams: 0,
            records: 0,
            contacts: 0,
            lost: Some(0),
            templates: 0,
            problems: ProblemCounts::default(),
            waiting_since_ms: None,
            last_seen_ms: None,
            is_silent: false,
            skew_ms: 0,
            sampling: Sampling::default(),
        }
    }

    pub fn named(&self) -> NamedExporter {
        NamedExporter { name: self.name.clone(), address: self.address }
    }
}

fn as_text<S: Serializer>(sampling: &Sampling, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sampling)
}

/// A network of probes. Slices are identified by their numbers. A value that is not known yet is null.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkOverview {
    /// Whether messages are currently being read.
    pub is_reading: bool,
    /// Number of the running slice.
    pub running: Option<u64>,
    /// Number of the slice that most sites have reached.
    pub front: Option<u64>,
    /// Total size of the states whose slice has not closed, in bytes.
    pub pending_bytes: usize,
    /// Sequence number of the last message that was read.
    pub sequence: u64,
    /// Number of messages after `sequence` that are still to be read.
    pub unread: u64,
    /// Number of the slice that was running at the last checkpoint.
    pub checkpoint: Option<u64>,
    /// Number of closed slices, by the reason for closing.
    pub closed: BTreeMap<&'static str, u64>,
    /// Number of rejected messages, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Sites and their counters.
    pub sites: Vec<SiteOverview>,
}

/// A probe, which sends its counts to the collector of a network. Slices are identified by their numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProbeOverview {
    /// Name of the probe.
    pub name: String,
    /// Address of the broker.
    pub broker: String,
    /// Whether the probe is connected to the broker.
    pub is_connected: bool,
    /// Public URL of the collector's web page, which shows the alerts, if it is known.
    pub collector: Option<String>,
    /// Version of the network description, once it has been received.
    pub version: Option<String>,
    /// Newest slice in the spool.
    pub newest: Option<u64>,
    /// Slice up to which the collector has stored all slices.
    pub durable: Option<u64>,
    /// Size of the slices since the start or the last change of the description, in bytes.
    pub sent_bytes: u64,
    /// State of the spool.
    pub spool: SpoolOverview,
    /// Error of the spool, while slices wait because it cannot be written.
    pub spool_error: Option<String>,
    /// Whether slices were lost in the last five minutes because the spool was full.
    pub is_losing: bool,
}

/// A site of a network.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SiteOverview {
    /// Name of the site.
    pub name: String,
    /// Newest slice in the messages of the site.
    pub newest: Option<u64>,
    /// Whether the site is silent: its messages have stopped.
    pub is_silent: bool,
    /// Whether the last slice closed before the site had delivered it.
    pub is_late: bool,
    /// Whether no contact has arrived at the site for a minute, according to the last report of the probe.
    pub is_input_lost: bool,
    /// Whether slices of the site were lost in the last five minutes because its spool was full.
    pub is_losing: bool,
    /// Slice up to which all messages of the site are in a checkpoint.
    pub durable: Option<u64>,
    /// Counters of the messages of the site.
    #[serde(flatten)]
    pub counts: MessageCounts,
    /// State of the spool, according to the last report of the probe.
    pub spool: Option<SpoolOverview>,
    /// Counters of datagrams since the start of the probe, according to its last report.
    pub datagrams: Option<DatagramCounts>,
}

/// The spool of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpoolOverview {
    /// Number of slices in the spool.
    pub slices: u64,
    /// Number of slices in the spool that the broker has not acknowledged yet.
    pub unsent: u64,
    /// Number of slices that were deleted because the spool was full, although the broker had not acknowledged them.
    pub lost: u64,
}

/// Counters of the messages of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Number of messages that arrived before their slice closed.
    pub in_time: u64,
    /// Number of messages that were merged after their slice had closed.
    pub late: u64,
    /// Number of messages that had already been delivered.
    pub repeated: u64,
    /// Number of messages that were rejected.
    pub refused: u64,
}

/// A sink.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SinkOverview {
    /// Name of the sink.
    pub name: String,
    /// Number of notifications that were sent.
    pub sent: u64,
    /// Number of failed attempts to send notifications.
    pub failed: u64,
    /// Number of notifications that were dropped, rejected or suppressed by the rate limit.
    pub dropped: u64,
    /// Number of notifications that the rate limit has suppressed recently; 0 if none was suppressed for five minutes.
    pub suppressed: u64,
    /// Number of alerts whose start the rate limit holds back until there is room.
    pub held: u64,
    /// Number of notifications that wait to be sent.
    pub queue: u64,
    /// Error of the last attempt to send, if that attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use srlg_host::{Config, Device};

    use super::*;

    #[test]
    fn a_view_lists_hosts_from_its_threshold_on_while_its_detector_has_room() {
        let detector = SlidingDetector::new(Config::default(), Device::Cpu).unwrap();
        let view = ViewOverview::default().with_detector(&detector);
        assert_eq!((view.threshold, view.found_from), (1_024, Some(1_024)));
    }

    #[test]
    fn the_first_flows_are_awaited_for_five_minutes() {
        let young = Overview { started_ms: 1_000, is_live: true, ..Overview::default() };
        let lacks = |overview: &Overview| {
            [1_000, FIRST_FLOWS_MS + 999, FIRST_FLOWS_MS + 1_000]
                .map(|now_ms| overview.lacks_first_flows(now_ms))
        };
        assert_eq!(lacks(&young), [true, true, false]);
        let with_records =
            ExporterOverview { records: 1, ..ExporterOverview::new([192, 0, 2, 1].into()) };
        let silent = ExporterOverview::new([192, 0, 2, 2].into());
        for (overview, expected) in [
            (Overview { exporters: vec![silent.clone()], ..young.clone() }, true),
            (Overview { exporters: vec![silent, with_records], ..young.clone() }, false),
            (
                Overview {
                    input: InputOverview { contacts: 1, ..InputOverview::default() },
                    ..young.clone()
                },
                false,
            ),
            (Overview { is_live: false, ..young }, false),
        ] {
            assert_eq!(lacks(&overview)[0], expected);
        }
    }
}
