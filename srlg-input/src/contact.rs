//! Contacts between IPv4 and IPv6 hosts, and views that turn them into pairs.
//!
//! Packets, flow records and log lines are converted to [`Contact`]s. A [`View`] selects the contacts that count, and
//! the endpoints whose peers are counted. It also sets the number of address bits that identify a host or a peer.
//!
//! ```
//! use srlg_input::contact::{Contact, View, ViewOptions, parse_network};
//!
//! let inside = vec![parse_network("192.0.2.0/24")?];
//! let view = View::new(&ViewOptions { inside, ..ViewOptions::default() })?;
//! let contact = Contact::new(0, "198.51.100.7".parse()?, "192.0.2.1".parse()?);
//! let pair = ("192.0.2.1".parse()?, "198.51.100.7".parse()?);
//! assert_eq!(view.pairs(&contact).collect::<Vec<_>>(), [pair]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod host;
mod named;
mod networks;
mod packing;
mod port;
mod ranges;
mod sampling;
mod turn;
mod view;

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

#[doc(no_inline)]
pub use ipnet::IpNet;

pub use host::Host;
pub(crate) use named::named;
pub use named::{ContactFilter, HostKey, PeerKey, Role, Side, UnknownName};
pub use networks::{BadNetwork, Networks, parse_network};
#[cfg(feature = "serde")]
pub use networks::{deserialize_networks, serialize_networks};
pub use packing::{BadName, Name, Packing};
pub use port::{BadPort, Port};
pub use sampling::{Sampling, SamplingWindow};
pub use turn::{Turn, TurnEvidence};
pub use view::{BadPrefix, BadView, Prefixes, View, ViewOptions};

/// IP protocol number of ICMP.
pub const ICMP: u8 = 1;
/// IP protocol number of ICMPv6.
pub const ICMP6: u8 = 58;
/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// SYN bit of the TCP flags.
pub const TCP_SYN: u8 = 0x02;
/// RST bit of the TCP flags.
pub const TCP_RST: u8 = 0x04;
/// ACK bit of the TCP flags.
pub const TCP_ACK: u8 = 0x10;

/// One or more packets that one host sent to another: a single packet, or the packets of a flow in one direction.
///
/// The two hosts may have different IP versions, for example in a contact list. A value that the input does not state
/// is `None`.
///
/// ```
/// use srlg_input::contact::Contact;
///
/// let contact = Contact::new(0, "::ffff:192.0.2.1".parse()?, "2001:db8::1".parse()?);
/// assert_eq!(contact.source.to_string(), "192.0.2.1");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Contact {
    /// Time of the last packet, in nanoseconds since the Unix epoch. In a contact list, the time is relative to the
    /// origin of the list's time column.
    pub time_ns: u64,
    /// Source address.
    pub source: Host,
    /// Destination address.
    pub destination: Host,
    /// Number of packets seen. With sampling, this is the number of sampled packets.
    pub packets: Option<NonZeroU64>,
    /// Number of bytes in the packets seen, as counted by the input, usually including IP headers. `None` if the number
    /// is unknown or 0.
    pub octets: Option<NonZeroU64>,
    /// IP protocol (IANA number).
    pub protocol: Option<u8>,
    /// Bitwise OR of the TCP flags of all packets seen. `None` if the flags are unknown or no flag is set.
    pub tcp_flags: Option<NonZeroU8>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
    /// ICMP type, such as 8 for an echo request.
    pub icmp_type: Option<u8>,
    /// Whether `source` initiated the conversation to which the packets belong.
    pub initiated: Option<bool>,
    /// Sampling rate, as N for one packet in N. A rate of 1 means that packets were not sampled.
    pub sampling: Option<NonZeroU32>,
    /// Address of the exporter that reported the contact.
    pub exporter: Option<Host>,
    /// Interface on which the exporter received the packets (SNMP ifIndex).
    pub ingress: Option<NonZeroU32>,
}

impl Contact {
    /// Creates a contact from `source` to `destination` at `time_ns`. All other fields are `None`.
    ///
    /// An IPv4-mapped address (`::ffff:0:0/96`) becomes the IPv4 address that it contains, so that both spellings are
    /// the same host. Teredo, 6to4 and NAT64 addresses are unchanged, because the IPv4 address in them belongs to a
    /// NAT, a router, or the host behind the translator.
    #[inline(always)]
    #[must_use]
    pub const fn new(time_ns: u64, source: Host, destination: Host) -> Self {
        Self {
            time_ns,
            source,
            destination,
            packets: None,
            octets: None,
            protocol: None,
            tcp_flags: None,
            source_port: None,
            destination_port: None,
            icmp_type: None,
            initiated: None,
            sampling: None,
            exporter: None,
            ingress: None,
        }
    }

    /// Returns the destination port, if it is known and the protocol has ports. Port 0 counts as unknown, because
    /// exporters write it for packets without a port, such as all fragments except the first.
    #[inline]
    #[must_use]
    pub fn port(&self) -> Option<Port> {
        self.known_port(self.destination_port)
    }

    /// Returns the source port, under the same conditions as [`port`](Self::port) returns the destination port.
    #[inline]
    #[must_use]
    pub fn sender_port(&self) -> Option<Port> {
        self.known_port(self.source_port)
    }

    #[inline]
    fn known_port(&self, number: Option<u16>) -> Option<Port> {
        let protocol = self.protocol.filter(|protocol| Port::is_in(*protocol))?;
        let number = number.filter(|number| *number != 0)?;
        Some(Port { protocol, number })
    }

    /// Returns whether at least one of the TCP packets has a SYN and none has an ACK. If the TCP flags are unknown,
    /// returns `false`.
    #[must_use]
    pub fn is_syn_only(&self) -> bool {
        self.syn_and_ack() == Some((true, false))
    }

    /// Returns whether SYN is set and whether ACK is set. Returns `None` if the flags are unknown, or if the protocol
    /// is known and is not TCP.
    fn syn_and_ack(&self) -> Option<(bool, bool)> {
        let is_tcp = self.protocol.is_none_or(|protocol| protocol == TCP);
        self.tcp_flags.filter(|_| is_tcp)?;
        Some((self.has_flag(TCP_SYN), self.has_flag(TCP_ACK)))
    }

    fn has_flag(&self, flag: u8) -> bool {
        self.tcp_flags.is_some_and(|flags| flags.get() & flag != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contact, NonZeroU8, NonZeroU64, TCP, TCP_ACK, TCP_SYN};

    fn tcp(flags: u8, packets: u64) -> Contact {
        let hosts = ["192.0.2.1", "192.0.2.2"].map(|host| host.parse().unwrap());
        let contact = Contact::new(0, hosts[0], hosts[1]);
        let (tcp_flags, packets) = (NonZeroU8::new(flags), NonZeroU64::new(packets));
        Contact { protocol: Some(TCP), tcp_flags, packets, ..contact }
    }

    #[test]
    fn a_contact_has_104_bytes() {
        // Contacts are passed between threads in blocks. The fields fill 102 bytes, so only 2 are padding.
        assert_eq!(size_of::<Contact>(), 104);
    }

    #[test]
    fn a_port_is_known_with_its_protocol_alone() {
        let port = |protocol, destination_port| {
            let contact = Contact { protocol, destination_port, ..tcp(0, 1) };
            contact.port().map(|port| port.to_string())
        };
        for (protocol, name) in [(6, "tcp"), (17, "udp"), (33, "dccp"), (132, "sctp")] {
            assert_eq!(port(Some(protocol), Some(80)), Some(format!("{name}/80")));
        }
        // ICMP has types and codes; GRE and unknown protocols may contain anything there.
        for protocol in [Some(1), Some(58), Some(47), None] {
            assert_eq!(port(protocol, Some(80)), None);
        }
        assert_eq!(port(Some(6), None), None, "a later fragment");
        assert_eq!(port(Some(6), Some(0)), None, "a later fragment, as exporters write it");
    }

    #[test]
    fn a_connection_attempt_is_tcp_with_syn_and_without_ack() {
        assert!(!Contact { protocol: Some(17), ..tcp(TCP_SYN, 1) }.is_syn_only());
        assert!(tcp(TCP_SYN, 1).is_syn_only() && !tcp(TCP_SYN | TCP_ACK, 1).is_syn_only());
        assert!(!Contact { tcp_flags: None, ..tcp(0, 1) }.is_syn_only());
    }
}
