//! Requests and replies.
//!
//! Whether a contact is a request or a reply depends on this contact alone. Results therefore do not depend on the
//! order in which contacts arrive, or on which probe sees them, and no sender can change what another contact means.

use std::num::NonZeroU64;

use crate::contact::{Contact, ICMP, ICMP6, Port, TCP_RST};

/// Place of a contact in the conversation of its two hosts, with the evidence for it.
///
/// ```
/// use srlg_input::contact::{Contact, Turn, TurnEvidence};
///
/// let mut contact = Contact::new(0, "192.0.2.1".parse()?, "198.51.100.7".parse()?);
/// assert_eq!(contact.turn(), None);
/// contact.protocol = Some(17);
/// (contact.source_port, contact.destination_port) = (Some(53), Some(40_000));
/// assert_eq!(contact.turn(), Some(Turn::Reply(TurnEvidence::Ports)));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The source has started the conversation.
    Request(TurnEvidence),
    /// The source answers the destination.
    Reply(TurnEvidence),
    /// The source refuses what the destination sent: an ICMP error, or a single TCP packet with RST and without SYN. Hosts
    /// refuse forged packets, too, so a refusal neither starts nor continues a conversation.
    Refusal,
}

/// Evidence that a contact is a request or a reply, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TurnEvidence {
    /// The input states which host started the conversation, as biflows and connection logs do.
    Stated,
    /// The TCP flags or the ICMP type. A SYN without an ACK is a request, and a single packet with SYN and ACK is a
    /// reply. Echo requests are requests, and echo replies are replies.
    Flags,
    /// The ports: exactly one of them belongs to a service, and its host is the server.
    Ports,
}

impl Contact {
    /// Returns whether this is a request, a reply or a refusal, or `None` if nothing in the contact tells.
    ///
    /// A sender can forge flags and ports, so a reply may answer a question that nobody asked.
    #[inline]
    #[must_use]
    pub fn turn(&self) -> Option<Turn> {
        let of = |is_request, evidence| match is_request {
            true => Turn::Request(evidence),
            false => Turn::Reply(evidence),
        };
        if let Some(initiated) = self.initiated {
            return Some(of(initiated, TurnEvidence::Stated));
        }
        self.turn_by_flags()
            .or_else(|| self.turn_by_icmp())
            .or_else(|| self.is_request_by_ports().map(|it| of(it, TurnEvidence::Ports)))
    }

    /// Returns whether the source is known to have started the conversation, from the input, TCP flags or the ICMP type.
    /// Ports are no proof.
    #[must_use]
    pub fn is_initiated(&self) -> Option<bool> {
        match self.turn()? {
            Turn::Request(TurnEvidence::Ports) | Turn::Reply(TurnEvidence::Ports) => None,
            Turn::Request(_) => Some(true),
            Turn::Reply(_) | Turn::Refusal => Some(false),
        }
    }

    #[inline]
    fn turn_by_flags(&self) -> Option<Turn> {
        let is_single = self.packets == Some(NonZeroU64::MIN);
        match self.syn_and_ack()? {
            (true, false) => Some(Turn::Request(TurnEvidence::Flags)),
            (true, true) => is_single.then_some(Turn::Reply(TurnEvidence::Flags)),
            (false, _) => (is_single && self.has_flag(TCP_RST)).then_some(Turn::Refusal),
        }
    }

    #[inline]
    fn turn_by_icmp(&self) -> Option<Turn> {
        let (request, reply) =
            (Turn::Request(TurnEvidence::Flags), Turn::Reply(TurnEvidence::Flags));
        match (self.protocol?, self.icmp_type?) {
            (ICMP, 8 | 10 | 13 | 15 | 17) | (ICMP6, 128) => Some(request),
            (ICMP, 0 | 9 | 14 | 16 | 18) | (ICMP6, 129) => Some(reply),
            (ICMP, 3 | 4 | 5 | 11 | 12) | (ICMP6, 1..=4) => Some(Turn::Refusal),
            _ => None,
        }
    }

    #[inline]
    fn is_request_by_ports(&self) -> Option<bool> {
        let [source, destination] = [self.sender_port()?, self.port()?].map(Port::is_of_service);
        (source != destination).then_some(destination)
    }
}

/// Ports from 1024 up that belong to common services. All lower ports are reserved for services.
const SERVICES: [u16; 59] = [
    1194, 1433, 1434, 1521, 1645, 1646, 1701, 1723, 1790, 1812, 1813, 1883, 1900, 1935, 2049, 2082,
    2083, 2086, 2087, 2123, 2152, 2375, 2376, 2379, 3000, 3128, 3260, 3268, 3269, 3306, 3389, 3478,
    3702, 4500, 5060, 5061, 5222, 5269, 5353, 5432, 5671, 5672, 5683, 5900, 5985, 5986, 6379, 6443,
    8000, 8008, 8080, 8443, 8883, 9090, 9100, 9200, 11211, 27017, 51820,
];

/// One bit for each port: whether it belongs to a service.
static IS_SERVICE: [u64; 1 << 10] = {
    let mut bits = [0; 1 << 10];
    let mut port: usize = 1;
    while port < 1024 {
        bits[port >> 6] |= 1 << (port & 63);
        port += 1;
    }
    let mut at = 0;
    while at < SERVICES.len() {
        let port = SERVICES[at] as usize;
        bits[port >> 6] |= 1 << (port & 63);
        at += 1;
    }
    bits
};

impl Port {
    /// Returns whether the port usually belongs to a service: all ports below 1024, and the ports of common services
    /// above. A client rarely sends from such a port.
    ///
    /// ```
    /// use srlg_input::contact::Port;
    ///
    /// let is_of_service = |port: &str| Ok::<_, srlg_input::contact::BadPort>(port.parse::<Port>()?.is_of_service());
    /// assert_eq!((is_of_service("tcp/8443")?, is_of_service("udp/40000")?), (true, false));
    /// # Ok::<(), srlg_input::contact::BadPort>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn is_of_service(self) -> bool {
        let number = self.number as usize;
        IS_SERVICE[number >> 6] >> (number & 63) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;
    use crate::contact::{TCP, TCP_ACK, TCP_SYN};

    const UDP: u8 = 17;

    fn contact(protocol: u8, ports: [u16; 2], flags: u8, packets: u64) -> Contact {
        let hosts = ["192.0.2.1", "192.0.2.2"].map(|host| host.parse().unwrap());
        Contact {
            protocol: Some(protocol),
            source_port: Some(ports[0]),
            destination_port: Some(ports[1]),
            tcp_flags: NonZeroU8::new(flags),
            packets: NonZeroU64::new(packets),
            ..Contact::new(0, hosts[0], hosts[1])
        }
    }

    fn turn(protocol: u8, ports: [u16; 2], flags: u8, packets: u64) -> Option<Turn> {
        contact(protocol, ports, flags, packets).turn()
    }

    #[test]
    fn flags_tell_requests_from_replies_whatever_the_ports_are() {
        let request = Some(Turn::Request(TurnEvidence::Flags));
        let reply = Some(Turn::Reply(TurnEvidence::Flags));
        assert_eq!(turn(TCP, [443, 50_000], TCP_SYN, 3), request, "a scan from port 443");
        assert_eq!(turn(TCP, [50_000, 443], TCP_SYN | TCP_ACK, 1), reply);
        assert_eq!(turn(TCP, [443, 50_000], TCP_RST | TCP_ACK, 1), Some(Turn::Refusal));
        assert_eq!(turn(TCP, [9_999, 50_000], TCP_RST, 1), Some(Turn::Refusal));
        // Either end of a whole flow may have sent these.
        for flags in [TCP_SYN | TCP_ACK, TCP_RST | TCP_ACK, TCP_SYN | TCP_RST | TCP_ACK] {
            assert_eq!(turn(TCP, [9_999, 50_000], flags, 2), None);
        }
        assert_eq!(turn(TCP, [9_999, 50_000], TCP_ACK, 1), None);
    }

    #[test]
    fn a_port_of_a_service_belongs_to_the_server() {
        let request = Some(Turn::Request(TurnEvidence::Ports));
        let reply = Some(Turn::Reply(TurnEvidence::Ports));
        for (protocol, service) in [(TCP, 443), (UDP, 53), (UDP, 11_211), (132, 2_123), (TCP, 1)] {
            let with = |ports| turn(protocol, ports, TCP_ACK, 5);
            assert_eq!(with([50_000, service]), request, "{protocol}/{service}");
            assert_eq!(with([service, 50_000]), reply, "{protocol}/{service}");
            assert_eq!(with([service, 80]), None, "both ports belong to services");
            assert_eq!(with([service, 0]), None, "port 0 is unknown");
        }
        assert_eq!(turn(UDP, [50_000, 40_000], 0, 1), None);
        assert_eq!(turn(1, [53, 40_000], 0, 1), None, "ICMP has no ports");
        assert_eq!(turn(UDP, [50_000, 53], TCP_SYN | TCP_ACK, 1), request, "UDP has no flags");
    }

    #[test]
    fn the_input_decides_if_it_states_who_began() {
        for (initiated, expected) in [
            (true, Turn::Request(TurnEvidence::Stated)),
            (false, Turn::Reply(TurnEvidence::Stated)),
        ] {
            for (ports, flags) in [([443, 50_000], TCP_SYN), ([50_000, 443], TCP_SYN | TCP_ACK)] {
                let stated =
                    Contact { initiated: Some(initiated), ..contact(TCP, ports, flags, 1) };
                assert_eq!(stated.turn(), Some(expected));
                assert_eq!(stated.is_initiated(), Some(initiated));
            }
        }
    }

    #[test]
    fn ports_do_not_prove_who_began() {
        let answer = contact(UDP, [53, 40_000], 0, 1);
        assert_eq!(answer.turn(), Some(Turn::Reply(TurnEvidence::Ports)));
        assert_eq!(answer.is_initiated(), None);
        let request = contact(UDP, [40_000, 53], 0, 1);
        assert_eq!(request.turn(), Some(Turn::Request(TurnEvidence::Ports)));
        assert_eq!(request.is_initiated(), None);
    }

    #[test]
    fn icmp_types_tell_requests_replies_and_errors() {
        use TurnEvidence::Flags;
        for (protocol, icmp_type, expected) in [
            (ICMP, 8, Some(Turn::Request(Flags))),
            (ICMP, 0, Some(Turn::Reply(Flags))),
            (ICMP, 3, Some(Turn::Refusal)),
            (ICMP, 11, Some(Turn::Refusal)),
            (ICMP6, 128, Some(Turn::Request(Flags))),
            (ICMP6, 129, Some(Turn::Reply(Flags))),
            (ICMP6, 1, Some(Turn::Refusal)),
            // Neighbours are no peers of a conversation.
            (ICMP6, 135, None),
            (UDP, 8, None),
        ] {
            let contact = Contact { icmp_type: Some(icmp_type), ..contact(protocol, [0, 0], 0, 1) };
            assert_eq!(contact.turn(), expected, "{protocol} {icmp_type}");
        }
        assert_eq!(contact(ICMP, [0, 0], 0, 1).turn(), None);
    }

    #[test]
    fn few_ports_belong_to_services() {
        let ports = (0..=u16::MAX).map(|number| Port { protocol: TCP, number });
        assert_eq!(ports.filter(|port| port.is_of_service()).count(), 1023 + SERVICES.len());
        assert!(SERVICES.is_sorted() && SERVICES[0] >= 1024, "the list is sorted");
    }
}
