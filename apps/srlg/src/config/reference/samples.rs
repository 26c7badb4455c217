//! Sample values of all keys, which are used to determine whether a reload applies a change to a key.
//!
//! Each table has minimal documents that can be parsed. Each sample consists of a key, a value, and the other keys that
//! the value requires.

use std::fmt::Write as _;
use std::fs;
use std::sync::LazyLock;

use tempfile::TempDir;
use toml::{Table, Value};

use super::super::document::Problems;
use crate::config::Config;
use crate::mmdb::{as_database, country_database};
use crate::network::Network;
use srlg_alerts::manager::names::Names;
use srlg_alerts::manager::view::ViewConfig;

/// A key, the other keys that its sample value requires, and the sample value.
type Sample = (&'static str, &'static str, &'static str);

pub(super) struct Samples {
    table: &'static str,
    /// Minimal documents of the table, without optional keys.
    least: &'static [&'static str],
    samples: &'static [Sample],
}

/// The effect of a reload on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Applied,
    /// A change in one direction is applied. The opposite change needs a restart.
    AppliedIfItFits,
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reload {
    /// Effect in `srlg run`, or in `srlg collect` for keys of `[network]`.
    pub(super) alone: Effect,
    /// Effect in `srlg collect` for keys that can be combined with `[network]`.
    pub(super) network: Option<Effect>,
}

static ALL: [Samples; 17] = [
    Samples { table: "", least: &[""], samples: TOP },
    Samples { table: "input", least: &[""], samples: INPUT },
    Samples { table: "network", least: &["probes = ['a']"], samples: NETWORK },
    Samples { table: "probe", least: &["name = 'a'"], samples: PROBE },
    Samples { table: "view", least: &["name = 'v'"], samples: VIEW },
    Samples {
        table: "network-views",
        least: &[""],
        samples: &[
            ("enabled", "", "false"),
            ("prefix4", "", "23"),
            ("prefix6", "", "56"),
            ("pairs", "", "1000000"),
            ("memory", "", "16000000"),
        ],
    },
    Samples { table: "rule", least: &["name = 'r'\nthresholds = { 60s = 1024 }"], samples: RULE },
    Samples {
        table: "allow",
        least: &["why = 'w'\nhosts = ['192.0.2.1']", "why = 'w'\npeers = ['192.0.2.1']"],
        samples: ALLOW,
    },
    Samples {
        table: "label",
        least: &["name = 'l'\nnetworks = ['192.0.2.0/24']"],
        samples: &[("name", "", "'m'"), ("networks", "", "['198.51.100.0/24']")],
    },
    Samples {
        table: "exporter",
        least: &["name = 'e'\nnetworks = ['192.0.2.1']"],
        samples: &[
            ("name", "", "'f'"),
            ("networks", "", "['192.0.2.2']"),
            ("interfaces", "", "{ 7 = 'transit' }"),
        ],
    },
    Samples { table: "sink", least: &["type = 'webhook'\nurl = 'http://a'"], samples: SINK },
    Samples { table: "sink file", least: &["path = '/a'"], samples: SINK_FILE },
    Samples { table: "sink webhook", least: &["url = 'http://a'"], samples: SINK_WEBHOOK },
    Samples { table: "sink alertmanager", least: &["url = 'http://a'"], samples: ALERTMANAGER },
    Samples { table: "sink syslog", least: &["address = 'udp://a:514'"], samples: SYSLOG },
    Samples { table: "sink mail", least: &[MAIL_LEAST], samples: MAIL },
    Samples {
        table: "sink exec",
        least: &["command = ['/bin/true']"],
        samples: &[("command", "", "['/bin/false']"), ("timeout", "", "'1s'")],
    },
];

const TOP: &[Sample] = &[
    ("inside", "", "['198.51.100.0/24']"),
    ("slice", "", "'500ms'"),
    ("grace", "", "'200ms'"),
    ("device", "", "'auto'"),
    ("http", "", "'127.0.0.1:8462'"),
    ("http-public", "", "true"),
    ("http-names", "", "['srlg.example']"),
    ("http-tokens", "", "'/tokens'"),
    ("as-file", "", "'FOLDER/as.mmdb'"),
    ("country-file", "", "'FOLDER/country.mmdb'"),
    ("url", "", "'https://srlg.example'"),
    ("state", "", "'/state'"),
    ("checkpoint", "", "'1m'"),
    ("silent-after", "", "'1m'"),
    ("keep", "", "'1d'"),
    ("learn", "state = '/state'", "true"),
];

const SOCKET: &str = "listen = ['[::]:2055']\nexporters = ['192.0.2.1']";
const TOPIC: &str = "url = 'kafka://localhost/flows'";
const PASSWORD: &str = "url = 'kafka://a/flows'\ntls = true\nuser = 'u'\npassword = '/p'";
const STREAM: &str = "url = 'jetstream://localhost/FLOWS'";

const INPUT: &[Sample] = &[
    ("input", "", "['a.pcap']"),
    ("exports", "input = ['a.pcap']", "true"),
    ("live", "input = ['a.pcap']", "true"),
    ("tunnels", "input = ['a.pcap']", "'inner'"),
    ("listen", SOCKET, "['[::]:9995']"),
    ("listen-tcp", SOCKET, "['[::]:4739']"),
    ("exporters", SOCKET, "['192.0.2.2']"),
    ("receive-buffer", SOCKET, "1000000"),
    ("receivers", SOCKET, "2"),
    ("templates", SOCKET, "'/templates'"),
    ("interface", "", "'eth0'"),
    ("filter", "interface = 'eth0'", "'ip6'"),
    ("snap-length", "interface = 'eth0'", "512"),
    ("capture-buffer", "interface = 'eth0'", "1000000"),
    ("not-promiscuous", "interface = 'eth0'", "true"),
    ("capture-threads", "interface = 'eth0'", "2"),
    ("capture-split", "interface = 'eth0'", "'turns'"),
    ("capture-cpus", "interface = 'eth0'", "[2]"),
    ("nat", SOCKET, "'post'"),
    ("timestamps", SOCKET, "'trusted'"),
    ("sampling", SOCKET, "100"),
    ("url", "", "'kafka://localhost/flows'"),
    ("tls", TOPIC, "true"),
    ("ca", TOPIC, "'/ca.pem'"),
    ("plain", TOPIC, "true"),
    ("user", PASSWORD, "'v'"),
    ("password", PASSWORD, "'/q'"),
    ("mechanism", PASSWORD, "'plain'"),
    ("key", STREAM, "'/key'"),
    ("credentials", STREAM, "'/a.creds'"),
    ("message-format", TOPIC, "'json'"),
    ("schema", TOPIC, "'/flow.proto'"),
    ("earliest", TOPIC, "true"),
];

const NETWORK: &[Sample] = &[
    ("probes", "", "['b']"),
    ("folder", "", "'/folder'"),
    ("broker", "", "'nats.example'"),
    ("deadline", "", "'20s'"),
    ("max-skew", "", "7200"),
    ("most-pairs", "", "0"),
    ("pending-mb", "", "1024"),
    ("stream-age", "", "'2d'"),
    ("stream-mb", "", "8192"),
];

const PROBE: &[Sample] = &[
    ("name", "", "'b'"),
    ("folder", "", "'/folder'"),
    ("broker", "", "'nats.example'"),
    ("keep", "", "600"),
    ("pace", "", "'real'"),
];

const VIEW: &[Sample] = &[
    ("name", "", "'w'"),
    ("pairs", "", "1000000"),
    ("memory", "pairs = 1000000", "16000000"),
    ("inside", "", "['198.51.100.0/24']"),
    ("measure", "inside = ['198.51.100.0/24']", "'outside'"),
    ("role", "", "'source'"),
    ("only", "", "'initiated'"),
    ("host", "role = 'source'\nhost-prefix6 = 64", "'address+port'"),
    ("peer", "", "'port'"),
    ("host-prefix4", "", "24"),
    ("host-prefix6", "", "64"),
    ("peer-prefix4", "", "24"),
    ("peer-prefix6", "", "128"),
];

const RULE: &[Sample] = &[
    ("name", "", "'s'"),
    ("views", "", "['fan-in']"),
    ("networks", "", "['0.0.0.0/0']"),
    ("thresholds", "", "{ 60s = 512 }"),
    ("above-usual", "", "3"),
    ("down", "", "0.5"),
    ("for", "", "2"),
    ("of", "for = 1", "6"),
    ("hold", "", "'2m'"),
    ("repeat", "", "'1h'"),
    ("unconfirmed-after", "", "'1h'"),
];

/// An additional rule for all views, because every view needs a rule.
const OTHER_RULE: &str = "name = 'o'\nnetworks = ['203.0.113.0/24']\nthresholds = { 60s = 1024 }";

const ALLOW: &[Sample] = &[
    ("why", "", "'x'"),
    ("views", "", "['fan-in']"),
    ("hosts", "", "['192.0.2.2']"),
    ("peers", "", "['192.0.2.2']"),
    ("ports", "", "[53]"),
];

const SINK: &[Sample] = &[
    ("type", "", "'alertmanager'"),
    ("name", "", "'s'"),
    ("queue", "", "100"),
    ("only.severity", "", "'major'"),
    ("only.kinds", "", "['flood']"),
    ("only.views", "", "['fan-in']"),
    ("only.rules", "", "['default']"),
    ("only.labels", "", "['l']"),
    ("only.status", "", "['start']"),
];

const SINK_FILE: &[Sample] =
    &[("path", "", "'/b'"), ("rotate-bytes", "", "1000000"), ("keep", "", "2")];

const PAIR: &str = "tls = { certificate = '/c.pem', key = '/k.pem' }";

const SINK_WEBHOOK: &[Sample] = &[
    ("url", "", "'http://b'"),
    ("credentials.bearer-file", "", "'/t'"),
    ("credentials.basic-file", "", "'/t'"),
    ("credentials.headers-file", "", "'/t'"),
    ("tls.ca", "", "'/ca.pem'"),
    ("tls.certificate", PAIR, "'/d.pem'"),
    ("tls.key", PAIR, "'/l.pem'"),
    ("body-file", "", "'/body'"),
    ("digest", "", "'1s'"),
    ("signature-file", "", "'/s'"),
    ("most-per-minute", "", "10"),
    ("timeout", "", "'1s'"),
];

const ALERTMANAGER: &[Sample] = &[
    ("url", "", "'http://b'"),
    ("credentials.bearer-file", "", "'/t'"),
    ("credentials.basic-file", "", "'/t'"),
    ("credentials.headers-file", "", "'/t'"),
    ("tls.ca", "", "'/ca.pem'"),
    ("tls.certificate", PAIR, "'/d.pem'"),
    ("tls.key", PAIR, "'/l.pem'"),
    ("resend", "", "'1m'"),
    ("timeout", "", "'1s'"),
];

const SYSLOG_TLS: &str =
    "address = 'tls://a:6514'\ntls = { ca = '/ca.pem', certificate = '/c.pem', key = '/k.pem' }";

const SYSLOG: &[Sample] = &[
    ("address", "", "'tcp://a:514'"),
    ("most-per-minute", "", "10"),
    ("tls.ca", SYSLOG_TLS, "'/cb.pem'"),
    ("tls.certificate", SYSLOG_TLS, "'/d.pem'"),
    ("tls.key", SYSLOG_TLS, "'/l.pem'"),
];

const MAIL_LEAST: &str = "server = 'smtp://a:25'\nfrom = 'a@example.net'\nto = ['b@example.net']";

const MAIL: &[Sample] = &[
    ("server", "", "'smtps://a:465'"),
    ("plain", "", "true"),
    ("from", "", "'c@example.net'"),
    ("to", "", "['c@example.net']"),
    ("credentials.basic-file", "", "'/t'"),
    ("tls.ca", "", "'/ca.pem'"),
    ("tls.certificate", PAIR, "'/d.pem'"),
    ("tls.key", PAIR, "'/l.pem'"),
    ("digest", "", "'2m'"),
    ("timeout", "", "'2m'"),
];

/// Folder with databases of ASes and countries, which a reload opens.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let networks = as_database(&[("192.0.2.0/24", 64_496, "AS")]);
    fs::write(folder.path().join("as.mmdb"), networks).unwrap();
    let networks = country_database(&[("192.0.2.0/24", "DE")]);
    fs::write(folder.path().join("country.mmdb"), networks).unwrap();
    folder
});

pub(super) fn of(table: &str) -> &'static Samples {
    ALL.iter().find(|samples| samples.table == table).unwrap()
}

impl Samples {
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.samples.iter().map(|(key, ..)| *key)
    }

    /// Returns minimal files that contain the table.
    pub(super) fn least(&self) -> impl Iterator<Item = String> {
        self.least.iter().map(|keys| self.file(&read(keys)))
    }

    /// Returns the keys that every minimal file of the table requires.
    pub(super) fn required(&self) -> Vec<String> {
        let mut required: Option<Vec<String>> = None;
        for keys in self.least.iter().map(|keys| read(keys)) {
            let is_required = |key: &String| {
                let mut others = keys.clone();
                others.remove(key);
                Config::parse(&self.file(&others)).is_err()
            };
            let of_this: Vec<String> =
                keys.keys().filter(|key| is_required(key)).cloned().collect();
            required.get_or_insert_with(|| of_this.clone()).retain(|key| of_this.contains(key));
        }
        required.unwrap_or_default()
    }

    /// Parses a file whose table contains `key` with the number `value`, and the other keys that `key` requires.
    pub(super) fn with(&self, key: &str, value: u64) -> Result<Config, Problems> {
        let (_, beside, _) = self.sample(key);
        let keys = read(&format!("{key} = {value}"));
        let least = self.least[0];
        Config::parse(&self.file(&merged(merged(read(least), read(beside)), keys)))
    }

    pub(super) fn reload(&self, key: &str) -> Reload {
        let is_of_run = ["input", "network", "probe"].contains(&self.table);
        let [without, with] = self.files(key);
        let configs = [&without, &with].map(|file| Config::parse(file).unwrap());
        let alone = effect(&configs, take_over);
        let probes = |file: &String| Config::parse(&format!("{file}\n[network]\nprobes = ['a']\n"));
        let in_network = [&without, &with].map(probes);
        let network = match in_network {
            [Ok(without), Ok(with)] if !is_of_run => Some(effect(&[without, with], follow)),
            _ => None,
        };
        Reload { alone, network }
    }

    fn sample(&self, key: &str) -> &Sample {
        self.samples.iter().find(|(name, ..)| *name == key).unwrap()
    }

    /// Returns two files: one without the sample of `key`, and one with the sample.
    fn files(&self, key: &str) -> [String; 2] {
        let (_, beside, value) = self.sample(key);
        let value = value.replace("FOLDER", FOLDER.path().to_str().unwrap());
        let value = read(&format!("{key} = {value}"));
        let files = self.least.iter().map(|least| {
            let without = merged(read(least), read(beside));
            [&without, &merged(without.clone(), value.clone())].map(|keys| self.file(keys))
        });
        let mut files = files.filter(|files| files.iter().all(|file| Config::parse(file).is_ok()));
        files.next().unwrap_or_else(|| panic!("no file of {} has a sample of {key}", self.table))
    }

    fn file(&self, keys: &Table) -> String {
        let mut keys = keys.clone();
        let (table, kind) = self.table.split_once(' ').unwrap_or((self.table, ""));
        if !kind.is_empty() {
            keys.insert("type".to_owned(), kind.into());
        }
        let file = match table {
            "" => keys,
            "input" | "network" | "probe" | "network-views" => {
                [(table.to_owned(), keys.into())].into_iter().collect()
            }
            "rule" => {
                let rules = vec![keys, read(OTHER_RULE)].into();
                // What is usual is stored in the state.
                let state = ("state".to_owned(), "/state".into());
                [(table.to_owned(), rules), state].into_iter().collect()
            }
            "sink" => {
                let labels = vec![read("name = 'l'\nnetworks = ['192.0.2.0/24']")];
                let tables = [(table, vec![keys]), ("label", labels)];
                tables.map(|(name, tables)| (name.to_owned(), tables.into())).into_iter().collect()
            }
            _ => [(table.to_owned(), vec![keys].into())].into_iter().collect(),
        };
        file.to_string()
    }
}

fn read(keys: &str) -> Table {
    keys.parse().unwrap()
}

/// Merges `others` into `keys`. Values of `others` take precedence.
fn merged(mut keys: Table, others: Table) -> Table {
    for (key, value) in others {
        let value = match (keys.remove(&key), value) {
            (Some(Value::Table(keys)), Value::Table(others)) => merged(keys, others).into(),
            (_, value) => value,
        };
        keys.insert(key, value);
    }
    keys
}

/// Returns the effect of `reload` between two configurations, tested in both directions.
fn effect([one, other]: &[Config; 2], reload: fn(&Config, &Config) -> bool) -> Effect {
    assert!(parts(one) != parts(other), "a sample changes nothing of {one:?}");
    match (reload(one, other), reload(other, one)) {
        (true, true) => Effect::Applied,
        (false, false) => Effect::Restart,
        _ => Effect::AppliedIfItFits,
    }
}

/// Returns whether a reload of `srlg run` applies the change from `now` to `next`.
fn take_over(now: &Config, next: &Config) -> bool {
    let mut taken = now.clone();
    let lines = taken.take_over(next.clone());
    // A change that is not logged is applied.
    assert!(!lines.is_empty() || parts(&taken) == parts(next), "{now:?} became {taken:?}");
    lines.is_empty()
}

/// Returns whether a reload of `srlg collect` applies the change from `now` to `next`.
fn follow(now: &Config, next: &Config) -> bool {
    Network::of(now, 0).is_of(next) && take_over(now, next)
}

/// Returns the settings of a configuration as text. Detector sizes are left out, because a reload does not change them.
fn parts(config: &Config) -> String {
    let Config { task, source, general, views, names, sinks } = config;
    let Names { labels, exporters, origins: _ } = names;
    let mut parts = format!("{task:?} {source:?} {general:?} {labels:?} {exporters:?} {sinks:?}");
    for view in views {
        let ViewConfig { name, view, pairs, memory, sizes: _, rules } = view;
        write!(parts, " {name} {view:?} {pairs:?} {memory:?} {rules:?}").unwrap();
    }
    parts
}
