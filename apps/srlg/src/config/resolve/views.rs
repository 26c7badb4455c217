//! The parts `[[view]]`: what is counted, by which rules, and detectors of sizes that fit these.

use srlg_host::Config as Sizes;
use srlg_host::config::HashFamily;
use srlg_input::contact::{IpNet, Prefixes, Role, Side};
use srlg_input::{View, ViewOptions};

use super::{LEAST_THRESHOLD, Resolver};
use crate::alerts::Rule;
use crate::alerts::book::BELOW_DOWN;
use crate::alerts::rules::{Allow, AllowTarget, Rules};
use crate::config::ViewConfig;
use crate::config::file::{PREFIXES, Tables, ViewTable};

/// Bytes of a detector that is sized for a number of pairs.
const MEMORY: usize = 64_000_000;

impl Resolver<'_, '_> {
    /// Resolves the views of the file, or the usual ones, each with the rules and allowances that name it, or none.
    pub(super) fn views(&mut self) -> Vec<ViewConfig> {
        let Tables { views, rules, allows, .. } = &self.file.tables;
        let usual = usual(&self.file.general.inside);
        let views = if views.is_empty() { &usual } else { views };
        self.check_names(views);
        let resolved: Vec<Rule> =
            rules.iter().enumerate().map(|(at, rule)| self.rule(at, rule)).collect();
        let targets: Vec<Option<Allow>> =
            allows.iter().enumerate().map(|(at, allow)| self.allow(at, allow)).collect();
        let is_of = |views: &[String], name: &String| views.is_empty() || views.contains(name);
        let mut configs = Vec::new();
        for (at, view) in views.iter().enumerate() {
            let ViewTable { name, pairs, memory, options } = view;
            let of_view =
                resolved.iter().enumerate().filter(|(at, _)| is_of(&rules[*at].views, name));
            let of_view: Vec<(usize, &Rule)> = of_view.collect();
            self.check_networks(name, &of_view);
            let mut of_view: Vec<Rule> =
                of_view.into_iter().map(|(_, rule)| rule.clone()).collect();
            of_view.iter_mut().for_each(|rule| shorten(&mut rule.networks, &options.prefixes));
            if rules.is_empty() {
                of_view.push(self.usual_rule());
            }
            let allowed = targets.iter().zip(allows).filter(|(_, of)| is_of(&of.views, name));
            let mut allows: Vec<Allow> = allowed.filter_map(|(allow, _)| allow.clone()).collect();
            for allow in &mut allows {
                if let AllowTarget::Hosts(networks) = &mut allow.what {
                    shorten(networks, &options.prefixes);
                }
            }
            let rules = Rules::new(of_view, allows);
            if let Some(sizes) = self.sizes(at, view, &rules) {
                let (name, view) = (name.clone(), options.clone());
                let (pairs, memory) = (*pairs, *memory);
                configs.push(ViewConfig { name, view, pairs, memory, sizes, rules });
            }
        }
        configs
    }

    fn check_names(&mut self, views: &[ViewTable]) {
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        for (at, ViewTable { name, options, .. }) in views.iter().enumerate() {
            if names[..at].contains(&name.as_str()) {
                let text = format!("two views are called {name}: give each a name of its own");
                self.add("view", at, "name", text);
            }
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_plain) {
                let text =
                    format!("a view is called {name:?}: give a name of letters, digits, - and _");
                self.add("view", at, "name", text);
            }
            if let Err(error) = View::new(options) {
                self.add("view", at, "name", format!("in the view {name}: {error}"));
            }
        }
        let Tables { rules, allows, .. } = &self.file.tables;
        let of_rules = rules.iter().map(|rule| &rule.views).enumerate().map(|it| ("rule", it));
        let of_allows = allows.iter().map(|it| &it.views).enumerate().map(|it| ("allow", it));
        for (table, (at, views)) in of_rules.chain(of_allows) {
            for name in views.iter().filter(|name| !names.contains(&name.as_str())) {
                let text = format!("there is no view {name}: give one of {}", names.join(", "));
                self.add(table, at, "views", text);
            }
        }
    }

    /// Sizes for all rules of a view. Senders cannot know the hashes.
    fn sizes(&mut self, at: usize, view: &ViewTable, rules: &Rules) -> Option<Sizes> {
        let ViewTable { name, pairs, memory, .. } = view;
        let Some(window) = rules.windows().last().copied() else {
            // Rules that are wrong are problems already.
            if self.problems.len() == 0 {
                let text = format!("the view {name} has no rule: give one, or leave the view out");
                self.add("view", at, "name", text);
            }
            return None;
        };
        let threshold = ((rules.least(None) * BELOW_DOWN) as u32).max(LEAST_THRESHOLD);
        let preset = Sizes::default();
        let linear_width = preset.linear_width.max(threshold.div_ceil(2).next_multiple_of(32));
        let preset = Sizes { threshold, window, linear_width, ..preset };
        let sizes = match pairs {
            Some(pairs) => Sizes::for_load(threshold, window, *pairs, memory.unwrap_or(MEMORY))
                .map(|plan| plan.config),
            None => preset.validate().map(|_| preset),
        };
        match sizes {
            Ok(sizes) => Some(Sizes { hash: HashFamily::HalfSip13, ..sizes }),
            Err(error) => {
                let key = if pairs.is_some() { "pairs" } else { "name" };
                self.add("view", at, key, format!("no detector for the view {name}: {error}"));
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

/// The views of a configuration without any: fan-in and fan-out of inside hosts, and fan-out of outside hosts.
fn usual(inside: &[IpNet]) -> Vec<ViewTable> {
    let view = |name: &str, measure, role, prefixes| {
        let inside = inside.to_vec();
        let options = ViewOptions { inside, measure, role, prefixes, ..ViewOptions::default() };
        ViewTable { name: name.to_owned(), options, ..ViewTable::default() }
    };
    let mut views = vec![
        view("fan-in", Side::Inside, Role::Destination, PREFIXES),
        view("fan-out", Side::Inside, Role::Source, PREFIXES),
    ];
    if !inside.is_empty() {
        let prefixes = Prefixes { host6: 64, peer6: 128, ..PREFIXES };
        views.push(view("outside", Side::Outside, Role::Source, prefixes));
    }
    views
}
