//! Details of the hosts that are about to have an alert, or have one, from their single contacts.
//!
//! Shape: some 5 kB for each of at most 256 hosts of a view, from when a host first passed its threshold. Details of a host
//! from several sites merge; as JSON those of one site take at most 7 kB.
//! Invariant: memory is bounded, whatever comes; hosts with more opposite hosts take the places of those with fewer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host, Packing, Port};

use crate::alerts::top::{Top, at_most};
use crate::alerts::witnesses::KnownExporters;
use crate::notify::notice::{Detail, InterfaceShare, MOST_PEERS, Rates};

use volume::Volume;

pub(crate) mod volume;

/// The most hosts of a view that have details.
pub(crate) const HOSTS: usize = 256;

/// The most exporters of a host.
const EXPORTERS: usize = 8;

/// The most ports, prefixes and interfaces of a notification.
const MOST_SHARES: usize = 8;

/// Details of some hosts, from their single contacts.
#[derive(Clone, Debug)]
pub(crate) struct Details {
    hosts: HashMap<IpAddr, HostDetails>,
    seed: u64,
    /// How the hosts and the peers of the view are packed.
    packings: [Packing; 2],
    /// The end of the last closed slice.
    closed_ms: u64,
}

/// Details of one host, as one site saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostDetails {
    /// The time from which on contacts were taken, milliseconds since the Unix epoch.
    since_ms: u64,
    /// The peers with the least hashes, in the order of these: each peer is in the sample with the same probability.
    #[serde(deserialize_with = "at_most::<MOST_PEERS, _, _>")]
    peers: Vec<IpAddr>,
    #[serde(deserialize_with = "at_most::<EXPORTERS, _, _>")]
    exporters: Vec<IpAddr>,
    ports: Top<PortKey, 16>,
    prefixes: Top<IpNet, 16>,
    contacts: u64,
    syn_only: u64,
    /// Absent from details of programs that do not count it.
    #[serde(default)]
    volume: Volume,
    /// The same.
    #[serde(default = "Top::new")]
    interfaces: Top<Interface, 16>,
}

/// The exporters that saw a host, for a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostExporters {
    host: IpAddr,
    since_ms: u64,
    exporters: Vec<IpAddr>,
}

/// The protocol and the port of a receiver, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PortKey {
    protocol: Option<u8>,
    port: Option<u16>,
}

/// An interface of an exporter, by its index in SNMP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Interface {
    exporter: IpAddr,
    index: NonZeroU32,
}

impl Details {
    /// Makes details of no host yet. Sites with the same `seed` sample the same peers, so that their samples merge.
    pub(crate) fn new(seed: u64) -> Self {
        Self { hosts: HashMap::new(), seed, packings: Default::default(), closed_ms: 0 }
    }

    /// Returns the details of the hosts of `view`.
    pub(crate) fn with_view(self, view: &ViewOptions) -> Self {
        Self { packings: [view.hosts(), view.peers()], ..self }
    }

    /// Whether no host is looked at.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Takes a contact of `host` with `peer`, if that host is looked at.
    #[inline]
    pub(crate) fn take(&mut self, (host, peer): (Host, Host), contact: &Contact) {
        if let Some(of) = self.hosts.get_mut(&IpAddr::from(host)) {
            let [hosts, peers] = self.packings;
            let address = peers.address(peer).unwrap_or_else(|| other_end(hosts, host, contact));
            of.take(self.seed, peer.into(), address.into(), contact);
            of.volume.add(contact, self.closed_ms);
        }
    }

    /// Looks at `hosts` from now on, up to [`HOSTS`] of those that come first. A slice has closed that ended at `now_ms`.
    pub(crate) fn look_at(&mut self, hosts: &[IpAddr], now_ms: u64) {
        self.closed_ms = now_ms;
        let hosts = &hosts[..hosts.len().min(HOSTS)];
        self.hosts.retain(|host, _| hosts.contains(host));
        for host in hosts {
            self.hosts.entry(*host).or_insert_with(|| HostDetails::new(now_ms));
        }
    }

    /// Moves what `other` has taken of the hosts that are looked at here to these details.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        for (host, taken) in &mut other.hosts {
            if taken.contacts > 0
                && let Some(of) = self.hosts.get_mut(host)
            {
                of.merge(self.seed, taken);
                let volume = taken.volume.rest();
                *taken = HostDetails { volume, ..HostDetails::new(taken.since_ms) };
            }
        }
    }

    /// Looks at `hosts` from now on, whose exporters were known before.
    pub(crate) fn resume(&mut self, hosts: Vec<HostExporters>) {
        for HostExporters { host, since_ms, exporters } in hosts {
            // The first contact says from when on contacts are taken again.
            let volume = Volume::default();
            let details = HostDetails { exporters, volume, ..HostDetails::new(since_ms) };
            self.hosts.insert(host, details);
        }
    }

    /// Returns the exporters of all hosts that are looked at.
    pub(crate) fn all_exporters(&self) -> Vec<HostExporters> {
        let exporters = |(host, details): (IpAddr, &HostDetails)| {
            let HostDetails { since_ms, exporters, .. } = details.clone();
            HostExporters { host, since_ms, exporters }
        };
        self.hosts().map(exporters).collect()
    }

    /// Returns all hosts that are looked at, with their details.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (IpAddr, &HostDetails)> {
        self.hosts.iter().map(|(host, details)| (*host, details))
    }

    /// Returns the details of `host`, if it is looked at.
    pub(crate) fn get(&self, host: IpAddr) -> Option<&HostDetails> {
        self.hosts.get(&host)
    }

    /// Returns the exporters that saw `host`, unless there may be others.
    pub(crate) fn exporters(&self, host: IpAddr) -> Option<KnownExporters<'_>> {
        self.get(host)?.known_exporters()
    }

    /// Returns the rates of `hosts` together within the minute before `now_ms`.
    pub(crate) fn rates(&self, hosts: &[IpAddr], now_ms: u64) -> Rates {
        Volume::sum(hosts.iter().map(|host| self.get(*host)?.volume())).rates(now_ms).if_known()
    }

    /// Returns what is known of `hosts` together, if anything is.
    pub(crate) fn of(&self, hosts: &[IpAddr]) -> Option<Detail> {
        HostDetails::merge_all(self.seed, hosts.iter().filter_map(|host| self.get(*host)))
    }
}

impl HostDetails {
    fn new(now_ms: u64) -> Self {
        Self {
            since_ms: now_ms,
            peers: Vec::new(),
            exporters: Vec::new(),
            ports: Top::new(),
            prefixes: Top::new(),
            contacts: 0,
            syn_only: 0,
            volume: Volume::new(now_ms),
            interfaces: Top::new(),
        }
    }

    /// Merges details of several hosts, or from several sites with the same `seed`; returns nothing if they have no
    /// contact.
    pub(crate) fn merge_all<'a>(
        seed: u64,
        details: impl IntoIterator<Item = &'a Self>,
    ) -> Option<Detail> {
        let mut all = Self::new(u64::MAX);
        details.into_iter().for_each(|details| all.merge(seed, details));
        (all.contacts > 0).then(|| all.detail())
    }

    /// Returns the exporters that saw the host, unless there may be others.
    pub(crate) fn known_exporters(&self) -> Option<KnownExporters<'_>> {
        let Self { since_ms, exporters, .. } = self;
        let is_known = (1..EXPORTERS).contains(&exporters.len());
        is_known.then_some(KnownExporters { exporters, since_ms: *since_ms })
    }

    /// Returns the packets and bytes of the host, unless the program that took its contacts does not count them.
    pub(crate) fn volume(&self) -> Option<&Volume> {
        let is_counted = self.contacts == 0 || !self.volume.is_empty();
        is_counted.then_some(&self.volume)
    }

    /// Takes over when and by which exporters the host was seen according to `earlier` details of the same site.
    pub(crate) fn keep_exporters_of(&mut self, earlier: &Self) {
        self.since_ms = self.since_ms.min(earlier.since_ms);
        earlier.exporters.iter().for_each(|exporter| self.add_exporter(*exporter));
    }

    fn take(&mut self, seed: u64, peer: IpAddr, address: IpAddr, contact: &Contact) {
        self.contacts += 1;
        self.syn_only += u64::from(contact.is_syn_only());
        self.ports.add(PortKey { protocol: contact.protocol, port: contact.destination_port });
        self.prefixes.add(prefix(address));
        if let Some(exporter) = contact.exporter.map(IpAddr::from) {
            self.add_exporter(exporter);
            if let Some(index) = contact.ingress {
                self.interfaces.add(Interface { exporter, index });
            }
        }
        self.add_peer(seed, peer);
    }

    fn add_exporter(&mut self, exporter: IpAddr) {
        if self.exporters.len() < EXPORTERS && !self.exporters.contains(&exporter) {
            self.exporters.push(exporter);
        }
    }

    fn add_peer(&mut self, seed: u64, peer: IpAddr) {
        let key = |peer: &IpAddr| (hash(seed, *peer), *peer);
        if let Err(at) = self.peers.binary_search_by_key(&key(&peer), key)
            && at < MOST_PEERS
        {
            self.peers.truncate(MOST_PEERS - 1);
            self.peers.insert(at, peer);
        }
    }

    /// Takes in `other`, whose lists may be in any order: they can come from another machine.
    fn merge(&mut self, seed: u64, other: &Self) {
        self.since_ms = self.since_ms.min(other.since_ms);
        other.peers.iter().for_each(|peer| self.add_peer(seed, *peer));
        other.exporters.iter().for_each(|exporter| self.add_exporter(*exporter));
        self.ports.merge(&other.ports);
        self.prefixes.merge(&other.prefixes);
        self.contacts = self.contacts.saturating_add(other.contacts);
        self.syn_only = self.syn_only.saturating_add(other.syn_only);
        self.volume.merge(&other.volume);
        self.interfaces.merge(&other.interfaces);
    }

    fn detail(&self) -> Detail {
        let ports = self.ports.shares(MOST_SHARES).into_iter();
        let ports = ports.filter_map(|(service, share)| Some((service.name()?, share)));
        let interfaces = self.interfaces.shares(MOST_SHARES).into_iter();
        let interfaces = interfaces.map(|(Interface { exporter, index }, share)| InterfaceShare {
            exporter,
            interface: index.get(),
            name: None,
            share,
        });
        Detail {
            since_ms: self.since_ms,
            peers: self.peers.clone(),
            exporters: self.exporters.clone(),
            ports: ports.collect(),
            prefixes: self.prefixes.shares(MOST_SHARES),
            interfaces: interfaces.collect(),
            syn_only: (self.syn_only as f64 / self.contacts as f64).min(1.0),
        }
    }
}

/// Returns a hash of `peer` that is the same on every machine: the finaliser of SplitMix64 over both halves.
fn hash(seed: u64, peer: IpAddr) -> u64 {
    let bits = match peer {
        IpAddr::V4(peer) => peer.to_ipv6_mapped().to_bits(),
        IpAddr::V6(peer) => peer.to_bits(),
    };
    [(bits >> 64) as u64, bits as u64].into_iter().fold(seed, |hash, half| {
        let mut x = (hash ^ half).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

/// Returns the address of `contact` that is not the one of `host`.
fn other_end(hosts: Packing, host: Host, contact: &Contact) -> Host {
    let network = hosts.name(host).network();
    let is_source = network.is_some_and(|it| it.contains(&IpAddr::from(contact.source)));
    if is_source { contact.destination } else { contact.source }
}

/// The /24 or /48 of an opposite host.
fn prefix(peer: IpAddr) -> IpNet {
    let length = if peer.is_ipv4() { 24 } else { 48 };
    // The length is one of the family.
    IpNet::new_assert(peer, length).trunc()
}

impl PortKey {
    /// The usual name, unless neither part is known.
    fn name(self) -> Option<String> {
        let Self { protocol, port } = self;
        if let (Some(protocol), Some(number)) = (protocol, port)
            && Port::is_in(protocol)
        {
            return Some(Port { protocol, number }.to_string());
        }
        let protocol = match protocol {
            Some(1) => "icmp".to_owned(),
            Some(6) => "tcp".to_owned(),
            Some(17) => "udp".to_owned(),
            Some(58) => "icmp6".to_owned(),
            Some(132) => "sctp".to_owned(),
            Some(number) => format!("protocol {number}"),
            None => return port.map(|port| format!("port {port}")),
        };
        Some(match port {
            Some(port) => format!("{protocol}/{port}"),
            None => protocol,
        })
    }
}

#[cfg(test)]
mod tests;
