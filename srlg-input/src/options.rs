//! Options of an input: where contacts come from, and how they are read.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnet::IpNet;

use crate::contact::named;

mod kafka;
mod messages;
mod nats;

pub use kafka::{BadTopic, KafkaOptions, Mechanism, Topic};
pub use messages::{MessageFormat, MessageOptions};
pub use nats::{BadUrl, NatsOptions, NatsSource, NatsUrl};

/// Options of an [`Input`](crate::Input): files, sockets, an interface or a broker.
///
/// With the feature `clap` they are options of a command. These have a group `contacts`, of which one may be given: `input`,
/// `listen`, `interface`, `kafka` or `nats`; a group `decoded`, the options by which flow exports are read; and a group
/// `messages`, the two brokers.
///
/// With the feature `serde` they are read from a map with the same names as keys; [`check`](Self::check) then says what a command
/// would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("contacts").args(["input", "listen", "interface", "kafka", "nats"]))))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("decoded").args(["exports", "listen", "kafka", "nats"]))))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("messages").args(["kafka", "nats"]))))]
pub struct InputOptions {
    /// Capture (pcap, pcapng), contact list (CSV with the header time_ms,src,dst), log of Zeek, Suricata or an AWS VPC, IPFIX file, gzip of any; repeatable, in this order; - is standard input
    #[cfg_attr(feature = "clap", arg(long, alias = "replay", value_name = "FILE|-"))]
    pub input: Vec<PathBuf>,

    /// The UDP datagrams of the captures are exports of flows: NetFlow v5, v7 or v9, IPFIX, sFlow v5. Several files are one export
    #[cfg_attr(feature = "clap", arg(long, requires = "input"))]
    pub exports: bool,

    /// The input goes on now: a slice ends by this machine's clock, whether packets come or not
    #[cfg_attr(feature = "clap", arg(long, requires = "input"))]
    pub live: bool,

    /// Hosts of a captured packet in a tunnel (VXLAN, Geneve, GRE, GTP-U, IP in IP): the ends of the tunnel (outer), those of the packet in it (inner), or both
    #[cfg_attr(feature = "clap", arg(long, value_name = "outer|inner|both", default_value_t, requires = "contacts", conflicts_with_all = ["listen", "exports", "kafka", "nats"]))]
    pub tunnels: Tunnels,

    /// Sockets that receive flow exports.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub sockets: SocketOptions,

    /// Network interface to capture packets from; needs a program that was built with the feature live
    #[cfg_attr(feature = "clap", arg(long, value_name = "IF"))]
    pub interface: Option<String>,

    /// Settings of live capture.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub capture: CaptureOptions,

    /// Topic of Kafka.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub kafka: KafkaOptions,

    /// Stream or subject of NATS.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub nats: NatsOptions,

    /// Messages of a broker.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub messages: MessageOptions,

    /// Settings of the decoder of flow exports.
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
pub struct SocketOptions {
    /// UDP address to receive exports of flows at, repeatable: `[::]:2055` is that port on all addresses of IPv4 and IPv6
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDR:PORT", requires = "exporters"))]
    pub listen: Vec<SocketAddr>,

    /// Network of exporters, repeatable; datagrams from elsewhere are counted and not read
    #[cfg_attr(feature = "clap", arg(long, value_name = "CIDR", value_parser = crate::contact::parse_network, requires = "listen"))]
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::contact::deserialize_networks")
    )]
    pub exporters: Vec<IpNet>,

    /// Bytes that the kernel keeps of what a socket has not read yet
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::RECEIVE_BUFFER, value_parser = within(Self::RECEIVE_BUFFERS), requires = "listen"))]
    pub receive_buffer: u32,

    /// Threads that receive and decode at each address; exporters are spread over them
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = within(Self::RECEIVERS), requires = "listen"))]
    pub receivers: u32,

    /// File that keeps templates and sampling rates of exporters while this program does not run
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "listen"))]
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
pub struct CaptureOptions {
    /// Packets that are captured, in the language of pcap-filter(7): "ip6 or tcp port 443"
    #[cfg_attr(feature = "clap", arg(long, value_name = "EXPRESSION", requires = "interface"))]
    pub filter: Option<String>,

    /// Bytes of a packet that are captured
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::SNAP_LENGTH, value_parser = within(Self::SNAP_LENGTHS), requires = "interface"))]
    pub snap_length: u32,

    /// Bytes that the kernel keeps of packets that have not been read yet
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::BUFFER, value_parser = within(Self::BUFFERS), requires = "interface"))]
    pub capture_buffer: u32,

    /// Leave the interface as it is: only frames to this station, and from it, are captured
    #[cfg_attr(feature = "clap", arg(long, requires = "interface"))]
    pub not_promiscuous: bool,

    /// Threads that capture, each with a buffer of its own and a share of the packets (more than one: Linux alone)
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = within(Self::THREADS), requires = "interface"))]
    pub capture_threads: u32,

    /// How capture threads share the packets: by the CPU that received a packet (cpu), or in turn (turns)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "cpu|turns", default_value_t, requires = "interface")
    )]
    pub capture_split: CaptureSplit,

    /// CPUs that the capture threads run on, one for each thread: 2,4,6 [default: any]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "CPUS", value_delimiter = ',', requires = "interface")
    )]
    pub capture_cpus: Vec<u32>,
}

/// Options by which flow exports are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args), group(requires = "decoded"))]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
pub struct ExportOptions {
    /// Addresses of hosts behind a translator: those before the translation (pre) or after it (post)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "pre|post", default_value_t, conflicts_with = "messages")
    )]
    pub nat: Nat,

    /// Times of exporters: corrected by the skew of their clocks, trusted, or not used (received)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "corrected|trusted|received", default_value_t)
    )]
    pub timestamps: Timestamps,

    /// Packets one of which exporters look at, where they do not say [default: unknown]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub sampling: Option<NonZeroU32>,
}

named! {
    /// The hosts of a captured packet that another one carries through a tunnel.
    #[non_exhaustive]
    Tunnels {
        /// The ends of the tunnel.
        #[default]
        Outer = "outer",
        /// Those of the innermost packet; of a packet in no tunnel its own. Anyone who can send to the end of a tunnel can forge inner
        /// addresses.
        Inner = "inner",
        /// Both: a packet in a tunnel is two packets.
        Both = "both",
    }
}

named! {
    /// How several capture threads share the packets. Any share is right: a pair counts once, whichever thread sees it.
    #[non_exhaustive]
    CaptureSplit {
        /// By the CPU that received a packet from the network card: of N threads, number i gets the packets of the CPUs i, i + N,
        /// i + 2N and so on.
        #[default]
        Cpu = "cpu",
        /// One packet after the other, each to the next thread, for a card that gives all packets to one CPU.
        Turns = "turns",
    }
}

named! {
    /// The addresses of hosts behind a translator that count.
    #[non_exhaustive]
    Nat {
        /// The addresses before the translation.
        #[default]
        Pre = "pre",
        /// The addresses after the translation, where a record has them.
        Post = "post",
    }
}

named! {
    /// The times of contacts that exporters report.
    #[non_exhaustive]
    Timestamps {
        /// The exporter's times, corrected by the skew of its clock where that is above 5 seconds, and replaced by the time of
        /// receipt where it is above an hour.
        #[default]
        Corrected = "corrected",
        /// The exporter's times as they are.
        Trusted = "trusted",
        /// The time at which the datagram was received.
        Received = "received",
    }
}

/// An option of an input whose value is out of range, or that needs another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {rule}")]
pub struct BadOption {
    /// Name of the option.
    pub option: &'static str,
    /// The rule that it breaks.
    pub rule: String,
}

impl BadOption {
    /// Returns the first of the rules that is broken, each with its option.
    fn first<const N: usize>(rules: [(bool, &'static str, &str); N]) -> Option<Self> {
        let broken = rules.into_iter().find(|(is_broken, ..)| *is_broken);
        broken.map(|(_, option, rule)| Self { option, rule: rule.to_owned() })
    }
}

impl SocketOptions {
    const RECEIVE_BUFFER: u32 = 16 << 20;
    /// Linux counts twice as many bytes in 31 bits.
    const RECEIVE_BUFFERS: RangeInclusive<u32> = 1..=(1 << 30) - 1;
    const RECEIVERS: RangeInclusive<u32> = 1..=256;
}

impl CaptureOptions {
    const SNAP_LENGTH: u32 = 256;
    const BUFFER: u32 = 32 << 20;
    /// From the bytes up to and including the fixed header of IPv6, behind Ethernet and two VLAN tags, to what libpcap takes for
    /// "all".
    pub(crate) const SNAP_LENGTHS: RangeInclusive<u32> = 62..=262_144;
    /// From two blocks of 256 KiB, of which libpcap makes a ring for Linux: one is read while the other is filled.
    pub(crate) const BUFFERS: RangeInclusive<u32> = 524_288..=i32::MAX as u32;
    /// Linux shares packets among 256 sockets at most.
    pub(crate) const THREADS: RangeInclusive<u32> =
        1..=if cfg!(target_os = "linux") { 256 } else { 1 };
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            exporters: Vec::new(),
            receive_buffer: Self::RECEIVE_BUFFER,
            receivers: 1,
            templates: None,
        }
    }
}

/// All packets, in promiscuous mode: 256 bytes of each, in a buffer of 32 MiB.
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
    /// Returns whether slices end by the time of day.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live || !self.sockets.listen.is_empty() || self.interface.is_some() || self.is_broker()
    }

    /// Returns whether contacts come out of exports of flows.
    #[must_use]
    pub fn is_exports(&self) -> bool {
        self.exports || !self.sockets.listen.is_empty() || self.is_broker()
    }

    /// Returns whether contacts come out of messages of a broker, Kafka or NATS.
    #[must_use]
    pub fn is_broker(&self) -> bool {
        self.kafka.kafka.is_some() || self.nats.nats.is_some()
    }

    /// Returns whether the input has positions, from which it can be resumed.
    #[must_use]
    pub fn has_positions(&self) -> bool {
        let is_stream = |url: &NatsUrl| matches!(url.source, NatsSource::Stream(_));
        self.kafka.kafka.is_some() || self.nats.nats.as_ref().is_some_and(is_stream)
    }

    /// Checks values and combinations of options that do not come from a command, which checks them by itself.
    ///
    /// # Errors
    /// [`BadOption`]: the first option that is out of range, or lacks one that it needs.
    pub fn check(&self) -> Result<(), BadOption> {
        let Self { sockets, interface, capture, kafka, nats, messages, .. } = self;
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
                return bad(option, format!("give {least} to {most}, got {value}"));
            }
        }
        let (files, listen) = (!self.input.is_empty(), !sockets.listen.is_empty());
        let (exporters, captures) = (!sockets.exporters.is_empty(), interface.is_some());
        let threads = capture.capture_threads as usize;
        let is_pinned = ![0, threads].contains(&capture.capture_cpus.len());
        let tunnels = self.tunnels != Tunnels::Outer;
        let sockets = *sockets != SocketOptions::default();
        let capture = *capture != CaptureOptions::default();
        let decoding = self.decoding != ExportOptions::default();
        let broker = self.is_broker();
        let translated = self.decoding.nat != Nat::Pre;
        let (is_both, has_topic) =
            (kafka.kafka.is_some() && nats.nats.is_some(), kafka.kafka.is_some());
        if let Some(bad) = kafka.check().or(nats.check()) {
            return Err(bad);
        }
        let rules = [
            (
                broker && (files || listen || captures),
                if has_topic { "kafka" } else { "nats" },
                "cannot be given with another input",
            ),
            (is_both, "nats", "cannot be given with kafka"),
            (
                !broker && *messages != MessageOptions::default(),
                "kafka",
                "is missing, or nats, beside options of messages",
            ),
            (
                messages.schema.is_some() && messages.message_format == MessageFormat::Json,
                "schema",
                "applies to messages of protobuf alone",
            ),
            (
                messages.earliest && broker && !self.has_positions(),
                "earliest",
                "has no effect on a subject of NATS, which keeps no messages: give a stream (jetstream://)",
            ),
            (
                broker && translated,
                "nat",
                "has no effect on messages, whose flows have been decoded",
            ),
            (listen && files, "listen", "cannot be given with input"),
            (captures && (files || listen), "interface", "cannot be given with input or listen"),
            (listen && !exporters, "listen", "needs exporters"),
            (!files && (self.exports || self.live), "input", "is missing beside exports or live"),
            (!listen && sockets, "listen", "is missing beside exporters or options of sockets"),
            (!captures && capture, "interface", "is missing beside options of capture"),
            (is_pinned, "capture-cpus", "needs a CPU for each of capture-threads"),
            (tunnels && self.is_exports(), "tunnels", "applies to captured packets alone"),
            (!self.is_exports() && decoding, "listen", "is missing beside options of exports"),
        ];
        BadOption::first(rules).map_or(Ok(()), Err)
    }
}

#[cfg(feature = "clap")]
fn within(range: RangeInclusive<u32>) -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(i64::from(*range.start())..=i64::from(*range.end()))
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<InputOptions, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn keys_are_the_names_of_a_command() {
        let text = r#"{"listen": ["[::]:2055"], "exporters": ["192.0.2.7/28", "::1"], "receive-buffer": 4096,
            "nat": "post", "timestamps": "received", "sampling": 100, "snap-length": 256}"#;
        let options = read(text).unwrap();
        let sockets = SocketOptions {
            listen: vec!["[::]:2055".parse().unwrap()],
            exporters: vec!["192.0.2.0/28".parse().unwrap(), "::1/128".parse().unwrap()],
            receive_buffer: 4096,
            ..SocketOptions::default()
        };
        let (nat, timestamps) = (Nat::Post, Timestamps::Received);
        let decoding = ExportOptions { nat, timestamps, sampling: NonZeroU32::new(100) };
        assert_eq!(options, InputOptions { sockets, decoding, ..InputOptions::default() });
        assert_eq!(options.check(), Ok(()));
        assert_eq!(read("{}").unwrap(), InputOptions::default());
        for text in [
            r#"{"listn": []}"#,
            r#"{"listen": ["nowhere"]}"#,
            r#"{"exporters": ["10.0.0.0/33"]}"#,
            r#"{"nat": "both"}"#,
            r#"{"sampling": 0}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_that_a_command_would_reject_are_named() {
        let listen = r#""listen": ["[::]:2055"]"#;
        for (text, option) in [
            ("", None),
            (listen, Some("listen")),
            (&format!(r#"{listen}, "exporters": ["::1"]"#), None),
            (&format!(r#"{listen}, "exporters": ["::1"], "interface": "eth0""#), Some("interface")),
            (&format!(r#"{listen}, "exporters": ["::1"], "receivers": 0"#), Some("receivers")),
            (&format!(r#"{listen}, "exporters": ["::1"], "input": ["a"]"#), Some("listen")),
            (r#""exporters": ["::1"]"#, Some("listen")),
            (r#""templates": "a""#, Some("listen")),
            (r#""interface": "eth0", "filter": "tcp""#, None),
            (r#""filter": "tcp""#, Some("interface")),
            (r#""interface": "eth0", "snap-length": 61"#, Some("snap-length")),
            (r#""input": ["a"], "live": true"#, None),
            (r#""live": true"#, Some("input")),
            (r#""input": ["a"], "nat": "post""#, Some("listen")),
            (r#""input": ["a"], "exports": true, "nat": "post""#, None),
        ] {
            let bad = read(&format!("{{{text}}}")).unwrap().check().err();
            assert_eq!(bad.map(|bad| bad.option), option, "{text}");
        }
    }
}
