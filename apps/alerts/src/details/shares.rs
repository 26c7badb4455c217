//! Shares of a host's recent contacts: by port, prefix and interface, and by what the contacts are.
//!
//! The weight of contacts halves each minute, so that the shares describe what happens now, even if the host has been
//! busy for days. It does not halve while there are no contacts.

use std::net::IpAddr;
use std::num::NonZeroU32;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::{Contact, ICMP, ICMP6, Port, Turn};

use crate::details::attempts::Attempts;
use crate::notification::{Detail, InterfaceShare};
use crate::top::Top;

/// Maximum number of ports, of prefixes and of interfaces in a notification.
pub(super) const MOST_SHARES: usize = 8;

/// Time in which the weight of contacts halves, in milliseconds.
const HALF_LIFE_MS: u64 = 60_000;

/// Weighted numbers of contacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shares {
    contacts: u64,
    /// Contacts that are TCP and have the flag SYN but not ACK.
    syn_only: u64,
    /// Contacts that are known to be requests.
    requests: u64,
    /// Contacts that are known to be replies.
    replies: u64,
    /// Contacts that have ports, which are unknown.
    without_port: u64,
    attempts: Attempts,
    ports: Top<PortKey, 16>,
    source_ports: Top<PortKey, 16>,
    prefixes: Top<IpNet, 16>,
    interfaces: Top<Interface, 16>,
    /// Time of the last halving, in milliseconds since the Unix epoch.
    #[serde(skip)]
    halved_ms: u64,
    /// Whether there have been contacts since the last halving.
    #[serde(skip)]
    is_fed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PortKey {
    protocol: Option<u8>,
    port: Option<u16>,
}

/// An interface of an exporter, identified by its SNMP index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Interface {
    exporter: IpAddr,
    index: NonZeroU32,
}

impl Shares {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            contacts: 0,
            syn_only: 0,
            requests: 0,
            replies: 0,
            without_port: 0,
            attempts: Attempts::default(),
            ports: Top::new(),
            source_ports: Top::new(),
            prefixes: Top::new(),
            interfaces: Top::new(),
            halved_ms: now_ms,
            is_fed: false,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.contacts == 0
    }

    /// Adds a contact with the peer that has the hash `peer` and the address `address`.
    pub(super) fn add(&mut self, peer: u64, address: IpAddr, contact: &Contact) {
        let Contact { protocol, source_port, destination_port, .. } = *contact;
        let is_icmp = protocol.is_some_and(|protocol| matches!(protocol, ICMP | ICMP6));
        self.contacts += 1;
        self.syn_only += u64::from(contact.is_syn_only());
        match contact.turn() {
            Some(Turn::Request(_)) => self.requests += 1,
            Some(Turn::Reply(_)) => self.replies += 1,
            Some(Turn::Refusal) | None => {}
        }
        self.without_port += u64::from(contact.port().is_none() && !is_icmp);
        self.attempts.add(peer, contact.is_syn_only());
        self.ports.add(PortKey { protocol, port: destination_port });
        self.source_ports.add(PortKey { protocol, port: source_port });
        self.prefixes.add(prefix(address));
        if let (Some(exporter), Some(index)) = (contact.exporter, contact.ingress) {
            self.interfaces.add(Interface { exporter: exporter.into(), index });
        }
        self.is_fed = true;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.contacts = self.contacts.saturating_add(other.contacts);
        self.syn_only = self.syn_only.saturating_add(other.syn_only);
        self.requests = self.requests.saturating_add(other.requests);
        self.replies = self.replies.saturating_add(other.replies);
        self.without_port = self.without_port.saturating_add(other.without_port);
        self.attempts.merge(&other.attempts);
        self.ports.merge(&other.ports);
        self.source_ports.merge(&other.source_ports);
        self.prefixes.merge(&other.prefixes);
        self.interfaces.merge(&other.interfaces);
        self.is_fed |= !other.is_empty();
    }

    /// Halves the weight of all contacts if it is time.
    pub(super) fn age(&mut self, now_ms: u64) {
        if !self.is_fed || now_ms.saturating_sub(self.halved_ms) < HALF_LIFE_MS {
            return;
        }
        // A single contact remains one, so that its host keeps its details.
        self.contacts = self.contacts.div_ceil(2);
        let Self { syn_only, requests, replies, without_port, .. } = self;
        for count in [syn_only, requests, replies, without_port] {
            *count = count.div_ceil(2);
        }
        self.attempts.age();
        self.ports.halve();
        self.source_ports.halve();
        self.prefixes.halve();
        self.interfaces.halve();
        (self.halved_ms, self.is_fed) = (now_ms, false);
    }

    /// Writes the shares to `detail`.
    pub(super) fn describe(&self, detail: &mut Detail) {
        let named = |(key, share): (PortKey, f64)| Some((key.name()?, share));
        let source_ports = self.source_ports.shares(MOST_SHARES).into_iter();
        // Contacts without ports are listed once, by their protocol.
        let source_ports = source_ports.filter(|(key, _)| key.port.is_some());
        let interfaces = self.interfaces.shares(MOST_SHARES).into_iter();
        let interfaces = interfaces.map(|(Interface { exporter, index }, share)| InterfaceShare {
            exporter,
            interface: index.get(),
            name: None,
            share,
        });
        let share = |count: u64| (count as f64 / self.contacts as f64).min(1.0);
        detail.ports = self.ports.shares(MOST_SHARES).into_iter().filter_map(named).collect();
        detail.source_ports = source_ports.filter_map(named).collect();
        detail.prefixes = self.prefixes.shares(MOST_SHARES);
        detail.interfaces = interfaces.collect();
        detail.syn_only = share(self.syn_only);
        detail.attempts = self.attempts.share();
        detail.requests = share(self.requests);
        detail.replies = share(self.replies);
        detail.without_port = share(self.without_port);
    }
}

fn prefix(peer: IpAddr) -> IpNet {
    let length = if peer.is_ipv4() { 24 } else { 48 };
    // The length is valid for the address family.
    IpNet::new_assert(peer, length).trunc()
}

impl PortKey {
    /// Returns the usual name of the protocol and port, such as `tcp/443` or `icmp`, or `None` if neither is known.
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
