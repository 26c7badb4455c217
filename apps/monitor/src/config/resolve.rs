//! From what is written to what is meant.
//!
//! Shape: a part of the file at a time; what is wrong is noted, and the rest is looked at all the same.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args as _, FromArgMatches as _};
use ipnet::IpNet;
use srlg_alert::{Rule, Terms};
use srlg_contact::{Networks, Prefixes, Role, Side, View, ViewOptions, parse_network};
use srlg_host::{Config as Sizes, HashFamily};
use srlg_input::InputOptions;
use toml::Spanned;

use super::file::{AllowFile, File, InputFile, RuleFile, Text, ViewFile};
use super::problem::Problems;
use super::{Config, ViewConfig};
use crate::rules::{Allow, Allowed, RuleSet, Rules};
use crate::sinks::SinkOptions;
use crate::watch::BELOW_DOWN;
use crate::web;

/// Bytes of a detector that is sized for a number of pairs.
const MEMORY: usize = 64_000_000;

/// The least that a detector reports.
const LEAST_THRESHOLD: u32 = 8;

/// Makes a configuration of a file.
pub(super) fn resolve(file: File) -> Result<Config, Problems> {
    let mut it = Resolver { problems: Problems::default(), slice: Duration::from_secs(1) };
    it.slice = it.time(file.slice.as_ref(), it.slice);
    if it.slice.is_zero() || !it.slice.subsec_nanos().is_multiple_of(1_000_000) {
        let slice = it.slice;
        it.problems.add(
            span(file.slice.as_ref()),
            format!("slice is {slice:?}: give a whole number of milliseconds, at least 1"),
        );
    }
    let grace = it.time(file.grace.as_ref(), Duration::from_millis(100));
    let checkpoint = it.time(file.checkpoint.as_ref(), Duration::from_secs(10));
    let keep = it.time(file.keep.as_ref(), Duration::from_secs(30 * 86_400));
    let inside = it.networks(&file.inside);
    let views = it.views(&file.view, &inside);
    let views = it.view_configs(views, &file);
    let labels: Vec<(IpNet, String)> = file
        .network
        .iter()
        .flat_map(|network| {
            let networks = it.networks(&network.networks);
            networks.into_iter().map(|of| (of, network.label.clone())).collect::<Vec<_>>()
        })
        .collect();
    let http = file
        .http
        .as_ref()
        .and_then(|text| it.parse(text, "an address and a port, as 127.0.0.1:8080"));
    if let Some(Err(error)) = http.map(|http| web::check(http, file.http_public)) {
        it.problems.add(span(file.http.as_ref()), error.to_string());
    }
    let source = it.source(&file.input);
    let sinks = it.sinks(file.sink);
    let Resolver { problems, slice } = it;
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Config {
        source,
        slice,
        grace,
        views,
        labels: Networks::new(labels),
        http,
        http_public: file.http_public,
        state: file.state.map(|path| path.into_inner().into()),
        checkpoint,
        keep,
        sinks,
    })
}

struct Resolver {
    problems: Problems,
    slice: Duration,
}

fn span(text: Option<&Text>) -> Range<usize> {
    text.map_or(0..0, Text::span)
}

impl Resolver {
    /// A value that is `expected`.
    fn parse<T: FromStr>(&mut self, text: &Text, expected: &str) -> Option<T> {
        let value = text.get_ref().parse().ok();
        if value.is_none() {
            self.problems.add(text.span(), format!("{:?}: give {expected}", text.get_ref()));
        }
        value
    }

    /// Sinks, each of which could be but for what is outside of the file.
    fn sinks(&mut self, sinks: Vec<Spanned<SinkOptions>>) -> Vec<SinkOptions> {
        let mut list: Vec<SinkOptions> = Vec::new();
        for sink in sinks {
            let (span, sink) = (sink.span(), sink.into_inner());
            let name = sink.name();
            if list.iter().any(|other| other.name() == name) {
                let text = format!("two sinks are called {name}: give each a name of its own");
                self.problems.add(span, text);
            } else if let Err(error) = sink.check() {
                self.problems.add(span, format!("in the sink {name}: {error:#}"));
            }
            list.push(sink);
        }
        list
    }

    /// A value that says itself what is wrong.
    fn named<T: FromStr<Err: Display>>(&mut self, text: Option<&Text>, default: T) -> T {
        let Some(text) = text else { return default };
        text.get_ref().parse().unwrap_or_else(|error: T::Err| {
            self.problems.add(text.span(), error.to_string());
            default
        })
    }

    fn time(&mut self, text: Option<&Text>, default: Duration) -> Duration {
        let Some(text) = text else { return default };
        humantime::parse_duration(text.get_ref()).unwrap_or_else(|error| {
            self.problems.add(
                text.span(),
                format!("{:?} is no time ({error}): give one as 90s or 5m", text.get_ref()),
            );
            default
        })
    }

    fn networks(&mut self, texts: &[Text]) -> Vec<IpNet> {
        let mut networks = Vec::new();
        for text in texts {
            match parse_network(text.get_ref()) {
                Ok(network) => networks.push(network),
                Err(error) => self.problems.add(text.span(), error.to_string()),
            }
        }
        networks
    }

    /// The input, by the options of the command of the same names.
    fn source(&mut self, file: &InputFile) -> InputOptions {
        let mut arguments = vec!["input".to_owned()];
        let mut give = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        let texts =
            |texts: &[Text]| texts.iter().map(|it| it.get_ref().clone()).collect::<Vec<_>>();
        texts(&file.listen).into_iter().for_each(|it| give("listen", it));
        texts(&file.exporters).into_iter().for_each(|it| give("exporters", it));
        for (name, value) in [
            ("receive-buffer", file.receive_buffer.map(|it| it.to_string())),
            ("receivers", file.receivers.map(|it| it.to_string())),
            ("templates", file.templates.clone()),
            ("interface", file.interface.clone()),
            ("filter", file.filter.clone()),
            ("nat", file.nat.as_ref().map(|it| it.get_ref().clone())),
            ("timestamps", file.timestamps.as_ref().map(|it| it.get_ref().clone())),
            ("sampling", file.sampling.map(|it| it.to_string())),
        ] {
            value.into_iter().for_each(|it| give(name, it));
        }
        let command =
            InputOptions::augment_args(clap::Command::new("input").disable_help_flag(true));
        let read = command
            .try_get_matches_from(arguments)
            .and_then(|matches| InputOptions::from_arg_matches(&matches));
        read.unwrap_or_else(|error| {
            let first = file.listen.first().or(file.exporters.first()).or(file.nat.as_ref());
            let text = error.render().to_string();
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
            let told = lines.iter().take_while(|line| !line.starts_with("Usage"));
            let told = told.copied().collect::<Vec<_>>().join(" ");
            let told = told.strip_prefix("error: ").unwrap_or(&told).replace("--", "");
            self.problems
                .add(span(first.or(file.timestamps.as_ref())), format!("in [input]: {told}"));
            InputOptions::default()
        })
    }

    fn views(&mut self, files: &[ViewFile], inside: &[IpNet]) -> Vec<(String, ViewOptions)> {
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
                only: self.named(file.only.as_ref(), srlg_contact::Counted::default()),
                prefixes,
            };
            if let Err(error) = View::new(&view) {
                self.problems.add(file.name.span(), format!("in the view {name}: {error}"));
            }
            views.push((name, view));
        }
        views
    }

    fn view_configs(&mut self, views: Vec<(String, ViewOptions)>, file: &File) -> Vec<ViewConfig> {
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

    /// Two rules of a view for one network: nobody could tell which counts.
    fn check_networks(&mut self, view: &str, sets: &[(&RuleSet, &RuleFile)]) {
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

    fn rule(&mut self, file: &RuleFile) -> RuleSet {
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

    fn usual_rule(&mut self) -> RuleSet {
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

    fn allow(&mut self, file: &AllowFile) -> Option<Allow> {
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

/// All of both families.
fn all() -> Vec<IpNet> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // 0 is a length of either family.
    any.map(|host| IpNet::new_assert(host, 0)).to_vec()
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
