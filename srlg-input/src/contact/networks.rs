//! Networks as texts, and values of networks, looked up by address: the longest match wins.
//!
//! Shape: networks of both families in, one table of ranges per family.
//! Invariant: IPv4-mapped networks and addresses count as those of IPv4.
//!
//! A look-up is one load from a table of at most 1 MiB per family: with up to 10,000 networks 2 to
//! 4 ns in IPv4 and 4 to 6 in IPv6. A search follows where a bucket of the table lies in several
//! networks, up to 15 ns, and in IPv6 up to 120 for thousands of networks close together and one far
//! away. The table takes 128 bytes per range, the ranges 8 of IPv4 or 20 of IPv6 each, and a network
//! makes at most two. The tree of the crate prefix-trie took 5 to 175 ns for the same, and was
//! nowhere quicker.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use crate::contact::Host;
use crate::contact::ranges::{NONE, Ranges};

/// Maps networks of both families to values.
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
    /// In the order in which they were given. Their labels count from 1, as 0 is [`NONE`].
    values: Vec<T>,
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

impl<T> Networks<T> {
    /// Takes `networks`, each with its value; bits of hosts are dropped. Of equal networks the last
    /// one counts.
    ///
    /// An IPv4-mapped network counts as the one of IPv4, `::ffff:10.0.0.0/104` as `10.0.0.0/8`.
    /// No other network of IPv6 holds hosts of IPv4, not even `::/0`.
    ///
    /// # Panics
    /// With 2^31 networks or more.
    #[must_use]
    pub fn new(networks: impl IntoIterator<Item = (IpNet, T)>) -> Self {
        let (mut values, mut v4, mut v6) = (Vec::new(), Vec::new(), Vec::new());
        for (network, value) in networks {
            values.push(value);
            assert!(values.len() < 1 << 31, "2^31 networks are too many for one table: split it");
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

    /// Returns the value of the longest network that holds `host`, if any does.
    #[inline(always)]
    pub fn get(&self, host: Host) -> Option<&T> {
        let label = match host.as_v4() {
            Some(host) => self.v4.label(host),
            None => self.v6.label(host.as_v6()),
        };
        (label != NONE).then(|| &self.values[label as usize - 1])
    }
}

/// Bits before the IPv4 address in an IPv4-mapped one.
const MAPPED: u8 = 96;

/// Tells why a text names no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNetwork {
    /// `text` is no address, or has no prefix length of its family.
    #[error(
        "{text:?} is no network: give an address, or a network such as 10.0.0.0/8 or 2001:db8::/32"
    )]
    Unreadable {
        /// What was given.
        text: String,
    },
    /// `text` is an IPv4-mapped network that reaches beyond the IPv4-mapped addresses.
    #[error("{text:?} is IPv4-mapped and shorter than /96: give the IPv4 network, as 10.0.0.0/8")]
    Mapped {
        /// What was given.
        text: String,
    },
}

/// Reads the network in `text`, such as `10.0.0.0/8`, `2001:db8::/32`, `10.0.0.1` or `::1`. Bits
/// of hosts are dropped; `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
///
/// # Errors
/// [`BadNetwork`].
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

/// Deserializes a list of networks, each as [`parse_network`] reads it.
///
/// # Errors
/// [`BadNetwork`], as an error of `deserializer`.
#[cfg(feature = "serde")]
pub fn deserialize_networks<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<IpNet>, D::Error> {
    let texts: Vec<String> = serde::Deserialize::deserialize(deserializer)?;
    let networks = texts.iter().map(|text| parse_network(text)).collect::<Result<_, _>>();
    networks.map_err(serde::de::Error::custom)
}

/// Serializes a list of networks as [`deserialize_networks`] reads it.
///
/// # Errors
/// Those of `serializer`.
#[cfg(feature = "serde")]
pub fn serialize_networks<S: serde::Serializer>(
    networks: &[IpNet],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(networks.iter().map(IpNet::to_string))
}

/// The IPv4 network that `network` stands for if it is IPv4-mapped, else `network`.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(long) = network else { return network };
    let inner = long.addr().to_ipv4_mapped().zip(long.prefix_len().checked_sub(MAPPED));
    inner.and_then(|(host, length)| Ipv4Net::new(host, length).ok()).map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests;
