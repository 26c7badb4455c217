//! Which endpoints of a contact are inside hosts, and which are opposite ones.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use ipnet::Ipv4Net;

use crate::contact::Contact;

/// Tells the inside hosts of contacts, by their networks and the direction that counts.
///
/// ```
/// use srlg_capture::{Contact, InsideFilter, Role, parse_network};
///
/// let inside = InsideFilter::new(&[parse_network("10.0.0.0/8")?], Role::Any);
/// let contact = Contact { time_ns: 0, source: 0xC000_0201, destination: 0x0A00_0001 };
/// assert_eq!(inside.pairs(contact).collect::<Vec<_>>(), [(0x0A00_0001, 0xC000_0201)]);
/// # Ok::<(), srlg_capture::BadNetwork>(())
/// ```
#[derive(Clone, Debug)]
pub struct InsideFilter {
    /// Network and mask of each.
    networks: Vec<(u32, u32)>,
    role: Role,
}

/// Contacts that count for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All.
    Any,
    /// Those that it sent a packet in.
    Source,
    /// Those that it received a packet in.
    Destination,
}

impl InsideFilter {
    /// Takes the hosts of `inside`, or all hosts where it is empty, in the `role` that counts.
    #[must_use]
    pub fn new(inside: &[Ipv4Net], role: Role) -> Self {
        let all = [Ipv4Net::default()];
        let networks = if inside.is_empty() { &all[..] } else { inside };
        let bits = |network: &Ipv4Net| (network.network().to_bits(), network.netmask().to_bits());
        Self { networks: networks.iter().map(bits).collect(), role }
    }

    /// Inside and opposite hosts of a contact: none, one pair or, with both endpoints inside, two. A host
    /// that talks to itself has no opposite host.
    pub fn pairs(&self, contact: Contact) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Contact { source, destination, .. } = contact;
        let counts = |host, role| {
            source != destination
                && (self.role == Role::Any || self.role == role)
                && self.is_inside(host)
        };
        let sent = counts(source, Role::Source).then_some((source, destination));
        let received = counts(destination, Role::Destination).then_some((destination, source));
        sent.into_iter().chain(received)
    }

    fn is_inside(&self, host: u32) -> bool {
        self.networks.iter().any(|&(network, mask)| host & mask == network)
    }
}

impl Role {
    /// All roles, by the names that [`FromStr`] knows.
    pub const ALL: [(&'static str, Self); 3] =
        [("any", Self::Any), ("source", Self::Source), ("destination", Self::Destination)];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, role)| role == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let role = Self::ALL.iter().find(|(name, _)| *name == text).map(|&(_, role)| role);
        role.ok_or(UnknownRole)
    }
}

/// A text that names no [`Role`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give any, source or destination")]
pub struct UnknownRole;

/// A text that is no network of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNetwork {
    /// It is one of IPv6.
    #[error("only IPv4 networks are measured")]
    V6,
    /// It is none.
    #[error("give an IPv4 network such as 10.0.0.0/8")]
    Other,
}

/// The network of `10.0.0.0/8` or `10.0.0.1`; bits of hosts are dropped.
///
/// # Errors
/// [`BadNetwork`].
pub fn parse_network(text: &str) -> Result<Ipv4Net, BadNetwork> {
    if let Ok(host) = text.parse::<Ipv4Addr>() {
        return Ok(Ipv4Net::from(host));
    }
    match text.parse::<Ipv4Net>() {
        Ok(network) => Ok(network.trunc()),
        Err(_) if text.contains(':') => Err(BadNetwork::V6),
        Err(_) => Err(BadNetwork::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(inside: &[&str], role: Role, source: u32, destination: u32) -> Vec<(u32, u32)> {
        let inside: Vec<_> = inside.iter().map(|text| parse_network(text).unwrap()).collect();
        let contact = Contact { time_ns: 0, source, destination };
        InsideFilter::new(&inside, role).pairs(contact).collect()
    }

    #[test]
    fn every_endpoint_inside_is_measured_in_the_role_that_counts() {
        let (inside, outside) = (0x0A01_0203, 0xC000_0201);
        let ten = ["10.99.0.0/8"];
        assert_eq!(pairs(&ten, Role::Any, inside, outside), [(inside, outside)]);
        assert_eq!(pairs(&ten, Role::Any, outside, inside), [(inside, outside)]);
        assert_eq!(pairs(&ten, Role::Source, outside, inside), []);
        assert_eq!(pairs(&ten, Role::Destination, outside, inside), [(inside, outside)]);
        assert_eq!(pairs(&[], Role::Any, 1, 2), [(1, 2), (2, 1)]);
        assert_eq!(pairs(&[], Role::Any, 7, 7), [], "a host has no contact with itself");
        assert_eq!(pairs(&["10.1.2.3"], Role::Any, inside, inside + 1), [(inside, inside + 1)]);
    }

    #[test]
    fn roles_are_read_as_they_are_written() {
        for (name, role) in Role::ALL {
            assert_eq!((name.parse(), role.to_string().as_str()), (Ok(role), name));
        }
        assert_eq!("both".parse::<Role>(), Err(UnknownRole));
    }

    #[test]
    fn networks_of_ipv6_and_nonsense_are_told_apart() {
        assert_eq!(parse_network("2001:db8::/32"), Err(BadNetwork::V6));
        assert_eq!(parse_network("10.0.0.0/33"), Err(BadNetwork::Other));
    }
}
