//! Details of hosts that have an alert or have recently reached their threshold. The details are collected from the
//! contacts of these hosts.
//!
//! A view has details of at most 256 hosts. The details of a host need about 6 kB of memory, and 0.5 kB for each
//! further exporter of the host. The memory is allocated when the host first passes its threshold. Details of a host
//! from several sites can be merged. As JSON, a host's details from one site are at most 11 kB in size.
//!
//! Invariant: memory is bounded. Hosts that have more peers replace hosts that have fewer.

use std::collections::HashMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host, Packing};

use crate::notification::{Detail, MOST_PEERS, Rates};
use crate::top::at_most;
use crate::witnesses::KnownExporters;

use shares::Shares;
use volumes::Volumes;

mod attempts;
mod shares;
mod volume;
mod volumes;

/// Maximum number of hosts per view that have details.
pub const HOSTS: usize = 256;

/// Maximum number of exporters per host.
const EXPORTERS: usize = 8;

#[derive(Clone, Debug)]
pub struct Details {
    hosts: HashMap<IpAddr, HostDetails>,
    seed: u64,
    /// Packings of the view's hosts and peers.
    packings: [Packing; 2],
    /// End of the last closed slice, in milliseconds since the Unix epoch.
    closed_ms: u64,
}

/// Details of one host from one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostDetails {
    /// Time since which contacts have been counted, in milliseconds since the Unix epoch.
    since_ms: u64,
    /// A sample: the peers with the smallest hashes, sorted by hash. Each peer is equally likely to be in the sample.
    #[serde(deserialize_with = "at_most::<MOST_PEERS, _, _>")]
    peers: Vec<IpAddr>,
    #[serde(deserialize_with = "at_most::<EXPORTERS, _, _>")]
    exporters: Vec<IpAddr>,
    shares: Shares,
    /// Packets and bytes; empty if the site that sent the details does not count them.
    #[serde(default)]
    volume: Volumes,
}

/// Exporters that saw a host, as stored in a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostExporters {
    host: IpAddr,
    since_ms: u64,
    exporters: Vec<IpAddr>,
}

impl Details {
    /// Samples of peers from several sites can be merged only if the sites use the same `seed`.
    pub fn new(seed: u64) -> Self {
        Self { hosts: HashMap::new(), seed, packings: Default::default(), closed_ms: 0 }
    }

    pub fn with_view(self, view: &ViewOptions) -> Self {
        Self { packings: [view.hosts(), view.peers()], ..self }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Adds a contact of `host` with `peer`, if the host is tracked.
    #[inline]
    pub fn add(&mut self, (host, peer): (Host, Host), contact: &Contact) {
        if let Some(of) = self.hosts.get_mut(&IpAddr::from(host)) {
            let [hosts, peers] = self.packings;
            let address = peers.address(peer).unwrap_or_else(|| other_end(hosts, host, contact));
            of.add(self.seed, peer.into(), address.into(), contact);
            of.volume.add(contact, self.closed_ms);
        }
    }

    /// Tracks the first [`HOSTS`] of `hosts` and forgets all other hosts. `now_ms` is the end of the last closed slice.
    pub fn track_hosts(&mut self, hosts: &[IpAddr], now_ms: u64) {
        self.closed_ms = now_ms;
        let hosts = &hosts[..hosts.len().min(HOSTS)];
        self.hosts.retain(|host, _| hosts.contains(host));
        for host in hosts {
            let details = self.hosts.entry(*host).or_insert_with(|| HostDetails::new(now_ms));
            details.shares.age(now_ms);
        }
    }

    /// Moves the contacts that `other` has collected for the tracked hosts into `self`.
    pub fn absorb(&mut self, other: &mut Self) {
        for (host, taken) in &mut other.hosts {
            if taken.has_contacts()
                && let Some(of) = self.hosts.get_mut(host)
            {
                of.merge(self.seed, taken);
                let volume = taken.volume.rest();
                *taken = HostDetails { volume, ..HostDetails::new(taken.since_ms) };
            }
        }
    }

    /// Tracks `hosts`, whose exporters are known from a checkpoint.
    pub fn resume(&mut self, hosts: Vec<HostExporters>) {
        for HostExporters { host, since_ms, exporters } in hosts {
            // The next contact sets the time from which the new volume is counted.
            let volume = Volumes::default();
            let details = HostDetails { exporters, volume, ..HostDetails::new(since_ms) };
            self.hosts.insert(host, details);
        }
    }

    pub fn all_exporters(&self) -> Vec<HostExporters> {
        let exporters = |(host, details): (IpAddr, &HostDetails)| {
            let HostDetails { since_ms, exporters, .. } = details.clone();
            HostExporters { host, since_ms, exporters }
        };
        self.hosts().map(exporters).collect()
    }

    pub fn hosts(&self) -> impl Iterator<Item = (IpAddr, &HostDetails)> {
        self.hosts.iter().map(|(host, details)| (*host, details))
    }

    pub fn get(&self, host: IpAddr) -> Option<&HostDetails> {
        self.hosts.get(&host)
    }

    pub fn exporters(&self, host: IpAddr) -> Option<KnownExporters<'_>> {
        self.get(host)?.known_exporters()
    }

    /// Returns the packet rate and the bit rate of `host` in the minute before `now_ms`.
    pub fn rates(&self, host: IpAddr, now_ms: u64) -> Rates {
        let volume = self.get(host).and_then(HostDetails::volume);
        volume.map_or_else(Rates::default, |volume| volume.rates(now_ms).if_known())
    }

    /// Returns the details of `host`, or `None` if they contain no contacts.
    pub fn of(&self, host: IpAddr) -> Option<Detail> {
        HostDetails::merge_all(self.seed, self.get(host))
    }
}

impl HostDetails {
    fn new(now_ms: u64) -> Self {
        Self {
            since_ms: now_ms,
            peers: Vec::new(),
            exporters: Vec::new(),
            shares: Shares::new(now_ms),
            volume: Volumes::new(now_ms),
        }
    }

    /// Merges details of a host from several sites with the same `seed`. Returns `None` if the details
    /// contain no contacts.
    pub fn merge_all<'a>(seed: u64, details: impl IntoIterator<Item = &'a Self>) -> Option<Detail> {
        let mut all = Self::new(u64::MAX);
        details.into_iter().for_each(|details| all.merge(seed, details));
        all.has_contacts().then(|| all.detail())
    }

    /// Returns the time since which the host has been tracked, in milliseconds since the Unix epoch.
    pub const fn tracked_since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Returns whether the host had contacts since it has been tracked.
    pub fn has_contacts(&self) -> bool {
        !self.shares.is_empty()
    }

    /// Returns the exporters that saw the host, if all of them are known.
    pub fn known_exporters(&self) -> Option<KnownExporters<'_>> {
        let Self { since_ms, exporters, .. } = self;
        let is_known = (1..EXPORTERS).contains(&exporters.len());
        is_known.then_some(KnownExporters { exporters, since_ms: *since_ms })
    }

    /// Returns the packets and bytes of the host, if the site that sent the details counts them.
    pub fn volume(&self) -> Option<&Volumes> {
        let is_counted = !self.has_contacts() || !self.volume.is_empty();
        is_counted.then_some(&self.volume)
    }

    /// Adds the exporters of `earlier`, which comes from the same site, and keeps the earlier start time.
    pub fn keep_exporters_of(&mut self, earlier: &Self) {
        self.since_ms = self.since_ms.min(earlier.since_ms);
        earlier.exporters.iter().for_each(|exporter| self.add_exporter(*exporter));
    }

    fn add(&mut self, seed: u64, peer: IpAddr, address: IpAddr, contact: &Contact) {
        let peer_hash = hash(seed, peer);
        self.shares.add(peer_hash, address, contact);
        if let Some(exporter) = contact.exporter {
            self.add_exporter(exporter.into());
        }
        self.add_peer(seed, peer, peer_hash);
    }

    fn add_exporter(&mut self, exporter: IpAddr) {
        if self.exporters.len() < EXPORTERS && !self.exporters.contains(&exporter) {
            self.exporters.push(exporter);
        }
    }

    fn add_peer(&mut self, seed: u64, peer: IpAddr, peer_hash: u64) {
        let key = |peer: &IpAddr| (hash(seed, *peer), *peer);
        if let Err(at) = self.peers.binary_search_by_key(&(peer_hash, peer), key)
            && at < MOST_PEERS
        {
            self.peers.truncate(MOST_PEERS - 1);
            self.peers.insert(at, peer);
        }
    }

    /// Merges `other`, whose lists may be in any order because they can come from another machine.
    fn merge(&mut self, seed: u64, other: &Self) {
        self.since_ms = self.since_ms.min(other.since_ms);
        other.peers.iter().for_each(|peer| self.add_peer(seed, *peer, hash(seed, *peer)));
        other.exporters.iter().for_each(|exporter| self.add_exporter(*exporter));
        self.shares.merge(&other.shares);
        self.volume.merge(&other.volume);
    }

    fn detail(&self) -> Detail {
        let mut detail = Detail {
            since_ms: self.since_ms,
            peers: self.peers.clone(),
            exporters: self.exporters.clone(),
            ..Detail::default()
        };
        self.shares.describe(&mut detail);
        detail
    }
}

/// Returns a hash of `peer` that is the same on every machine. The finaliser of SplitMix64 is applied to both halves of
/// the address.
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

/// Returns the endpoint of `contact` that does not belong to `host`.
fn other_end(hosts: Packing, host: Host, contact: &Contact) -> Host {
    let network = hosts.name(host).network();
    let is_source = network.is_some_and(|it| it.contains(&IpAddr::from(contact.source)));
    if is_source { contact.destination } else { contact.source }
}

#[cfg(test)]
mod tests;
