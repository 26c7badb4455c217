//! The parts `[[view]]`: what is counted, by which rules, and detectors of sizes that fit these.

use ipnet::IpNet;
use srlg_host::Config as Sizes;
use srlg_host::config::HashFamily;
use srlg_input::contact::{Prefixes, Role, Side, View, ViewOptions};
use toml::Spanned;

use super::{LEAST_THRESHOLD, Resolver};
use crate::config::ViewConfig;
use crate::config::file::{AllowFile, File, RuleFile, Text, ViewFile};
use crate::rules::{Allow, Allowed, RuleSet, Rules};
use crate::watch::BELOW_DOWN;

/// Bytes of a detector that is sized for a number of pairs.
const MEMORY: usize = 64_000_000;

impl Resolver {
    pub(super) fn views(
        &mut self,
        files: &[ViewFile],
        inside: &[IpNet],
    ) -> Vec<(String, ViewOptions)> {
        if files.is_empty() {
            return usual(inside);
        }
        let mut views: Vec<(String, ViewOptions)> = Vec::new();
        for file in files {
            let name = file.name.get_ref().clone();
            if views.iter().any(|(other, _)| *other == name) {
                self.problems.add(
                    file.name.span(),
                    format!("two views are called {name}: give each a name of its own"),
                );
            }
            if name.is_empty()
                || !name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
            {
                self.problems.add(
                    file.name.span(),
                    format!("a view is called {name:?}: give a name of letters, digits, - and _"),
                );
            }
            let prefixes = Prefixes {
                host4: file.host_prefix4.unwrap_or(32),
                host6: file.host_prefix6.unwrap_or(128),
                peer4: file.peer_prefix4.unwrap_or(32),
                peer6: file.peer_prefix6.unwrap_or(64),
            };
            let view = ViewOptions {
                inside: inside.to_vec(),
                measure: self.named(file.measure.as_ref(), Side::default()),
                role: self.named(file.role.as_ref(), Role::default()),
                only: self.named(file.only.as_ref(), srlg_input::contact::Counted::default()),
                prefixes,
            };
            if let Err(error) = View::new(&view) {
                self.problems.add(file.name.span(), format!("in the view {name}: {error}"));
            }
            views.push((name, view));
        }
        views
    }

    pub(super) fn view_configs(
        &mut self,
        views: Vec<(String, ViewOptions)>,
        file: &File,
    ) -> Vec<ViewConfig> {
        let names: Vec<&str> = views.iter().map(|(name, _)| name.as_str()).collect();
        for text in file
            .rule
            .iter()
            .flat_map(|it| &it.views)
            .chain(file.allow.iter().flat_map(|it| &it.views))
        {
            if !names.contains(&text.get_ref().as_str()) {
                self.problems.add(
                    text.span(),
                    format!(
                        "there is no view {}: give one of {}",
                        text.get_ref(),
                        names.join(", ")
                    ),
                );
            }
        }
        let sets: Vec<(RuleSet, &RuleFile)> =
            file.rule.iter().map(|it| (self.rule(it), it)).collect();
        let allows: Vec<(Option<Allow>, &AllowFile)> =
            file.allow.iter().map(|it| (self.allow(it), it)).collect();
        let is_of = |views: &[Text], name: &str| {
            views.is_empty() || views.iter().any(|it| it.get_ref() == name)
        };
        let mut configs = Vec::new();
        for (name, view) in views {
            let sets: Vec<(&RuleSet, &RuleFile)> = sets
                .iter()
                .filter(|(_, of)| is_of(&of.views, &name))
                .map(|(set, of)| (set, *of))
                .collect();
            self.check_networks(&name, &sets);
            let mut sets: Vec<RuleSet> = sets.into_iter().map(|(set, _)| set.clone()).collect();
            let prefixes = &view.prefixes;
            sets.iter_mut().for_each(|set| shorten(&mut set.networks, prefixes));
            if file.rule.is_empty() {
                sets.push(self.usual_rule());
            }
            let of_view = allows.iter().filter(|(_, of)| is_of(&of.views, &name));
            let mut allows: Vec<Allow> = of_view.filter_map(|(allow, _)| allow.clone()).collect();
            for allow in &mut allows {
                if let Allowed::Hosts(networks) = &mut allow.what {
                    shorten(networks, prefixes);
                }
            }
            let rules = Rules::new(sets, allows);
            let written = file.view.iter().find(|it| *it.name.get_ref() == name);
            if let Some(sizes) = self.sizes(&name, &rules, written) {
                let pairs = written.and_then(|it| it.pairs.as_ref()).map(|it| *it.get_ref());
                let load = (pairs, written.and_then(|it| it.memory));
                configs.push(ViewConfig { name, view, load, sizes, rules });
            }
        }
        configs
    }

    /// Sizes for all rules of a view. Who sends traffic cannot know the hashes.
    fn sizes(&mut self, name: &str, rules: &Rules, file: Option<&ViewFile>) -> Option<Sizes> {
        let Some(window) = rules.windows().last().copied() else {
            // Wrong rules have been told of already.
            if self.problems.is_empty() {
                self.problems.add(
                    file.map_or(0..0, |it| it.name.span()),
                    format!("the view {name} has no rule: give one, or leave the view out"),
                );
            }
            return None;
        };
        let threshold = ((rules.least(None) * BELOW_DOWN) as u32).max(LEAST_THRESHOLD);
        let preset = Sizes::default();
        let linear_width = preset.linear_width.max(threshold.div_ceil(2).next_multiple_of(32));
        let preset = Sizes { threshold, window, linear_width, ..preset };
        let pairs = file.and_then(|it| it.pairs.as_ref());
        let memory = file.and_then(|it| it.memory);
        let sizes = match pairs {
            Some(pairs) => {
                Sizes::for_load(threshold, window, *pairs.get_ref(), memory.unwrap_or(MEMORY))
                    .map(|plan| plan.config)
            }
            None => preset.validate().map(|_| preset),
        };
        match sizes {
            Ok(sizes) => Some(Sizes { hash: HashFamily::HalfSip13, ..sizes }),
            Err(error) => {
                let span =
                    pairs.map_or_else(|| file.map_or(0..0, |it| it.name.span()), Spanned::span);
                self.problems.add(span, format!("no detector for the view {name}: {error}"));
                None
            }
        }
    }
}

/// Makes networks of a view's hosts no longer than the hosts are: what is said of an address is said of the network that
/// counts as a host.
fn shorten(networks: &mut [IpNet], prefixes: &Prefixes) {
    for network in networks {
        let most = if network.addr().is_ipv4() { prefixes.host4 } else { prefixes.host6 };
        if network.prefix_len() > most {
            // Shorter than a length of the family.
            *network = IpNet::new_assert(network.addr(), most).trunc();
        }
    }
}

/// Hosts inside by whom they receive from, and by whom they send to; and hosts outside by whom they send to inside. Who is
/// outside may have as many addresses of a /64 as they like.
fn usual(inside: &[IpNet]) -> Vec<(String, ViewOptions)> {
    let prefixes = Prefixes { peer6: 64, ..Prefixes::default() };
    let base = ViewOptions { inside: inside.to_vec(), prefixes, ..ViewOptions::default() };
    let mut views = vec![
        ("fan-in".to_owned(), ViewOptions { role: Role::Destination, ..base.clone() }),
        ("fan-out".to_owned(), ViewOptions { role: Role::Source, ..base.clone() }),
    ];
    if !inside.is_empty() {
        let prefixes = Prefixes { host6: 64, ..Prefixes::default() };
        let (measure, role) = (Side::Outside, Role::Source);
        views.push(("outside".to_owned(), ViewOptions { measure, role, prefixes, ..base }));
    }
    views
}
