//! A packet, and the contact that it is to an input.

use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU64};

use srlg_input::Contact;
use srlg_input::contact::TCP;

/// IP protocol number of UDP.
pub(crate) const UDP: u8 = 17;

/// A TCP or UDP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Source and destination.
    pub(crate) hosts: [IpAddr; 2],
    /// Source port and destination port.
    pub(crate) ports: [u16; 2],
    pub(crate) protocol: u8,
    /// TCP flags, or 0.
    pub(crate) flags: u8,
    /// Length with the IP header, in bytes.
    pub(crate) octets: u64,
}

impl Packet {
    /// Returns a TCP packet without data.
    pub(crate) const fn tcp(hosts: [IpAddr; 2], ports: [u16; 2], flags: u8) -> Self {
        Self { hosts, ports, protocol: TCP, flags, octets: 60 }
    }

    /// Returns a UDP packet of `octets` bytes.
    pub(crate) const fn udp(hosts: [IpAddr; 2], ports: [u16; 2], octets: u64) -> Self {
        Self { hosts, ports, protocol: UDP, flags: 0, octets }
    }

    /// Returns a reply of `octets` bytes to this packet.
    pub(crate) const fn reply(self, flags: u8, octets: u64) -> Self {
        let Self { hosts: [source, destination], ports: [from, to], protocol, .. } = self;
        Self { hosts: [destination, source], ports: [to, from], protocol, flags, octets }
    }

    /// Returns the contact that an input sees at `time_ns`.
    pub(crate) fn contact(&self, time_ns: u64) -> Contact {
        let [source, destination] = self.hosts;
        let mut contact = Contact::new(time_ns, source.into(), destination.into());
        contact.protocol = Some(self.protocol);
        contact.tcp_flags = NonZeroU8::new(self.flags);
        (contact.source_port, contact.destination_port) =
            (Some(self.ports[0]), Some(self.ports[1]));
        contact.packets = Some(NonZeroU64::MIN);
        contact.octets = NonZeroU64::new(self.octets);
        contact
    }
}
