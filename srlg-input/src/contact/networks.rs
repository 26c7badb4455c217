//! Networks in text form, and a table that maps addresses to values by longest prefix match.
//!
//! There is one table of ranges for IPv4 and one for IPv6. IPv4-mapped networks and addresses count as IPv4.
//!
//! Most look-ups need one load from a table of at most 1 MiB. With up to 10,000 networks, they take 2 to 4 ns for IPv4
//! and 4 to 6 ns for IPv6. If several networks share a bucket of the table, a search follows, which takes up to 15 ns.
//! In IPv6, the search takes up to 120 ns if thousands of networks are close together and one is far away.
//!
//! The table has at most 128 bytes per range. In addition, a range needs up to 16 bytes for IPv4 and 28 bytes for IPv6.
//! A network adds at most two ranges.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use crate::contact::Host;
use crate::contact::ranges::{NONE, Ranges};

/// A map from IPv4 and IPv6 networks to values.
///
/// ```
/// use srlg_input::contact::{Networks, parse_network};
///
/// let sites = Networks::new([
///     (parse_network("10.0.0.0/8")?, "anywhere"),
///     (parse_network("10.7.0.0/16")?, "Hamburg"),
///     (parse_network("2001:db8::/32")?, "anywhere"),
/// ]);
/// assert_eq!(sites.get("10.7.1.2".parse()?), Some(&"Hamburg"));
/// assert_eq!(sites.get("2001:db8::1".parse()?), Some(&"anywhere"));
/// assert_eq!(sites.get("192.0.2.1".parse()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Networks<T> {
    /// Values in the order in which the networks were given. The label of a value is its index plus 1, because 0 is
    /// [`NONE`].
    values: Vec<T>,
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

/// Returns a map without networks.
impl<T> Default for Networks<T> {
    fn default() -> Self {
        Self::new([])
    }
}

impl<T> Networks<T> {
    /// Creates a map from `networks` to their values. Host bits are dropped. If a network occurs more than once, its
    /// last value applies.
    ///
    /// An IPv4-mapped network counts as the corresponding IPv4 network, so `::ffff:10.0.0.0/104` is `10.0.0.0/8`. All
    /// other IPv6 networks, including `::/0`, do not contain IPv4 hosts.
    ///
    /// # Panics
    /// Panics if there are 2^31 networks or more.
    #[must_use]
    pub fn new(networks: impl IntoIterator<Item = (IpNet, T)>) -> Self {
        let (mut values, mut v4, mut v6) = (Vec::new(), Vec::new(), Vec::new());
        for (network, value) in networks {
            values.push(value);
            assert!(values.len() < 1 << 31, "cannot hold 2^31 networks in one table; split it");
            let label = values.len() as u32;
            match canonical(network) {
                IpNet::V4(net) => {
                    v4.push((net.network().to_bits(), net.broadcast().to_bits(), label));
                }
                IpNet::V6(net) => {
                    v6.push((net.network().to_bits(), net.broadcast().to_bits(), label));
                }
            }
        }
        Self { values, v4: Ranges::new(v4), v6: Ranges::new(v6) }
    }

    /// Returns the value of the longest prefix that contains `host`, or `None` if no network contains it.
    #[inline(always)]
    pub fn get(&self, host: Host) -> Option<&T> {
        let label = match host.as_v4() {
            Some(host) => self.v4.label(host),
            None => self.v6.label(host.as_v6()),
        };
        (label != NONE).then(|| &self.values[label as usize - 1])
    }
}

/// Number of bits before the IPv4 address in an IPv4-mapped address.
const MAPPED: u8 = 96;

/// The reason why [`parse_network`] rejects a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNetwork {
    /// `text` is neither an address nor a network with a valid prefix length.
    #[error(
        "cannot parse network {text:?}; use an address, or a network such as 10.0.0.0/8 or 2001:db8::/32"
    )]
    Unreadable {
        /// The text.
        text: String,
    },
    /// `text` is an IPv4-mapped network with a prefix shorter than /96, which also contains addresses that are not
    /// IPv4-mapped.
    #[error(
        "cannot use IPv4-mapped network {text:?}: prefix shorter than /96; use the IPv4 network, such as 10.0.0.0/8"
    )]
    Mapped {
        /// The text.
        text: String,
    },
}

/// Parses a network such as `10.0.0.0/8`, `2001:db8::/32`, `10.0.0.1` or `::1`. Host bits are dropped. An IPv4-mapped
/// network becomes an IPv4 network: `::ffff:10.0.0.0/104` becomes `10.0.0.0/8`.
///
/// # Errors
/// Returns [`BadNetwork`] if `text` is not a network, or is an IPv4-mapped network with a prefix shorter than /96.
pub fn parse_network(text: &str) -> Result<IpNet, BadNetwork> {
    let host = text.parse::<IpAddr>().map(IpNet::from);
    let Ok(network) = host.or_else(|_| text.parse::<IpNet>()) else {
        return Err(BadNetwork::Unreadable { text: text.to_owned() });
    };
    match canonical(network) {
        IpNet::V6(network) if network.addr().to_ipv4_mapped().is_some() => {
            Err(BadNetwork::Mapped { text: text.to_owned() })
        }
        network => Ok(network.trunc()),
    }
}

/// Deserialises a list of networks and parses each with [`parse_network`].
///
/// # Errors
/// Returns an error if the value is not a list of strings, or if a network cannot be parsed.
#[cfg(feature = "serde")]
pub fn deserialize_networks<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<IpNet>, D::Error> {
    let texts: Vec<String> = serde::Deserialize::deserialize(deserializer)?;
    let networks = texts.iter().map(|text| parse_network(text)).collect::<Result<_, _>>();
    networks.map_err(serde::de::Error::custom)
}

/// Serialises a list of networks in the form that [`deserialize_networks`] reads.
///
/// # Errors
/// Returns an error if `serializer` fails.
#[cfg(feature = "serde")]
pub fn serialize_networks<S: serde::Serializer>(
    networks: &[IpNet],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(networks.iter().map(IpNet::to_string))
}

/// Converts an IPv4-mapped `network` of /96 or longer to the IPv4 network, and returns any other network unchanged.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(long) = network else { return network };
    let inner = long.addr().to_ipv4_mapped().zip(long.prefix_len().checked_sub(MAPPED));
    inner.and_then(|(host, length)| Ipv4Net::new(host, length).ok()).map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests;
