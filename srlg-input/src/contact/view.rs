//! Views, which select contacts and turn them into pairs of a host and a peer.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::contact::named::{ContactFilter, HostKey, PeerKey, Role, Side};
use crate::contact::networks::Networks;
use crate::contact::packing::{LONGEST_WITH_PORT, Packing};
use crate::contact::{Contact, Host, Turn};

/// Options of a [`View`]. By default, each IPv4 or IPv6 address is a host, and all its contacts count.
///
/// With the feature `clap`, the options are command-line options that require the argument group `contacts` of
/// [`InputOptions`](crate::InputOptions). With the feature `serde`, the options are read and written as a map from
/// names to values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ViewOptions {
    /// Inside network (repeatable) [default: all of IPv4 and IPv6]
    #[cfg_attr(feature = "clap", arg(long, value_name = "CIDR", value_parser = crate::contact::parse_network, requires = "contacts"))]
    #[cfg_attr(
        feature = "serde",
        serde(
            deserialize_with = "crate::contact::deserialize_networks",
            serialize_with = "crate::contact::serialize_networks"
        )
    )]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub inside: Vec<IpNet>,
    /// Hosts to count: inside hosts, or outside hosts by their contacts with inside hosts
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(Side::ALL), requires = "contacts"))]
    pub measure: Side,
    /// Contacts that count for a host: any, those in which it sent packets (source), or those in which it received packets (destination)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(Role::ALL), requires = "contacts"))]
    pub role: Role,
    /// Contacts that count: all, those known to be started by their source (initiated), all except ICMP errors and TCP resets (no-refusals), all except these and known replies (no-replies), known replies (replies), or TCP with a SYN and no ACK (tcp-syn)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(ContactFilter::ALL), requires = "contacts"))]
    pub only: ContactFilter,
    /// Key of a host: its address, or its address with the protocol and the destination port (address+port)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(HostKey::ALL), requires = "contacts"))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
    #[cfg_attr(feature = "schemars", schemars(extend("default" = HostKey::default())))]
    pub host: HostKey,
    /// Key of a peer: its address, the protocol and the destination port (port), or all three (address+port)
    #[cfg_attr(feature = "clap", arg(long, default_value_t, value_parser = choices(PeerKey::ALL), requires = "contacts"))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_default"))]
    #[cfg_attr(feature = "schemars", schemars(extend("default" = PeerKey::default())))]
    pub peer: PeerKey,
    /// Number of address bits that identify a host or a peer.
    #[cfg_attr(feature = "clap", command(flatten))]
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub prefixes: Prefixes,
}

/// Prefix lengths of hosts and peers: 1 to 32 bits for IPv4, and 1 to 128 bits for IPv6. Addresses with the same prefix
/// are one host or one peer.
///
/// By default, every address is a separate host and a separate peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args), group(requires = "contacts"))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Prefixes {
    /// Prefix length to which IPv4 hosts are aggregated
    #[cfg_attr(
        feature = "clap",
        arg(long = "host-prefix4", value_name = "BITS", default_value_t = 32)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix4"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 32)))]
    pub host4: u8,
    /// Prefix length to which IPv6 hosts are aggregated, at most 64 with ports
    #[cfg_attr(
        feature = "clap",
        arg(long = "host-prefix6", value_name = "BITS", default_value_t = 128)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix6"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 128)))]
    pub host6: u8,
    /// Prefix length to which IPv4 peers are aggregated
    #[cfg_attr(
        feature = "clap",
        arg(long = "peer-prefix4", value_name = "BITS", default_value_t = 32)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix4"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 32)))]
    pub peer4: u8,
    /// Prefix length to which IPv6 peers are aggregated; use 64 for peers on the Internet, because one machine can use any address of its /64
    #[cfg_attr(
        feature = "clap",
        arg(long = "peer-prefix6", value_name = "BITS", default_value_t = 128)
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix6"))]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 128)))]
    pub peer6: u8,
}

impl Prefixes {
    /// Returns the prefix length to which the host with this address is aggregated.
    #[must_use]
    pub const fn of_host(&self, address: IpAddr) -> u8 {
        if address.is_ipv4() { self.host4 } else { self.host6 }
    }
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { host4: 32, host6: 128, peer4: 32, peer6: 128 }
    }
}

/// Returns whether `key` has its default value. A default key is not serialised, so that earlier versions of srlg can
/// read a view without ports.
#[cfg(feature = "serde")]
fn is_default<T: Default + PartialEq>(key: &T) -> bool {
    *key == T::default()
}

impl ViewOptions {
    /// Returns the packing of the view's hosts.
    #[must_use]
    pub const fn hosts(&self) -> Packing {
        let key = match self.host {
            HostKey::Address => PeerKey::Address,
            HostKey::AddressPort => PeerKey::AddressPort,
        };
        Packing { key, prefix4: self.prefixes.host4, prefix6: self.prefixes.host6 }
    }

    /// Returns the packing of the view's peers.
    #[must_use]
    pub const fn peers(&self) -> Packing {
        Packing { key: self.peer, prefix4: self.prefixes.peer4, prefix6: self.prefixes.peer6 }
    }

    /// Returns whether peers have ports and replies count as contacts. In such a view, every server looks like a
    /// scanner of the ports of its clients.
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

/// A prefix length that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: must be a prefix length from 1 to {longest}, got {length}")]
pub struct BadPrefix {
    /// Name of the field of [`Prefixes`].
    pub name: &'static str,
    /// Value of the field.
    pub length: u8,
    /// Largest valid value.
    pub longest: u8,
}

/// A mask of the address bits that are kept. It keeps at least one bit for each IP version.
#[derive(Clone, Copy, Debug)]
struct Mask {
    v4: u32,
    v6: u128,
}

impl Prefixes {
    /// Returns the masks of hosts and of peers, in this order.
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
    /// Returns the first address of the network that contains `host`.
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
    /// Outside hosts are to be counted, but there are no inside networks.
    #[error("measure: \"outside\" requires inside networks")]
    NoOutside,
    /// Both the hosts and the peers have a port.
    #[error("host: \"address+port\" requires peer = \"address\"")]
    TwoPorts,
    /// The hosts have a port, but the view counts both roles.
    #[error(
        "host: \"address+port\" requires role = \"destination\" (services) or \"source\" (senders by the port that they contact)"
    )]
    NoRole,
    /// An IPv6 prefix is too long to be packed with a port.
    #[error("{name}: must be at most 64 with address+port, got {length}")]
    NoRoomForPort {
        /// Option name.
        name: &'static str,
        /// Value of the option.
        length: u8,
    },
}

/// A filter that turns contacts into pairs of a host and a peer.
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
    /// Packings of the hosts and of the peers, if hosts or peers have ports.
    packings: Option<[Packing; 2]>,
}

impl View {
    /// Creates the view that `options` describe.
    ///
    /// # Errors
    /// Returns [`BadView`] if a prefix length is out of range, if outside hosts are counted without inside networks, or
    /// if an option conflicts with the key of hosts or peers.
    pub fn new(options: &ViewOptions) -> Result<Self, BadView> {
        let ViewOptions { inside, measure: side, role, only: counted, prefixes, .. } = options;
        if *side == Side::Outside && inside.is_empty() {
            return Err(BadView::NoOutside);
        }
        // The default network of each IP version has length 0.
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

    /// Returns the pairs of `contact`. Each pair consists of a host and its peer. If both endpoints count as hosts,
    /// there are two pairs. Otherwise, there is at most one.
    ///
    /// Whether a host is inside depends on its whole address and not on the prefix lengths. If a host is a network, its
    /// pairs contain the first address of the network.
    ///
    /// A host is not its own peer. If the prefix length of hosts puts both endpoints into one network, there is no
    /// pair. If only the prefix length of peers puts both endpoints into one network, all neighbours of a host in this
    /// network are one peer.
    ///
    /// Hosts and peers with ports are packed ([`Packing`]). In a view with ports, a contact without a port yields no
    /// pair.
    #[inline]
    pub fn pairs(&self, contact: &Contact) -> impl Iterator<Item = (Host, Host)> + use<> {
        let [sent, received] = self.sent_and_received(contact);
        sent.into_iter().chain(received)
    }

    /// Returns the [`pairs`](Self::pairs) of `contact` by role: the pair whose host is the source, and the pair whose
    /// host is the destination.
    #[inline(always)]
    #[must_use]
    pub fn sent_and_received(&self, contact: &Contact) -> [Option<(Host, Host)>; 2] {
        match self.packings {
            None => self.pairs_of_addresses(contact),
            Some(packings) => {
                // Only this branch writes the pairs to memory. If `packed_pairs` returned them, the compiler would make
                // the other branch write its pairs to memory too, and each packet would take 10 % longer.
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

    /// Returns whether `contact` would count but is skipped because its port is unknown.
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

    /// Writes the pairs of `contact` by role to `to`, and returns for each role whether there is a pair.
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

    /// Returns whether the view counts `host` in a contact where it has the role `role` and `peer`.
    #[inline(always)]
    fn measures(&self, host: Host, peer: Host, role: Role) -> bool {
        (self.role == Role::Any || self.role == role)
            && match self.side {
                Side::Inside => self.is_inside(host),
                Side::Outside => !self.is_inside(host) && self.is_inside(peer),
            }
    }

    /// Returns whether the whole address of `host` is in an inside network.
    #[inline]
    #[must_use]
    pub fn is_inside(&self, host: Host) -> bool {
        self.networks.get(host).is_some()
    }

    /// Returns whether `contact` passes the view's contact filter.
    #[inline]
    fn counts(&self, contact: &Contact) -> bool {
        match self.counted {
            ContactFilter::All => true,
            ContactFilter::Initiated => contact.is_initiated() == Some(true),
            ContactFilter::NoRefusals => contact.turn() != Some(Turn::Refusal),
            ContactFilter::NoReplies => matches!(contact.turn(), None | Some(Turn::Request(_))),
            ContactFilter::Replies => matches!(contact.turn(), Some(Turn::Reply(_))),
            ContactFilter::TcpSyn => contact.is_syn_only(),
        }
    }
}

/// Returns a parser that accepts the names of the choices in `all`. `--help` lists the names.
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
