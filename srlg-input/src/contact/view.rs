//! Views: which contacts make pairs, of which hosts, and how many bits of an address make a host.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::contact::named::{ContactFilter, HostKey, PeerKey, Role, Side};
use crate::contact::networks::Networks;
use crate::contact::packing::{LONGEST_WITH_PORT, Packing};
use crate::contact::{Contact, Host};

/// Options of a [`View`]. By default each address of both families is a host, of which all contacts count.
///
/// With the feature `clap` they are options of a command, which need the group `contacts` of [`InputOptions`](crate::InputOptions).
/// With `serde` they are read from, and written as, a map with the same names as keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ViewOptions {
    /// Inside network, repeatable; every endpoint inside is measured [default: all of IPv4 and IPv6]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CIDR", value_parser = crate::contact::parse_network, requires = "contacts"))]
    #[cfg_attr(
        feature = "serde",
        serde(
            deserialize_with = "crate::contact::deserialize_networks",
            serialize_with = "crate::contact::serialize_networks"
        )
    )]
    pub inside: Vec<IpNet>,
    /// Hosts that are measured: inside ones, or outside ones by their contacts with those inside
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(Side::ALL), requires = "contacts"))]
    pub measure: Side,
    /// Contacts that count for a host: any, those it sent a packet in (source), or those it received one in (destination)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(Role::ALL), requires = "contacts"))]
    pub role: Role,
    /// Contacts that count at all: all, those that their source is known to have begun (initiated), or TCP with a SYN and no ACK (tcp-syn)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(ContactFilter::ALL), requires = "contacts"))]
    pub only: ContactFilter,
    /// Part of a contact that makes a host: an address, or an address with the port of the receiver (address+port)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(HostKey::ALL), requires = "contacts"))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
    pub host: HostKey,
    /// Part of a contact that makes a peer: the other address, the protocol and port of the receiver (port), or all of them (address+port)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(PeerKey::ALL), requires = "contacts"))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
    pub peer: PeerKey,
    /// Bits of an address that make a host.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub prefixes: Prefixes,
}

/// Prefix lengths of hosts, 1 to 32 bits of IPv4 and 1 to 128 of IPv6: addresses that agree in these bits are one host.
///
/// By default every address is a host of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args), group(requires = "contacts"))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Prefixes {
    /// Measure IPv4 networks of this prefix length as hosts
    #[cfg_attr(
        feature = "clap",
        arg(long = "host-prefix4", value_name = "BITS", default_value_t = 32)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix4"))]
    pub host4: u8,
    /// Measure IPv6 networks of this prefix length as hosts
    #[cfg_attr(
        feature = "clap",
        arg(long = "host-prefix6", value_name = "BITS", default_value_t = 128)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix6"))]
    pub host6: u8,
    /// Count IPv4 networks of this prefix length as opposite hosts
    #[cfg_attr(
        feature = "clap",
        arg(long = "peer-prefix4", value_name = "BITS", default_value_t = 32)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix4"))]
    pub peer4: u8,
    /// Count IPv6 networks of this prefix length as opposite hosts: 64 for hosts anywhere, who have as many addresses as they like
    #[cfg_attr(
        feature = "clap",
        arg(long = "peer-prefix6", value_name = "BITS", default_value_t = 128)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix6"))]
    pub peer6: u8,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { host4: 32, host6: 128, peer4: 32, peer6: 128 }
    }
}

/// Returns whether `key` is left out of a text, so that earlier versions read a view of addresses.
#[cfg(feature = "serde")]
fn is_default<T: Default + PartialEq>(key: &T) -> bool {
    *key == T::default()
}

impl ViewOptions {
    /// Returns how the hosts of the view are packed.
    #[must_use]
    pub const fn hosts(&self) -> Packing {
        let key = match self.host {
            HostKey::Address => PeerKey::Address,
            HostKey::AddressPort => PeerKey::AddressPort,
        };
        Packing { key, prefix4: self.prefixes.host4, prefix6: self.prefixes.host6 }
    }

    /// Returns how the peers of the view are packed.
    #[must_use]
    pub const fn peers(&self) -> Packing {
        Packing { key: self.peer, prefix4: self.prefixes.peer4, prefix6: self.prefixes.peer6 }
    }

    /// Returns whether answers count as contacts with ports: the ports of its clients would make every server a scanner.
    #[must_use]
    pub fn takes_ports_of_answers(&self) -> bool {
        self.peer != PeerKey::Address && self.only == ContactFilter::All
    }

    fn check_ports(&self) -> Result<(), BadView> {
        if self.host == HostKey::AddressPort {
            if self.peer != PeerKey::Address {
                return Err(BadView::TwoPorts);
            }
            if self.role == Role::Any {
                return Err(BadView::NoRole);
            }
        }
        for (name, packing) in [("host-prefix6", self.hosts()), ("peer-prefix6", self.peers())] {
            let length = packing.prefix6;
            if packing.key == PeerKey::AddressPort && length > LONGEST_WITH_PORT {
                return Err(BadView::NoRoomForPort { name, length });
            }
        }
        Ok(())
    }
}

/// Names a prefix length that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {length}: give a prefix length from 1 to {longest}")]
pub struct BadPrefix {
    /// Field of [`Prefixes`].
    pub name: &'static str,
    /// Its value.
    pub length: u8,
    /// The largest value that it may have.
    pub longest: u8,
}

/// Bits of an address that are kept, at least one of either family.
#[derive(Clone, Copy, Debug)]
struct Mask {
    v4: u32,
    v6: u128,
}

impl Prefixes {
    /// The masks of inside and of opposite hosts.
    fn masks(self) -> Result<[Mask; 2], BadPrefix> {
        let Self { host4, host6, peer4, peer6 } = self;
        for (name, length, longest) in [
            ("host4", host4, 32),
            ("host6", host6, 128),
            ("peer4", peer4, 32),
            ("peer6", peer6, 128),
        ] {
            if !(1..=longest).contains(&length) {
                return Err(BadPrefix { name, length, longest });
            }
        }
        Ok([(host4, host6), (peer4, peer6)]
            .map(|(v4, v6)| Mask { v4: u32::MAX << (32 - v4), v6: u128::MAX << (128 - v6) }))
    }
}

impl Mask {
    /// The network of `host`.
    #[inline(always)]
    fn network_of(self, host: Host) -> Host {
        match host.as_v4() {
            Some(bits) => Host::v4(bits & self.v4),
            None => Host::v6(host.as_v6() & self.v6),
        }
    }
}

/// The reason why [`ViewOptions`] are rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadView {
    /// A prefix length is out of range.
    #[error(transparent)]
    Prefix(#[from] BadPrefix),
    /// Outside hosts are measured, but no network says what is inside.
    #[error("outside hosts are to be measured, but no network is inside: give inside networks")]
    NoOutside,
    /// Hosts have a port, and so have their peers.
    #[error("host is address+port, so that a host has one port: give peer = \"address\"")]
    TwoPorts,
    /// Hosts have a port, and the role of their address is open.
    #[error(
        "host is address+port: give role = \"destination\" for services, or \"source\" for senders by the port that they contact"
    )]
    NoRole,
    /// An IPv6 prefix is too long beside a port.
    #[error(
        "{name} is {length}: give at most 64, as a longer address and its port do not fit into 128 bits"
    )]
    NoRoomForPort {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        length: u8,
    },
}

/// A filter of contacts that turns them into pairs.
///
/// ```
/// use srlg_input::contact::{Contact, Prefixes, Side, View, ViewOptions, parse_network};
///
/// let options = ViewOptions {
///     inside: vec![parse_network("10.0.0.0/8")?, parse_network("2001:db8::/32")?],
///     prefixes: Prefixes { peer6: 64, ..Prefixes::default() },
///     ..ViewOptions::default()
/// };
/// let contact = Contact::new(0, "2001:db8::1".parse()?, "2a00:1:2:3:4:5:6:7".parse()?);
/// let pair = ("2001:db8::1".parse()?, "2a00:1:2:3::".parse()?);
/// assert_eq!(View::new(&options)?.pairs(&contact).collect::<Vec<_>>(), [pair]);
///
/// let outside = View::new(&ViewOptions { measure: Side::Outside, ..options })?;
/// let pair = ("2a00:1:2:3:4:5:6:7".parse()?, "2001:db8::".parse()?);
/// assert_eq!(outside.pairs(&contact).collect::<Vec<_>>(), [pair]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct View {
    networks: Networks<()>,
    side: Side,
    role: Role,
    counted: ContactFilter,
    host: Mask,
    peer: Mask,
    /// How hosts and peers are packed, if any of them has a port.
    packings: Option<[Packing; 2]>,
}

impl View {
    /// Makes the view that `options` describe.
    ///
    /// # Errors
    /// [`BadView`] when a prefix length is out of range, outside hosts are measured of no networks, or hosts and peers do not
    /// go together.
    pub fn new(options: &ViewOptions) -> Result<Self, BadView> {
        let ViewOptions { inside, measure: side, role, only: counted, prefixes, .. } = options;
        if *side == Side::Outside && inside.is_empty() {
            return Err(BadView::NoOutside);
        }
        // The default of either family is the network of length 0.
        let all = [Ipv4Net::default().into(), Ipv6Net::default().into()];
        let inside = if inside.is_empty() { &all } else { inside.as_slice() };
        let [host, peer] = prefixes.masks()?;
        let networks = Networks::new(inside.iter().map(|network| (*network, ())));
        options.check_ports()?;
        let packings = [options.hosts(), options.peers()];
        let has_port = packings.iter().any(|packing| packing.key != PeerKey::Address);
        let packings = has_port.then_some(packings);
        Ok(Self { networks, side: *side, role: *role, counted: *counted, host, peer, packings })
    }

    /// Yields the measured host and the opposite host of `contact`: no pair, one or, with both
    /// endpoints inside, two.
    ///
    /// Whether a host is inside is decided by its whole address, whatever the prefix lengths are; a pair holds the first
    /// addresses of the networks that count as hosts. A host has no contact with itself: where the length of measured
    /// hosts makes one network of both endpoints, there is no pair. Where it does not, but the length of opposite hosts
    /// does, the neighbours of a host are one opposite host.
    ///
    /// Hosts and peers with ports are packed ([`Packing`]); a contact without a port is no pair then.
    #[inline]
    pub fn pairs(&self, contact: &Contact) -> impl Iterator<Item = (Host, Host)> + use<> {
        let [sent, received] = self.sent_and_received(contact);
        sent.into_iter().chain(received)
    }

    /// Returns the [`pairs`](Self::pairs) of `contact` by the part of the measured host: the one of its source, and the one
    /// of its destination.
    #[inline(always)]
    #[must_use]
    pub fn sent_and_received(&self, contact: &Contact) -> [Option<(Host, Host)>; 2] {
        match self.packings {
            None => self.pairs_of_addresses(contact),
            Some(packings) => {
                // Only this branch has pairs in memory. If it returned those of the call, the other would write its own there,
                // too, and a packet would take a tenth longer.
                let mut packed = [(Host::v4(0), Host::v4(0)); 2];
                let [sent, received] = self.packed_pairs(packings, contact, &mut packed);
                [sent.then_some(packed[0]), received.then_some(packed[1])]
            }
        }
    }

    /// Returns whether hosts or peers of the view have ports.
    #[inline]
    #[must_use]
    pub const fn has_ports(&self) -> bool {
        self.packings.is_some()
    }

    /// Returns whether `contact` would count, but is left out because its port is not known.
    #[inline]
    #[must_use]
    pub fn lacks_port(&self, contact: &Contact) -> bool {
        self.has_ports() && contact.port().is_none() && self.has_pair(contact)
    }

    #[cold]
    #[inline(never)]
    fn has_pair(&self, contact: &Contact) -> bool {
        self.pairs_of_addresses(contact).iter().any(Option::is_some)
    }

    /// Puts the pairs of a view of ports into `to`, and returns which of them are there. Views of addresses do without this
    /// code.
    #[cold]
    #[inline(never)]
    fn packed_pairs(
        &self,
        [hosts, peers]: [Packing; 2],
        contact: &Contact,
        to: &mut [(Host, Host); 2],
    ) -> [bool; 2] {
        let Some(port) = contact.port() else { return [false; 2] };
        let pairs = self.pairs_of_addresses(contact);
        for (to, pair) in to.iter_mut().zip(pairs) {
            if let Some((host, peer)) = pair {
                *to = (hosts.pack(host, port), peers.pack(peer, port));
            }
        }
        pairs.map(|pair| pair.is_some())
    }

    #[inline(always)]
    fn pairs_of_addresses(&self, contact: &Contact) -> [Option<(Host, Host)>; 2] {
        let Contact { source, destination, .. } = *contact;
        let (sender, receiver) = (self.host.network_of(source), self.host.network_of(destination));
        let counts = sender != receiver && self.counts(contact);
        let sent = counts && self.measures(source, destination, Role::Source);
        let received = counts && self.measures(destination, source, Role::Destination);
        [
            sent.then(|| (sender, self.peer.network_of(destination))),
            received.then(|| (receiver, self.peer.network_of(source))),
        ]
    }

    /// Whether `host` is measured by its contact with `opposite`, in which it has this `role`.
    #[inline(always)]
    fn measures(&self, host: Host, opposite: Host, role: Role) -> bool {
        (self.role == Role::Any || self.role == role)
            && match self.side {
                Side::Inside => self.is_inside(host),
                Side::Outside => !self.is_inside(host) && self.is_inside(opposite),
            }
    }

    /// Returns whether `host` is inside, by its whole address.
    #[inline]
    #[must_use]
    pub fn is_inside(&self, host: Host) -> bool {
        self.networks.get(host).is_some()
    }

    /// Whether `contact` counts at all.
    #[inline]
    fn counts(&self, contact: &Contact) -> bool {
        match self.counted {
            ContactFilter::All => true,
            ContactFilter::Initiated => contact.is_initiated() == Some(true),
            ContactFilter::TcpSyn => contact.is_syn_only(),
        }
    }
}

/// Choices by their names, which `--help` lists.
#[cfg(feature = "clap")]
fn choices<T>(all: &'static [(&'static str, T)]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + std::str::FromStr<Err = crate::contact::named::UnknownName> + 'static,
{
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name)).try_map(|name| name.parse::<T>())
}

#[cfg(test)]
mod tests;
