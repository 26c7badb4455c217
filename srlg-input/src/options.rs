//! Options of an input: where contacts come from, and how they are read.

use std::net::SocketAddr;
use std::num::NonZeroU32;
#[cfg(any(feature = "clap", feature = "live"))]
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnet::IpNet;

/// Options of an [`Input`](crate::Input): files, sockets or an interface.
///
/// With the feature `clap` they are options of a command. These have a group `contacts`, of which one may be given: `input`,
/// `listen` or `interface`; and a group `decoded`, the options by which flow exports are read.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("contacts").args(["input", "listen", "interface"]))))]
#[cfg_attr(feature = "clap", command(group(clap::ArgGroup::new("decoded").args(["exports", "listen"]))))]
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

    /// Sockets that receive flow exports.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub sockets: SocketOptions,

    /// Network interface to capture packets from; needs a program that was built with the feature live
    #[cfg_attr(feature = "clap", arg(long, value_name = "IF"))]
    pub interface: Option<String>,

    /// Settings of live capture.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub capture: CaptureOptions,

    /// Settings of the decoder of flow exports.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub decoding: ExportOptions,
}

/// Options of the sockets that receive flow exports.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct SocketOptions {
    /// UDP address to receive exports of flows at, repeatable: `[::]:2055` is that port on all addresses of IPv4 and IPv6
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDR:PORT", requires = "exporters"))]
    pub listen: Vec<SocketAddr>,

    /// Network of exporters, repeatable; datagrams from elsewhere are counted and not read
    #[cfg_attr(feature = "clap", arg(long, value_name = "CIDR", value_parser = crate::contact::parse_network, requires = "listen"))]
    pub exporters: Vec<IpNet>,

    /// Bytes that the kernel keeps of what a socket has not read yet
    #[cfg_attr(feature = "clap", arg(long, value_name = "BYTES", default_value_t = Self::RECEIVE_BUFFER, value_parser = within(Self::RECEIVE_BUFFERS), requires = "listen"))]
    pub receive_buffer: u32,

    /// Threads that receive and decode at each address; exporters are spread over them
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=256), requires = "listen"))]
    pub receivers: u32,

    /// File that keeps templates and sampling rates of exporters while this program does not run
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", requires = "listen"))]
    pub templates: Option<PathBuf>,
}

/// Options of live capture on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
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
}

/// Options by which flow exports are read.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ExportOptions {
    /// Addresses of hosts behind a translator: those before the translation (pre) or after it (post)
    #[cfg_attr(feature = "clap", arg(long, value_name = "pre|post", default_value = "pre", value_parser = nat, requires = "decoded"))]
    pub nat: Nat,

    /// Times of exporters: corrected by the skew of their clocks, trusted, or not used (received)
    #[cfg_attr(feature = "clap", arg(long, value_name = "corrected|trusted|received", default_value = "corrected", value_parser = timestamps, requires = "decoded"))]
    pub timestamps: Timestamps,

    /// Packets one of which exporters look at, where they do not say [default: unknown]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "decoded"))]
    pub sampling: Option<NonZeroU32>,
}

/// The addresses of hosts behind a translator that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nat {
    /// The addresses before the translation.
    #[default]
    Pre,
    /// The addresses after the translation, where a record has them.
    Post,
}

/// The times of contacts that exporters report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timestamps {
    /// The exporter's times, corrected by the skew of its clock where that is above 5 seconds, and replaced by the time of receipt
    /// where it is above an hour.
    #[default]
    Corrected,
    /// The exporter's times as they are.
    Trusted,
    /// The time at which the datagram was received.
    Received,
}

impl SocketOptions {
    const RECEIVE_BUFFER: u32 = 16 << 20;
    /// Linux counts twice as many bytes in 31 bits.
    #[cfg(feature = "clap")]
    const RECEIVE_BUFFERS: RangeInclusive<u32> = 1..=(1 << 30) - 1;
}

impl CaptureOptions {
    const SNAP_LENGTH: u32 = 256;
    const BUFFER: u32 = 32 << 20;
    /// From the bytes up to and including the fixed header of IPv6, behind Ethernet and two VLAN tags, to what libpcap takes for
    /// "all".
    #[cfg(any(feature = "clap", feature = "live"))]
    pub(crate) const SNAP_LENGTHS: RangeInclusive<u32> = 62..=262_144;
    /// From two blocks of 256 KiB, of which libpcap makes a ring for Linux: one is read while the other is filled.
    #[cfg(any(feature = "clap", feature = "live"))]
    pub(crate) const BUFFERS: RangeInclusive<u32> = 524_288..=i32::MAX as u32;
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
        }
    }
}

impl InputOptions {
    /// Returns whether slices end by the time of day.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live || !self.sockets.listen.is_empty() || self.interface.is_some()
    }

    /// Returns whether contacts come out of exports of flows.
    #[must_use]
    pub fn is_exports(&self) -> bool {
        self.exports || !self.sockets.listen.is_empty()
    }
}

#[cfg(feature = "clap")]
fn within(range: RangeInclusive<u32>) -> impl clap::builder::TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(i64::from(*range.start())..=i64::from(*range.end()))
}

#[cfg(feature = "clap")]
fn nat(text: &str) -> Result<Nat, &'static str> {
    match text {
        "pre" => Ok(Nat::Pre),
        "post" => Ok(Nat::Post),
        _ => Err("give pre or post"),
    }
}

#[cfg(feature = "clap")]
fn timestamps(text: &str) -> Result<Timestamps, &'static str> {
    match text {
        "corrected" => Ok(Timestamps::Corrected),
        "trusted" => Ok(Timestamps::Trusted),
        "received" => Ok(Timestamps::Received),
        _ => Err("give corrected, trusted or received"),
    }
}
