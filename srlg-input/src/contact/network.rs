//! One network: how it is written, and which one it is.
//!
//! Invariant: what an IPv4-mapped network holds is hosts of IPv4, as in a contact.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

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

/// The IPv4 network that `network` stands for if it is IPv4-mapped, else `network`.
pub(crate) fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(long) = network else { return network };
    let inner = long.addr().to_ipv4_mapped().zip(long.prefix_len().checked_sub(MAPPED));
    inner.and_then(|(host, length)| Ipv4Net::new(host, length).ok()).map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::{BadNetwork, parse_network};

    #[test]
    fn networks_and_hosts_of_both_families_are_read() {
        for (text, network) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:db8:1::7/32", "2001:db8::/32"),
            ("2001:db8::7", "2001:db8::7/128"),
            ("::/0", "::/0"),
            ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
            ("::ffff:10.1.2.3", "10.1.2.3/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            // Teredo, 6to4, NAT64: networks of IPv6 as others are.
            ("2001::/32", "2001::/32"),
            ("2002:c000:201::/48", "2002:c000:201::/48"),
            ("64:ff9b::192.0.2.0/120", "64:ff9b::c000:200/120"),
        ] {
            assert_eq!(parse_network(text).map(|network| network.to_string()), Ok(network.into()));
        }
    }

    #[test]
    fn what_is_no_network_is_refused_with_the_text() {
        for text in [
            "",
            "10.0.0.0/33",
            "2001:db8::/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/255.0.0.0",
            "10/8",
            "fe80::1%eth0",
            "fe80::%eth0/64",
            "[2001:db8::]/32",
            " ::1",
        ] {
            assert_eq!(parse_network(text), Err(BadNetwork::Unreadable { text: text.to_owned() }));
        }
    }

    #[test]
    fn a_mapped_network_must_be_one_of_ipv4() {
        for text in ["::ffff:10.0.0.0/8", "::ffff:0:0/95", "::ffff:192.0.2.1/0"] {
            assert_eq!(parse_network(text), Err(BadNetwork::Mapped { text: text.to_owned() }));
        }
    }
}
