//! Headers of packets: from a captured frame to its hosts, ports and TCP flags.
//!
//! Capture files, interfaces and the samples of sFlow hold frames. [`headers`] finds the outermost IP header of any of them, and
//! [`Headers::transport`] reads what follows it. A frame without an IP header yields a [`Skip`], the reason.
//!
//! ```
//! use srlg_input::packet::{Skip, headers};
//!
//! let arp = [&[0xff; 12][..], &[0x08, 0x06]].concat();
//! assert_eq!(headers(1, &arp), Err(Skip::NotIp));
//! ```

pub(crate) mod frame;
pub(crate) mod ip;
pub(crate) mod transport;
mod tunnel;

pub use frame::headers;
pub use ip::Headers;
pub use transport::Transport;
pub use tunnel::MOST_TUNNELS;

pub use crate::options::Tunnels;

use crate::reason::reasons;

reasons! {
    /// The reason why a packet or a row is not a contact, or not a datagram where datagrams are read. The first reason that applies
    /// counts, in the order: record (`NoInterface`, `NoTime`, `BadTime`), link type, headers from outside in.
    Skip {
        /// The frame carries no IP: ARP, LLC, a payload of MPLS that is neither IPv4 nor IPv6.
        NotIp = "not-ip",
        /// Frames of this link type cannot be taken apart.
        LinkType = "link-type",
        /// Fewer bytes were captured than the headers up to and including the fixed one of IP need, 20
        /// bytes of IPv4 or 40 of IPv6. Options, extension headers and payload may be missing.
        CutHeader = "cut-header",
        /// A header lies: IP version other than announced, an IPv4 header length below 20 bytes or a
        /// total length below the header length, a pcapng packet larger than its block.
        BadHeader = "bad-header",
        /// The record has no time stamp: a pcapng simple packet block, a row of a log without one.
        NoTime = "no-time",
        /// The time stamp is impossible: a fraction of a whole second or more, before 1970, or beyond
        /// the 64 bit of nanoseconds that end in the year 2554.
        BadTime = "bad-time",
        /// A pcapng packet names an interface that its section has not described, or one past the
        /// first 65,536.
        NoInterface = "no-interface",
        /// A CSV row that is not `time_ms,src,dst` or is longer than 1,024 bytes; a row of a log that cannot be read or is longer than
        /// 65,536 bytes.
        BadRow = "bad-row",
        /// Fewer bytes were captured than the headers of the packet in a tunnel need.
        CutTunnel = "cut-tunnel",
        /// A fragment of a packet that carries another through a tunnel: one without the headers of that.
        TunnelFragment = "tunnel-fragment",
        /// A tunnel of IP, such as GRE, carries no packet of IP, or one with an impossible header.
        TunnelContent = "tunnel-content",
        /// More tunnels than are entered, [`MOST_TUNNELS`].
        DeepTunnel = "deep-tunnel",
        /// No datagram, where datagrams are asked for: the packet carries another protocol than UDP.
        NotUdp = "not-udp",
        /// No whole datagram: a fragment of one.
        Fragment = "fragment",
        /// No whole datagram: bytes of its payload were not captured.
        CutPayload = "cut-payload",
        /// A direction of a logged conversation, or a flow, without packets.
        NoPackets = "no-packets",
        /// A row of a log that names no two hosts.
        NoHosts = "no-hosts",
        /// A record of Suricata about something else than a flow.
        OtherEvent = "other-event",
    }
}
