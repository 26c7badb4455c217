//! A packet, and the contact that it is to an input.

use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU64};

use srlg_input::Contact;
use srlg_input::contact::{ICMP, ICMP6, TCP};

/// IP protocol number of UDP.
pub(crate) const UDP: u8 = 17;

/// Maximum length of an ICMP error with the IP header, in bytes.
const MAX_ERROR: u64 = 576;

/// An ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icmp {
    EchoRequest,
    EchoReply,
    /// Error of a host that has no program on the port of a UDP packet.
    PortUnreachable,
}

impl Icmp {
    /// Returns the type and the code for IPv4 or IPv6.
    const fn type_and_code(self, is_v4: bool) -> [u8; 2] {
        match (self, is_v4) {
            (Self::EchoRequest, true) => [8, 0],
            (Self::EchoReply, true) => [0, 0],
            (Self::PortUnreachable, true) => [3, 3],
            (Self::EchoRequest, false) => [128, 0],
            (Self::EchoReply, false) => [129, 0],
            (Self::PortUnreachable, false) => [1, 4],
        }
    }
}

/// A TCP, UDP or ICMP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Source and destination.
    pub(crate) hosts: [IpAddr; 2],
    /// Source port and destination port. As in NetFlow, the destination port of ICMP consists of the type and the code,
    /// and the source port is 0.
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

    /// Returns an ICMP packet of `octets` bytes.
    pub(crate) const fn icmp(hosts: [IpAddr; 2], message: Icmp, octets: u64) -> Self {
        let is_v4 = hosts[0].is_ipv4();
        let protocol = if is_v4 { ICMP } else { ICMP6 };
        let ports = [0, u16::from_be_bytes(message.type_and_code(is_v4))];
        Self { hosts, ports, protocol, flags: 0, octets }
    }

    /// Returns the ICMP error with which the destination refuses this UDP packet. The error quotes the packet.
    pub(crate) fn unreachable(self) -> Self {
        let [source, destination] = self.hosts;
        let octets = (self.octets + 28).min(MAX_ERROR);
        Self::icmp([destination, source], Icmp::PortUnreachable, octets)
    }

    /// Returns a reply of `octets` bytes to this TCP or UDP packet.
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
        match self.protocol {
            ICMP | ICMP6 => contact.icmp_type = Some((self.ports[1] >> 8) as u8),
            _ => {
                (contact.source_port, contact.destination_port) =
                    (Some(self.ports[0]), Some(self.ports[1]));
            }
        }
        contact.packets = Some(NonZeroU64::MIN);
        contact.octets = NonZeroU64::new(self.octets);
        contact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icmp_has_a_type_and_no_ports() {
        let hosts = [[192, 0, 2, 1].into(), [10, 0, 0, 1].into()];
        let hosts6 = ["2001:db8::1", "2001:db8::2"].map(|host| host.parse().unwrap());
        let rows =
            [(Icmp::EchoRequest, 8, 128), (Icmp::EchoReply, 0, 129), (Icmp::PortUnreachable, 3, 1)];
        for (message, icmp_type, icmp6_type) in rows {
            let of = |hosts| Packet::icmp(hosts, message, 84).contact(0);
            let fields = |it: Contact| (it.protocol, it.destination_port, it.icmp_type);
            assert_eq!(fields(of(hosts)), (Some(1), None, Some(icmp_type)));
            assert_eq!(fields(of(hosts6)), (Some(58), None, Some(icmp6_type)));
        }
    }

    #[test]
    fn a_refusal_goes_to_the_source_and_quotes_the_packet() {
        let hosts = [[192, 0, 2, 1].into(), [10, 0, 0, 1].into()];
        for (octets, expected) in [(80, 108), (1_500, 576)] {
            let error = Packet::udp(hosts, [53, 40_000], octets).unreachable();
            assert_eq!((error.hosts, error.octets), ([hosts[1], hosts[0]], expected));
            assert_eq!((error.protocol, error.ports), (1, [0, 0x0303]));
        }
    }
}
