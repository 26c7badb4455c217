//! Which rule a host has, and which contacts do not count.
//!
//! Shape: per view a table of networks to rules, one of hosts without alerts, one of opposite hosts and one of ports that
//! do not count. The longest network that holds a host decides.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use srlg_alert::Rule;
use srlg_input::contact::{Contact, Networks};

/// Holds the terms of a rule for each of its windows.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSet {
    /// Name of the rule in the configuration.
    pub name: String,
    /// Networks of hosts that the rule is about.
    pub networks: Vec<IpNet>,
    /// By the length of the window in slices. Rules of several windows have the window in their names.
    pub windows: BTreeMap<u32, Rule>,
}

/// Takes out contacts or hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Allow {
    /// What is taken out.
    pub what: Allowed,
    /// Why, for people.
    pub why: String,
}

/// Tells what an [`Allow`] takes out.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// Alerts about hosts of these networks.
    Hosts(Vec<IpNet>),
    /// Contacts with these opposite hosts.
    Peers(Vec<IpNet>),
    /// Contacts to these ports of hosts of these networks.
    Ports(Vec<IpNet>, Vec<u16>),
}

/// Knows all rules of a view.
#[derive(Clone, Debug)]
pub struct Rules {
    sets: Vec<RuleSet>,
    by_network: Networks<(IpNet, usize)>,
    allows: Vec<Allow>,
    /// How often each of `allows` took something out.
    hits: Vec<Cell<u64>>,
    /// Indices into `allows`.
    hosts: Networks<usize>,
    peers: Networks<usize>,
    ports: Networks<Vec<(u16, usize)>>,
    has_peers: bool,
    has_ports: bool,
}

/// Tells which rule a host has, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'a> {
    /// The rule, with the longest of its networks that holds the host.
    pub rule: Option<(&'a RuleSet, IpNet)>,
    /// Other rules with a network that holds the host, which is shorter.
    pub others: Vec<(&'a RuleSet, IpNet)>,
    /// What is allowed of the host, or of contacts with the host.
    pub allows: Vec<&'a Allow>,
}

impl Rules {
    /// Makes the rules of a view out of `sets` and `allows`.
    #[must_use]
    pub fn new(sets: Vec<RuleSet>, allows: Vec<Allow>) -> Self {
        let networks = sets.iter().enumerate().flat_map(|(at, set)| {
            set.networks.iter().map(move |network| (*network, (*network, at)))
        });
        let by_network = Networks::new(networks);
        let of = |pick: fn(&Allowed) -> Option<&Vec<IpNet>>| {
            let numbered = allows.iter().enumerate();
            let found = numbered.filter_map(move |(at, allow)| Some((at, pick(&allow.what)?)));
            found.flat_map(|(at, networks)| networks.iter().map(move |network| (*network, at)))
        };
        let hosts = of(|what| match what {
            Allowed::Hosts(networks) => Some(networks),
            _ => None,
        });
        let peers = of(|what| match what {
            Allowed::Peers(networks) => Some(networks),
            _ => None,
        });
        let (hosts, peers) = (Networks::new(hosts), Networks::new(peers));
        // The longest network alone is found: it takes the ports of the networks around with it.
        let ports: Vec<(IpNet, u16, usize)> = allows
            .iter()
            .enumerate()
            .filter_map(|(at, allow)| match &allow.what {
                Allowed::Ports(networks, ports) => Some((at, networks, ports)),
                _ => None,
            })
            .flat_map(|(at, networks, ports)| {
                networks
                    .iter()
                    .flat_map(move |network| ports.iter().map(move |port| (*network, *port, at)))
            })
            .collect();
        let around = |network: &IpNet| {
            let holds = ports.iter().filter(move |(other, _, _)| other.contains(network));
            holds.map(|(_, port, at)| (*port, *at)).collect::<Vec<_>>()
        };
        let ports_of =
            Networks::new(ports.iter().map(|(network, _, _)| (*network, around(network))));
        let has = |is: fn(&Allowed) -> bool| allows.iter().any(|allow| is(&allow.what));
        Self {
            by_network,
            hits: vec![Cell::new(0); allows.len()],
            hosts,
            peers,
            has_peers: has(|what| matches!(what, Allowed::Peers(_))),
            has_ports: !ports.is_empty(),
            ports: ports_of,
            sets,
            allows,
        }
    }

    /// Returns all rules.
    #[must_use]
    pub fn sets(&self) -> &[RuleSet] {
        &self.sets
    }

    /// Returns what is allowed, each with how often that took something out.
    pub fn allows(&self) -> impl Iterator<Item = (&Allow, u64)> {
        self.allows.iter().zip(self.hits.iter().map(Cell::get))
    }

    /// Returns the windows of all rules, in slices, the shortest first.
    #[must_use]
    pub fn windows(&self) -> Vec<u32> {
        let mut windows: Vec<u32> =
            self.sets.iter().flat_map(|set| set.windows.keys().copied()).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// Returns the least count that any rule looks at: where alerts of `window` end, or of all windows.
    #[must_use]
    pub fn least(&self, window: Option<u32>) -> f64 {
        let rules = self.sets.iter().flat_map(|set| set.windows.iter());
        let rules = rules.filter(|(of, _)| window.is_none_or(|window| window == **of));
        rules
            .map(|(_, rule)| rule.terms().threshold * rule.terms().down)
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns the rule of `host` for `window` slices; none where the host is allowed, or its rule has no such window.
    #[must_use]
    pub fn rule(&self, host: IpAddr, window: u32) -> Option<&Rule> {
        let (_, at) = self.by_network.get(host)?;
        let rule = self.sets[*at].windows.get(&window)?;
        self.hosts.get(host).is_none().then_some(rule)
    }

    /// Counts a slice in which `host` had `opposite` hosts at least within `window` slices, if that is as many as start an
    /// alert, and the host is allowed.
    pub fn count_host(&self, host: IpAddr, window: u32, opposite: f64) {
        let rule =
            self.by_network.get(host).and_then(|(_, at)| self.sets[*at].windows.get(&window));
        if let Some(at) = self.hosts.get(host)
            && rule.is_some_and(|rule| opposite >= rule.terms().threshold)
        {
            self.count(*at);
        }
    }

    /// Returns which of the pairs of `contact` count, of those that are there: the one of its source, and the one of its
    /// destination.
    #[inline]
    #[must_use]
    pub fn counts(&self, contact: &Contact, [sent, received]: [bool; 2]) -> [bool; 2] {
        if (!self.has_peers && !self.has_ports) || !(sent || received) {
            return [sent, received];
        }
        if let Some(at) = self.port(contact) {
            self.count(at);
            return [false; 2];
        }
        let counts = |is_there: bool, peer: IpAddr| {
            is_there
                && self.peers.get(peer).is_none_or(|at| {
                    self.count(*at);
                    false
                })
        };
        [counts(sent, contact.destination), counts(received, contact.source)]
    }

    fn port(&self, contact: &Contact) -> Option<usize> {
        let port = contact.destination_port?;
        let ports = self.ports.get(contact.destination)?;
        ports.iter().find(|(allowed, _)| *allowed == port).map(|(_, at)| *at)
    }

    /// Goes on to count where `former` rules stopped, as far as they allowed the same.
    pub fn take_hits(&mut self, former: &Self) {
        for (allow, hits) in self.allows.iter().zip(&mut self.hits) {
            let same = former.allows().find(|(other, _)| *other == allow);
            hits.set(same.map_or(0, |(_, hits)| hits));
        }
    }

    fn count(&self, at: usize) {
        self.hits[at].set(self.hits[at].get() + 1);
    }

    /// Tells which rule `host` has, and why.
    #[must_use]
    pub fn explain(&self, host: IpAddr) -> Explanation<'_> {
        let rule = self.by_network.get(host).map(|(network, at)| (&self.sets[*at], *network));
        let longest = |set: &'_ RuleSet| {
            let holding = set.networks.iter().filter(|network| network.contains(&host));
            holding.max_by_key(|network| network.prefix_len()).copied()
        };
        let holding = self.sets.iter().filter_map(|set| Some((set, longest(set)?)));
        let others = holding.filter(|(set, _)| rule.is_none_or(|(chosen, _)| chosen != *set));
        let allows = self.allows.iter().filter(|allow| {
            let networks = match &allow.what {
                Allowed::Hosts(networks)
                | Allowed::Peers(networks)
                | Allowed::Ports(networks, _) => networks,
            };
            networks.iter().any(|network| network.contains(&host))
        });
        Explanation { rule, others: others.collect(), allows: allows.collect() }
    }
}

#[cfg(test)]
mod tests;
