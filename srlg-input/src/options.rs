//! The options of a command that say where contacts come from.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::ArgGroup;
use ipnet::IpNet;
use srlg_contact::parse_network;
use srlg_flow::{DecoderOptions, Nat, Timestamps};

/// Names an input: files, sockets or an interface.
///
/// As options of a command they are a group `contacts`, of which one may be given: `input`, `listen` or `interface`;
/// and a group `decoded`, those that exports come by.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(group(ArgGroup::new("contacts").args(["input", "listen", "interface"])))]
#[command(group(ArgGroup::new("decoded").args(["exports", "listen"])))]
pub struct InputOptions {
    /// Capture (pcap, pcapng), contact list (CSV with the header time_ms,src,dst), log of Zeek, Suricata or an AWS VPC, IPFIX file, gzip of any; repeatable, in this order; - is standard input
    // What is read again goes by the name of replay.
    #[arg(long, alias = "replay", value_name = "FILE|-")]
    pub input: Vec<PathBuf>,

    /// The UDP datagrams of the captures are exports of flows: NetFlow v5, v7 or v9, IPFIX, sFlow v5. Several files are one export
    #[arg(long, requires = "input")]
    pub exports: bool,

    /// The input goes on now: a slice ends by this machine's clock, whether packets come or not
    #[arg(long, requires = "input")]
    pub live: bool,

    /// Exports that exporters send here.
    #[command(flatten)]
    pub sockets: SocketOptions,

    /// Packets on an interface.
    #[command(flatten)]
    pub interface: InterfaceOptions,

    /// How exports are read.
    #[command(flatten)]
    pub decoding: ExportOptions,
}

/// Names sockets to receive exports at.
#[derive(Clone, Debug, clap::Args)]
pub struct SocketOptions {
    /// UDP address to receive exports of flows at, repeatable: `[::]:2055` is that port on all addresses of IPv4 and IPv6
    #[arg(long, value_name = "ADDR:PORT", requires = "exporters")]
    pub listen: Vec<SocketAddr>,

    /// Network of exporters, repeatable; datagrams from elsewhere are counted and not read
    #[arg(long, value_name = "CIDR", value_parser = parse_network, requires = "listen")]
    pub exporters: Vec<IpNet>,

    /// Bytes that the kernel keeps of what a socket has not read yet
    #[arg(long, value_name = "BYTES", default_value_t = Self::RECEIVE_BUFFER, value_parser = clap::value_parser!(u32).range(1..=Self::MOST_BUFFER), requires = "listen")]
    pub receive_buffer: u32,

    /// Threads that receive and decode at each address; exporters are spread over them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256), requires = "listen")]
    pub receivers: u32,

    /// File that keeps templates and sampling rates of exporters while this program does not run
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub templates: Option<PathBuf>,
}

/// Names an interface to capture from.
#[derive(Clone, Debug, clap::Args)]
pub struct InterfaceOptions {
    /// Network interface to capture packets from; needs a program that was built with the feature live
    #[arg(long = "interface", id = "interface", value_name = "IF")]
    pub name: Option<String>,

    /// Packets that are captured, in the language of pcap-filter(7): "ip6 or tcp port 443"
    #[arg(long, value_name = "EXPRESSION", requires = "interface")]
    pub filter: Option<String>,

    /// Bytes of a packet that are captured
    #[arg(long, value_name = "BYTES", default_value_t = Self::SNAP_LENGTH, value_parser = clap::value_parser!(u32).range(Self::SNAP_LENGTHS), requires = "interface")]
    pub snap_length: u32,

    /// Bytes that the kernel keeps of packets that have not been read yet
    #[arg(long, value_name = "BYTES", default_value_t = Self::BUFFER, value_parser = clap::value_parser!(u32).range(Self::BUFFERS), requires = "interface")]
    pub capture_buffer: u32,

    /// Leave the interface as it is: only frames to this station, and from it, are captured
    #[arg(long, requires = "interface")]
    pub not_promiscuous: bool,
}

/// Says how exports of flows are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportOptions {
    /// Addresses of hosts behind a translator: those before the translation (pre) or after it (post)
    #[arg(long, value_name = "pre|post", default_value = "pre", value_parser = nat, requires = "decoded")]
    pub nat: Nat,

    /// Times of exporters: corrected by the skew of their clocks, trusted, or not used (received)
    #[arg(long, value_name = "corrected|trusted|received", default_value = "corrected", value_parser = timestamps, requires = "decoded")]
    pub timestamps: Timestamps,

    /// Packets one of which exporters look at, where they do not say [default: unknown]
    #[arg(long, value_name = "N", requires = "decoded")]
    pub sampling: Option<NonZeroU32>,
}

impl SocketOptions {
    const RECEIVE_BUFFER: u32 = 16 << 20;
    /// Linux counts twice as many in 31 bits.
    const MOST_BUFFER: i64 = (1 << 30) - 1;
}

impl InterfaceOptions {
    const SNAP_LENGTH: u32 = 256;
    const BUFFER: u32 = 32 << 20;
    /// Those that live capture takes; it is not part of every program, and does not know how options are called.
    const SNAP_LENGTHS: RangeInclusive<i64> = 62..=262_144;
    const BUFFERS: RangeInclusive<i64> = 524_288..=(1 << 31) - 1;

    /// What is captured, and how.
    #[cfg(feature = "live")]
    pub(crate) fn capture(&self) -> srlg_capture::LiveOptions {
        let Self { filter, snap_length, capture_buffer, not_promiscuous, .. } = self;
        srlg_capture::LiveOptions {
            filter: filter.clone(),
            snap_length: *snap_length,
            promiscuous: !not_promiscuous,
            buffer_bytes: *capture_buffer,
        }
    }
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

impl Default for InterfaceOptions {
    fn default() -> Self {
        Self {
            name: None,
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
        self.live || !self.sockets.listen.is_empty() || self.interface.name.is_some()
    }

    /// Returns whether contacts come out of exports of flows.
    #[must_use]
    pub fn is_exports(&self) -> bool {
        self.exports || !self.sockets.listen.is_empty()
    }
}

impl ExportOptions {
    /// Returns the options of a decoder that reads exports so.
    #[must_use]
    pub fn decoder(&self) -> DecoderOptions {
        let Self { nat, timestamps, sampling } = *self;
        DecoderOptions { nat, timestamps, sampling, ..DecoderOptions::default() }
    }
}

fn nat(text: &str) -> Result<Nat, &'static str> {
    match text {
        "pre" => Ok(Nat::Pre),
        "post" => Ok(Nat::Post),
        _ => Err("give pre or post"),
    }
}

fn timestamps(text: &str) -> Result<Timestamps, &'static str> {
    match text {
        "corrected" => Ok(Timestamps::Corrected),
        "trusted" => Ok(Timestamps::Trusted),
        "received" => Ok(Timestamps::Received),
        _ => Err("give corrected, trusted or received"),
    }
}

#[cfg(all(test, feature = "live"))]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_live_capture_takes() {
        let is_taken = |snap_length: i64, capture_buffer: i64| {
            let (snap_length, capture_buffer) = (snap_length as u32, capture_buffer as u32);
            let options =
                InterfaceOptions { snap_length, capture_buffer, ..InterfaceOptions::default() };
            let refused = srlg_capture::Live::open("", &options.capture()).unwrap_err();
            !matches!(refused, srlg_capture::LiveError::Size { .. })
        };
        let [snap_lengths, buffers] = [InterfaceOptions::SNAP_LENGTHS, InterfaceOptions::BUFFERS];
        let ([least, most], [small, large]) =
            [snap_lengths, buffers].map(|range| [*range.start(), *range.end()]).into();
        assert!(is_taken(least, small) && is_taken(most, large));
        assert!(!is_taken(least - 1, small) && !is_taken(most + 1, small));
        assert!(!is_taken(least, small - 1) && !is_taken(least, large + 1));
    }
}
