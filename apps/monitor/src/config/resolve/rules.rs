//! The parts `[[rule]]` and `[[allow]]`: thresholds of windows, and what is left out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::time::Duration;

use ipnet::IpNet;
use srlg_alert::{Rule, Terms};

use super::{LEAST_THRESHOLD, Resolver};
use crate::config::file::{AllowFile, RuleFile};
use crate::rules::{Allow, Allowed, RuleSet};

impl Resolver {
    /// Two rules of a view for one network: nobody could tell which counts.
    pub(super) fn check_networks(&mut self, view: &str, sets: &[(&RuleSet, &RuleFile)]) {
        let mut seen: BTreeMap<IpNet, &str> = BTreeMap::new();
        for (set, file) in sets {
            for network in &set.networks {
                if let Some(other) = seen.insert(network.trunc(), &set.name) {
                    let of = if file.networks.is_empty() {
                        "all hosts".to_owned()
                    } else {
                        network.to_string()
                    };
                    self.problems.add(
                        file.name.span(),
                        format!("the rules {other} and {} are both for {of} in the view {view}: give one of them other networks or views", set.name),
                    );
                    break;
                }
            }
        }
    }

    pub(super) fn rule(&mut self, file: &RuleFile) -> RuleSet {
        let name = file.name.get_ref().clone();
        let default = Terms::default();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let terms = Terms {
            down: file.down.unwrap_or(default.down),
            for_slices: file.for_slices.unwrap_or(default.for_slices),
            of_slices: file.of_slices.unwrap_or(default.of_slices),
            hold_ms: ms(self.time(file.hold.as_ref(), Duration::from_millis(default.hold_ms))),
            repeat_ms: ms(self.time(file.repeat.as_ref(), Duration::from_millis(default.repeat_ms))),
            ..default
        };
        let mut windows = BTreeMap::new();
        let thresholds = file.thresholds.get_ref();
        for (window, threshold) in thresholds {
            let Some(slices) = self.slices(window, file.thresholds.span()) else { continue };
            let of = if thresholds.len() > 1 { format!("{name}/{window}") } else { name.clone() };
            let told = match Rule::new(of, Terms { threshold: *threshold, ..terms }) {
                Ok(_) if *threshold < f64::from(LEAST_THRESHOLD) => {
                    format!(
                        "threshold is {threshold}: give {LEAST_THRESHOLD} or more, as less is not counted"
                    )
                }
                Ok(rule) => match windows.insert(slices, rule) {
                    None => continue,
                    Some(_) => format!("two thresholds are for {window}: give one"),
                },
                Err(error) => error.to_string(),
            };
            self.problems.add(file.name.span(), format!("in the rule {name}: {told}"));
        }
        if thresholds.is_empty() {
            self.problems.add(
                file.thresholds.span(),
                format!("the rule {name} has no threshold: give one, as {{ 60s = 1024 }}"),
            );
        }
        let mut networks = self.networks(&file.networks);
        if file.networks.is_empty() {
            networks = all();
        }
        RuleSet { name, networks, windows }
    }

    /// The length of a window in slices.
    fn slices(&mut self, window: &str, span: Range<usize>) -> Option<u32> {
        let (of, slice) = (humantime::parse_duration(window), self.slice.as_millis().max(1));
        let slices =
            of.ok().map(|it| it.as_millis()).filter(|it| *it > 0 && it.is_multiple_of(slice));
        let slices = slices.and_then(|it| u32::try_from(it / slice).ok());
        if slices.is_none() {
            let slice = self.slice;
            self.problems.add(
                span,
                format!("a window is {window:?}: give a multiple of slice, which is {slice:?}"),
            );
        }
        slices
    }

    pub(super) fn usual_rule(&mut self) -> RuleSet {
        let terms = Terms::default();
        let window = self.slices("60s", 0..0).unwrap_or(60);
        // The default terms are right.
        let rule = Rule::new("default", terms).ok();
        RuleSet {
            name: "default".to_owned(),
            networks: all(),
            windows: rule.into_iter().map(|rule| (window, rule)).collect(),
        }
    }

    pub(super) fn allow(&mut self, file: &AllowFile) -> Option<Allow> {
        let (hosts, peers) = (self.networks(&file.hosts), self.networks(&file.peers));
        let is = (!file.hosts.is_empty(), !file.peers.is_empty(), !file.ports.is_empty());
        let what = match is {
            (true, false, false) => Allowed::Hosts(hosts),
            (false, true, false) => Allowed::Peers(peers),
            (true, false, true) => Allowed::Ports(hosts, file.ports.clone()),
            _ => {
                self.problems.add(
                    file.why.span(),
                    format!("the allowance {:?} is for nothing or for too much: give hosts, or peers, or hosts and ports", file.why.get_ref()),
                );
                return None;
            }
        };
        Some(Allow { what, why: file.why.get_ref().clone() })
    }
}

/// All of both families.
fn all() -> Vec<IpNet> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // 0 is a length of either family.
    any.map(|host| IpNet::new_assert(host, 0)).to_vec()
}
