//! Default rules and thresholds of views, and the smallest threshold.

use std::collections::BTreeMap;

use ipnet::IpNet;
use srlg_input::ViewOptions;

use super::peers::{Peers, Version};
use srlg_alerts::{Rule, Terms};

/// Minimum threshold of rules and detectors, in peers.
pub(crate) const LEAST_THRESHOLD: u32 = 8;

/// Ratio of the default threshold of networks to that of hosts.
pub(super) const NETWORK_FACTOR: f64 = 8.0;

/// Returns the default rule of a view of hosts.
pub(super) fn host_rule(window: u32) -> Rule {
    default_rule("default", all_hosts(), window, Terms::default().threshold)
}

/// Returns the default rules of the default view of outside hosts. Their alerts start at the default threshold, or at
/// half of the inside addresses if that is less.
///
/// A host has only peers of its own IP version. If the thresholds of the versions differ, each version has its own
/// rule, and both rules have the same name.
pub(super) fn outside_rules(view: &ViewOptions, window: u32) -> Vec<Rule> {
    let rule = |version: Version, threshold| {
        default_rule("default", vec![version.network()], window, threshold)
    };
    let [v4, v6] = Version::ALL.map(|version| outside_threshold(view, version));
    if v4 == v6 {
        return vec![default_rule("default", all_hosts(), window, v4)];
    }
    vec![rule(Version::V4, v4), rule(Version::V6, v6)]
}

/// Returns the default rule of a view of networks.
pub(super) fn network_rule(window: u32) -> Rule {
    let threshold = NETWORK_FACTOR * Terms::default().threshold;
    default_rule("networks", all_hosts(), window, threshold)
}

fn default_rule(name: &str, networks: Vec<IpNet>, window: u32, threshold: f64) -> Rule {
    let windows = BTreeMap::from([(window, Terms { threshold, ..Terms::default() })]);
    Rule { name: name.to_owned(), networks, windows }
}

fn outside_threshold(view: &ViewOptions, version: Version) -> f64 {
    let usual = Terms::default().threshold;
    match Peers::new(view, Some(version), None).count {
        // Without peers, the version is not in use.
        0 => usual,
        // A scan of half of the peers is found.
        most => usual.min((most / 2) as f64).max(LEAST_THRESHOLD.into()),
    }
}

/// Returns `0.0.0.0/0` and `::/0`.
pub(crate) fn all_hosts() -> Vec<IpNet> {
    Version::ALL.map(Version::network).to_vec()
}
