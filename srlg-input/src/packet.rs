//! A parser of packet headers, which finds the hosts, destination port and TCP flags of a captured frame.
//!
//! Frames come from capture files, interfaces, sFlow samples and records of sampled packets in NetFlow v9 and IPFIX.
//! [`headers`] finds the outermost IP header of a frame, and [`Headers::transport`] reads the transport header of the
//! packet. If a frame has no valid IP header, [`headers`] returns the reason as a [`Skip`].
//!
//! ```
//! use srlg_input::packet::{Skip, headers};
//!
//! let arp = [&[0xff; 12][..], &[0x08, 0x06]].concat();
//! assert_eq!(headers(1, &arp), Err(Skip::NotIp));
//! ```

pub(crate) mod ether_type;
pub(crate) mod frame;
pub(crate) mod ip;
mod layer;
pub(crate) mod link;
mod llc;
mod mpls;
mod ppp;
mod tag;
pub(crate) mod transport;
mod tunnel;
mod wifi;

pub use frame::headers;
pub use ip::Headers;
pub use transport::Transport;
pub(crate) use tunnel::Choice;
pub use tunnel::{Innermost, MOST_TUNNELS};

pub use crate::options::Tunnels;

use crate::reason::reasons;

reasons! {
    /// The reason why a packet or a row is skipped.
    ///
    /// If several reasons apply, the first in this order is used: record (`NoInterface`, `NoTime`, `BadTime`), link
    /// type, headers from the outermost to the innermost.
    Skip {
        /// The frame carries neither IPv4 nor IPv6, but for example ARP or LLDP, or it has more than 29 headers before
        /// IP.
        NotIp = "not-ip",
        /// Frames of this link type cannot be parsed.
        LinkType = "link-type",
        /// The frame is encrypted: a protected frame of 802.11, or a MACsec frame with confidentiality.
        Encrypted = "encrypted",
        /// The captured bytes end before the end of the fixed IP header, which has 20 bytes in IPv4 and 40 in IPv6.
        /// Missing options, extension headers and payload do not matter. Where only UDP datagrams are read, the UDP
        /// header must be complete too.
        CutHeader = "cut-header",
        /// A header is invalid: an unexpected IP version, an impossible length of a header or a datagram, or a pcapng
        /// packet larger than its block.
        BadHeader = "bad-header",
        /// The record has no timestamp. Examples are a pcapng simple packet block and a row of a log without a time.
        NoTime = "no-time",
        /// The timestamp is invalid: it is before 1970 or after 2554, or the time in a log cannot be parsed.
        BadTime = "bad-time",
        /// A pcapng packet refers to an interface that its section has not described, or that is not among the first
        /// 65,536 interfaces of the section.
        NoInterface = "no-interface",
        /// A row cannot be parsed, or is longer than 1,024 bytes (CSV) or 65,536 bytes (log).
        BadRow = "bad-row",
        /// The captured bytes end before the headers of a tunnelled packet are complete. Only inner hosts are to be
        /// counted.
        CutTunnel = "cut-tunnel",
        /// A fragment of a tunnel packet does not contain the inner headers, and only inner hosts are to be counted.
        TunnelFragment = "tunnel-fragment",
        /// An IP tunnel, such as GRE, carries a packet that is not IP or has an invalid header. The hosts of the tunnel
        /// are counted, so that no packet is skipped for this reason.
        TunnelContent = "tunnel-content",
        /// The packet is in more than [`MOST_TUNNELS`] nested tunnels. The hosts in the last tunnel that was entered are
        /// counted, so that no packet is skipped for this reason.
        DeepTunnel = "deep-tunnel",
        /// The packet is not UDP, but only UDP datagrams are read.
        NotUdp = "not-udp",
        /// The packet is a fragment of a datagram.
        Fragment = "fragment",
        /// Part of the datagram's payload was not captured.
        CutPayload = "cut-payload",
        /// A flow, or one direction of a logged conversation, has no packets.
        NoPackets = "no-packets",
        /// A row of a log does not contain two hosts.
        NoHosts = "no-hosts",
        /// A Suricata record describes an event other than a flow.
        OtherEvent = "other-event",
        /// A row belongs to another log than the rows before it, to one of Zeek's logs other than conn.log, or to no
        /// known log.
        OtherLog = "other-log",
    }
}
