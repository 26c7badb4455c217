//! Packing of the hosts and peers of a view into [`Host`]s, and the names of packed hosts and peers.
//!
//! An address is packed as itself. A port is packed as the IPv4 host `0.PROTOCOL.PORT`, so that a pair of an IPv4 host
//! and a port is as small as an IPv4 pair. An address with a port is packed as up to 64 bits of the address, 8 bits for
//! the IP version, and the port.
//!
//! Invariant: every packed value can be unpacked, because nothing is hashed.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::contact::port::Port;
use crate::contact::{Host, PeerKey};

/// Maximum length of an IPv6 prefix that can be packed with a port.
pub(crate) const LONGEST_WITH_PORT: u8 = 64;

/// Bit offset of the IP version in the lower 64 bits of a packed address with a port.
const FAMILY_SHIFT: u32 = 56;
const V4: u64 = 4 << FAMILY_SHIFT;
const V6: u64 = 6 << FAMILY_SHIFT;

/// The packing of the hosts or the peers of a view, as set by [`ViewOptions`](crate::ViewOptions). It converts packed
/// values to [`Name`]s.
///
/// ```
/// use srlg_input::contact::{Contact, PeerKey, TCP, View, ViewOptions};
///
/// let options = ViewOptions { peer: PeerKey::Port, ..ViewOptions::default() };
/// let mut contact = Contact::new(0, "192.0.2.1".parse()?, "198.51.100.7".parse()?);
/// (contact.protocol, contact.destination_port) = (Some(TCP), Some(443));
/// let pairs = View::new(&options)?.pairs(&contact);
/// let names: Vec<_> = pairs.map(|(_, peer)| options.peers().name(peer).to_string()).collect();
/// assert_eq!(names, ["tcp/443"; 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub(crate) key: PeerKey,
    pub(crate) prefix4: u8,
    pub(crate) prefix6: u8,
}

impl Default for Packing {
    /// Returns the packing of whole addresses.
    fn default() -> Self {
        Self { key: PeerKey::Address, prefix4: 32, prefix6: 128 }
    }
}

impl Packing {
    /// Returns the part of a contact that is packed.
    #[must_use]
    pub const fn key(self) -> PeerKey {
        self.key
    }

    /// Packs the address, the port, or both, depending on the key. The address bits beyond the prefix must be 0.
    pub(crate) const fn pack(self, address: Host, port: Port) -> Host {
        let bits = port.bits();
        match self.key {
            PeerKey::Address => address,
            PeerKey::Port => Host::v4(bits),
            PeerKey::AddressPort => Host::v6(match address.as_v4() {
                Some(v4) => (v4 as u128) << 64 | (V4 | bits as u64) as u128,
                None => address.as_v6() & !(u64::MAX as u128) | (V6 | bits as u64) as u128,
            }),
        }
    }

    /// Returns the name of a packed host or peer.
    #[must_use]
    pub fn name(self, packed: impl Into<Host>) -> Name {
        let packed = packed.into();
        let port = Port::from_bits(packed.as_v6() as u32);
        match self.address(packed) {
            None => Name::Port(port),
            Some(address) => match (self.key, self.network(address)) {
                (PeerKey::AddressPort, network) => Name::Service(network, port),
                (_, network) if network.prefix_len() == network.max_prefix_len() => {
                    Name::Address(network.addr())
                }
                (_, network) => Name::Network(network),
            },
        }
    }

    /// Returns the address of a packed host or peer. For a network, this is its first address. Returns `None` if only
    /// the port is packed.
    #[must_use]
    pub const fn address(self, packed: Host) -> Option<Host> {
        let bits = packed.as_v6();
        match self.key {
            PeerKey::Address => Some(packed),
            PeerKey::Port => None,
            PeerKey::AddressPort if bits as u64 >> FAMILY_SHIFT == 4 => {
                Some(Host::v4((bits >> 64) as u32))
            }
            PeerKey::AddressPort => Some(Host::v6(bits & !(u64::MAX as u128))),
        }
    }

    /// Returns the packed host or peer that has the name `name`, or `None` if none can have it. An address stands for its
    /// network.
    #[must_use]
    pub fn packed(self, name: &Name) -> Option<Host> {
        let port = name.port();
        let network = name.network().map(|network| {
            let whole = network.prefix_len() == network.max_prefix_len();
            let own = self.network(network.addr().into()).trunc();
            (whole || own == network).then_some(own)
        });
        match (self.key, network, port) {
            (PeerKey::Address, Some(network), None) => Some(network?.addr().into()),
            (PeerKey::AddressPort, Some(network), Some(port)) => {
                Some(self.pack(network?.addr().into(), port))
            }
            (PeerKey::Port, None, Some(port)) => Some(Host::v4(port.bits())),
            _ => None,
        }
    }

    fn network(self, address: Host) -> IpNet {
        let address = IpAddr::from(address);
        let length = if address.is_ipv4() { self.prefix4 } else { self.prefix6 };
        IpNet::new(address, length).unwrap_or_else(|_| address.into())
    }
}

/// The name of a host or a peer of a view: `192.0.2.1`, `192.0.2.0/24`, `tcp/443` or `192.0.2.1 tcp/443`.
///
/// ```
/// use srlg_input::contact::Name;
///
/// for text in ["192.0.2.1", "2001:db8::/64", "tcp/443", "192.0.2.1 tcp/443", "2001:db8::/64 udp/53"] {
///     assert_eq!(text.parse::<Name>()?.to_string(), text);
/// }
/// # Ok::<(), srlg_input::contact::BadName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "String", try_from = "String")
)]
pub enum Name {
    /// An address.
    Address(IpAddr),
    /// A network.
    Network(IpNet),
    /// A port without an address.
    Port(Port),
    /// An address or a network, and a port.
    Service(IpNet, Port),
}

impl Name {
    /// Returns the address or network in the name, or `None` if the name is only a port.
    #[must_use]
    pub fn network(&self) -> Option<IpNet> {
        match self {
            Self::Address(address) => Some((*address).into()),
            Self::Network(network) | Self::Service(network, _) => Some(*network),
            Self::Port(_) => None,
        }
    }

    /// Returns the port in the name, or `None` if the name does not have one.
    #[must_use]
    pub const fn port(&self) -> Option<Port> {
        match self {
            Self::Address(_) | Self::Network(_) => None,
            Self::Port(port) | Self::Service(_, port) => Some(*port),
        }
    }
}

impl From<IpAddr> for Name {
    fn from(address: IpAddr) -> Self {
        Self::Address(address)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // `pad` applies the width that the caller's format string asks for.
            Self::Address(address) => f.pad(&address.to_string()),
            Self::Network(network) => f.pad(&network.to_string()),
            Self::Port(port) => f.pad(&port.to_string()),
            Self::Service(network, port) if network.prefix_len() == network.max_prefix_len() => {
                f.pad(&format!("{} {port}", network.addr()))
            }
            Self::Service(network, port) => f.pad(&format!("{network} {port}")),
        }
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = |text: &str| {
            let address = text.parse::<IpAddr>().map(IpNet::from);
            address.or_else(|_| text.parse::<IpNet>()).ok()
        };
        let parse = || match text.split_once(' ') {
            Some((address, port)) => Some(Self::Service(network(address)?, port.parse().ok()?)),
            None => text
                .parse()
                .map(Self::Address)
                .or_else(|_| text.parse().map(Self::Network))
                .or_else(|_| text.parse().map(Self::Port))
                .ok(),
        };
        parse().ok_or_else(|| BadName { text: text.to_owned() })
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.to_string()
    }
}

/// A text that is not a [`Name`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot parse host {text:?}; use an address, a network, a port such as tcp/443, or an address and a port"
)]
pub struct BadName {
    /// The text.
    pub text: String,
}

#[cfg(test)]
mod tests;
