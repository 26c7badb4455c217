//! Problems with the input: data that arrives but is not used, or is used late.
//!
//! The web page, the API, the metrics and the log use the same kinds, counts and texts.

use std::net::IpAddr;

use serde::{Serialize, Serializer};
use srlg_input::flow::Reason;

/// A kind of problem with the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// Datagrams with an unknown version.
    Version,
    /// Datagrams that are truncated.
    Cut,
    /// Datagrams with invalid lengths or address types.
    Malformed,
    /// sFlow samples with a record that cannot be read.
    BadSample,
    /// Data sets that arrived before their template.
    Held,
    /// Data sets that were dropped before their template arrived.
    Dropped,
    /// Data sets that cannot be decoded with their template.
    Undecodable,
    /// Datagrams with an export time that is more than an hour off.
    BadClock,
    /// Datagrams whose sequence numbers show several exporters behind one address.
    SharedAddress,
    /// Contacts that are older than the window of a view.
    TooLate,
    /// Contacts whose time is more than a day ahead of the system clock.
    Future,
    /// Contacts without a port, if a view counts ports and no recent contact has a port.
    WithoutPort,
    /// Contacts without a host in `inside`, if no contact so far has one.
    NoInside,
    /// Datagrams or packets that the kernel or the interface dropped.
    Kernel,
    /// TCP connections of exporters that were closed before their end.
    Connection,
    /// Messages of a broker that are not flows in the expected format.
    Message,
    /// Messages that a broker deleted before they were read.
    Expired,
    /// Messages of a broker that were dropped because they were not read in time.
    Unread,
    /// Rejected messages from the probes of a network.
    Refused,
}

/// Counts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProblemCounts([u64; ProblemKind::ALL.len()]);

/// An active problem with the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProblemOverview {
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Start of the problem, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// Number of affected datagrams, packets, data sets, contacts or messages since `since_ms`.
    pub count: u64,
    /// Up to three exporters with this problem, starting with the first one that had it.
    pub exporters: Vec<IpAddr>,
    /// Number of exporters with this problem, at most 16,384.
    pub exporter_count: usize,
    /// Description of the problem, with the count and the exporters.
    pub text: String,
    /// Advice on how to solve the problem.
    pub remedy: &'static str,
}

impl ProblemKind {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::Version,
        Self::Cut,
        Self::Malformed,
        Self::BadSample,
        Self::Held,
        Self::Dropped,
        Self::Undecodable,
        Self::BadClock,
        Self::SharedAddress,
        Self::TooLate,
        Self::Future,
        Self::WithoutPort,
        Self::NoInside,
        Self::Kernel,
        Self::Connection,
        Self::Message,
        Self::Expired,
        Self::Unread,
        Self::Refused,
    ];

    /// Returns the name of the kind in the API and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.reason(), self) {
            (Some(reason), _) => reason.name(),
            (None, Self::TooLate) => "too-late",
            (None, Self::WithoutPort) => "without-port",
            (None, Self::NoInside) => "no-inside",
            (None, Self::Kernel) => "kernel",
            (None, Self::Connection) => "connection",
            (None, Self::Message) => "message",
            (None, Self::Expired) => "expired",
            (None, Self::Unread) => "unread",
            (None, Self::Refused) => "refused",
            (None, _) => "future",
        }
    }

    /// Returns whether the kind is counted per exporter.
    pub const fn is_of_exporters(self) -> bool {
        !matches!(
            self,
            Self::NoInside
                | Self::Kernel
                | Self::Connection
                | Self::Message
                | Self::Expired
                | Self::Unread
                | Self::Refused
        )
    }

    /// Returns the reason under which the export decoder counts this kind, or `None` if the decoder does not count it.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Version => Some(Reason::Version),
            Self::Cut => Some(Reason::Cut),
            Self::Malformed => Some(Reason::Malformed),
            Self::BadSample => Some(Reason::BadSample),
            Self::Held => Some(Reason::Held),
            Self::Dropped => Some(Reason::Dropped),
            Self::Undecodable => Some(Reason::Undecodable),
            Self::BadClock => Some(Reason::BadClock),
            Self::SharedAddress => Some(Reason::SharedAddress),
            Self::TooLate
            | Self::Future
            | Self::WithoutPort
            | Self::NoInside
            | Self::Kernel
            | Self::Connection
            | Self::Message
            | Self::Expired
            | Self::Unread
            | Self::Refused => None,
        }
    }

    /// Returns the name of the counted items, and a description of the problem with them.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Version => ("datagrams", "cannot be decoded: unknown version"),
            Self::Cut => ("datagrams", "cannot be decoded to their end: truncated"),
            Self::Malformed => {
                ("datagrams", "cannot be decoded to their end: invalid lengths or address types")
            }
            Self::BadSample => {
                ("sFlow samples", "cannot be decoded to their end: invalid lengths of records")
            }
            Self::Held => ("data sets", "arrived before their templates"),
            Self::Dropped => ("data sets", "were dropped before their templates arrived"),
            Self::Undecodable => ("data sets", "cannot be decoded with their templates"),
            Self::BadClock => ("datagrams", "have an export time that is more than an hour off"),
            Self::SharedAddress => (
                "datagrams",
                "have sequence numbers of several exporters behind one address, so losses are unknown",
            ),
            Self::TooLate => ("contacts", "are not counted: older than the window"),
            Self::Future => {
                ("contacts", "are not counted: more than a day ahead of the system clock")
            }
            Self::WithoutPort => (
                "contacts",
                "have no port, like all recent contacts, so views of ports count nothing",
            ),
            Self::NoInside => (
                "contacts",
                "have no host in `inside`, like all contacts so far, so nothing is counted",
            ),
            Self::Kernel => ("datagrams or packets", "were dropped by the kernel or the interface"),
            Self::Connection => ("TCP connections", "of exporters were closed before their end"),
            Self::Message => ("broker messages", "are not flows in the expected format"),
            Self::Expired => ("broker messages", "were deleted before they were read"),
            Self::Unread => ("broker messages", "were dropped because they were not read in time"),
            Self::Refused => ("probe messages", "were rejected"),
        }
    }

    /// Returns the advice for this kind of problem. `is_exporter` is set if exporters have the problem.
    pub const fn remedy(self, is_exporter: bool) -> &'static str {
        match self {
            Self::Version => {
                "configure the exporter to send NetFlow v5, v7 or v9, IPFIX or sFlow v5, which every `listen` address accepts"
            }
            Self::Cut => "configure the exporter to send datagrams smaller than the path MTU",
            Self::Malformed | Self::BadSample => {
                "update the software of the exporter, or send a capture of its datagrams to its vendor"
            }
            Self::Held | Self::Dropped => {
                "wait for the templates and configure the exporter to send them every minute; `templates = \"FILE\"` keeps them across restarts"
            }
            Self::Undecodable => "make the exporter resend its templates, and update its software",
            Self::SharedAddress => {
                "let each exporter send from its own address without NAT, or give each one its own engine ID, source ID or observation domain"
            }
            Self::TooLate | Self::Future if !is_exporter => {
                "correct the clocks of this machine and of the source"
            }
            // Clocks are corrected, except with `trusted`. Contacts are then late because flows are exported late.
            Self::TooLate => {
                "set the exporter's active timeout to 60 s and all its inactive timeouts to 15 s, lengthen the window, or set `timestamps = \"received\"` to use the time of arrival; with `timestamps = \"trusted\"`, correct its clock"
            }
            Self::BadClock | Self::Future => {
                "correct the clock of the exporter, or set `timestamps = \"received\"` to use the time of arrival"
            }
            Self::WithoutPort => {
                "configure the input to report protocols and destination ports, or remove the views of ports"
            }
            Self::NoInside => {
                "set `inside` to your own networks; for a probe, set it at the collector"
            }
            Self::Kernel => {
                "increase `receive-buffer` and `receivers` for exports, or `capture-buffer` and `capture-threads` for packets, or set a `filter`"
            }
            Self::Connection => {
                "see the log for the last exporter and its error, and /metrics for the counts by reason"
            }
            Self::Message => {
                "set `schema` to the schema of the messages, or `message-format = \"json\"` for lines of JSON"
            }
            Self::Expired => {
                "increase the retention of the topic or stream, or run srlg on a faster machine"
            }
            Self::Unread => "store the subject in a JetStream stream and read the stream",
            Self::Refused => {
                "see the log for the probes and reasons, and /metrics for the counts by reason"
            }
        }
    }
}

impl Serialize for ProblemKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl ProblemCounts {
    /// Returns the count of `kind`.
    #[must_use]
    pub const fn of(&self, kind: ProblemKind) -> u64 {
        self.0[kind as usize]
    }

    /// Adds `count` to the count of `kind`.
    pub const fn add(&mut self, kind: ProblemKind, count: u64) {
        self.0[kind as usize] += count;
    }

    pub fn merge(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(all, more)| *all += more);
    }

    /// Returns how much the count of `kind` has increased since `earlier`. A smaller count has restarted at 0, because
    /// the exporter was forgotten.
    pub fn added(&self, kind: ProblemKind, earlier: &Self) -> u64 {
        let (now, before) = (self.of(kind), earlier.of(kind));
        if now < before { now } else { now - before }
    }
}

impl Serialize for ProblemCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = ProblemKind::ALL.map(|kind| (kind.name(), self.of(kind)));
        serializer.collect_map(counts.into_iter().filter(|(_, count)| *count > 0))
    }
}
