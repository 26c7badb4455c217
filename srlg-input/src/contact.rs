//! Contacts between hosts of IPv4 and IPv6, and views that turn them into pairs.
//!
//! Every packet, flow record and line of a log is a [`Contact`]. A [`View`] selects which contacts count, which end of them is the
//! host that is counted, and how many bits of an address make a host.
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
pub use view::{BadPrefix, BadView, Prefixes, View, ViewOptions};

/// The number of TCP among IP protocols.
pub const TCP: u8 = 6;
/// The bit of SYN among TCP flags.
pub const TCP_SYN: u8 = 0x02;
/// The bit of ACK among TCP flags.
pub const TCP_ACK: u8 = 0x10;

/// Packets that one host sent to another: a single packet, or those of a flow.
///
/// The two hosts may be of different families, which only a contact list can say. What an input
/// does not tell is `None`.
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
    /// Nanoseconds since the Unix epoch at which the last packet went (for a contact list: since whatever its time
    /// column counts from).
    pub time_ns: u64,
    /// Sender.
    pub source: Host,
    /// Receiver.
    pub destination: Host,
    /// Packets that were seen; of sampled ones those in the sample.
    pub packets: Option<NonZeroU64>,
    /// Bytes of these packets from the IP header on, as far as the input counts from there.
    pub octets: Option<NonZeroU64>,
    /// IP protocol (IANA's number).
    pub protocol: Option<u8>,
    /// TCP flags of all packets that were seen, by OR; `None` also where none was set.
    pub tcp_flags: Option<NonZeroU8>,
    /// Port of the receiver.
    pub destination_port: Option<u16>,
    /// Whether `source` began the conversation that the packets belong to.
    pub initiated: Option<bool>,
    /// Packets one of which was looked at, 1 where all were.
    pub sampling: Option<NonZeroU32>,
    /// Device that exported the contact.
    pub exporter: Option<Host>,
    /// Interface of that device at which the packets came in (ifIndex of SNMP).
    pub ingress: Option<NonZeroU32>,
}

impl Contact {
    /// Makes the contact of `source` with `destination` at `time_ns`, of which no more is known.
    ///
    /// A host is the same host however it is spelt: an IPv4-mapped address (`::ffff:0:0/96`)
    /// becomes the IPv4 address in it. No other address is changed: the IPv4 address in one of
    /// Teredo, 6to4 or NAT64 is that of a NAT, a router, or of the host behind the translator.
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
            destination_port: None,
            initiated: None,
            sampling: None,
            exporter: None,
            ingress: None,
        }
    }

    /// Returns whether `source` began the conversation: what the input says, else what TCP flags
    /// tell. A SYN without an ACK begins one; a single packet with both answers one.
    #[must_use]
    pub fn is_initiated(&self) -> Option<bool> {
        self.initiated.or_else(|| match self.syn_and_ack()? {
            (true, false) => Some(true),
            (true, true) if self.packets == Some(NonZeroU64::MIN) => Some(false),
            _ => None,
        })
    }

    /// Returns the port of the receiver, if it is known and of a protocol with ports. Exporters write port 0 where a packet
    /// has none, such as a later fragment.
    #[inline]
    #[must_use]
    pub fn port(&self) -> Option<Port> {
        let protocol = self.protocol.filter(|protocol| Port::is_in(*protocol))?;
        let number = self.destination_port.filter(|number| *number != 0)?;
        Some(Port { protocol, number })
    }

    /// Returns whether packets of TCP were seen with a SYN, and none with an ACK.
    #[must_use]
    pub fn is_syn_only(&self) -> bool {
        self.syn_and_ack() == Some((true, false))
    }

    /// Whether SYN and ACK are among the flags of TCP.
    fn syn_and_ack(&self) -> Option<(bool, bool)> {
        let is_tcp = self.protocol.is_none_or(|protocol| protocol == TCP);
        let flags = self.tcp_flags.filter(|_| is_tcp)?.get();
        Some((flags & TCP_SYN != 0, flags & TCP_ACK != 0))
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
    fn a_contact_has_96_bytes() {
        // Contacts go in blocks from thread to thread.
        assert_eq!(size_of::<Contact>(), 96);
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
        // ICMP has types and codes; GRE and an unknown protocol may have anything there.
        for protocol in [Some(1), Some(58), Some(47), None] {
            assert_eq!(port(protocol, Some(80)), None);
        }
        assert_eq!(port(Some(6), None), None, "a later fragment");
        assert_eq!(port(Some(6), Some(0)), None, "a later fragment, as exporters write it");
    }

    #[test]
    fn flags_tell_who_began_where_the_input_does_not() {
        assert_eq!(tcp(TCP_SYN, 3).is_initiated(), Some(true));
        assert_eq!(tcp(TCP_SYN | TCP_ACK, 1).is_initiated(), Some(false));
        assert_eq!(tcp(TCP_SYN | TCP_ACK, 2).is_initiated(), None, "either end of a whole flow");
        assert_eq!(tcp(TCP_ACK, 1).is_initiated(), None);
        assert_eq!(Contact { protocol: Some(17), ..tcp(TCP_SYN, 1) }.is_initiated(), None);
        assert_eq!(
            Contact { initiated: Some(false), ..tcp(TCP_SYN, 1) }.is_initiated(),
            Some(false)
        );
        assert!(tcp(TCP_SYN, 1).is_syn_only() && !tcp(TCP_SYN | TCP_ACK, 1).is_syn_only());
        assert!(!Contact { tcp_flags: None, ..tcp(0, 1) }.is_syn_only());
    }
}
