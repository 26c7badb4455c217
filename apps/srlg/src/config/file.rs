//! The parts of a configuration file, as TOML has them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use humantime::parse_duration;
use serde::Deserialize;
use srlg_host::Device;
use srlg_input::contact::{IpNet, Prefixes, deserialize_networks, parse_network};
use srlg_input::{InputOptions, ViewOptions};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Problems, from_text, read};
use crate::exporters::Exporter;
use crate::network::options::NetworkOptions;
use crate::notify::sinks::SinkOptions;
use crate::show::web::{self, Visitors};

/// Prefixes of a view by default: IPv6 peers are aggregated to /64, as one machine can use any address of its prefix.
pub(super) const PREFIXES: Prefixes = Prefixes { host4: 32, host6: 128, peer4: 32, peer6: 64 };

/// The shortest time after which an exporter can be silent. Exporters are checked once a second.
pub(super) const LEAST_SILENCE: Duration = Duration::from_secs(1);

/// Parses the time after which an exporter is silent.
pub(crate) fn parse_silence(text: &str) -> Result<Duration, String> {
    let after = parse_duration(text).map_err(|error| error.to_string())?;
    let is_enough = after >= LEAST_SILENCE;
    is_enough.then_some(after).ok_or_else(|| format!("give at least {LEAST_SILENCE:?}"))
}

/// Settings that are not part of a table; as options of a command those that it takes.
#[derive(Clone, Debug, PartialEq, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct General {
    /// Inside network, repeatable; without one all hosts are inside, and no outside hosts are watched
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    #[serde(deserialize_with = "deserialize_networks")]
    pub inside: Vec<IpNet>,

    /// Length of a slice, by which the window moves
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    #[serde(with = "humantime_serde")]
    pub slice: Duration,

    /// How long after its end a slice waits for contacts on their way
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
    #[serde(with = "humantime_serde")]
    pub grace: Duration,

    /// Where views are counted: cpu, cuda, cuda:N or auto
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Cpu)]
    #[serde(deserialize_with = "from_text")]
    pub device: Device,

    /// Address of the page, the metrics and the interface of programs
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// Whether others than this machine may ask there, although there are no accounts.
    #[arg(skip)]
    pub http_public: bool,

    /// Host names that requests to `http` may have, besides localhost and addresses.
    #[arg(skip)]
    pub http_names: Vec<String>,

    /// File of the tokens by which people act on incidents over `http`.
    #[arg(skip)]
    pub http_tokens: Option<PathBuf>,

    /// Database in MaxMind's format that has the ASes of peers.
    #[arg(skip)]
    pub as_file: Option<PathBuf>,

    /// Database in MaxMind's format that has the countries of peers.
    #[arg(skip)]
    pub country_file: Option<PathBuf>,

    /// Public URL of the page, such as `https://srlg.example`: notifications link to their incident there.
    #[arg(skip)]
    pub url: Option<String>,

    /// Folder of the state: with a state a restart continues with the window, with open alerts and with notices that sinks wait for
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// Time between two checkpoints.
    #[arg(skip = Self::default().checkpoint)]
    #[serde(with = "humantime_serde")]
    pub checkpoint: Duration,

    /// Time without a datagram after which an exporter is silent [default: three times its longest pause of the last hour, and 15s at the least]
    #[arg(long, value_name = "TIME", value_parser = parse_silence)]
    #[serde(with = "humantime_serde")]
    pub silent_after: Option<Duration>,

    /// How long notices are kept.
    #[arg(skip = Self::default().keep)]
    #[serde(with = "humantime_serde")]
    pub keep: Duration,
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
        }
    }
}

impl General {
    /// Returns who may ask the page.
    pub(crate) fn visitors(&self) -> Visitors {
        let url = self.url.iter().filter_map(|url| web::host_of(url));
        let names = self.http_names.iter().cloned().chain(url).collect();
        Visitors { is_public: self.http_public, names, tokens: self.http_tokens.clone() }
    }
}

/// A `[[view]]`: what is counted, in how much memory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ViewTable {
    pub(super) name: String,
    /// Distinct pairs of the longest window that the detector is sized for.
    pub(super) pairs: Option<u64>,
    /// Bytes that the detector may take.
    pub(super) memory: Option<usize>,
    /// All other keys.
    pub(super) options: ViewOptions,
}

/// A `[[rule]]`: when alerts start and end.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RuleTable {
    pub(super) name: String,
    /// Views; without any all.
    pub(super) views: Vec<String>,
    /// Networks of hosts; without any all.
    #[serde(deserialize_with = "deserialize_networks")]
    pub(super) networks: Vec<IpNet>,
    /// Peers that start an alert, by the window.
    pub(super) thresholds: BTreeMap<Window, f64>,
    /// Part of a threshold below which an alert ends.
    pub(super) down: Option<f64>,
    /// Slices at the threshold, of the last `of`, that start an alert.
    #[serde(rename = "for")]
    pub(super) for_slices: Option<u32>,
    /// See `for`.
    #[serde(rename = "of")]
    pub(super) of_slices: Option<u32>,
    /// Time below `down` after which an alert ends.
    #[serde(with = "humantime_serde")]
    pub(super) hold: Option<Duration>,
    /// Time after which an active alert is told again.
    #[serde(with = "humantime_serde")]
    pub(super) repeat: Option<Duration>,
    /// Time after which an alert ends whose end cannot be confirmed.
    #[serde(with = "humantime_serde")]
    pub(super) unconfirmed_after: Option<Duration>,
}

/// An `[[allow]]`: hosts or contacts that start no alert, by one of `hosts`, `peers`, or `ports` of `hosts`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AllowTable {
    /// The reason, for people.
    pub(super) why: String,
    /// Views; without any all.
    pub(super) views: Vec<String>,
    /// Networks of hosts without alerts.
    #[serde(deserialize_with = "deserialize_networks")]
    pub(super) hosts: Vec<IpNet>,
    /// Networks of peers that do not count.
    #[serde(deserialize_with = "deserialize_networks")]
    pub(super) peers: Vec<IpNet>,
    /// Ports at `hosts` to which contacts do not count.
    pub(super) ports: Vec<u16>,
}

/// A `[[label]]`: what networks are called.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LabelTable {
    pub(super) name: String,
    #[serde(deserialize_with = "deserialize_networks")]
    pub(super) networks: Vec<IpNet>,
}

/// The length of a window, as it is written and as it is meant.
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
            .map_err(|error| format!("a window is {text:?} ({error}): give a time as 60s or 1h"))?;
        Ok(Self { text, length })
    }
}

/// The tables of a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    pub(super) input: InputOptions,
    pub(super) network: Option<NetworkOptions>,
    #[serde(rename = "view")]
    pub(super) views: Vec<ViewTable>,
    #[serde(rename = "rule")]
    pub(super) rules: Vec<RuleTable>,
    #[serde(rename = "allow")]
    pub(super) allows: Vec<AllowTable>,
    #[serde(rename = "label")]
    pub(super) labels: Vec<LabelTable>,
    #[serde(rename = "exporter")]
    pub(super) exporters: Vec<Exporter>,
    #[serde(rename = "sink")]
    pub(super) sinks: Vec<SinkOptions>,
}

/// Tables of which one says where contacts come from.
const SOURCES: [&str; 2] = ["input", "network"];

const TABLES: [&str; 6] = ["view", "rule", "allow", "label", "exporter", "sink"];

/// A file that was read, but not checked.
#[derive(Clone, Debug, Default)]
pub(super) struct File<'i> {
    pub(super) general: General,
    pub(super) tables: Tables,
    /// All keys, with their places; none if the values are of no file.
    pub(super) keys: DeTable<'i>,
}

impl<'i> File<'i> {
    /// Reads the file that has `text`. Parts that are wrong are problems, and are left out.
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
        SOURCES.iter().chain(&TABLES).for_each(|name| drop(general.remove(*name)));
        let (general, before): (General, _) = (read(general, problems), problems.len());
        let Tables { input, network, .. } = read(part(&SOURCES), problems);
        // A value that was left out may be one that another needs.
        let is_whole = problems.len() == before;
        let tables = Tables { input, network, ..read(part(&TABLES), problems) };
        let mut file = Self { general, tables, keys };
        if is_whole {
            file.check_source(problems);
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

    /// Checks that contacts come from one input, or from the probes of one network.
    fn check_source(&self, problems: &mut Problems) {
        match &self.tables.network {
            Some(_) if self.keys.contains_key("input") => problems.add(
                self.span_in("network", ""),
                "there are an input and a network: give the one or the other",
            ),
            Some(network) => {
                for (key, text) in network.problems(&self.general) {
                    problems.add(self.span_in("network", key), text);
                }
            }
            None => {
                if let Err(bad) = self.tables.input.check() {
                    problems.add(self.span_in("input", bad.option), bad.to_string());
                }
            }
        }
    }

    /// Where the value of `key` is in the table or value called `name`, or where that is.
    pub(super) fn span_in(&self, name: &str, key: &str) -> Range<usize> {
        let table = self.keys.get(name);
        let value = table.and_then(|table| table.get_ref().get(key));
        value.or(table).map_or(0..0, Spanned::span)
    }

    /// Where the value of `key` is in the table number `at` of those called `name`, or where the table is.
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

/// Moves the keys of each view that are options of it into a table of their own.
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
