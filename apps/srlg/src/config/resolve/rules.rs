//! The parts `[[rule]]` and `[[allow]]`: thresholds of windows, and what is left out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::alerts::{Rule, Terms};
use ipnet::IpNet;

use super::{LEAST_THRESHOLD, Resolver};
use crate::alerts::rules::{Allow, AllowTarget};
use crate::config::file::{AllowTable, RuleTable, Window};

impl Resolver<'_, '_> {
    /// Two rules of a view for one network: nobody could tell which counts.
    pub(super) fn check_networks(&mut self, view: &str, rules: &[(usize, &Rule)]) {
        let mut seen: BTreeMap<IpNet, &str> = BTreeMap::new();
        for (at, rule) in rules {
            for network in &rule.networks {
                if let Some(other) = seen.insert(network.trunc(), &rule.name) {
                    let of = if self.file.tables.rules[*at].networks.is_empty() {
                        "all hosts".to_owned()
                    } else {
                        network.to_string()
                    };
                    let text = format!(
                        "the rules {other} and {} are both for {of} in the view {view}: give one of them other networks or views",
                        rule.name
                    );
                    self.add("rule", *at, "name", text);
                    break;
                }
            }
        }
    }

    pub(super) fn rule(&mut self, at: usize, rule: &RuleTable) -> Rule {
        let RuleTable { name, thresholds, networks, .. } = rule;
        self.require("rule", at, "name", name.is_empty());
        let terms = terms(rule);
        let mut windows = BTreeMap::new();
        for (window, threshold) in thresholds {
            let Some(slices) = self.slices(window.length) else {
                let (text, slice) = (&window.text, self.slice);
                let text =
                    format!("a window is {text:?}: give a multiple of slice, which is {slice:?}");
                self.add("rule", at, "thresholds", text);
                continue;
            };
            let Window { text: window, .. } = window;
            let problem = match (Terms { threshold: *threshold, ..terms }).checked() {
                Ok(_) if *threshold < f64::from(LEAST_THRESHOLD) => {
                    format!(
                        "threshold is {threshold}: give {LEAST_THRESHOLD} or more, as less is not counted"
                    )
                }
                Ok(terms) => match windows.insert(slices, terms) {
                    None => continue,
                    Some(_) => format!("two thresholds are for {window}: give one"),
                },
                Err(error) => error.to_string(),
            };
            self.add("rule", at, "name", format!("in the rule {name}: {problem}"));
        }
        if thresholds.is_empty() {
            let text = format!("the rule {name} has no threshold: give one, as {{ 60s = 1024 }}");
            self.add("rule", at, "thresholds", text);
        }
        let networks = if networks.is_empty() { all() } else { networks.clone() };
        Rule { name: name.clone(), networks, windows }
    }

    /// The length of a window in slices.
    fn slices(&self, window: Duration) -> Option<u32> {
        let (window, slice) = (window.as_millis(), self.slice.as_millis().max(1));
        u32::try_from(window / slice).ok().filter(|slices| *slices > 0 && window % slice == 0)
    }

    pub(super) fn usual_rule(&mut self) -> Rule {
        let window = self.slices(Duration::from_secs(60)).unwrap_or(60);
        let windows = [(window, Terms::default())].into();
        Rule { name: "default".to_owned(), networks: all(), windows }
    }

    pub(super) fn allow(&mut self, at: usize, allow: &AllowTable) -> Option<Allow> {
        let AllowTable { why, hosts, peers, ports, .. } = allow.clone();
        self.require("allow", at, "why", why.is_empty());
        let what = match (hosts.is_empty(), peers.is_empty(), ports.is_empty()) {
            (false, true, true) => AllowTarget::Hosts(hosts),
            (true, false, true) => AllowTarget::Peers(peers),
            (false, true, false) => AllowTarget::Ports(hosts, ports),
            _ => {
                let text = format!(
                    "the allowance {why:?} is for nothing or for too much: give hosts, or peers, or hosts and ports"
                );
                self.add("allow", at, "why", text);
                return None;
            }
        };
        Some(Allow { what, why })
    }
}

/// The terms of a rule, but for its thresholds.
fn terms(rule: &RuleTable) -> Terms {
    let default = Terms::default();
    let ms = |time: Option<Duration>, default| {
        time.map_or(default, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    };
    Terms {
        down: rule.down.unwrap_or(default.down),
        for_slices: rule.for_slices.unwrap_or(default.for_slices),
        of_slices: rule.of_slices.unwrap_or(default.of_slices),
        hold_ms: ms(rule.hold, default.hold_ms),
        repeat_ms: ms(rule.repeat, default.repeat_ms),
        ..default
    }
}

/// All of both families.
fn all() -> Vec<IpNet> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // 0 is a length of either family.
    any.map(|host| IpNet::new_assert(host, 0)).to_vec()
}
