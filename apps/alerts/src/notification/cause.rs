//! Probable cause of an alert.
//!
//! A cause is derived from two peer counts, in the direction of the alert and in the opposite direction, and from the
//! host's ports and TCP flags. If a server answers as many hosts as contact it, it is busy. If it answers only a few of
//! them, it is flooded, and also if it has far more of them than usual. Most connection attempts in all contacts mean an attack in any case, because a server
//! answers forged requests too.

use srlg_input::contact::{ContactFilter, PeerKey, Port};

use super::kind::{Direction, Kind};
use super::{Context, Detail, MOSTLY, main_port};
use crate::usual::Usual;

/// Maximum ratio of the peer count of a host that exchanges packets with its peers to its count in the opposite
/// direction.
pub(super) const ALIKE: f64 = 3.0;

/// Probable cause of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) kind: Kind,
    /// The reflected protocol, if the kind is a reflection.
    pub(super) protocol: Option<&'static str>,
    /// The reason why the kind is unknown.
    pub(super) doubt: Option<Doubt>,
    /// Whether only an unusual count distinguishes the host from a busy host.
    pub(super) is_unusual: bool,
}

/// Reason why a kind is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// No view counts the opposite direction, and the details do not tell.
    Opposite,
    /// The view counts both directions.
    Directions,
    /// Its peers are hosts with ports: many hosts, or many ports of one host.
    HostsWithPorts,
}

impl Doubt {
    pub(super) const fn phrase(self) -> &'static str {
        match self {
            Self::Opposite => "no view counts the opposite direction",
            Self::Directions => "the view counts both directions",
            Self::HostsWithPorts => "the peers are hosts or their ports",
        }
    }
}

impl From<Kind> for Cause {
    fn from(kind: Kind) -> Self {
        Self { kind, protocol: None, doubt: None, is_unusual: false }
    }
}

impl From<Doubt> for Cause {
    fn from(doubt: Doubt) -> Self {
        Self { doubt: Some(doubt), ..Self::from(Kind::Unknown) }
    }
}

impl Cause {
    /// Returns the cause of an alert whose largest or current peer count is `count`.
    pub(super) fn of(context: &Context, count: f64) -> Self {
        if let Some(cause) = of_ports(context) {
            return cause;
        }
        let detail = context.evidence.detail.as_ref();
        let opposite = context.opposite();
        let own = context.opposite.own.filter(|_| !context.has_passed(count)).unwrap_or(count);
        let is_answered = opposite.map(|opposite| opposite * ALIKE >= own);
        let is_mostly_attempts = detail.is_some_and(|detail| detail.attempts >= MOSTLY);
        match (context.direction, is_answered) {
            (Direction::Any, _) => Doubt::Directions.into(),
            (Direction::FanIn, _) if is_mostly_attempts => Kind::Flood.into(),
            (Direction::FanOut, _) if is_mostly_attempts => Kind::Scan.into(),
            (Direction::FanIn, Some(true)) => of_busy_receiver(context, detail).into(),
            (Direction::FanOut, Some(true)) => {
                of_busy_sender(context, detail, opposite.unwrap_or(0.0) / own).into()
            }
            (Direction::FanIn, is_answered) => match (detail.and_then(reflected), is_answered) {
                (Some(protocol), _) => {
                    Self { protocol: Some(protocol), ..Self::from(Kind::Reflection) }
                }
                (None, Some(_)) => Kind::Flood.into(),
                (None, None) => Doubt::Opposite.into(),
            },
            (Direction::FanOut, Some(false)) => Kind::Scan.into(),
            // Busy hosts contact many ports, or their contacts have an ACK.
            (Direction::FanOut, None) if detail.and_then(to_port).is_some() => Kind::Scan.into(),
            (Direction::FanOut, None) => Doubt::Opposite.into(),
        }
    }
}

impl Cause {
    /// Returns this cause, or a flood if the host seems to be busy but `count` is far above what is usual for it.
    pub(super) fn given(self, usual: Option<Usual>, context: &Context, count: f64) -> Self {
        // More replies mean that the host has asked more, and a busy host may contact more hosts than before.
        let may_be_flooded =
            context.direction == Direction::FanIn && context.only != ContactFilter::Replies;
        let is_exceeded = usual.is_some_and(|usual| usual.is_exceeded_by(count));
        match self.kind.is_benign() && may_be_flooded && is_exceeded {
            true => Self { is_unusual: true, ..Self::from(Kind::Flood) },
            false => self,
        }
    }
}

/// Returns the cause of an alert if the view's hosts or peers include ports.
fn of_ports(context: &Context) -> Option<Cause> {
    Some(match (context.host_packing.key(), context.peer_packing.key(), context.direction) {
        (PeerKey::Address, PeerKey::Address, _) => return None,
        (_, PeerKey::Port, _) => Kind::PortScan.into(),
        (_, PeerKey::AddressPort, Direction::FanOut) => Kind::ServiceScan.into(),
        (_, PeerKey::AddressPort, _) => Doubt::HostsWithPorts.into(),
        (_, PeerKey::Address, Direction::FanIn) => Kind::ServiceFlood.into(),
        (_, PeerKey::Address, Direction::FanOut) => Kind::Scan.into(),
        (_, PeerKey::Address, Direction::Any) => Doubt::Directions.into(),
    })
}

/// Returns the kind of a host that answers most of the hosts that contact it.
fn of_busy_receiver(context: &Context, detail: Option<&Detail>) -> Kind {
    let Some(detail) = detail else { return Kind::Server };
    let service = || from_port(detail).filter(|port| port.is_of_service());
    match to_port(detail).or_else(service) {
        // Every host answers echo requests, even if they are forged.
        _ if is_ping(detail) => Kind::Flood,
        _ if context.is_of_networks => Kind::Server,
        Some(port) if RESOLVERS.contains(&port.number) => Kind::Resolver,
        Some(port) if port.is_of_service() => Kind::Server,
        None if has_no_ports(detail) => Kind::Server,
        _ => Kind::P2p,
    }
}

/// Returns the kind of a host that is answered by the share `answered` of the hosts that it contacts. Only the resolvers,
/// proxies, gateways and monitoring hosts of a network have good reasons to contact one port of many hosts.
fn of_busy_sender(context: &Context, detail: Option<&Detail>, answered: f64) -> Kind {
    let Some(detail) = detail else { return Kind::Server };
    match (from_port(detail), to_port(detail)) {
        // Live hosts answer scans, too.
        _ if is_ping(detail) => Kind::Scan,
        _ if context.is_of_networks => Kind::Server,
        (Some(from), _) if RESOLVERS.contains(&from.number) => Kind::Resolver,
        (Some(from), _) if from.is_of_service() => Kind::Server,
        (_, Some(to)) if RESOLVERS.contains(&to.number) => Kind::Resolver,
        (_, Some(to)) if WEB.contains(&to.number) => Kind::Server,
        // A monitoring host knows its devices, and a scanner does not.
        (_, Some(to)) if AGENTS.contains(&to.number) && answered >= KNOWN => Kind::Server,
        (_, Some(_)) => Kind::Scan,
        _ if has_no_ports(detail) => Kind::Server,
        _ => Kind::P2p,
    }
}

/// Ports of name servers and resolvers: DNS and DNS over TLS.
const RESOLVERS: [u16; 2] = [53, 853];

/// Ports of web servers.
const WEB: [u16; 4] = [80, 443, 8080, 8443];

/// Ports of monitored devices: SNMP, the node exporter of Prometheus, and Zabbix.
const AGENTS: [u16; 3] = [161, 9_100, 10_050];

/// Smallest share of contacted hosts that answer a host that knows them.
const KNOWN: f64 = 0.9;

/// Returns the destination port of at least half of the contacts, if there is one.
fn to_port(detail: &Detail) -> Option<Port> {
    main_port(&detail.ports)?.parse().ok()
}

/// Returns the source port of at least half of the contacts, if there is one.
fn from_port(detail: &Detail) -> Option<Port> {
    main_port(&detail.source_ports)?.parse().ok()
}

/// Returns whether the input has no ports, as a contact list.
fn has_no_ports(detail: &Detail) -> bool {
    detail.without_port >= MOSTLY
}

/// Returns whether most of the contacts are ICMP, and not known to be replies.
fn is_ping(detail: &Detail) -> bool {
    let is_icmp = |(name, share): &(String, f64)| {
        ["icmp", "icmp6"].contains(&name.as_str()) && *share >= MOSTLY
    };
    detail.ports.first().is_some_and(is_icmp) && detail.replies < MOSTLY
}

/// UDP ports of services whose answers are larger than the requests, and the names of their protocols.
const AMPLIFIERS: [(u16, &str); 29] = [
    (17, "qotd"),
    (19, "chargen"),
    (53, "dns"),
    (69, "tftp"),
    (111, "portmap"),
    (123, "ntp"),
    (137, "netbios"),
    (161, "snmp"),
    (177, "xdmcp"),
    (389, "cldap"),
    (427, "slp"),
    (500, "ike"),
    (520, "rip"),
    (623, "ipmi"),
    (1434, "mssql"),
    (1900, "ssdp"),
    (3283, "ard"),
    (3389, "rdp"),
    (3478, "stun"),
    (3702, "ws-discovery"),
    (5060, "sip"),
    (5093, "sentinel"),
    (5353, "mdns"),
    (5683, "coap"),
    (10001, "ubiquiti"),
    (11211, "memcached"),
    (27015, "steam"),
    (32414, "plex"),
    (37810, "dhcpdiscover"),
];

const UDP: u8 = 17;

/// Smallest share of contacts from amplifiers that makes a reflection. Most packets of a reflection can be later
/// fragments of large answers, which have no ports.
const LEAST_REFLECTED: f64 = 0.1;

/// Returns the protocol of most of the contacts whose ports are known, if they come from amplifiers.
fn reflected(detail: &Detail) -> Option<&'static str> {
    let amplifiers = detail.source_ports.iter().filter_map(|(name, share)| {
        let Port { protocol, number } = name.parse().ok()?;
        let (_, name) = AMPLIFIERS.iter().find(|(port, _)| protocol == UDP && *port == number)?;
        Some((*name, *share))
    });
    let amplifiers: Vec<(&str, f64)> = amplifiers.collect();
    let sum: f64 = amplifiers.iter().map(|(_, share)| share).sum();
    let is_reflection = sum >= LEAST_REFLECTED && sum >= MOSTLY * (1.0 - detail.without_port);
    amplifiers.first().filter(|_| is_reflection).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests;
