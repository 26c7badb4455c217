//! The parts of a configuration file, as deserialised from TOML.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use humantime::parse_duration;
use serde::Deserialize;
use srlg_host::Device;
use srlg_input::contact::{IpNet, Prefixes, deserialize_networks};
use srlg_input::{InputOptions, ViewOptions};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{NO_LINE, Problems, Value, deserialize, from_text, read};
#[cfg(test)]
use super::resolve::MEMORY;
use crate::network::options::{NetworkOptions, ProbeOptions};
#[cfg(test)]
use srlg_alerts::Terms;
use srlg_alerts::exporters::Exporter;
use srlg_alerts::origins::OriginLookup;
use srlg_notify::sinks::SinkOptions;
use srlg_web::server;
use srlg_web::server::Visitors;

/// Default prefix lengths of a view. IPv6 peers are aggregated to /64, because one machine can use any address of its
/// prefix.
pub(super) const PREFIXES: Prefixes = Prefixes { host4: 32, host6: 128, peer4: 32, peer6: 64 };

/// Minimum value of `silent-after`, because exporters are checked once a second.
pub(super) const LEAST_SILENCE: Duration = Duration::from_secs(1);

/// Top-level settings, which come before the first table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct General {
    /// Inside networks. Without one, all hosts are inside and there is no view of outside hosts. [default: all hosts]
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(test, schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub inside: Vec<IpNet>,

    /// Length of a slice, the step by which windows move
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "String", extend("x-form" = "time")))]
    pub slice: Duration,

    /// Time that a slice stays open after its end, for contacts that arrive late
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "String", extend("x-form" = "time")))]
    pub grace: Duration,

    /// Device for the detectors of the views: cpu, cuda, cuda:N or auto
    #[serde(deserialize_with = "from_text")]
    #[cfg_attr(test, schemars(with = "String", extend("default" = Self::default().device.to_string())))]
    pub device: Device,

    /// Listen address for the web page, /metrics and the JSON API; must be loopback, because there is no authentication.
    #[cfg_attr(test, schemars(extend("x-form" = "address:port")))]
    pub http: Option<SocketAddr>,

    /// Whether `http` may be an address that other hosts can reach, for use behind a proxy that authenticates users.
    pub http_public: bool,

    /// Names accepted in the Host header of requests to `http`, in addition to localhost, loopback addresses and the
    /// host of `url`. With `http-public`, all IP addresses are accepted too.
    pub http_names: Vec<String>,

    /// File with a line `NAME TOKEN` for each person who may acknowledge, comment on, silence and close alerts. Other
    /// users of the system must have no access to the file.
    #[cfg_attr(test, schemars(extend("x-form" = "file")))]
    pub http_tokens: Option<PathBuf>,

    /// Database that maps peers to ASes, in MaxMind's format. A reload reads the database again.
    #[cfg_attr(test, schemars(extend("x-form" = "file")))]
    pub as_file: Option<PathBuf>,

    /// Database that maps peers to countries, in MaxMind's format. A reload reads the database again.
    #[cfg_attr(test, schemars(extend("x-form" = "file")))]
    pub country_file: Option<PathBuf>,

    /// Public URL of the web page, such as `https://srlg.example`. Notifications link to their incident on this page.
    #[cfg_attr(test, schemars(extend("x-form" = "URL")))]
    pub url: Option<String>,

    /// Folder for checkpoints and the database of alerts, or for the spool of a probe. With it, a restart keeps windows,
    /// active alerts and unsent notifications.
    #[cfg_attr(test, schemars(extend("x-form" = "folder")))]
    pub state: Option<PathBuf>,

    /// Time between two checkpoints.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "String", extend("x-form" = "time")))]
    pub checkpoint: Duration,

    /// Time without a datagram after which an exporter is silent; at least 1s [default: three times its longest pause
    /// in the last hour, but at least 15s]
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "time")))]
    pub silent_after: Option<Duration>,

    /// Time for which the database keeps notifications.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "String", extend("x-form" = "time")))]
    pub keep: Duration,

    /// Whether to learn what is usual: hosts are recorded from 8 peers up, in views without `pairs`, and no sink is
    /// notified.
    pub learn: bool,
}

impl Default for General {
    fn default() -> Self {
        Self {
            inside: Vec::new(),
            slice: Duration::from_secs(1),
            grace: Duration::from_millis(100),
            device: Device::Cpu,
            http: None,
            http_public: false,
            http_names: Vec::new(),
            http_tokens: None,
            as_file: None,
            country_file: None,
            url: None,
            state: None,
            checkpoint: Duration::from_secs(10),
            silent_after: None,
            keep: Duration::from_secs(30 * 86_400),
            learn: false,
        }
    }
}

impl General {
    pub(crate) fn visitors(&self) -> Visitors {
        let url = self.url.iter().filter_map(|url| server::host_of(url));
        let names = self.http_names.iter().cloned().chain(url).collect();
        Visitors { is_public: self.http_public, names, tokens: self.http_tokens.clone() }
    }

    pub(super) fn origins(&self) -> Result<OriginLookup> {
        OriginLookup::open(self.as_file.as_deref(), self.country_file.as_deref())
    }
}

#[cfg(test)]
/// Formats `milliseconds` in the time syntax of configuration files.
fn time(milliseconds: u64) -> String {
    humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
}

#[cfg(test)]
/// Adds to the schema of a view the defaults that apply only in a configuration file.
fn view_defaults(schema: &mut schemars::Schema) {
    let keys = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut).unwrap();
    keys["peer-prefix6"]["default"] = serde_json::json!(PREFIXES.peer6);
    keys["inside"]["description"] =
        serde_json::json!("Inside networks. [default: the top-level `inside`]");
}

/// A `[[view]]`: the hosts and peers to count, and the size of the detector.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(transform = view_defaults))]
#[serde(default, deny_unknown_fields)]
pub(super) struct ViewTable {
    /// Name of the view, which may contain letters, digits, `-` and `_`.
    pub(super) name: String,
    /// Expected number of distinct pairs in the longest window, which determines the size of the detector. [default: a
    /// detector of default size]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(super) pairs: Option<u64>,
    /// Memory limit of the detector, in bytes. Without `pairs`, the detector needs at least 31.6 MB, and a lower limit
    /// is an error.
    #[cfg_attr(test, schemars(extend("default" = MEMORY)))]
    pub(super) memory: Option<usize>,
    /// All keys except `name`, `pairs` and `memory`.
    #[cfg_attr(test, schemars(flatten))]
    pub(super) options: ViewOptions,
}

/// `[network-views]`: the default views of networks.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct NetworkViews {
    /// Whether the two views exist.
    pub(super) enabled: bool,
    /// Prefix length of the IPv4 networks.
    #[cfg_attr(test, schemars(range(min = 1, max = 32)))]
    pub(super) prefix4: u8,
    /// Prefix length of the IPv6 networks.
    #[cfg_attr(test, schemars(range(min = 1, max = 128)))]
    pub(super) prefix6: u8,
    /// Expected number of distinct pairs of a network and a peer in the longest window.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(super) pairs: u64,
    /// Memory limit of each of the two detectors, in bytes.
    pub(super) memory: usize,
}

impl Default for NetworkViews {
    fn default() -> Self {
        Self { enabled: true, prefix4: 24, prefix6: 48, pairs: 10_000_000, memory: 7_500_000 }
    }
}

/// A `[[rule]]`: the conditions under which alerts start and end.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RuleTable {
    /// Name of the rule in notifications.
    pub(super) name: String,
    /// Names of the views that the rule applies to. [default: all views except the default views of networks]
    pub(super) views: Vec<String>,
    /// Networks of the hosts that the rule applies to. [default: all hosts]
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(test, schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub(super) networks: Vec<IpNet>,
    /// Number of peers at which an alert starts, for each window; at least 8. Each window must be a multiple of
    /// `slice`.
    #[cfg_attr(test, schemars(
        with = "BTreeMap<String, f64>",
        extend("x-form" = "table of windows and peer counts, such as `{ 60s = 1024, 1h = 8192 }`")
    ))]
    pub(super) thresholds: BTreeMap<Window, f64>,
    /// Multiple of the peer count that is usual for a host at this hour of the week, greater than 1. Once this count is
    /// known, an alert also needs this multiple of it, but never more than 16 times the threshold. [default: none]
    #[cfg_attr(test, schemars(extend("x-form" = "number")))]
    pub(super) above_usual: Option<f64>,
    /// Fraction of the threshold below which an alert ends; greater than 0 and less than 1.
    #[cfg_attr(test, schemars(extend("default" = Terms::default().down)))]
    pub(super) down: Option<f64>,
    /// Number of slices, out of the last `of` slices, in which a count must reach the threshold to start an alert; at
    /// most `of`.
    #[serde(rename = "for")]
    #[cfg_attr(test, schemars(range(min = 1), extend("default" = Terms::default().for_slices)))]
    pub(super) for_slices: Option<u32>,
    /// Number of recent slices among which `for` slices must reach the threshold.
    #[serde(rename = "of")]
    #[cfg_attr(test, schemars(range(min = 1, max = 32), extend("default" = Terms::default().of_slices)))]
    pub(super) of_slices: Option<u32>,
    /// Time that a count must stay below `down` times the threshold before its alert ends.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "time", "default" = time(Terms::default().hold_ms))))]
    pub(super) hold: Option<Duration>,
    /// Time between repeated notifications of an active alert.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "time", "default" = time(Terms::default().repeat_ms))))]
    pub(super) repeat: Option<Duration>,
    /// Time that a count must stay below `down` times the threshold before its alert ends even if the end cannot be
    /// confirmed. The time must be at least `hold`. If the key is missing, the longer of the default and `hold` applies.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "time", "default" = time(Terms::default().unconfirmed_after_ms))))]
    pub(super) unconfirmed_after: Option<Duration>,
}

/// An `[[allow]]`: hosts or contacts to ignore, selected by `hosts`, by `peers`, or as services by `hosts` and `ports`.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct AllowTable {
    /// Reason for the entry, shown to users.
    pub(super) why: String,
    /// Names of the views that the entry applies to. [default: all views]
    pub(super) views: Vec<String>,
    /// Networks of hosts that raise no alert. In a view of larger networks, contacts with these hosts are ignored. If
    /// `ports` is set, only contacts with the services on these ports are ignored.
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(test, schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub(super) hosts: Vec<IpNet>,
    /// Networks of peers that do not count.
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(test, schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub(super) peers: Vec<IpNet>,
    /// Ports of services on `hosts`. Requests to the services and their replies do not count.
    #[cfg_attr(test, schemars(extend("x-form" = "port")))]
    pub(super) ports: Vec<u16>,
}

/// A `[[label]]`: a name for networks.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct LabelTable {
    /// Text that is shown next to hosts in the networks.
    pub(super) name: String,
    /// Networks that have the label. If several networks contain a host, the one with the longest prefix applies.
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(test, schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub(super) networks: Vec<IpNet>,
}

/// The length of a window, and its text in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Window {
    pub(super) text: String,
    pub(super) length: Duration,
}

impl From<Duration> for Window {
    fn from(length: Duration) -> Self {
        Self { text: humantime::format_duration(length).to_string(), length }
    }
}

impl TryFrom<String> for Window {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let length = parse_duration(&text)
            .map_err(|error| format!("window {text:?}: {error}; give a time such as 60s or 1h"))?;
        Ok(Self { text, length })
    }
}

/// The tables of a configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    /// Source of contacts of `srlg run` and `srlg probe`: one of `input`, `interface`, `url`,
    /// or `listen` and `listen-tcp`.
    pub(super) input: InputOptions,
    /// Network of probes, in place of `[input]`. `srlg collect` merges the slices that the probes send.
    pub(super) network: Option<NetworkOptions>,
    /// Probe of a network, which counts `[input]` with `srlg probe` and sends slices to the collector. Apart from these
    /// two tables, its file may have only the tables `[[exporter]]` and the keys `device`, `http`, `http-public`,
    /// `http-names`, `url`, `state` and `silent-after`. All other settings come from the collector.
    pub(super) probe: Option<ProbeOptions>,
    /// Hosts and peers to count. Each view has its own detector. If no view is defined, the default views `fan-in` and
    /// `fan-out` count inside hosts, `outside` counts outside hosts if `inside` is set, and `networks-in` and
    /// `networks-out` count inside networks.
    #[serde(rename = "view")]
    pub(super) views: Vec<ViewTable>,
    /// The default views `networks-in` and `networks-out` ([views](alerts.md)). Rules that name one of these views replace
    /// its rule, whose threshold is 8192 in 60s.
    #[serde(rename = "network-views")]
    pub(super) network_views: NetworkViews,
    /// Conditions under which alerts start and end. Of the rules whose networks contain a host, the one with the
    /// longest prefix applies.
    #[serde(rename = "rule")]
    pub(super) rules: Vec<RuleTable>,
    /// Allow-list entries. Each entry ignores hosts (`hosts`), peers (`peers`), or services of hosts (`hosts` and
    /// `ports`).
    #[serde(rename = "allow")]
    pub(super) allows: Vec<AllowTable>,
    /// Names of networks, shown with their hosts in notifications and on the web page.
    #[serde(rename = "label")]
    pub(super) labels: Vec<LabelTable>,
    /// Names of exporters and of their interfaces, shown in notifications and on the web page.
    #[serde(rename = "exporter")]
    pub(super) exporters: Vec<Exporter>,
    /// Recipients of notifications. Each sink has its own position in the database.
    #[serde(rename = "sink")]
    pub(super) sinks: Vec<SinkOptions>,
}

/// Tables that define the task of the process and its source of contacts.
const TASKS: [&str; 3] = ["input", "network", "probe"];

/// Top-level keys and tables that a probe cannot have.
const NOT_OF_PROBES: [&str; 14] = [
    "inside",
    "slice",
    "grace",
    "http-tokens",
    "as-file",
    "country-file",
    "checkpoint",
    "keep",
    "view",
    "network-views",
    "rule",
    "allow",
    "label",
    "sink",
];

const TABLES: [&str; 7] = ["view", "network-views", "rule", "allow", "label", "exporter", "sink"];

/// Returns a hint if the `value` of an unknown top-level key is a table or a list of tables.
fn hint_of_table(_name: &str, value: &Value<'_>) -> Option<String> {
    let is_table = |value: &Value<'_>| matches!(value.get_ref(), DeValue::Table(_));
    let is_list = match value.get_ref() {
        DeValue::Array(values) => !values.is_empty() && values.iter().all(is_table),
        _ => is_table(value),
    };
    is_list.then(|| format!("the tables are {}", [TASKS.as_slice(), &TABLES].concat().join(", ")))
}

/// Returns a hint if the unknown key `name` of a table is a top-level key.
fn hint_of_general(name: &str, value: &Value<'_>) -> Option<String> {
    // Some sinks have these keys, so the table may be right and its `type` wrong. A moved URL could reveal a secret.
    if ["keep", "url"].contains(&name) {
        return None;
    }
    let key = Spanned::new(0..0, name.to_owned().into());
    let table = DeTable::from_iter([(key, value.clone())]);
    deserialize::<General>(Spanned::new(0..0, DeValue::Table(table)))
        .is_ok()
        .then(|| format!("the top-level key `{name}` must come before the first table"))
}

/// A configuration file after parsing.
#[derive(Clone, Debug, Default)]
pub(super) struct File<'i> {
    pub(super) general: General,
    pub(super) tables: Tables,
    /// All keys with their spans. The table is empty if the values do not come from a file.
    pub(super) keys: DeTable<'i>,
}

impl<'i> File<'i> {
    /// Parses `text`. Each invalid part is omitted and adds a problem to `problems`.
    pub(super) fn read(text: &'i str, problems: &mut Problems) -> Self {
        let (keys, errors) = DeTable::parse_recoverable(text);
        let mut keys = keys.into_inner();
        errors.iter().for_each(|error| problems.add_syntax(error));
        nest_view_options(&mut keys);
        let part = |names: &[&str]| {
            let part = keys.iter().filter(|(key, _)| names.contains(&&**key.get_ref()));
            part.map(|(key, value)| (key.clone(), value.clone())).collect::<DeTable<'_>>()
        };
        let mut general = keys.clone();
        TASKS.iter().chain(&TABLES).for_each(|name| drop(general.remove(*name)));
        let (general, before): (General, _) =
            (read(general, &hint_of_table, problems), problems.len());
        let Tables { input, network, probe, .. } = read(part(&TASKS), &hint_of_general, problems);
        // If an invalid value was omitted, the check could report problems that the file does not have.
        let is_whole = problems.len() == before;
        let tables =
            Tables { input, network, probe, ..read(part(&TABLES), &hint_of_general, problems) };
        let mut file = Self { general, tables, keys };
        if is_whole {
            file.check_task(problems);
        }
        for (at, view) in file.tables.views.iter_mut().enumerate() {
            let keys = value(&file.keys, "view", at, "options").map(Spanned::get_ref);
            let has = |key| keys.is_some_and(|keys| keys.get(key).is_some());
            if !has("inside") {
                view.options.inside.clone_from(&file.general.inside);
            }
            if !has("peer-prefix6") {
                view.options.prefixes.peer6 = PREFIXES.peer6;
            }
        }
        file
    }

    fn check_task(&self, problems: &mut Problems) {
        let Tables { input, network, probe, .. } = &self.tables;
        if let Some(network) = network {
            for other in ["input", "probe"].into_iter().filter(|name| self.keys.contains_key(*name))
            {
                problems.add(
                    self.span_in("network", ""),
                    format!("[{other}] and [network] cannot be combined; keep one of them"),
                );
            }
            for (key, text) in network.problems(self.general.checkpoint, self.general.slice) {
                problems.add(self.span_in("network", key), text);
            }
            return;
        }
        if let Err(bad) = input.check() {
            problems.add(self.span_in("input", bad.option), bad.to_string());
        }
        let Some(probe) = probe else { return };
        for (key, text) in probe.problems() {
            problems.add(self.span_in("probe", key), text);
        }
        for key in NOT_OF_PROBES.into_iter().filter(|key| self.keys.contains_key(*key)) {
            let text = format!(
                "{key}: has no effect on a probe; set it in the configuration of the collector"
            );
            problems.add(self.span_in(key, ""), text);
        }
    }

    /// Returns whether the file is the configuration of a probe.
    pub(super) const fn is_of_probe(&self) -> bool {
        self.tables.probe.is_some()
    }

    /// Returns the span of the value of `key` in the table `name`, or the span of the table if the key is missing.
    pub(super) fn span_in(&self, name: &str, key: &str) -> Range<usize> {
        let table = self.keys.get(name);
        let value = table.and_then(|table| table.get_ref().get(key));
        value.or(table).map_or(0..0, Spanned::span)
    }

    /// Returns the span of the thresholds of the rule `name` that applies to `view`. The default rule has no line.
    pub(super) fn span_of_rule(&self, name: &str, view: &str) -> Range<usize> {
        let mut rules = self.tables.rules.iter();
        let at = rules.position(|rule| {
            rule.name == name && (rule.views.is_empty() || rule.views.iter().any(|of| of == view))
        });
        at.map_or(NO_LINE, |at| self.span("rule", at, "thresholds"))
    }

    /// Returns the span of the name of the view `name`.
    pub(super) fn span_of_view(&self, name: &str) -> Range<usize> {
        let at = self.tables.views.iter().position(|view| view.name == name);
        at.map_or(NO_LINE, |at| self.span("view", at, "name"))
    }

    /// Returns the span of the value of `key` in the table `name` with index `at`, or the span of the table if the key
    /// is missing.
    pub(super) fn span(&self, name: &str, at: usize, key: &str) -> Range<usize> {
        let table = self.keys.get(name).and_then(|tables| tables.get_ref().get(at));
        value(&self.keys, name, at, key).or(table).map_or(0..0, Spanned::span)
    }
}

fn value<'a, 'i>(
    keys: &'a DeTable<'i>,
    name: &str,
    at: usize,
    key: &str,
) -> Option<&'a Spanned<DeValue<'i>>> {
    keys.get(name)?.get_ref().get(at)?.get_ref().get(key)
}

/// In each view, moves all keys except `name`, `pairs` and `memory` into the nested table `options`, which is
/// deserialised as [`ViewOptions`].
fn nest_view_options(keys: &mut DeTable<'_>) {
    let Some(DeValue::Array(views)) = keys.get_mut("view").map(Spanned::get_mut) else { return };
    for view in views.iter_mut() {
        let span = view.span();
        if let DeValue::Table(keys) = view.get_mut() {
            let parts = std::mem::take(keys).into_iter();
            let (own, options): (DeTable<'_>, DeTable<'_>) =
                parts.partition(|(key, _)| ["name", "pairs", "memory"].contains(&&**key.get_ref()));
            *keys = own;
            let key = Spanned::new(span.clone(), "options".into());
            keys.insert(key, Spanned::new(span, DeValue::Table(options)));
        }
    }
}
