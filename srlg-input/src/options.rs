//! Options of an input: its source, and how it is read.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnet::IpNet;

use crate::contact::named;

mod broker;
mod kafka;
mod messages;
mod nats;

pub use broker::{BadUrl, BrokerOptions, BrokerUrl, Mechanism, mask_user};
pub use kafka::Topic;
pub use messages::{MessageFormat, MessageOptions};
pub use nats::{NatsSource, NatsUrl};

/// Options of an [`Input`](crate::Input): files, sockets, an interface or a broker.
///
/// With the feature `clap`, these are command-line options, some of which form groups. The group `contacts` selects the
/// source: `input`, `interface`, `url`, or sockets with `listen`, `listen_tcp` or both. The group `decoded` contains the
/// options that select flow records as the source, and the group `listening` those that select sockets.
///
/// With the feature `serde`, the options are read from a map whose keys are the names of the options.
/// [`check`](Self::check) applies the same rules as the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("contacts").args(["input", "listen", "listen_tcp", "interface", "url"]).multiple(true))))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("decoded").args(["exports", "listen", "listen_tcp", "url"]).multiple(true))))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("listening").args(["listen", "listen_tcp"]).multiple(true))))]
pub struct InputOptions {
    /// File to read (repeatable; files are read in the given order): capture (pcap, pcapng), contact list (CSV with the header time_ms,src,dst), log of Zeek, Suricata, Hubble, Elastic or a cloud, IPFIX file, or any of these compressed with gzip; - is standard input
    #[cfg_attr(feature = "clap", arg(long, alias = "replay", value_name = "FILE|-", conflicts_with_all = ["listen", "listen_tcp", "interface", "url"]))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub input: Vec<PathBuf>,

    /// Decode the UDP datagrams in captures, or the messages in IPFIX files, as flow exports (NetFlow v5, v7, v9, IPFIX, sFlow v5); several files form one export
    #[cfg_attr(feature = "clap", arg(long, requires = "input", conflicts_with_all = ["listen", "listen_tcp", "url"]))]
    pub exports: bool,

    /// Treat the files as live: slices close by the system clock, not by the times in the data
    #[cfg_attr(feature = "clap", arg(long, requires = "input"))]
    pub live: bool,

    /// Hosts of a tunnelled packet (GRE, VXLAN and others), also of a packet that is sampled in flow exports: the tunnel endpoints (outer), the hosts of the innermost packet (inner), or both
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            value_name = "outer|inner|both",
            default_value_t,
            requires = "contacts",
            conflicts_with = "url"
        )
    )]
    pub tunnels: Tunnels,

    /// Options of the sockets that receive flow exports.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub sockets: SocketOptions,

    /// Network interface to capture packets from; requires a build with the feature live
    #[cfg_attr(feature = "clap", arg(long, value_name = "IF", conflicts_with_all = ["listen", "listen_tcp", "url"]))]
    pub interface: Option<String>,

    /// Options of live capture.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub capture: CaptureOptions,

    /// Options of a broker.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub broker: BrokerOptions,

    /// Options of the messages from a broker.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub messages: MessageOptions,

    /// Options for reading flow exports.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub decoding: ExportOptions,
}

/// Options of the sockets that receive flow exports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(default, rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SocketOptions {
    /// UDP address to receive flow exports on (repeatable), such as `[::]:2055` for all IPv4 and IPv6 addresses; requires exporters
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "ADDR:PORT", requires = "exporters", conflicts_with = "url")
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "address:port")))]
    pub listen: Vec<SocketAddr>,

    /// TCP address to receive IPFIX on (repeatable), such as `[::]:4739`; requires exporters
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "ADDR:PORT", requires = "exporters", conflicts_with = "url")
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "address:port")))]
    pub listen_tcp: Vec<SocketAddr>,

    /// Network of permitted exporters (repeatable); datagrams and connections from all other addresses are counted and dropped
    #[cfg_attr(feature = "clap", arg(long, value_name = "CIDR", value_parser = crate::contact::parse_network, requires = "listening"))]
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::contact::deserialize_networks")
    )]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub exporters: Vec<IpNet>,

    /// Size of the kernel's receive buffer of each UDP socket, in bytes
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::RECEIVE_BUFFER, value_parser = within(Self::RECEIVE_BUFFERS), requires = "listen"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = *Self::RECEIVE_BUFFERS.start(), max = *Self::RECEIVE_BUFFERS.end())))]
    pub receive_buffer: u32,

    /// Number of threads that receive and decode exports at each UDP address; exporters are distributed among the threads
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = within(Self::RECEIVERS), requires = "listen"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = *Self::RECEIVERS.start(), max = *Self::RECEIVERS.end())))]
    pub receivers: u32,

    /// File that stores the templates and sampling rates of exporters across restarts
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "listen"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub templates: Option<PathBuf>,
}

/// Options of live capture on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(default, rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaptureOptions {
    /// Capture filter in pcap-filter(7) syntax, such as "ip6 or tcp port 443" [default: all packets]
    #[cfg_attr(feature = "clap", arg(long, value_name = "EXPRESSION", requires = "interface"))]
    pub filter: Option<String>,

    /// Maximum number of bytes to capture from each packet
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::SNAP_LENGTH, value_parser = within(Self::SNAP_LENGTHS), requires = "interface"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = *Self::SNAP_LENGTHS.start(), max = *Self::SNAP_LENGTHS.end())))]
    pub snap_length: u32,

    /// Size of the kernel's capture buffer of each thread, in bytes
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::BUFFER, value_parser = within(Self::BUFFERS), requires = "interface"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = *Self::BUFFERS.start(), max = *Self::BUFFERS.end())))]
    pub capture_buffer: u32,

    /// Capture without promiscuous mode: only frames from and to this machine
    #[cfg_attr(feature = "clap", arg(long, requires = "interface"))]
    pub not_promiscuous: bool,

    /// Number of capture threads (more than one only on Linux); packets are distributed among the threads, and each thread has its own buffer
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = within(Self::THREADS), requires = "interface"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = *Self::THREADS.start(), max = *Self::THREADS.end())))]
    pub capture_threads: u32,

    /// Distribution of packets to capture threads: by the CPU that received the packet (cpu), or in turn (turns)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "cpu|turns", default_value_t, requires = "interface")
    )]
    pub capture_split: CaptureSplit,

    /// CPUs of the capture threads, one CPU for each thread [default: any]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "CPUS", value_delimiter = ',', requires = "interface")
    )]
    pub capture_cpus: Vec<u32>,
}

/// Options for reading flow exports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args), group(requires = "decoded"))]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ExportOptions {
    /// Addresses that identify hosts behind NAT: before the translation (pre) or after it (post)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "pre|post", default_value_t, conflicts_with = "url")
    )]
    pub nat: Nat,

    /// Times of contacts: the times that exporters send, corrected for clock skew (corrected) or unchanged (trusted), or the time of receipt (received)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "corrected|trusted|received", default_value_t)
    )]
    pub timestamps: Timestamps,

    /// Sampling rate of exporters that do not send their rate; N means one packet in N [default: unknown]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub sampling: Option<NonZeroU32>,
}

named! {
    /// The hosts that are counted if a captured or sampled packet carries another packet through a tunnel.
    #[non_exhaustive]
    Tunnels {
        /// The endpoints of the tunnel.
        #[default]
        Outer = "outer",
        /// The hosts of the innermost packet. If there is no packet in a tunnel, the packet's own hosts are counted.
        /// Anyone who can send to a tunnel endpoint can forge inner addresses.
        Inner = "inner",
        /// The tunnel endpoints and the hosts of the innermost packet. A packet in a tunnel therefore yields two
        /// contacts.
        Both = "both",
    }
}

named! {
    /// The distribution of packets to capture threads. Every distribution produces the same counts, because a pair is
    /// counted once, even if several threads see its packets.
    #[non_exhaustive]
    CaptureSplit {
        /// Distribution by the CPU that received a packet from the network card. If there are N threads, thread i gets
        /// the packets from CPUs i, i + N, i + 2N and so on.
        #[default]
        Cpu = "cpu",
        /// Distribution in turn: each packet goes to the next thread. This suits a network card that delivers all
        /// packets to one CPU.
        Turns = "turns",
    }
}

named! {
    /// The addresses that identify hosts behind NAT.
    #[non_exhaustive]
    Nat {
        /// The addresses before the translation.
        #[default]
        Pre = "pre",
        /// The addresses after the translation, if a record has them.
        Post = "post",
    }
}

named! {
    /// The source of contact times for flow exports.
    #[non_exhaustive]
    Timestamps {
        /// The times that the exporter sends. A clock skew of more than 5 seconds is corrected. If the skew is more
        /// than an hour, the time of receipt is used.
        #[default]
        Corrected = "corrected",
        /// The times that the exporter sends, unchanged.
        Trusted = "trusted",
        /// The time at which the datagram was received.
        Received = "received",
    }
}

/// The error for an option that is out of range, conflicts with another option, or needs an option that is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {rule}")]
pub struct BadOption {
    /// Name of the option.
    pub option: &'static str,
    /// The violated rule.
    pub rule: String,
}

impl BadOption {
    /// Returns the error for the first rule that is violated, if any.
    fn first<const N: usize>(rules: [(bool, &'static str, &str); N]) -> Option<Self> {
        let broken = rules.into_iter().find(|(is_broken, ..)| *is_broken);
        broken.map(|(_, option, rule)| Self { option, rule: rule.to_owned() })
    }
}

impl SocketOptions {
    /// Returns whether the options request a socket.
    #[must_use]
    pub const fn is_listening(&self) -> bool {
        !(self.listen.is_empty() && self.listen_tcp.is_empty())
    }

    const RECEIVE_BUFFER: u32 = 16 << 20;
    /// Valid sizes of a receive buffer, in bytes. Linux doubles the size, and the result must fit into 31 bits.
    const RECEIVE_BUFFERS: RangeInclusive<u32> = 1..=(1 << 30) - 1;
    const RECEIVERS: RangeInclusive<u32> = 1..=256;
}

impl CaptureOptions {
    const SNAP_LENGTH: u32 = 256;
    const BUFFER: u32 = 32 << 20;
    /// Valid snap lengths. The minimum reaches the end of the fixed IPv6 header after Ethernet and two VLAN tags. The
    /// maximum is the value that libpcap treats as "all".
    pub(crate) const SNAP_LENGTHS: RangeInclusive<u32> = 62..=262_144;
    /// Valid sizes of a capture buffer, in bytes. The minimum is two blocks of 256 KiB, because libpcap on Linux reads
    /// one block of its ring while the kernel fills the next.
    pub(crate) const BUFFERS: RangeInclusive<u32> = 524_288..=i32::MAX as u32;
    /// Valid numbers of capture threads. Linux distributes packets to at most 256 sockets.
    pub(crate) const THREADS: RangeInclusive<u32> =
        1..=if cfg!(target_os = "linux") { 256 } else { 1 };
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            listen_tcp: Vec::new(),
            exporters: Vec::new(),
            receive_buffer: Self::RECEIVE_BUFFER,
            receivers: 1,
            templates: None,
        }
    }
}

/// Options that capture all packets in promiscuous mode, with a snap length of 256 bytes and a buffer of 32 MiB.
impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            filter: None,
            snap_length: Self::SNAP_LENGTH,
            capture_buffer: Self::BUFFER,
            not_promiscuous: false,
            capture_threads: 1,
            capture_split: CaptureSplit::Cpu,
            capture_cpus: Vec::new(),
        }
    }
}

impl InputOptions {
    /// Returns whether slices close by the system clock.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live || self.sockets.is_listening() || self.interface.is_some() || self.is_broker()
    }

    /// Returns whether contacts come from flow records: flow exports, or the messages of a broker.
    #[must_use]
    pub fn is_exports(&self) -> bool {
        self.exports || self.sockets.is_listening() || self.is_broker()
    }

    /// Returns whether contacts come from the messages of a broker (Kafka or NATS).
    #[must_use]
    pub fn is_broker(&self) -> bool {
        self.broker.url.is_some()
    }

    /// Returns whether the input has positions from which reading can resume.
    #[must_use]
    pub fn has_positions(&self) -> bool {
        self.broker.has_positions()
    }

    /// Checks the values and combinations of options. Options from a command line need not be checked, because clap and
    /// [`Input::open`](crate::Input::open) check them.
    ///
    /// # Errors
    /// Returns [`BadOption`] for the first option that is out of range, conflicts with another option, or needs a
    /// missing option.
    pub fn check(&self) -> Result<(), BadOption> {
        let Self { sockets, interface, capture, messages, .. } = self;
        let bad = |option, rule| Err(BadOption { option, rule });
        for (option, value, range) in [
            ("receive-buffer", sockets.receive_buffer, SocketOptions::RECEIVE_BUFFERS),
            ("receivers", sockets.receivers, SocketOptions::RECEIVERS),
            ("snap-length", capture.snap_length, CaptureOptions::SNAP_LENGTHS),
            ("capture-buffer", capture.capture_buffer, CaptureOptions::BUFFERS),
            ("capture-threads", capture.capture_threads, CaptureOptions::THREADS),
        ] {
            if !range.contains(&value) {
                let (least, most) = range.into_inner();
                return bad(option, format!("must be {least} to {most}, got {value}"));
            }
        }
        let (files, listen) = (!self.input.is_empty(), sockets.is_listening());
        // `listen` or `listen-tcp`, whichever is set.
        let listen_key = if sockets.listen.is_empty() && listen { "listen-tcp" } else { "listen" };
        let of_udp = SocketOptions {
            listen: Vec::new(),
            listen_tcp: Vec::new(),
            exporters: Vec::new(),
            ..sockets.clone()
        };
        let is_of_udp = sockets.listen.is_empty() && of_udp != SocketOptions::default();
        let (exporters, captures) = (!sockets.exporters.is_empty(), interface.is_some());
        let threads = capture.capture_threads as usize;
        let is_pinned = ![0, threads].contains(&capture.capture_cpus.len());
        let tunnels = self.tunnels != Tunnels::Outer;
        let sockets = *sockets != SocketOptions::default();
        let capture = *capture != CaptureOptions::default();
        let decoding = self.decoding != ExportOptions::default();
        let broker = self.is_broker();
        let translated = self.decoding.nat != Nat::Pre;
        if let Some(bad) = self.broker.check() {
            return Err(bad);
        }
        let rules = [
            (
                broker && (files || listen || captures),
                "url",
                "cannot be combined with another input",
            ),
            (
                !broker && *messages != MessageOptions::default(),
                "url",
                "must be set for message options",
            ),
            (
                messages.schema.is_some() && messages.message_format == MessageFormat::Json,
                "schema",
                "applies only to Protobuf messages",
            ),
            (
                messages.earliest && broker && !self.has_positions(),
                "earliest",
                "has no effect on a NATS subject, which stores no messages; use a stream (jetstream://)",
            ),
            (
                broker && translated,
                "nat",
                "has no effect on messages, because their flows are already decoded",
            ),
            (listen && files, listen_key, "cannot be combined with input"),
            (
                captures && (files || listen),
                "interface",
                "cannot be combined with input, listen or listen-tcp",
            ),
            (listen && !exporters, listen_key, "exporters must be set too"),
            (!files && (self.exports || self.live), "input", "must be set for exports or live"),
            (
                listen && is_of_udp,
                "listen",
                "must be set for receive-buffer, receivers or templates, which do not apply to TCP",
            ),
            (
                !listen && sockets,
                "listen",
                "must be set for exporters or socket options, unless listen-tcp is set",
            ),
            (!captures && capture, "interface", "must be set for capture options"),
            (is_pinned, "capture-cpus", "must name one CPU for each capture thread"),
            (
                tunnels && broker,
                "tunnels",
                "has no effect on messages, because their flows are already decoded",
            ),
            (
                !self.is_exports() && decoding,
                "listen",
                "must be set for export options, unless exports or url is set",
            ),
        ];
        BadOption::first(rules).map_or(Ok(()), Err)
    }
}

#[cfg(feature = "clap")]
fn within(range: RangeInclusive<u32>) -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(i64::from(*range.start())..=i64::from(*range.end()))
}

#[cfg(all(test, feature = "serde"))]
mod tests;
