//! What contacts of a few hosts tell one by one: those that are about to have an alert, or have one.
//!
//! Shape: some 4 kB for each of at most 256 hosts of a view, from when a host first passed its threshold.
//! Invariant: memory is bounded, whatever comes; hosts with more opposite hosts take the places of those with fewer.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use ipnet::IpNet;
use srlg_input::Contact;

use crate::alerts::top::Top;
use crate::notify::notice::Detail;

/// Hosts of a view.
const HOSTS: usize = 256;

/// Opposite hosts of the sample: those with the least hashes, so each is in it with the same probability.
const PEERS: usize = 64;

/// Exporters that are remembered.
const EXPORTERS: usize = 8;

/// Ports and networks that are told.
const TOLD: usize = 8;

/// Details of some hosts, from their single contacts.
#[derive(Debug, Default)]
pub(crate) struct Details {
    hosts: HashMap<IpAddr, HostDetails>,
    hash: RandomState,
}

#[derive(Clone, Debug)]
struct HostDetails {
    since_ms: u64,
    peers: BTreeSet<(u64, IpAddr)>,
    exporters: Vec<IpAddr>,
    ports: Top<PortKey, 16>,
    prefixes: Top<IpNet, 16>,
    contacts: u64,
    syn_only: u64,
}

/// The protocol and the port of a receiver, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PortKey {
    protocol: Option<u8>,
    port: Option<u16>,
}

impl Details {
    /// Whether no host is looked at.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Takes a contact of `host` with `peer`, if that host is looked at.
    #[inline]
    pub(crate) fn take(&mut self, (host, peer): (IpAddr, IpAddr), contact: &Contact) {
        if let Some(of) = self.hosts.get_mut(&host) {
            of.take(self.hash.hash_one(peer), peer, contact);
        }
    }

    /// Looks at `hosts` from now on, up to 256 of those that come first.
    pub(crate) fn look_at(&mut self, hosts: &[IpAddr], now_ms: u64) {
        let hosts = &hosts[..hosts.len().min(HOSTS)];
        self.hosts.retain(|host, _| hosts.contains(host));
        for host in hosts {
            self.hosts.entry(*host).or_insert_with(|| HostDetails::new(now_ms));
        }
    }

    /// What is known of `hosts` together, if anything is.
    pub(crate) fn of(&self, hosts: &[IpAddr]) -> Option<Detail> {
        let mut found = hosts.iter().filter_map(|host| self.hosts.get(host));
        let mut all = found.next()?.clone();
        found.for_each(|other| all.merge(other));
        (all.contacts > 0).then(|| all.detail())
    }
}

impl HostDetails {
    fn new(now_ms: u64) -> Self {
        Self {
            since_ms: now_ms,
            peers: BTreeSet::new(),
            exporters: Vec::new(),
            ports: Top::new(),
            prefixes: Top::new(),
            contacts: 0,
            syn_only: 0,
        }
    }

    fn take(&mut self, hash: u64, peer: IpAddr, contact: &Contact) {
        self.contacts += 1;
        self.syn_only += u64::from(contact.is_syn_only());
        self.ports.add(PortKey { protocol: contact.protocol, port: contact.destination_port });
        self.prefixes.add(prefix(peer));
        contact.exporter.into_iter().for_each(|exporter| self.add_exporter(exporter));
        self.add_peer(hash, peer);
    }

    fn add_exporter(&mut self, exporter: IpAddr) {
        if self.exporters.len() < EXPORTERS && !self.exporters.contains(&exporter) {
            self.exporters.push(exporter);
        }
    }

    fn add_peer(&mut self, hash: u64, peer: IpAddr) {
        let is_among = self.peers.last().is_some_and(|last| (hash, peer) < *last);
        if self.peers.len() < PEERS || is_among {
            self.peers.insert((hash, peer));
            if self.peers.len() > PEERS {
                self.peers.pop_last();
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.since_ms = self.since_ms.min(other.since_ms);
        other.peers.iter().for_each(|(hash, peer)| self.add_peer(*hash, *peer));
        other.exporters.iter().for_each(|exporter| self.add_exporter(*exporter));
        self.ports.merge(&other.ports);
        self.prefixes.merge(&other.prefixes);
        self.contacts += other.contacts;
        self.syn_only += other.syn_only;
    }

    fn detail(&self) -> Detail {
        let ports = self.ports.shares(TOLD).into_iter();
        let ports = ports.filter_map(|(service, share)| Some((service.name()?, share)));
        Detail {
            since_ms: self.since_ms,
            peers: self.peers.iter().map(|(_, peer)| *peer).collect(),
            exporters: self.exporters.clone(),
            ports: ports.collect(),
            prefixes: self.prefixes.shares(TOLD),
            syn_only: self.syn_only as f64 / self.contacts as f64,
        }
    }
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
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use srlg_input::contact::{Contact, TCP, TCP_SYN};

    use super::Details;

    fn host(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    fn contact(peer: u32, port: u16) -> Contact {
        let mut contact = Contact::new(0, host(peer), host(0));
        (contact.protocol, contact.destination_port) = (Some(TCP), Some(port));
        (contact.tcp_flags, contact.exporter) = (Some(TCP_SYN), Some(host(9)));
        contact
    }

    #[test]
    fn a_sample_is_uniform_bounded_and_starts_when_a_host_is_looked_at() {
        let mut details = Details::default();
        details.take((host(0), host(1)), &contact(1, 445));
        details.look_at(&[host(0)], 5_000);
        assert_eq!(details.of(&[host(0)]), None, "nothing was seen yet");
        // Half of all, in order: the sample has some of both halves.
        for peer in 1..=2_000 {
            let port = if peer % 4 == 0 { 80 } else { 445 };
            details.take((host(0), host(peer)), &contact(peer, port));
            details.take((host(0), host(peer)), &contact(peer, port));
        }
        let detail = details.of(&[host(0), host(77)]).unwrap();
        assert_eq!((detail.since_ms, detail.peers.len(), detail.syn_only), (5_000, 64, 1.0));
        assert_eq!(detail.exporters, [host(9)]);
        assert_eq!(detail.ports, [("tcp/445".to_owned(), 0.75), ("tcp/80".to_owned(), 0.25)]);
        assert_eq!(detail.prefixes.len(), 8);
        let first = detail.peers.iter().filter(|peer| **peer <= host(1_000)).count();
        // 64 of 2,000: 32 ± 4; eight standard deviations.
        assert!((1..64).contains(&first), "{first}");
        let distinct: std::collections::HashSet<_> = detail.peers.iter().collect();
        assert_eq!(distinct.len(), 64);
    }

    #[test]
    fn hosts_beyond_the_bound_are_not_looked_at() {
        let mut details = Details::default();
        let hosts: Vec<IpAddr> = (0..1_000).map(host).collect();
        details.look_at(&hosts, 0);
        assert_eq!(details.hosts.len(), 256);
        assert!(details.hosts.contains_key(&host(0)) && !details.hosts.contains_key(&host(256)));
        details.look_at(&hosts[255..257], 1);
        assert_eq!(details.hosts.len(), 2);
        assert_eq!(details.hosts[&host(255)].since_ms, 0);
        assert_eq!(details.hosts[&host(256)].since_ms, 1);
    }
}
