//! Conversion of a parsed file into a complete configuration.
//!
//! A problem in one part does not prevent the check of other parts, so one run reports all problems.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;
use srlg_host::Config as Sizes;
use srlg_host::config::HashFamily;
use srlg_input::contact::{ContactFilter, Networks, Prefixes, Role, Side};
use srlg_input::{View, ViewOptions};
use toml::Spanned;

use super::document::{Problems, check_empty};
use super::thresholds::{LEAST_THRESHOLD, all_hosts, host_rule, network_rule, outside_rules};
use super::{Config, Task};
use crate::config::file::{
    AllowTable, File, General, LEAST_SILENCE, LabelTable, NetworkViews, PREFIXES, RuleTable,
    Tables, ViewTable, Window,
};
use crate::network::{LONGEST_SLICE, MOST_VIEWS};
use srlg_alerts::exporters::ExporterNames;
use srlg_alerts::manager::names::Names;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::manager::view_alerts::BELOW_DOWN;
use srlg_alerts::origins::OriginLookup;
use srlg_alerts::rules::{Allow, AllowTarget, Rules};
use srlg_alerts::{Rule, Terms};
use srlg_notify::sinks::Only;
use srlg_web::server;

/// Creates the configuration from `file`. `problems` contains the problems that the parser found.
pub(super) fn resolve(file: File<'_>, problems: Problems) -> Result<Config, Problems> {
    let mut it = Resolver { problems, slice: file.general.slice, file: &file };
    it.check_general();
    // The collector defines the views of a probe.
    let views = if file.is_of_probe() { Vec::new() } else { it.views() };
    it.check_sinks(&views);
    let labels = file.tables.labels.iter().enumerate();
    let labels = labels.flat_map(|(at, LabelTable { name, networks })| {
        it.require("label", at, "name", name.is_empty());
        it.require("label", at, "networks", networks.is_empty());
        networks.iter().map(move |network| (*network, name.clone()))
    });
    let labels = Networks::new(labels.collect::<Vec<_>>());
    for (at, exporter) in file.tables.exporters.iter().enumerate() {
        it.require("exporter", at, "name", exporter.name.is_empty());
        it.require("exporter", at, "networks", exporter.networks.is_empty());
    }
    file.keys.iter().for_each(|(key, value)| {
        check_empty(key.get_ref(), value, &mut it.problems);
    });
    if !it.problems.is_empty() {
        return Err(it.problems);
    }
    let Tables { input, network, probe, exporters, mut sinks, views: own_views, .. } = file.tables;
    if own_views.is_empty() {
        sinks.iter_mut().for_each(|sink| add_replies(&mut sink.only.views));
    }
    let task = match (network, probe) {
        (Some(network), _) => Task::Collector(network),
        (None, Some(probe)) => Task::Probe(probe),
        (None, None) => Task::Monitor,
    };
    let (exporters, origins) = (ExporterNames::new(exporters), OriginLookup::default());
    let names = Names { labels, exporters, origins };
    Ok(Config { task, source: input, general: file.general, views, names, sinks })
}

struct Resolver<'a, 'i> {
    problems: Problems,
    slice: Duration,
    file: &'a File<'i>,
}

impl Resolver<'_, '_> {
    fn add(&mut self, name: &str, at: usize, key: &str, text: String) {
        self.problems.add(self.file.span(name, at, key), text);
    }

    fn require(&mut self, name: &str, at: usize, key: &str, is_missing: bool) {
        if is_missing {
            self.add(name, at, key, format!("missing key `{key}`"));
        }
    }

    fn check_general(&mut self) {
        let General {
            slice, http, http_public, state, checkpoint, keep, learn, silent_after, ..
        } = &self.file.general;
        let span = |key| self.file.keys.get(key).map_or(0..0, Spanned::span);
        if slice.is_zero() || !slice.subsec_nanos().is_multiple_of(1_000_000) {
            self.problems.add(
                span("slice"),
                format!(
                    "slice: must be a whole number of milliseconds and at least 1ms, got {slice:?}"
                ),
            );
        }
        if *slice > LONGEST_SLICE {
            let text = format!("slice: must be at most {LONGEST_SLICE:?} (one day), got {slice:?}");
            self.problems.add(span("slice"), text);
        }
        if *learn && state.is_none() {
            let text = "learn: needs `state`, which stores what is usual";
            self.problems.add(span("learn"), text);
        }
        for (key, time) in [("checkpoint", checkpoint), ("keep", keep)] {
            if time.is_zero() {
                self.problems.add(span(key), format!("{key}: must be longer than 0, such as 10s"));
            }
        }
        if let Some(Err(error)) = http.map(|http| server::check(http, *http_public)) {
            self.problems.add(span("http"), error.to_string());
        }
        let url = self.file.general.url.as_deref().map(server::check_url);
        if let Some(Err(error)) = url {
            self.problems.add(span("url"), error.to_string());
        }
        let names = self.file.keys.get("http-names").and_then(|names| names.get_ref().as_array());
        for name in names.into_iter().flat_map(|names| names.iter()) {
            if let Some(Err(error)) = name.get_ref().as_str().map(server::check_name) {
                self.problems.add(name.span(), error.to_string());
            }
        }
        if let Some(after) = silent_after.filter(|after| *after < LEAST_SILENCE) {
            let text = format!("silent-after: must be at least {LEAST_SILENCE:?}, got {after:?}");
            self.problems.add(span("silent-after"), text);
        }
        if silent_after.is_some() && self.file.tables.network.is_some() {
            let text = "silent-after: has no effect on a collector; set it in the configuration of each probe";
            self.problems.add(span("silent-after"), text);
        }
    }

    /// Checks the configuration of the sinks, but not the files and other resources that it names.
    fn check_sinks(&mut self, views: &[ViewConfig]) {
        let Tables { sinks, labels, .. } = &self.file.tables;
        // Views and rules with problems are missing in `views`.
        let are_known = self.problems.is_empty();
        let rules = views.iter().flat_map(|view| view.rules.rules());
        let names: [BTreeSet<&str>; 3] = [
            views.iter().map(|view| view.name.as_str()).collect(),
            rules.map(|rule| rule.name.as_str()).collect(),
            labels.iter().map(|label| label.name.as_str()).collect(),
        ];
        for (at, sink) in sinks.iter().enumerate() {
            let name = sink.name();
            if sinks[..at].iter().any(|other| other.name() == name) {
                let text = format!("sink name {name} is used twice; give each sink its own name");
                self.add("sink", at, "name", text);
            }
            for (key, text) in sink.problems() {
                self.add("sink", at, key, format!("sink {name}: {text}"));
            }
            let Only { views, rules, labels, .. } = &sink.only;
            for ((wanted, known), what) in
                [views, rules, labels].into_iter().zip(&names).zip(["view", "rule", "label"])
            {
                let is_unknown = |wanted: &&String| are_known && !known.contains(wanted.as_str());
                for wanted in wanted.iter().filter(is_unknown) {
                    let known = known.iter().copied().collect::<Vec<_>>().join(", ");
                    let text =
                        format!("sink {name}: only: {what} {wanted} not found; there are: {known}");
                    self.add("sink", at, "only", text);
                }
            }
        }
    }

    /// Checks that no two rules of `view` name the same network.
    fn check_networks(&mut self, view: &str, rules: &[(usize, &Rule)]) {
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
                        "rules {other} and {} both apply to {of} in view {view}; change the networks or views of one of them",
                        rule.name
                    );
                    self.add("rule", *at, "name", text);
                    break;
                }
            }
        }
    }

    fn rule(&mut self, at: usize, rule: &RuleTable) -> Rule {
        let RuleTable { name, thresholds, networks, .. } = rule;
        self.require("rule", at, "name", name.is_empty());
        let terms = terms(rule);
        if let Some(after) = rule.unconfirmed_after
            && terms.unconfirmed_after_ms < terms.hold_ms
        {
            let hold = Duration::from_millis(terms.hold_ms);
            let text = format!(
                "rule {name}: unconfirmed-after must be at least hold ({hold:?}), got {after:?}"
            );
            self.add("rule", at, "unconfirmed-after", text);
        }
        let mut windows = BTreeMap::new();
        for (window, threshold) in thresholds {
            let Some(slices) = self.slices(window.length) else {
                let (text, slice) = (&window.text, self.slice);
                let text = format!("windows must be multiples of slice ({slice:?}), got {text:?}");
                self.add("rule", at, "thresholds", text);
                continue;
            };
            let Window { text: window, .. } = window;
            let (key, problem) = match (Terms { threshold: *threshold, ..terms }).checked() {
                Ok(_) if *threshold < f64::from(LEAST_THRESHOLD) => (
                    "thresholds",
                    format!("thresholds must be at least {LEAST_THRESHOLD}, got {threshold}"),
                ),
                Ok(terms) => match windows.insert(slices, terms) {
                    None => continue,
                    Some(_) => {
                        ("thresholds", format!("window {window} has two thresholds; remove one"))
                    }
                },
                Err(error) if error.name == "threshold" => ("thresholds", error.to_string()),
                Err(error) => (error.name, error.to_string()),
            };
            self.add("rule", at, key, format!("rule {name}: {problem}"));
        }
        if rule.above_usual.is_some() && self.file.general.state.is_none() {
            let text =
                format!("rule {name}: above-usual needs `state`, which stores what is usual");
            self.add("rule", at, "above-usual", text);
        }
        if thresholds.is_empty() {
            let text = format!("rule {name} has no threshold; add thresholds = {{ 60s = 1024 }}");
            self.add("rule", at, "thresholds", text);
        }
        let networks = if networks.is_empty() { all_hosts() } else { networks.clone() };
        Rule { name: name.clone(), networks, windows }
    }

    /// Returns the length of `window` in slices, or `None` if it is not a positive multiple of the slice length.
    fn slices(&self, window: Duration) -> Option<u32> {
        let (window, slice) = (window.as_millis(), self.slice.as_millis().max(1));
        u32::try_from(window / slice).ok().filter(|slices| *slices > 0 && window % slice == 0)
    }

    /// Returns the window of default rules, in slices: a minute, or 60 slices if a minute is not a multiple of a slice.
    fn usual_window(&self) -> u32 {
        self.slices(Duration::from_secs(60)).unwrap_or(60)
    }

    fn allow(&mut self, at: usize, allow: &AllowTable) -> Option<Allow> {
        let AllowTable { why, hosts, peers, ports, .. } = allow.clone();
        self.require("allow", at, "why", why.is_empty());
        let what = match (hosts.is_empty(), peers.is_empty(), ports.is_empty()) {
            (false, true, true) => AllowTarget::Hosts(hosts),
            (true, false, true) => AllowTarget::Peers(peers),
            (false, true, false) => AllowTarget::Services(hosts, ports),
            _ => {
                let text = format!(
                    "[[allow]] {why:?}: set exactly one of hosts, peers, or hosts with ports"
                );
                self.add("allow", at, "why", text);
                return None;
            }
        };
        Some(Allow { what, why })
    }
}

/// Returns the terms of a rule, with the default threshold.
fn terms(rule: &RuleTable) -> Terms {
    let default = Terms::default();
    let ms = |time: Option<Duration>, default| {
        time.map_or(default, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    };
    let hold_ms = ms(rule.hold, default.hold_ms);
    Terms {
        down: rule.down.unwrap_or(default.down),
        for_slices: rule.for_slices.unwrap_or(default.for_slices),
        of_slices: rule.of_slices.unwrap_or(default.of_slices),
        hold_ms,
        repeat_ms: ms(rule.repeat, default.repeat_ms),
        unconfirmed_after_ms: ms(rule.unconfirmed_after, default.unconfirmed_after_ms.max(hold_ms)),
        above_usual: rule.above_usual,
        ..default
    }
}

/// Default memory limit, in bytes, of a detector that is sized for a number of pairs.
pub(super) const MEMORY: usize = 64_000_000;

impl Resolver<'_, '_> {
    /// Resolves the views of the file, or the default views if it defines no view. Each view gets the rules and
    /// allow-list entries that name this view or do not name any view. However, a rule that does not name a default
    /// view of networks does not apply to it, because the threshold of a network differs from that of a host.
    fn views(&mut self) -> Vec<ViewConfig> {
        let Tables { views, network_views, rules, allows, .. } = &self.file.tables;
        let usual = usual(&self.file.general.inside, network_views);
        let has_usual = views.is_empty();
        let views = if has_usual { &usual } else { views };
        if !has_usual && self.file.keys.contains_key("network-views") {
            let text = "[network-views] has no effect if a [[view]] is defined; define the views of networks as [[view]], too";
            self.problems.add(self.file.span_in("network-views", ""), text);
        }
        self.check_names(views);
        let resolved: Vec<Rule> =
            rules.iter().enumerate().map(|(at, rule)| self.rule(at, rule)).collect();
        let targets: Vec<Option<Allow>> =
            allows.iter().enumerate().map(|(at, allow)| self.allow(at, allow)).collect();
        let is_of_networks = |name: &String| has_usual && NETWORKS.contains(&name.as_str());
        let of_replies = |name: &String| {
            let replies = REPLIES.iter().find(|(replies, _)| has_usual && replies == name);
            replies.map(|(_, requests)| (*requests).to_owned())
        };
        let is_of = |views: &[String], name: &String| {
            let requests = of_replies(name);
            views.is_empty()
                || views.contains(name)
                || requests.is_some_and(|requests| views.contains(&requests))
        };
        let has_rule = |views: &[String], name: &String| {
            is_of(views, name) && !(views.is_empty() && is_of_networks(name))
        };
        let mut configs = Vec::new();
        for (at, view) in views.iter().enumerate() {
            let ViewTable { name, pairs, memory, options } = view;
            let of_view =
                resolved.iter().enumerate().filter(|(at, _)| has_rule(&rules[*at].views, name));
            let of_view: Vec<(usize, &Rule)> = of_view.collect();
            self.check_networks(name, &of_view);
            let mut of_view: Vec<Rule> =
                of_view.into_iter().map(|(_, rule)| rule.clone()).collect();
            of_view.iter_mut().for_each(|rule| shorten(&mut rule.networks, &options.prefixes));
            if is_of_networks(name) && of_view.is_empty() {
                of_view.push(network_rule(self.usual_window()));
            } else if rules.is_empty() && has_usual && options.measure == Side::Outside {
                of_view.extend(outside_rules(options, self.usual_window()));
            } else if rules.is_empty() {
                of_view.push(host_rule(self.usual_window()));
            }
            let allowed = targets.iter().zip(allows).filter(|(_, of)| is_of(&of.views, name));
            let allowed = allowed.filter_map(|(allow, _)| allow.clone());
            let allows = allowed.flat_map(|allow| allow.in_view(&options.prefixes)).collect();
            let rules = Rules::new(of_view, allows).with_view(options);
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
        if self.file.tables.network.is_some() && views.len() > MOST_VIEWS {
            let text =
                format!("a network must have at most {MOST_VIEWS} views, got {}", views.len());
            self.add("view", MOST_VIEWS, "name", text);
        }
        for (at, ViewTable { name, options, .. }) in views.iter().enumerate() {
            if names[..at].contains(&name.as_str()) {
                let text = format!("view name {name} is used twice; give each view its own name");
                self.add("view", at, "name", text);
            }
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_plain) {
                let text = format!(
                    "names of views must consist of letters, digits, - and _, got {name:?}"
                );
                self.add("view", at, "name", text);
            }
            if let Err(error) = View::new(options) {
                self.add("view", at, "name", format!("view {name}: {error}"));
            }
        }
        let Tables { rules, allows, .. } = &self.file.tables;
        let of_rules = rules.iter().map(|rule| &rule.views).enumerate().map(|it| ("rule", it));
        let of_allows = allows.iter().map(|it| &it.views).enumerate().map(|it| ("allow", it));
        for (table, (at, views)) in of_rules.chain(of_allows) {
            for name in views.iter().filter(|name| !names.contains(&name.as_str())) {
                let text = format!("view {name} not found; the views are {}", names.join(", "));
                self.add(table, at, "views", text);
            }
        }
    }

    /// Returns the sizes of a detector that supports all rules of a view. The detector uses a keyed hash, which
    /// protects it against crafted traffic.
    fn sizes(&mut self, at: usize, view: &ViewTable, rules: &Rules) -> Option<Sizes> {
        let ViewTable { name, pairs, memory, .. } = view;
        if *pairs == Some(0) {
            let text = "pairs: must be the number of distinct pairs in the longest window, got 0; remove the key if the number is unknown";
            self.add("view", at, "pairs", text.to_owned());
            return None;
        }
        let Some(window) = rules.windows().last().copied() else {
            // Invalid rules are already among the problems.
            if rules.rules().is_empty() {
                let text =
                    format!("view {name} has no rule; add a rule, or name the view in a rule");
                self.add("view", at, "name", text);
            }
            return None;
        };
        // The load of a view that states it is known, and may be too high for the smallest counts.
        let threshold = match self.file.general.learn && pairs.is_none() {
            true => LEAST_THRESHOLD,
            false => ((rules.least() * BELOW_DOWN) as u32).max(LEAST_THRESHOLD),
        };
        let preset = Sizes { window, ..Sizes::default().for_threshold(threshold) };
        let sizes = match pairs {
            Some(pairs) => Sizes::for_load(threshold, window, *pairs, memory.unwrap_or(MEMORY))
                .map(|plan| plan.config),
            None => preset.validate().map(|layout| {
                let bytes = layout.recorder_bytes();
                if let Some(memory) = memory.filter(|memory| *memory < bytes) {
                    let text = format!(
                        "memory: must be at least {bytes} bytes if view {name} does not set pairs, got {memory}; increase memory or set pairs"
                    );
                    self.add("view", at, "memory", text);
                }
                preset
            }),
        };
        match sizes {
            Ok(sizes) => Some(Sizes { hash: HashFamily::HalfSip13, ..sizes }),
            Err(error) => {
                let key = match (pairs, memory) {
                    (Some(_), Some(_)) => "memory",
                    (Some(_), None) => "pairs",
                    (None, _) => "name",
                };
                self.add(
                    "view",
                    at,
                    key,
                    format!("cannot size the detector of view {name}: {error}"),
                );
                None
            }
        }
    }
}

/// Shortens network prefixes that are longer than the host prefix of a view. A rule for an address then applies to the
/// whole network that counts as one host.
fn shorten(networks: &mut [IpNet], prefixes: &Prefixes) {
    for network in networks {
        let most = prefixes.of_host(network.addr());
        if network.prefix_len() > most {
            // The new length is valid, because it is shorter than a valid length.
            *network = IpNet::new_assert(network.addr(), most).trunc();
        }
    }
}

/// Names of the default views of replies, each with the view of the other contacts in the same direction. Rules,
/// allow-list entries and sinks that name this view apply to the replies, too.
pub(crate) const REPLIES: [(&str, &str); 2] =
    [("replies-in", "fan-in"), ("replies-out", "fan-out")];

/// Adds the default views of replies to `views` if it names the view of the other contacts in the same direction.
fn add_replies(views: &mut Vec<String>) {
    let named = REPLIES.iter().filter(|(replies, requests)| {
        let has = |name: &str| views.iter().any(|view| view == name);
        has(requests) && !has(replies)
    });
    let named: Vec<String> = named.map(|(replies, _)| (*replies).to_owned()).collect();
    views.extend(named);
}

/// Names of the default views of networks.
pub(super) const NETWORKS: [&str; 2] = ["networks-in", "networks-out"];

/// Returns the default views: fan-in and fan-out of inside hosts, their replies in both directions, fan-out of outside
/// hosts if there are inside networks, and fan-in and fan-out of whole inside networks.
fn usual(inside: &[IpNet], networks: &NetworkViews) -> Vec<ViewTable> {
    let view = |name: &str, measure, role, only, prefixes| {
        let inside = inside.to_vec();
        let options =
            ViewOptions { inside, measure, role, only, prefixes, ..ViewOptions::default() };
        ViewTable { name: name.to_owned(), options, ..ViewTable::default() }
    };
    // Replies are counted apart, so that a server does not look like a scanner. Those of inside hosts are counted all the
    // same, because ports and flags may be forged.
    let requests = ContactFilter::NoReplies;
    let mut views = vec![
        view("fan-in", Side::Inside, Role::Destination, requests, PREFIXES),
        view("fan-out", Side::Inside, Role::Source, requests, PREFIXES),
    ];
    if !inside.is_empty() {
        let prefixes = Prefixes { host6: 64, peer6: 128, ..PREFIXES };
        views.push(view("outside", Side::Outside, Role::Source, requests, prefixes));
    }
    let NetworkViews { enabled, prefix4, prefix6, pairs, memory } = *networks;
    if enabled {
        let prefixes = Prefixes { host4: prefix4, host6: prefix6, ..PREFIXES };
        // What a network refuses is no scan, and no answer to a flood.
        let counted =
            [(Role::Destination, ContactFilter::All), (Role::Source, ContactFilter::NoRefusals)];
        views.extend(NETWORKS.into_iter().zip(counted).map(|(name, (role, only))| ViewTable {
            pairs: Some(pairs),
            memory: Some(memory),
            ..view(name, Side::Inside, role, only, prefixes)
        }));
    }
    let of_replies = REPLIES.into_iter().zip([Role::Destination, Role::Source]);
    views.extend(
        of_replies.map(|((name, _), role)| {
            view(name, Side::Inside, role, ContactFilter::Replies, PREFIXES)
        }),
    );
    views
}
