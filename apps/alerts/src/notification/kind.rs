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
    /// One host contacts many hosts.
    Scan,
    /// Many hosts contact one host, or the hosts of one network.
    Flood,
    /// Many ports of one host are contacted, or one host contacts many ports.
    PortScan,
    /// One host contacts many services, which are pairs of a host and a port.
    ServiceScan,
    /// Many hosts contact one port of one host.
    ServiceFlood,
    /// The peer count in the opposite direction is at least a third of the host's peer count.
    ServerOrP2p,
    /// The cause cannot be derived, for example because no view counts the opposite direction.
    #[default]
    Unknown,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Scan,
        Self::Flood,
        Self::PortScan,
        Self::ServiceScan,
        Self::ServiceFlood,
        Self::ServerOrP2p,
        Self::Unknown,
    ];

    /// Returns the sentence about an alert of this kind: the probable cause, followed by `facts`.
    pub(super) fn sentence(self, facts: &str) -> String {
        let cause = match self {
            Self::Scan => "probably a scan",
            Self::Flood => "probably a flood",
            Self::PortScan => "probably a port scan",
            Self::ServiceScan => "probably a service scan",
            Self::ServiceFlood => "probably a flood of a service",
            Self::ServerOrP2p => "probably a server or P2P host",
            Self::Unknown => "cause unknown",
        };
        format!("{cause}: {facts}")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "scan",
            Self::Flood => "flood",
            Self::PortScan => "port-scan",
            Self::ServiceScan => "service-scan",
            Self::ServiceFlood => "service-flood",
            Self::ServerOrP2p => "server-or-p2p",
            Self::Unknown => "unknown",
        })
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
