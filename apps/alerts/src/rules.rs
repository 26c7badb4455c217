//! Rules, which state when alerts start and end, and allow lists, which contain ignored hosts and contacts.
//!
//! A view has a table that maps networks to rules, and tables of ignored hosts, peers and services. Of the networks
//! that contain an address, the one with the longest prefix applies. Ignored services are an exception: all networks
//! that contain the address apply.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::usual::Usual;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::{
    Contact, Host, Name, Networks, Packing, PeerKey, Port, Prefixes, ViewOptions,
};

/// The terms under which hosts of certain networks raise an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the rule in the configuration.
    pub name: String,
    /// Networks to whose hosts the rule applies.
    pub networks: Vec<IpNet>,
    /// Terms of each window, by its length in slices.
    pub windows: BTreeMap<u32, Terms>,
}

impl Rule {
    /// Returns the time after which an active alert is reported again, in milliseconds: the shortest time of any
    /// window.
    #[must_use]
    pub fn repeat_ms(&self) -> u64 {
        self.windows.values().map(|terms| terms.repeat_ms).min().unwrap_or(u64::MAX)
    }

    /// Returns the time after which an alert ends even if its end cannot be confirmed, in milliseconds: the shortest
    /// time of any window.
    #[must_use]
    pub fn unconfirmed_after_ms(&self) -> u64 {
        self.windows.values().map(|terms| terms.unconfirmed_after_ms).min().unwrap_or(u64::MAX)
    }
}

/// An allow-list entry, whose hosts or contacts are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allow {
    /// The ignored hosts or contacts.
    pub what: AllowTarget,
    /// The reason for the entry, as text for users.
    pub why: String,
}

impl Allow {
    /// Returns this entry for a view whose hosts have the given prefixes. If a view counts whole networks, a network
    /// has other hosts beside those of the entry. It therefore still raises alerts, but contacts with these hosts are
    /// ignored. The result has two entries if only some of the networks are longer than the prefixes.
    #[must_use]
    pub fn in_view(self, prefixes: &Prefixes) -> Vec<Self> {
        let AllowTarget::Hosts(networks) = self.what else { return vec![self] };
        let is_part = |network: &IpNet| network.prefix_len() > prefixes.of_host(network.addr());
        let (parts, hosts): (Vec<_>, Vec<_>) = networks.into_iter().partition(is_part);
        let mut entries = Vec::new();
        if !hosts.is_empty() {
            entries.push(Self { what: AllowTarget::Hosts(hosts), why: self.why.clone() });
        }
        if !parts.is_empty() {
            entries.push(Self { what: AllowTarget::Parts(parts), why: self.why });
        }
        entries
    }

    /// Returns whether the entry ignores contacts rather than hosts.
    #[must_use]
    pub fn is_of_contacts(&self) -> bool {
        !matches!(self.what, AllowTarget::Hosts(_))
    }
}

/// The hosts or contacts that an [`Allow`] ignores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllowTarget {
    /// Hosts of these networks, which raise no alerts.
    Hosts(Vec<IpNet>),
    /// Contacts with hosts of these networks, which are parts of the larger networks that a view counts.
    Parts(Vec<IpNet>),
    /// Contacts with these peers.
    Peers(Vec<IpNet>),
    /// Requests to services on these ports of hosts in these networks, and the replies of the services.
    Services(Vec<IpNet>, Vec<u16>),
}

/// All rules of a view.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Packings of the view's hosts and peers.
    packings: [Packing; 2],
    rules: Vec<Rule>,
    by_network: Networks<(IpNet, usize)>,
    allows: Vec<Allow>,
    /// Indices into `allows`.
    hosts: Networks<usize>,
    parts: Networks<usize>,
    peers: Networks<usize>,
    services: Networks<Vec<(u16, usize)>>,
    /// Whether any contacts are ignored.
    has_contacts: bool,
}

/// The rule of a host, and why it applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'a> {
    /// The rule, and its network that contains the host and has the longest prefix.
    pub rule: Option<(&'a Rule, IpNet)>,
    /// Rules whose networks also contain the host but have shorter prefixes, so that these rules do not apply.
    pub others: Vec<(&'a Rule, IpNet)>,
    /// Allow-list entries for the host or for contacts with it.
    pub allows: Vec<&'a Allow>,
}

impl Rules {
    /// Creates the rules of a view from `rules` and the allow-list entries `allows`.
    #[must_use]
    pub fn new(rules: Vec<Rule>, allows: Vec<Allow>) -> Self {
        let networks = rules.iter().enumerate().flat_map(|(at, set)| {
            set.networks.iter().map(move |network| (*network, (*network, at)))
        });
        let by_network = Networks::new(networks);
        let (mut hosts, mut parts) = (Vec::new(), Vec::new());
        let (mut peers, mut services) = (Vec::new(), Vec::new());
        for (at, allow) in allows.iter().enumerate() {
            match &allow.what {
                AllowTarget::Hosts(networks) => hosts.extend(networks.iter().map(|it| (*it, at))),
                AllowTarget::Parts(networks) => parts.extend(networks.iter().map(|it| (*it, at))),
                AllowTarget::Peers(networks) => peers.extend(networks.iter().map(|it| (*it, at))),
                AllowTarget::Services(networks, numbers) => {
                    for network in networks {
                        services.extend(numbers.iter().map(|port| (*network, (*port, at))));
                    }
                }
            }
        }
        // A look-up finds only the longest prefix, so each network includes the ports of the networks that contain it.
        let around = |network: &IpNet| {
            let around = services.iter().filter(|(other, _)| other.contains(network));
            around.map(|(_, port)| *port).collect::<Vec<_>>()
        };
        Self {
            packings: Default::default(),
            by_network,
            has_contacts: allows.iter().any(Allow::is_of_contacts),
            hosts: Networks::new(hosts),
            parts: Networks::new(parts),
            peers: Networks::new(peers),
            services: Networks::new(
                services.iter().map(|(network, _)| (*network, around(network))),
            ),
            rules,
            allows,
        }
    }

    /// Returns these rules for the hosts of `view`. A host's address determines its rule.
    #[must_use]
    pub fn with_view(self, view: &ViewOptions) -> Self {
        Self { packings: [view.hosts(), view.peers()], ..self }
    }

    /// Returns the packing of the view's hosts.
    #[must_use]
    pub const fn packing(&self) -> Packing {
        self.packings[0]
    }

    /// Returns the parts of a contact that form the view's hosts and peers.
    #[must_use]
    pub fn keys(&self) -> [PeerKey; 2] {
        self.packings.map(Packing::key)
    }

    /// Returns the name of a packed host.
    #[must_use]
    pub fn name(&self, host: IpAddr) -> Name {
        self.packing().name(host)
    }

    /// Returns the address of a packed host, or the first address if the host is a network.
    #[must_use]
    pub fn address(&self, host: IpAddr) -> IpAddr {
        self.packing().address(host.into()).map_or(host, IpAddr::from)
    }

    /// Returns all rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns all allow-list entries.
    #[must_use]
    pub fn allows(&self) -> &[Allow] {
        &self.allows
    }

    /// Returns the lengths of the windows of all rules, in slices, the shortest first.
    #[must_use]
    pub fn windows(&self) -> Vec<u32> {
        let mut windows: Vec<u32> =
            self.rules.iter().flat_map(|set| set.windows.keys().copied()).collect();
        windows.sort_unstable();
        windows.dedup();
        windows
    }

    /// Returns the smallest product of `threshold` and `down` of any window: the number of peers below which an alert can
    /// end.
    #[must_use]
    pub fn least(&self) -> f64 {
        let terms = self.rules.iter().flat_map(|set| set.windows.values());
        terms.map(|terms| terms.threshold * terms.down).fold(f64::INFINITY, f64::min)
    }

    /// Returns the rule of `host`, or `None` if no rule applies or the host is ignored (allow list).
    #[must_use]
    pub fn rule(&self, host: IpAddr) -> Option<&Rule> {
        let address = self.address(host).into();
        let (_, at) = self.by_network.get(address)?;
        self.hosts.get(address).is_none().then_some(&self.rules[*at])
    }

    /// If `peers` reaches the threshold and an allow-list entry ignores `host`, adds a hit to the entry. `peers` is the
    /// host's count within `window` slices. `hits` contains the number of hits of each entry in
    /// [`allows`](Self::allows).
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

    /// Returns whether the two pairs of `contact` count: the pair whose host is the source, and the pair whose host is
    /// the destination. The arguments `sent` and `received` state which of the two pairs exist. If an allow-list entry
    /// ignores one of these pairs, the entry's count in `hits` is increased. `hits` is in the order of
    /// [`allows`](Self::allows).
    #[inline]
    #[must_use]
    pub fn counts(
        &self,
        contact: &Contact,
        [sent, received]: [bool; 2],
        hits: &mut [u64],
    ) -> [bool; 2] {
        if !self.has_contacts || !(sent || received) {
            return [sent, received];
        }
        if let Some(at) = self.service(contact) {
            hits[at] += 1;
            return [false; 2];
        }
        let (source, destination) = (contact.source, contact.destination);
        let mut counts = |is_there: bool, host: Host, peer: Host| {
            is_there
                && self.peers.get(peer).or_else(|| self.parts.get(host)).is_none_or(|at| {
                    hits[*at] += 1;
                    false
                })
        };
        [counts(sent, source, destination), counts(received, destination, source)]
    }

    /// Returns the entry that ignores `contact` as a request to a service or as a reply of a service.
    fn service(&self, contact: &Contact) -> Option<usize> {
        // The port fields of other protocols contain other values, such as types of ICMP. Contact lists may state
        // ports without a protocol.
        if contact.protocol.is_some_and(|protocol| !Port::is_in(protocol)) {
            return None;
        }
        let entry = |host: Host, port: Option<u16>| {
            let mut ports = self.services.get(host)?.iter();
            let port = port?;
            ports.find(|(allowed, _)| *allowed == port).map(|(_, at)| *at)
        };
        let request = entry(contact.destination, contact.destination_port);
        request.or_else(|| {
            let reply = entry(contact.source, contact.source_port)?;
            // A host that opens connections from the port of its service may be scanning.
            (contact.is_initiated() != Some(true)).then_some(reply)
        })
    }

    /// Returns the initial number of hits of each entry in [`allows`](Self::allows) after a reload. An entry that
    /// existed in the `former` rules keeps its `hits`.
    #[must_use]
    pub fn hits_after(&self, former: &Self, hits: &[u64]) -> Vec<u64> {
        let hits_of = |allow| {
            let mut former = former.allows.iter().zip(hits);
            former.find(|(other, _)| *other == allow).map_or(0, |(_, hits)| *hits)
        };
        self.allows.iter().map(hits_of).collect()
    }

    /// Returns the rule for the address `host`, and why it applies.
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
                | AllowTarget::Parts(networks)
                | AllowTarget::Peers(networks)
                | AllowTarget::Services(networks, _) => networks,
            };
            networks.iter().any(|network| network.contains(&host))
        });
        Explanation { rule, others: others.collect(), allows: allows.collect() }
    }
}

/// The terms under which an alert starts, ends and is reported again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// The threshold θ: the number of peers at which an alert starts. The standard error is subtracted from a count
    /// before the comparison, so that noise alone does not start an alert.
    pub threshold: f64,
    /// The multiple of a host's [usual](crate::usual) peer count that the count must reach, too; above 1. `None` if
    /// only `threshold` matters.
    pub above_usual: Option<f64>,
    /// The fraction of `threshold` below which an alert ends; between 0 and 1, exclusive. If this level is less than
    /// four standard errors below `threshold`, the alert ends only four standard errors below `threshold`.
    pub down: f64,
    /// Number of slices, out of the last `of_slices`, in which the count must reach `threshold` to start an alert.
    pub for_slices: u32,
    /// Number of the most recent slices that are considered; 1 to 32. In `for_slices` of them, the count must reach
    /// `threshold`.
    pub of_slices: u32,
    /// Time for which the count must stay below `down` times `threshold` before the alert ends, in milliseconds.
    pub hold_ms: u64,
    /// Time after which an active alert is reported again, in milliseconds.
    pub repeat_ms: u64,
    /// Time for which counts must stay low before an alert ends without confirmation, in milliseconds.
    pub unconfirmed_after_ms: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            threshold: 1024.0,
            above_usual: None,
            down: 0.8,
            for_slices: 3,
            of_slices: 5,
            hold_ms: 60_000,
            repeat_ms: 300_000,
            unconfirmed_after_ms: 86_400_000,
        }
    }
}

/// The thresholds of a host in one slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thresholds {
    /// Number of peers at which an alert starts: both the threshold of the rule and the multiple of what is usual are
    /// reached.
    pub(crate) start: f64,
    /// Number of peers to which the severity refers: the smaller one of the two.
    pub(crate) severity: f64,
}

/// Largest factor by which what is usual raises a threshold. An attacker who makes ever larger counts usual for a host
/// cannot hide more than that.
pub const MOST_RAISED: f64 = 16.0;

/// A value of [`Terms`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name}: must be {range}, got {value}")]
pub struct BadTerms {
    /// Key of the value in the configuration.
    pub name: &'static str,
    /// The rejected value.
    pub value: f64,
    /// The valid range.
    pub range: &'static str,
}

impl Terms {
    /// Returns the thresholds for a host whose usual peer count is `usual`.
    pub(crate) fn thresholds(&self, usual: Option<Usual>) -> Thresholds {
        let Self { threshold, above_usual, .. } = *self;
        let above = above_usual.zip(usual).map(|(times, usual)| times * f64::from(usual.most));
        let above = above.unwrap_or(threshold);
        Thresholds {
            start: above.clamp(threshold, MOST_RAISED * threshold),
            severity: above.min(threshold),
        }
    }

    /// Returns the terms if all numbers are in range.
    pub fn checked(self) -> Result<Self, BadTerms> {
        let Self { threshold, down, for_slices, of_slices, .. } = self;
        let above = self.above_usual.unwrap_or(2.0);
        for (name, value, is_good, range) in [
            ("threshold", threshold, threshold >= 1.0 && threshold.is_finite(), "at least 1"),
            ("above-usual", above, above > 1.0 && above.is_finite(), "above 1"),
            ("down", down, down > 0.0 && down < 1.0, "above 0 and below 1"),
            ("of", f64::from(of_slices), (1..=32).contains(&of_slices), "1 to 32"),
            ("for", f64::from(for_slices), (1..=of_slices).contains(&for_slices), "1 to `of`"),
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
