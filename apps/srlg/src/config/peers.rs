//! The different peers that a host of a view can have.

use std::fmt;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use srlg_input::ViewOptions;
use srlg_input::contact::{ContactFilter, PeerKey, Port, Side};

/// The different peers that one host can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peers {
    key: PeerKey,
    /// IP version of the peers, or `None` if peers are ports.
    pub(super) version: Option<Version>,
    /// Prefix length to which the peers are aggregated.
    prefix: u8,
    /// Whether all peers are in the inside networks.
    are_inside: bool,
    /// Number of different peers.
    pub(super) count: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V4,
    V6,
}

/// Returns the inside networks of `view`, without overlaps. A network that is covered by several of them is also
/// covered by one of them.
pub(super) fn inside(view: &ViewOptions) -> Vec<IpNet> {
    if view.inside.is_empty() {
        return Version::ALL.map(Version::network).to_vec();
    }
    IpNet::aggregate(&view.inside)
}

impl Version {
    pub(super) const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// Returns the network that contains all addresses of the version.
    pub(super) fn network(self) -> IpNet {
        // Default networks have length 0.
        match self {
            Self::V4 => Ipv4Net::default().into(),
            Self::V6 => Ipv6Net::default().into(),
        }
    }

    pub(super) fn has(self, network: &IpNet) -> bool {
        network.addr().is_ipv4() == (self == Self::V4)
    }
}

impl Peers {
    /// Returns the peers of `view` that have the IP version `version`. `prefix` replaces the prefix length of the view.
    pub(super) fn new(view: &ViewOptions, version: Option<Version>, prefix: Option<u8>) -> Self {
        let are_inside = view.measure == Side::Outside;
        let of_view = match version {
            Some(Version::V4) => view.prefixes.peer4,
            _ => view.prefixes.peer6,
        };
        let prefix = prefix.unwrap_or(of_view);
        let addresses = version.map_or(1, |version| {
            // The peers of inside hosts may be anywhere.
            let networks = if are_inside { inside(view) } else { inside(&ViewOptions::default()) };
            count(networks.into_iter().filter(|network| version.has(network)), prefix)
        });
        let ports = if view.peer == PeerKey::Address { 1 } else { ports(view.only) };
        let count = addresses.saturating_mul(ports);
        Self { key: view.peer, version, prefix, are_inside, count }
    }

    /// Returns the longest prefix that the view accepts for these peers.
    pub(super) const fn longest_prefix(&self) -> u8 {
        match (self.version, self.key) {
            (Some(Version::V4), _) => 32,
            (_, PeerKey::AddressPort) => 64,
            _ => 128,
        }
    }
}

/// Returns the number of prefixes of the length `length` that overlap `networks`, which have the same IP version.
fn count(networks: impl Iterator<Item = IpNet>, length: u8) -> u128 {
    let shortened = networks.map(|network| {
        // The new length is valid, because it is at most the former one.
        IpNet::new_assert(network.addr(), network.prefix_len().min(length)).trunc()
    });
    // Shortened networks may be equal.
    let networks = IpNet::aggregate(&shortened.collect());
    let counts = networks.iter().map(|network| {
        let bits = length - network.prefix_len();
        1_u128.checked_shl(bits.into()).unwrap_or(u128::MAX)
    });
    counts.fold(0, u128::saturating_add)
}

/// Returns the number of ports that contacts selected by `only` can have.
fn ports(only: ContactFilter) -> u128 {
    let protocols = match only {
        ContactFilter::TcpSyn => 1,
        _ => (0..=u8::MAX).filter(|protocol| Port::is_in(*protocol)).count() as u128,
    };
    // Port 0 counts as unknown.
    protocols * u128::from(u16::MAX)
}

/// Writes the number of peers and what they are.
impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, version, prefix, are_inside, count } = self;
        let Some(version) = version else {
            return write!(f, "{count} peers (the ports of all protocols that count)");
        };
        let longest = if *version == Version::V4 { 32 } else { 128 };
        let (each, of) = (*prefix < longest, if *are_inside { " in `inside`" } else { "" });
        let what = if each { format!("/{prefix} networks") } else { "addresses".to_owned() };
        let ports = if *key == PeerKey::AddressPort { ", with all ports" } else { "" };
        let plural = if *count == 1 { "" } else { "s" };
        write!(f, "{count} {version} peer{plural} (the {what}{of}{ports})")
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}
