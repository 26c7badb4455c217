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
    half_of_peers(view, version).map_or(usual, |half| usual.min(half.into()))
}

/// Returns the largest useful threshold of the hosts of `view` in `networks`.
pub(crate) fn most_threshold(view: &ViewOptions, networks: &[IpNet]) -> u32 {
    let versions = Version::ALL.into_iter();
    let versions = versions.filter(|it| networks.iter().any(|network| it.has(network)));
    versions.filter_map(|version| half_of_peers(view, version)).min().unwrap_or(u32::MAX)
}

/// Returns the threshold at which a scan of half of the peers is found, or `None` if there are no peers, because the
/// version is not in use.
fn half_of_peers(view: &ViewOptions, version: Version) -> Option<u32> {
    let most = Peers::new(view, Some(version), None).count;
    let half = u32::try_from(most / 2).unwrap_or(u32::MAX);
    (most > 0).then_some(half.max(LEAST_THRESHOLD))
}

/// Returns `0.0.0.0/0` and `::/0`.
pub(crate) fn all_hosts() -> Vec<IpNet> {
    Version::ALL.map(Version::network).to_vec()
}
