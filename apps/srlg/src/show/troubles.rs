//! Input that comes and is not used, or not at once: the same kinds, counts and words on the page, in the API, in metrics and in
//! the log.
//!
//! Shape: each board has counts by exporter. What was added since the last one makes a [`TroubleBoard`] of its kind, which ends
//! when nothing is added for five minutes, or when no data set waits for a template any more.
//! Invariant: at most 16,384 exporters of a kind are remembered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use srlg_input::flow::Reason;
use tracing::{info, warn};

use crate::exporters::NamedExporter;
use crate::now_ms;
use crate::show::board::{Board, ExporterBoard};

/// Exporters that are remembered, at most.
pub(crate) const EXPORTERS: usize = 16_384;

/// Exporters that a text names.
const NAMED: usize = 3;

/// A trouble is over after so long without another count.
const QUIET: Duration = Duration::from_secs(300);

/// The first warning waits so long, so that its count is that of more than the first datagram.
const SETTLE: Duration = Duration::from_secs(3);

/// Time between two warnings about the same.
const AGAIN: Duration = Duration::from_secs(3_600);

/// A kind of input that is not used, or not at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleKind {
    /// Datagrams of no known version.
    Version,
    /// Datagrams that are cut off or damaged.
    Malformed,
    /// Data sets that came before their template.
    Held,
    /// Data sets that were dropped because their template did not come.
    Dropped,
    /// Data sets that yield no record by their template.
    Undecodable,
    /// Datagrams with a time of export that is more than an hour off.
    BadClock,
    /// Contacts that are older than the window of a view.
    TooLate,
    /// Contacts more than a day ahead of the system clock.
    Future,
    /// Contacts without a port, where views count ports and no contact has one.
    WithoutPort,
    /// Datagrams or packets that the kernel or the interface dropped.
    Kernel,
    /// Messages of a broker that are not flows of the expected format.
    Message,
    /// Messages that a broker had deleted before they were read.
    Expired,
    /// Messages of a broker that were dropped because they were not read in time.
    Unread,
    /// Messages of the probes of a network that were refused.
    Refused,
}

/// Counts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TroubleCounts([u64; TroubleKind::ALL.len()]);

/// A trouble that is active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TroubleBoard {
    /// Its kind.
    pub kind: TroubleKind,
    /// When it began, milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// How often it has happened since then.
    pub count: u64,
    /// The first exporters that had it.
    pub exporters: Vec<IpAddr>,
    /// How many exporters had it.
    pub exporter_count: usize,
    /// What happened, with count and exporters.
    pub text: String,
    /// What helps.
    pub remedy: &'static str,
}

impl TroubleKind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Version,
        Self::Malformed,
        Self::Held,
        Self::Dropped,
        Self::Undecodable,
        Self::BadClock,
        Self::TooLate,
        Self::Future,
        Self::WithoutPort,
        Self::Kernel,
        Self::Message,
        Self::Expired,
        Self::Unread,
        Self::Refused,
    ];

    /// Returns its name in the API and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.reason(), self) {
            (Some(reason), _) => reason.name(),
            (None, Self::TooLate) => "too-late",
            (None, Self::WithoutPort) => "without-port",
            (None, Self::Kernel) => "kernel",
            (None, Self::Message) => "message",
            (None, Self::Expired) => "expired",
            (None, Self::Unread) => "unread",
            (None, Self::Refused) => "refused",
            (None, _) => "future",
        }
    }

    /// Returns whether it is counted by exporter.
    pub(crate) const fn is_of_exporters(self) -> bool {
        !matches!(self, Self::Kernel | Self::Message | Self::Expired | Self::Unread | Self::Refused)
    }

    /// Returns the reason by which the decoder of exports counts it, if it does.
    pub(crate) const fn reason(self) -> Option<Reason> {
        match self {
            Self::Version => Some(Reason::Version),
            Self::Malformed => Some(Reason::Malformed),
            Self::Held => Some(Reason::Held),
            Self::Dropped => Some(Reason::Dropped),
            Self::Undecodable => Some(Reason::Undecodable),
            Self::BadClock => Some(Reason::BadClock),
            Self::TooLate
            | Self::Future
            | Self::WithoutPort
            | Self::Kernel
            | Self::Message
            | Self::Expired
            | Self::Unread
            | Self::Refused => None,
        }
    }

    /// Returns what is counted, and what is wrong with it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Version => ("datagrams", "cannot be decoded: their version is unknown"),
            Self::Malformed => ("datagrams", "cannot be decoded: they are cut off or damaged"),
            Self::Held => ("data sets", "came before their templates"),
            Self::Dropped => ("data sets", "were dropped, because their templates did not come"),
            Self::Undecodable => ("data sets", "cannot be decoded by their templates"),
            Self::BadClock => ("datagrams", "have a time of export that is more than an hour off"),
            Self::TooLate => ("contacts", "are too late: they are older than the window"),
            Self::Future => ("contacts", "are more than a day ahead of the system clock"),
            Self::WithoutPort => (
                "contacts",
                "have no port, and no other contact has one: views of ports count nothing",
            ),
            Self::Kernel => ("datagrams or packets", "were dropped by the kernel or the interface"),
            Self::Message => ("messages of the broker", "are not flows of the expected format"),
            Self::Expired => ("messages of the broker", "were deleted before they were read"),
            Self::Unread => {
                ("messages of the broker", "were dropped because they were not read in time")
            }
            Self::Refused => ("messages of probes", "were refused"),
        }
    }

    /// Returns what helps, if the counts are those of exporters.
    const fn remedy(self, is_exporter: bool) -> &'static str {
        match self {
            Self::Version => {
                "let the exporter send NetFlow v5, v7 or v9, IPFIX or sFlow v5: every address of `listen` takes each of them"
            }
            Self::Malformed => {
                "let the exporter send datagrams that are smaller than the MTU of the path, and update its software"
            }
            Self::Held | Self::Dropped => {
                "wait until the exporter sends its templates, and let it send them every minute; `templates = \"FILE\"` keeps them over a restart"
            }
            Self::Undecodable => {
                "let the exporter send its templates again, and update its software"
            }
            Self::TooLate | Self::Future if !is_exporter => {
                "set the clocks of this machine and of the source"
            }
            Self::BadClock | Self::TooLate | Self::Future => {
                "set the clock of the exporter, or give `timestamps = \"received\"`, by which exports count when they come"
            }
            Self::WithoutPort => {
                "let the input report protocols and destination ports, or remove the views of ports"
            }
            Self::Kernel => {
                "give a larger `receive-buffer` and more `receivers`, or for packets a larger `capture-buffer`, more `capture-threads` and a `filter`"
            }
            Self::Message => {
                "give `schema` the schema by which the messages are written, or `message-format = \"json\"` for lines of JSON"
            }
            Self::Expired => {
                "give the topic or the stream a longer retention, or srlg a faster machine"
            }
            Self::Unread => "keep the subject in a stream of JetStream and read that",
            Self::Refused => {
                "read the log, which names the probes and the reasons; /metrics has the counts by reason"
            }
        }
    }
}

/// Its name.
impl Serialize for TroubleKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl TroubleCounts {
    /// Returns the count of `kind`.
    #[must_use]
    pub const fn of(&self, kind: TroubleKind) -> u64 {
        self.0[kind as usize]
    }

    /// Adds `count` to that of `kind`.
    pub const fn add(&mut self, kind: TroubleKind, count: u64) {
        self.0[kind as usize] += count;
    }

    /// Adds all counts of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(all, more)| *all += more);
    }

    /// Returns what was added to the count of `kind` since `earlier`. Counts of an exporter that was forgotten begin anew.
    fn added(&self, kind: TroubleKind, earlier: &Self) -> u64 {
        let (now, before) = (self.of(kind), earlier.of(kind));
        if now < before { now } else { now - before }
    }
}

/// A map of all kinds.
impl Serialize for TroubleCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(TroubleKind::ALL.map(|kind| (kind.name(), self.of(kind))))
    }
}

/// The troubles of all boards so far.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    /// The counts of the last board, by exporter.
    counted: HashMap<Option<IpAddr>, TroubleCounts>,
    active: BTreeMap<TroubleKind, Trouble>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    since_ms: u64,
    /// When something was counted last.
    last: Instant,
    warned: Option<Instant>,
    count: u64,
    /// The first exporters, in this order.
    named: Vec<NamedExporter>,
    exporters: BTreeSet<IpAddr>,
}

impl Troubles {
    /// Takes the counts of `board` at `now`, and returns the troubles that are over.
    pub(crate) fn take(&mut self, board: &Board, now: Instant) -> Vec<TroubleBoard> {
        let is_held = |kind| kind == TroubleKind::Held;
        let exporters = board.exporters.iter().map(|exporter| {
            (Some(exporter), exporter.troubles, exporter.waiting_since_ms.is_some())
        });
        let all: Vec<_> = exporters.chain([(None, board.input.troubles, false)]).collect();
        for (exporter, counts, is_waiting) in &all {
            let address = exporter.map(|exporter| exporter.address);
            let before = self.counted.get(&address).copied().unwrap_or_default();
            for kind in TroubleKind::ALL {
                let added = counts.added(kind, &before);
                if added > 0 && (*is_waiting || !is_held(kind)) {
                    let trouble = self.active.entry(kind).or_insert_with(|| Trouble::new(now));
                    trouble.add(*exporter, added, now);
                }
            }
        }
        let is_waiting = all.iter().any(|(_, _, is_waiting)| *is_waiting);
        let counted = all.into_iter();
        let counted = counted.map(|(of, counts, _)| (of.map(|it| it.address), counts));
        self.counted = counted.collect();
        let is_over = |kind: &TroubleKind, trouble: &mut Trouble| {
            now - trouble.last >= QUIET || is_held(*kind) && !is_waiting
        };
        let over = self.active.extract_if(.., is_over);
        over.map(|(kind, trouble)| trouble.board(kind)).collect()
    }

    /// Returns the troubles that are active, by kind.
    pub(crate) fn boards(&self) -> Vec<TroubleBoard> {
        self.active.iter().map(|(kind, trouble)| trouble.board(*kind)).collect()
    }

    /// Returns the troubles that a warning is due of at `now`.
    pub(crate) fn warnings(&mut self, now: Instant) -> Vec<TroubleBoard> {
        let due = self.active.iter_mut().filter(|(_, trouble)| match trouble.warned {
            None => now - trouble.since >= SETTLE,
            Some(warned) => now - warned >= AGAIN,
        });
        let warned = due.map(|(kind, trouble)| {
            trouble.warned = Some(now);
            trouble.board(*kind)
        });
        warned.collect()
    }

    /// Writes into `board` what is wrong at `now`, and into the log what has changed.
    pub(crate) fn show(&mut self, board: &mut Board, now: Instant) {
        for over in self.take(board, now) {
            info!("no more since then: {}", over.text);
        }
        for TroubleBoard { text, remedy, .. } in self.warnings(now) {
            warn!("{text}; {remedy}");
        }
        board.troubles = self.boards();
    }
}

impl Trouble {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            since_ms: now_ms(),
            last: now,
            warned: None,
            count: 0,
            named: Vec::new(),
            exporters: BTreeSet::new(),
        }
    }

    fn add(&mut self, exporter: Option<&ExporterBoard>, added: u64, now: Instant) {
        self.count += added;
        self.last = now;
        let Some(exporter) = exporter else { return };
        if self.exporters.len() < EXPORTERS
            && self.exporters.insert(exporter.address)
            && self.named.len() < NAMED
        {
            self.named.push(exporter.named());
        }
    }

    fn board(&self, kind: TroubleKind) -> TroubleBoard {
        let Self { since_ms, count, named, exporters, .. } = self;
        let (what, wrong) = kind.words();
        let names: Vec<String> = named.iter().map(ToString::to_string).collect();
        let who = match exporters.len() {
            0 => String::new(),
            all if all <= NAMED => format!(" of {}", names.join(", ")),
            all => format!(" of {} and {} more", names.join(", "), all - NAMED),
        };
        TroubleBoard {
            kind,
            since_ms: *since_ms,
            count: *count,
            exporters: named.iter().map(|exporter| exporter.address).collect(),
            exporter_count: exporters.len(),
            text: format!("{count} {what}{who} {wrong}"),
            remedy: kind.remedy(!exporters.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests;
