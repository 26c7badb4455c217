//! Which endpoints of a contact are inside hosts, and which are opposite ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::contact::Contact;
use crate::host::Host;
use crate::networks::Networks;
use crate::prefixes::{BadPrefix, Mask, Prefixes};
use crate::role::Role;

/// Tells the inside hosts of contacts, by their networks and the direction that counts.
///
/// ```
/// use srlg_capture::{Contact, InsideFilter, Prefixes, Role, parse_network};
///
/// let networks = [parse_network("10.0.0.0/8")?, parse_network("2001:db8::/32")?];
/// let lengths = Prefixes { peer6: 64, ..Prefixes::default() };
/// let inside = InsideFilter::new(&networks, Role::Any).with_prefixes(lengths)?;
///
/// let contact = Contact::new(0, "2001:db8::1".parse()?, "2a00:1:2:3:4:5:6:7".parse()?);
/// let pair = ("2001:db8::1".parse()?, "2a00:1:2:3::".parse()?);
/// assert_eq!(inside.pairs(contact).collect::<Vec<_>>(), [pair]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InsideFilter {
    networks: Networks<()>,
    role: Role,
    host: Mask,
    peer: Mask,
}

impl InsideFilter {
    /// Takes the hosts of `inside`, or all hosts of both families where it is empty, in the `role`
    /// that counts. Each address is a host of its own.
    #[must_use]
    pub fn new(inside: &[IpNet], role: Role) -> Self {
        let all = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
            .map(|host: IpAddr| IpNet::new(host, 0).expect("0 is a length of either family"));
        let inside = if inside.is_empty() { &all } else { inside };
        let [host, peer] = Prefixes::default().masks().expect("the default lengths are in range");
        let networks = Networks::new(inside.iter().map(|network| (*network, ())));
        Self { networks, role, host, peer }
    }

    /// Takes the networks of these lengths, `prefixes`, for hosts: a pair then holds their first
    /// addresses. Whether a host is inside is decided by its whole address all the same.
    ///
    /// # Errors
    /// [`BadPrefix`] when a length is out of range.
    pub fn with_prefixes(self, prefixes: Prefixes) -> Result<Self, BadPrefix> {
        let [host, peer] = prefixes.masks()?;
        Ok(Self { host, peer, ..self })
    }

    /// Yields the inside host and the opposite host of `contact`: no pair, one or, with both
    /// endpoints inside, two.
    ///
    /// A host has no contact with itself: where the length of inside hosts makes one network of
    /// both endpoints, there is no pair. Where it does not, but the length of opposite hosts does,
    /// the neighbours of a host are one opposite host.
    #[inline]
    pub fn pairs(&self, contact: Contact) -> impl Iterator<Item = (IpAddr, IpAddr)> + use<> {
        let (source, destination) = (Host::from(contact.source), Host::from(contact.destination));
        let (sender, receiver) = (self.host.network_of(source), self.host.network_of(destination));
        let counts = |host, role| {
            sender != receiver
                && (self.role == Role::Any || self.role == role)
                && self.networks.holds(host)
        };
        let pair = |host: Host, opposite| (host.into(), self.peer.network_of(opposite).into());
        let sent = counts(source, Role::Source).then(|| pair(sender, destination));
        let received = counts(destination, Role::Destination).then(|| pair(receiver, source));
        sent.into_iter().chain(received)
    }
}

#[cfg(test)]
mod tests;
