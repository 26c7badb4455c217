//! Kinds of alerts, directions of contacts, and units of hosts and peers.

use std::fmt;

use serde::{Deserialize, Serialize};
use srlg_input::contact::{Packing, PeerKey, Role};

/// Direction of the contacts that a view counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Contacts from peers to the hosts of the view.
    FanIn,
    /// Contacts from the hosts of the view to peers.
    FanOut,
    /// Both directions.
    #[default]
    Any,
}

impl From<Role> for Direction {
    fn from(role: Role) -> Self {
        match role {
            Role::Destination => Self::FanIn,
            Role::Source => Self::FanOut,
            Role::Any => Self::Any,
        }
    }
}

/// Probable cause of an alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Many hosts contact one host, or the hosts of one network, which answers few of them or none.
    Flood,
    /// A flood of answers from servers of one protocol, which were asked in the name of the host.
    Reflection,
    /// Many hosts contact one port of one host.
    ServiceFlood,
    /// One host contacts many hosts, of which few or none answer.
    Scan,
    /// Many ports of one host are contacted, or one host contacts many ports.
    PortScan,
    /// One host contacts many services, which are pairs of a host and a port.
    ServiceScan,
    /// Several inside hosts scan the same port.
    Worm,
    /// A host exchanges packets with many hosts: a server, a proxy or a gateway.
    Server,
    /// A server or client of DNS exchanges packets with many hosts.
    Resolver,
    /// A host exchanges packets with many hosts, but neither side mostly has the port of a service.
    P2p,
    /// The cause cannot be derived, for example because no view counts the opposite direction.
    #[default]
    Unknown,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Flood,
        Self::Reflection,
        Self::ServiceFlood,
        Self::Scan,
        Self::PortScan,
        Self::ServiceScan,
        Self::Worm,
        Self::Server,
        Self::Resolver,
        Self::P2p,
        Self::Unknown,
    ];

    /// Returns whether the host is busy, but not attacked or attacking.
    #[must_use]
    pub const fn is_benign(self) -> bool {
        matches!(self, Self::Server | Self::Resolver | Self::P2p)
    }

    /// Returns the sentence about an alert of this kind: the probable cause, followed by `facts`. `remark` is the
    /// reflected protocol, or the reason why the cause is unknown.
    pub(super) fn sentence(self, remark: Option<&str>, facts: &str) -> String {
        let cause = match self {
            Self::Flood => "probably a flood",
            Self::Reflection => "probably a reflection",
            Self::ServiceFlood => "probably a flood of a service",
            Self::Scan => "probably a scan",
            Self::PortScan => "probably a port scan",
            Self::ServiceScan => "probably a service scan",
            Self::Worm => "probably a worm",
            Self::Server => "probably a server",
            Self::Resolver => "probably a resolver",
            Self::P2p => "probably a P2P host",
            Self::Unknown => "cause unknown",
        };
        let remark = remark.map(|remark| format!(" ({remark})")).unwrap_or_default();
        format!("{cause}{remark}: {facts}")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Type of the hosts or peers that a view counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Hosts, or networks that count as hosts.
    #[default]
    Hosts,
    /// Ports.
    Ports,
    /// Services: pairs of a host and a port on which it is contacted.
    Services,
    /// Pairs of a host and a port that it contacts.
    HostsWithPorts,
}

impl Unit {
    /// Returns the unit of a view's peers.
    pub const fn of(peers: Packing, direction: Direction) -> Self {
        match (peers.key(), direction) {
            (PeerKey::Address, _) => Self::Hosts,
            (PeerKey::Port, _) => Self::Ports,
            (PeerKey::AddressPort, Direction::FanOut) => Self::Services,
            (PeerKey::AddressPort, _) => Self::HostsWithPorts,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hosts => "hosts",
            Self::Ports => "ports",
            Self::Services => "services",
            Self::HostsWithPorts => "hosts with ports",
        })
    }
}
