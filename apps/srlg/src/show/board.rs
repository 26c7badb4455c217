//! The state that the page, the metrics and the API show.
//!
//! Shape: the loop publishes a whole [`Board`] after every slice by a `Screen`, and readers get the latest one. The loop and
//! its readers never wait for each other. `TopHosts` has the largest super points of a view.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::{Serialize, Serializer};
use srlg_host::SliceReport;
use srlg_host::report::EstimateRange;
use srlg_input::contact::{Name, Packing, Sampling};
use srlg_input::flow::Reason;
use srlg_input::{BrokerStatus, Status as InputStatus};
use tokio::sync::watch::{self, Sender};
use tracing::{info, warn};

use crate::alerts::desk::silences::Silence;
use crate::alerts::{Every, LINE, OnChange, Tracker};
use crate::config::General;
use crate::exporters::NamedExporter;
use crate::notify::notice::Unit;
use crate::notify::store::Store;
use crate::show::open::OpenAlert;
use crate::show::recorder::Recorder;
use crate::show::troubles::{TroubleBoard, TroubleCounts, Troubles};
use crate::show::web::Web;
use crate::show::web::acting::WaitingOrder;

/// Hosts of a view that are shown.
pub const TOP: usize = 50;

/// The latest board.
pub type Boards = watch::Receiver<Arc<Board>>;

/// Everything that is shown after a slice.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Board {
    /// Time at which the program started, milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// The end of the last slice, milliseconds since the Unix epoch; of a replay by the clock of its data.
    pub now_ms: u64,
    /// Length of a slice.
    pub slice_ms: u64,
    /// Whether slices end by the clock of this machine.
    pub is_live: bool,
    /// Whether no input has come for so long that alerts wait.
    pub is_input_lost: bool,
    /// Bytes of the recorders of all views.
    pub memory_bytes: u64,
    /// Views.
    pub views: Vec<ViewBoard>,
    /// Active alerts, the most severe one first, of several the one with the most peers.
    pub alerts: Arc<[OpenAlert]>,
    /// Silences of hosts and networks, those that end first first.
    pub silences: Vec<Silence>,
    /// Whether people may act, as there are tokens for that.
    pub can_act: bool,
    /// Counters of the input.
    pub input: InputBoard,
    /// Exporters by address.
    pub exporters: Vec<ExporterBoard>,
    /// Input that is not used, or not at once.
    pub troubles: Vec<TroubleBoard>,
    /// The topic of Kafka, or the stream or subject of NATS, that flows are read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broker: Option<BrokerBoard>,
    /// The sites of a network, and the stream of their messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkBoard>,
    /// Sinks of notifications.
    pub sinks: Vec<SinkBoard>,
    /// Notifications that the database has not stored yet.
    pub waiting_notices: usize,
    /// Whether the last checkpoint of any view could not be written.
    pub is_checkpoint_failing: bool,
    /// Time at which the configuration was last reloaded without an error, milliseconds since the Unix epoch.
    pub last_reload_ms: u64,
    /// Whether the last reload of the configuration succeeded.
    pub is_last_reload_good: bool,
}

impl Board {
    /// Returns the view `name`.
    pub(crate) fn view(&self, name: &str) -> Result<&ViewBoard> {
        let names = || self.views.iter().map(|view| view.name.as_str()).collect::<Vec<_>>();
        let view = self.views.iter().find(|view| view.name == name);
        view.with_context(|| format!("there is no view {name:?}: there are {}", names().join(", ")))
    }

    /// Returns the board with no more than `most` alerts.
    pub(crate) fn with_alerts(&self, most: usize) -> Cow<'_, Self> {
        if self.alerts.len() <= most {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { alerts: self.alerts[..most].into(), ..self.clone() })
    }
}

/// A view.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ViewBoard {
    /// Name of the view.
    pub name: String,
    /// The kind of the peers that the view counts.
    pub unit: Unit,
    /// Length of the longest window.
    pub window_ms: u64,
    /// Number of peers from which hosts are reported.
    pub threshold: u32,
    /// Hosts that are reported.
    pub super_points: usize,
    /// Up to [`TOP`] reported hosts, those with the most peers first.
    pub top: Vec<TopHost>,
    /// Slices that were closed.
    pub slices: u64,
    /// Slices in which super points may have been missed.
    pub overloads: u64,
    /// Hosts at their threshold in the last slice that have no alert, as too many others have one.
    pub left_out: usize,
    /// Seconds that the last close took.
    pub close_seconds: f64,
    /// Distinct pairs of the window per recorder (docs/sizing.md).
    pub load: f64,
    /// Bytes of recorders.
    pub memory_bytes: u64,
    /// Contacts that came after their slice had ended, but within the window.
    pub late: u64,
    /// Contacts that came after the window.
    pub too_late: u64,
    /// Contacts of a time that has not come.
    pub future: u64,
    /// Active alerts by severity: warning, major, critical.
    pub alerts: [usize; 3],
    /// Active alerts whose end cannot be confirmed, because exporters or sites are silent.
    pub unconfirmed: usize,
    /// Contacts that the allow lists ignored.
    pub allowed: u64,
    /// Contacts without a port, which a view of ports leaves out.
    pub without_port: u64,
    /// Entries of the allow lists, in the order of the configuration.
    pub allows: Vec<AllowBoard>,
}

/// An allow-list entry.
#[derive(Clone, Debug, Serialize)]
pub struct AllowBoard {
    /// Reason that the configuration gives.
    pub why: String,
    /// Contacts that it ignored. If it allows hosts: slices in which one of them would have been at its threshold.
    pub hits: u64,
}

/// A super point.
#[derive(Clone, Debug, Serialize)]
pub struct TopHost {
    /// The host.
    pub host: Name,
    /// Label of its network in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Number of its peers within the longest window.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether the host has more peers than can be counted.
    pub is_lower_bound: bool,
    /// Whether an alert about the host is active.
    pub is_alert: bool,
    /// `cardinality` of up to [`LINE`] last slices, the oldest first; 0 where the host was not reported.
    pub line: Vec<u32>,
}

/// Counters of the input.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InputBoard {
    /// Contacts that were read.
    pub contacts: u64,
    /// Datagrams of permitted exporters.
    pub received: u64,
    /// Datagrams of other senders.
    pub refused: u64,
    /// Datagrams or packets that the kernel or the interface dropped.
    pub dropped: u64,
    /// Input that was not used and came from no exporter.
    pub troubles: TroubleCounts,
}

/// A topic of Kafka, or a stream or a subject of NATS.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BrokerBoard {
    /// URL of the topic, the stream or the subject.
    pub source: String,
    /// Partitions that are read.
    pub partitions: usize,
    /// Messages that were read.
    pub messages: u64,
    /// Messages that are not a contact, by reason.
    pub unused: BTreeMap<&'static str, u64>,
    /// Messages that are yet to be read.
    pub lag: u64,
    /// Messages that the broker had deleted before they were read.
    pub expired: u64,
    /// Messages that were dropped because they were not read in time.
    pub dropped: u64,
    /// Attempts to reach a broker again after an error.
    pub retries: u64,
    /// Why something of it is not read now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BrokerBoard {
    /// Makes the board of what `input` reads from a broker, if it reads from one.
    pub(crate) fn of(input: &InputStatus) -> Option<Self> {
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
pub struct ExporterBoard {
    /// Address.
    pub address: IpAddr,
    /// Name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Datagrams.
    pub datagrams: u64,
    /// Records of flows.
    pub records: u64,
    /// Contacts in the records.
    pub contacts: u64,
    /// Records, datagrams or flows that are missing by the sequence numbers of the exports.
    pub lost: u64,
    /// Known templates of NetFlow v9 and IPFIX.
    pub templates: usize,
    /// Input that was not used, or not at once.
    pub troubles: TroubleCounts,
    /// Time of the first data set that waits for a template, milliseconds since the Unix epoch.
    pub waiting_since_ms: Option<u64>,
    /// Time of the last datagram, milliseconds since the Unix epoch; `None` if none has come.
    pub last_seen_ms: Option<u64>,
    /// Whether the exporter is silent: it has sent nothing for much longer than usual, or nothing since the start.
    pub is_silent: bool,
    /// Milliseconds by which the clock of the exporter is ahead of the system clock.
    pub skew_ms: i64,
    /// Sampling of its packets.
    #[serde(serialize_with = "as_text")]
    pub sampling: Sampling,
}

impl ExporterBoard {
    /// Makes the board of an exporter that has sent nothing.
    pub(crate) fn new(address: IpAddr) -> Self {
        Self {
            address,
            name: None,
            datagrams: 0,
            records: 0,
            contacts: 0,
            lost: 0,
            templates: 0,
            troubles: TroubleCounts::default(),
            waiting_since_ms: None,
            last_seen_ms: None,
            is_silent: false,
            skew_ms: 0,
            sampling: Sampling::default(),
        }
    }

    /// Returns the exporter as people see it.
    pub(crate) fn named(&self) -> NamedExporter {
        NamedExporter { name: self.name.clone(), address: self.address }
    }
}

fn as_text<S: Serializer>(sampling: &Sampling, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sampling)
}

/// A network. Slices are numbers; a value that is not known yet is null.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkBoard {
    /// Whether messages are being read.
    pub is_reading: bool,
    /// The running slice.
    pub running: Option<u64>,
    /// The slice that most sites are in.
    pub front: Option<u64>,
    /// Bytes of deltas that wait for their slice.
    pub pending_bytes: usize,
    /// Number of the last message that was read.
    pub sequence: u64,
    /// Number of messages after it.
    pub unread: u64,
    /// The running slice of the last checkpoint.
    pub checkpoint: Option<u64>,
    /// Closed slices, by the reason of closing.
    pub closed: BTreeMap<&'static str, u64>,
    /// Messages that were not merged, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Sites.
    pub sites: Vec<SiteBoard>,
}

/// A site of a network.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SiteBoard {
    /// Name.
    pub name: String,
    /// The newest slice in its messages.
    pub newest: Option<u64>,
    /// Whether the site has sent no message for a while.
    pub is_silent: bool,
    /// Whether the site had not delivered the last slice when that closed.
    pub is_late: bool,
    /// The slice up to which all its messages are in a checkpoint.
    pub durable: Option<u64>,
    /// Counts of its messages.
    #[serde(flatten)]
    pub counts: MessageCounts,
    /// Spool of the probe in its last report.
    pub spool: Option<SpoolBoard>,
}

/// The spool of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpoolBoard {
    /// Slices in the spool.
    pub slices: u64,
    /// Slices in the spool that the broker has not acknowledged yet.
    pub unsent: u64,
    /// Slices that were given up because the spool was full.
    pub lost: u64,
}

/// The messages of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Messages that were merged while their slice ran, or held for it.
    pub in_time: u64,
    /// Messages that were merged after their slice had closed.
    pub late: u64,
    /// Messages that had been delivered before.
    pub repeated: u64,
    /// Messages that were not merged.
    pub refused: u64,
}

/// A sink.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SinkBoard {
    /// Name.
    pub name: String,
    /// Notifications that were sent.
    pub sent: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Notifications that were dropped because the queue was full, or suppressed by the rate limit.
    pub dropped: u64,
    /// Notifications that wait.
    pub queue: u64,
    /// The error of the last attempt, if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The shortest time between two boards.
const BOARD: Duration = Duration::from_millis(250);

/// A publisher of boards.
pub(crate) struct Screen {
    boards: Sender<Arc<Board>>,
    /// The web server, which runs until it is dropped.
    web: Option<Web>,
    recorder: Recorder,
    publish: Every,
    lost: OnChange,
    full: OnChange,
    troubles: Troubles,
}

impl Screen {
    /// Serves boards, and the history in `store`, where `general` says.
    pub(crate) fn open(general: &General, store: &Store) -> Result<Self> {
        let (boards, latest) = watch::channel(Arc::default());
        let start = |address| Web::start(address, general.visitors(), latest, store);
        let web = general.http.map(start);
        let web = web.transpose()?;
        if let Some(web) = &web {
            info!("the page is at http://{}/", web.address());
        }
        let (lost, full) = (OnChange::default(), OnChange::default());
        let troubles = Troubles::default();
        let recorder = Recorder::start(store.clone(), general.keep)?;
        let publish = Every::new(BOARD);
        Ok(Self { boards, web, recorder, publish, lost, full, troubles })
    }

    /// Returns the next order of a person, if one waits.
    pub(crate) fn next_order(&self) -> Option<WaitingOrder> {
        self.web.as_ref()?.next_order()
    }

    /// Shows the board that `make` makes, when one is due.
    pub(crate) fn show(&mut self, make: impl FnOnce() -> Board) {
        if self.publish.is_due() {
            let mut board = make();
            board.can_act = self.web.as_ref().is_some_and(Web::can_be_acted_at);
            self.troubles.show(&mut board, Instant::now());
            self.log_changes(&board);
            self.recorder.take(&board);
            self.boards.send_replace(Arc::new(board));
        }
    }

    /// Logs when the input is lost and comes back, and when hosts are left without an alert.
    fn log_changes(&mut self, board: &Board) {
        match self.lost.change_to(board.is_input_lost) {
            Some(true) => warn!("the input is lost: until something comes no alert starts or ends"),
            Some(false) => info!("the input has come back"),
            None => {}
        }
        let left_out: usize = board.views.iter().map(|view| view.left_out).sum();
        match self.full.change_to(left_out > 0) {
            Some(true) => warn!(
                "{left_out} hosts at their threshold have no alert, as {} others of a view have one: give higher thresholds",
                Tracker::MOST_HOSTS
            ),
            Some(false) => info!("all hosts at their threshold have an alert again"),
            None => {}
        }
    }
}

/// The most hosts of a slice that are kept for lines.
const HOSTS: usize = 4 * TOP;

/// The largest super points of the last slices.
#[derive(Debug, Default)]
pub(crate) struct TopHosts {
    top: Vec<TopHost>,
    super_points: usize,
    close_seconds: f64,
    /// The last slices, the newest last.
    slices: VecDeque<HashMap<IpAddr, u32>>,
}

impl TopHosts {
    pub(crate) fn close(
        &mut self,
        report: &SliceReport,
        packing: Packing,
        is_alert: impl Fn(IpAddr) -> bool,
    ) {
        self.close_seconds = report.stages.total().as_secs_f64();
        self.super_points = report.super_points.len();
        let points = &report.super_points[..report.super_points.len().min(HOSTS)];
        self.push(
            points.iter().map(|point| (point.host, point.cardinality.round() as u32)).collect(),
        );
        let line = |host: &IpAddr| {
            self.slices.iter().map(|slice| slice.get(host).copied().unwrap_or(0)).collect()
        };
        let top = points.iter().take(TOP).map(|point| TopHost {
            host: packing.name(point.host),
            label: None,
            cardinality: point.cardinality,
            std_error: point.std_error,
            is_lower_bound: point.range == EstimateRange::Beyond,
            is_alert: is_alert(point.host),
            line: line(&point.host),
        });
        self.top = top.collect();
    }

    /// Adds a slice without any super point.
    pub(crate) fn silence(&mut self) {
        self.push(HashMap::new());
        (self.top, self.super_points, self.close_seconds) = (Vec::new(), 0, 0.0);
    }

    fn push(&mut self, slice: HashMap<IpAddr, u32>) {
        if self.slices.len() == LINE {
            self.slices.pop_front();
        }
        self.slices.push_back(slice);
    }

    pub(crate) fn board(&self) -> ViewBoard {
        ViewBoard {
            super_points: self.super_points,
            top: self.top.clone(),
            close_seconds: self.close_seconds,
            ..ViewBoard::default()
        }
    }
}
