//! Rules: when alerts start and end, which rule a host has, and which contacts do not count.
//!
//! Shape: per view a table of networks to rules, one of hosts without alerts, one of opposite hosts and one of ports that
//! do not count. The longest network that holds a host decides.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::{Contact, Host, Name, Networks, Packing, PeerKey, ViewOptions};

/// A rule: when hosts of some networks raise an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the rule in the configuration.
    pub name: String,
    /// Networks of hosts that the rule applies to.
    pub networks: Vec<IpNet>,
    /// Terms of each window, by its length in slices.
    pub windows: BTreeMap<u32, Terms>,
}

impl Rule {
    /// Returns the milliseconds after which an active alert is reported again.
    #[must_use]
    pub fn repeat_ms(&self) -> u64 {
        self.windows.values().map(|terms| terms.repeat_ms).min().unwrap_or(u64::MAX)
    }

    /// Returns the milliseconds after which an alert ends whose end cannot be confirmed.
    #[must_use]
    pub fn unconfirmed_after_ms(&self) -> u64 {
        self.windows.values().map(|terms| terms.unconfirmed_after_ms).min().unwrap_or(u64::MAX)
    }
}

/// An entry of an allow list: contacts or hosts that raise no alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allow {
    /// What is taken out.
    pub what: AllowTarget,
    /// Why, for people.
    pub why: String,
}

impl Allow {
    /// Whether contacts are taken out, and not hosts.
    #[must_use]
    pub fn is_of_contacts(&self) -> bool {
        !matches!(self.what, AllowTarget::Hosts(_))
    }
}

/// The hosts or contacts that an [`Allow`] takes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllowTarget {
    /// Alerts about hosts of these networks.
    Hosts(Vec<IpNet>),
    /// Contacts with these opposite hosts.
    Peers(Vec<IpNet>),
    /// Contacts to these ports of hosts of these networks.
    Ports(Vec<IpNet>, Vec<u16>),
}

/// All rules of a view.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How the hosts and the peers of the view are packed.
    packings: [Packing; 2],
    rules: Vec<Rule>,
    by_network: Networks<(IpNet, usize)>,
    allows: Vec<Allow>,
    /// Indices into `allows`.
    hosts: Networks<usize>,
    peers: Networks<usize>,
    ports: Networks<Vec<(u16, usize)>>,
    has_peers: bool,
    has_ports: bool,
}

/// The rule of a host, and why it is that one.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'a> {
    /// The rule, with the longest of its networks that holds the host.
    pub rule: Option<(&'a Rule, IpNet)>,
    /// Other rules with a network that holds the host, which is shorter.
    pub others: Vec<(&'a Rule, IpNet)>,
    /// What is allowed of the host, or of contacts with the host.
    pub allows: Vec<&'a Allow>,
}

impl Rules {
    /// Makes the rules of a view from `rules` and `allows`.
    #[must_use]
    pub fn new(rules: Vec<Rule>, allows: Vec<Allow>) -> Self {
        let networks = rules.iter().enumerate().flat_map(|(at, set)| {
            set.networks.iter().map(move |network| (*network, (*network, at)))
        });
        let by_network = Networks::new(networks);
        let (mut hosts, mut peers, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        for (at, allow) in allows.iter().enumerate() {
            match &allow.what {
                AllowTarget::Hosts(networks) => hosts.extend(networks.iter().map(|it| (*it, at))),
                AllowTarget::Peers(networks) => peers.extend(networks.iter().map(|it| (*it, at))),
                AllowTarget::Ports(networks, numbers) => {
                    for network in networks {
                        ports.extend(numbers.iter().map(|port| (*network, (*port, at))));
                    }
                }
            }
        }
        // Only the longest network is found: it takes the ports of the networks around with it.
        let around = |network: &IpNet| {
            let around = ports.iter().filter(|(other, _)| other.contains(network));
            around.map(|(_, port)| *port).collect::<Vec<_>>()
        };
        Self {
            packings: Default::default(),
            by_network,
            has_peers: !peers.is_empty(),
            has_ports: !ports.is_empty(),
            hosts: Networks::new(hosts),
            peers: Networks::new(peers),
            ports: Networks::new(ports.iter().map(|(network, _)| (*network, around(network)))),
            rules,
            allows,
        }
    }

    /// Returns the rules of the hosts of `view`. A host has the rule of its address.
    #[must_use]
    pub fn with_view(self, view: &ViewOptions) -> Self {
        Self { packings: [view.hosts(), view.peers()], ..self }
    }

    /// Returns how the hosts of the view are packed.
    #[must_use]
    pub const fn packing(&self) -> Packing {
        self.packings[0]
    }

    /// Returns the parts of a contact that make the hosts and the peers of the view.
    #[must_use]
    pub fn keys(&self) -> [PeerKey; 2] {
        self.packings.map(Packing::key)
    }

    /// Returns the name of a packed host.
    #[must_use]
    pub fn name(&self, host: IpAddr) -> Name {
        self.packing().name(host)
    }

    /// Returns the address of a packed host, the first one of a network.
    #[must_use]
    pub fn address(&self, host: IpAddr) -> IpAddr {
        self.packing().address(host.into()).map_or(host, IpAddr::from)
    }

    /// Returns all rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the allow lists.
    #[must_use]
    pub fn allows(&self) -> &[Allow] {
        &self.allows
    }

    /// Returns the windows of all rules, in slices, the shortest first.
    #[must_use]
    pub fn windows(&self) -> Vec<u32> {
        let mut windows: Vec<u32> =
            self.rules.iter().flat_map(|set| set.windows.keys().copied()).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// Returns the least count that any rule looks at: where alerts of `window` end, or of all windows.
    #[must_use]
    pub fn least(&self, window: Option<u32>) -> f64 {
        let rules = self.rules.iter().flat_map(|set| set.windows.iter());
        let rules = rules.filter(|(of, _)| window.is_none_or(|window| window == **of));
        rules.map(|(_, terms)| terms.threshold * terms.down).fold(f64::INFINITY, f64::min)
    }

    /// Returns the rule of `host`; none if the host is ignored (allow list).
    #[must_use]
    pub fn rule(&self, host: IpAddr) -> Option<&Rule> {
        let address = self.address(host).into();
        let (_, at) = self.by_network.get(address)?;
        self.hosts.get(address).is_none().then_some(&self.rules[*at])
    }

    /// Adds a slice to the `hits` of [`allows`](Self::allows) if `host`, which is allowed, had at least `peers` peers within
    /// `window` slices, and these would have started an alert.
    pub fn count_host(&self, host: IpAddr, window: u32, peers: f64, hits: &mut [u64]) {
        let address = self.address(host).into();
        let terms =
            self.by_network.get(address).and_then(|(_, at)| self.rules[*at].windows.get(&window));
        if let Some(at) = self.hosts.get(address)
            && terms.is_some_and(|terms| peers >= terms.threshold)
        {
            hits[*at] += 1;
        }
    }

    /// Returns which pairs of `contact` count, of those that are there: the one of its source, and the one of its
    /// destination. A pair that does not is added to the `hits` of [`allows`](Self::allows).
    #[inline]
    #[must_use]
    pub fn counts(
        &self,
        contact: &Contact,
        [sent, received]: [bool; 2],
        hits: &mut [u64],
    ) -> [bool; 2] {
        if (!self.has_peers && !self.has_ports) || !(sent || received) {
            return [sent, received];
        }
        if let Some(at) = self.port(contact) {
            hits[at] += 1;
            return [false; 2];
        }
        let mut counts = |is_there: bool, peer: Host| {
            is_there
                && self.peers.get(peer).is_none_or(|at| {
                    hits[*at] += 1;
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

    /// Returns the hits of [`allows`](Self::allows) to start with, where `former` rules had `hits`: those of the same
    /// allowance.
    #[must_use]
    pub fn hits_after(&self, former: &Self, hits: &[u64]) -> Vec<u64> {
        let hits_of = |allow| {
            let mut former = former.allows.iter().zip(hits);
            former.find(|(other, _)| *other == allow).map_or(0, |(_, hits)| *hits)
        };
        self.allows.iter().map(hits_of).collect()
    }

    /// Returns the rule of the hosts with the address `host`, and why it is that one.
    #[must_use]
    pub fn explain(&self, host: IpAddr) -> Explanation<'_> {
        let rule =
            self.by_network.get(host.into()).map(|(network, at)| (&self.rules[*at], *network));
        let longest = |set: &'_ Rule| {
            let holding = set.networks.iter().filter(|network| network.contains(&host));
            holding.max_by_key(|network| network.prefix_len()).copied()
        };
        let holding = self.rules.iter().filter_map(|set| Some((set, longest(set)?)));
        let others = holding.filter(|(set, _)| rule.is_none_or(|(chosen, _)| chosen != *set));
        let allows = self.allows.iter().filter(|allow| {
            let networks = match &allow.what {
                AllowTarget::Hosts(networks)
                | AllowTarget::Peers(networks)
                | AllowTarget::Ports(networks, _) => networks,
            };
            networks.iter().any(|network| network.contains(&host))
        });
        Explanation { rule, others: others.collect(), allows: allows.collect() }
    }
}

/// The terms by which an alert starts, ends and is reported again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// θ: opposite hosts at which an alert starts. A count is compared less its standard error, so that noise alone
    /// starts none.
    pub threshold: f64,
    /// The part of `threshold` below which an alert ends, above 0 and below 1; less where that is not four standard errors
    /// below `threshold`.
    pub down: f64,
    /// Slices at or above `threshold`, of the last `of_slices`, that start an alert.
    pub for_slices: u32,
    /// See `for_slices`; 1 to 32.
    pub of_slices: u32,
    /// Milliseconds below `down` after which an alert ends.
    pub hold_ms: u64,
    /// Milliseconds after which an alert that goes on is told again.
    pub repeat_ms: u64,
    /// Milliseconds after which an alert ends whose end cannot be confirmed.
    pub unconfirmed_after_ms: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            threshold: 1024.0,
            down: 0.8,
            for_slices: 3,
            of_slices: 5,
            hold_ms: 60_000,
            repeat_ms: 300_000,
            unconfirmed_after_ms: 86_400_000,
        }
    }
}

/// A value of [`Terms`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}: give a number {range}")]
pub struct BadTerms {
    /// Its name in a configuration.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// What it may be.
    pub range: &'static str,
}

impl Terms {
    /// Checks all numbers, and returns the terms.
    pub fn checked(self) -> Result<Self, BadTerms> {
        let Self { threshold, down, for_slices, of_slices, .. } = self;
        for (name, value, is_good, range) in [
            ("threshold", threshold, threshold >= 1.0 && threshold.is_finite(), "of at least 1"),
            ("down", down, down > 0.0 && down < 1.0, "above 0 and below 1"),
            ("of", f64::from(of_slices), (1..=32).contains(&of_slices), "from 1 to 32"),
            ("for", f64::from(for_slices), (1..=of_slices).contains(&for_slices), "from 1 to `of`"),
        ] {
            if !is_good {
                return Err(BadTerms { name, value, range });
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
