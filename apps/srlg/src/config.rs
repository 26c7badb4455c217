//! The configuration of a process, from a TOML file or only from command-line options.
//!
//! ```text
//! text --[document, file]--> File --[resolve]--> Config
//! options of a command -----> File
//! File --[trial]--> problems on this machine
//! ```
//!
//! Invariant: a [`Config`] is complete and valid. If a file has problems, the error lists all of them with their line
//! numbers, and no configuration is created.

pub mod blind_spots;
mod document;
mod file;
#[cfg(feature = "network")]
mod network;
pub mod options;
mod peers;
#[cfg(test)]
mod reference;
mod resolve;
pub mod source;
mod thresholds;
mod trial;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use srlg_input::InputOptions;
use tracing::{info, warn};

use crate::network::options::{NetworkOptions, ProbeOptions};
use blind_spots::{BlindSpot, blind_spots};
use document::NO_LINE;
pub use document::Problems;
pub use file::General;
use file::{File, RuleTable, Tables, Window};
pub(crate) use resolve::REPLIES;
use source::SourceOptions;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::names::Names;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::manager::view_alerts::BELOW_DOWN;
use srlg_notify::sinks::SinkOptions;
pub(crate) use thresholds::{LEAST_THRESHOLD, all_hosts, most_threshold};

/// Warning about a view for which
/// [`takes_ports_of_answers`](srlg_input::ViewOptions::takes_ports_of_answers) returns `true`.
pub(crate) const PORTS_OF_ANSWERS: &str = "ports of replies also count, so busy servers look like scanners and busy clients look scanned; set only = \"initiated\" if the input reports initiators";

/// Warning about `learn`.
const LEARNING: &str =
    "`learn` is set, so no sink is notified; remove it when `srlg suggest` is sure";

/// The task of a process, which follows from the tables of its configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// `srlg run`, which raises alerts about the traffic of one input.
    Monitor,
    /// `srlg collect`, which raises alerts about the traffic of all probes of a network.
    Collector(NetworkOptions),
    /// `srlg probe`, which counts the traffic of one input for a collector. It has no views, because the collector
    /// defines them.
    Probe(ProbeOptions),
}

impl Task {
    /// Returns the reason why another command rejects the configuration.
    #[must_use]
    pub const fn mismatch(&self) -> &'static str {
        match self {
            Self::Monitor => {
                "the configuration has neither [network] nor [probe]; add one of them, or use `srlg run`"
            }
            Self::Collector(_) => "the configuration has [network]; use `srlg collect`",
            Self::Probe(_) => "the configuration has [probe]; use `srlg probe`",
        }
    }
}

/// The complete configuration of a process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Task of the process.
    pub task: Task,
    /// Source of contacts, unless contacts come from probes.
    pub source: InputOptions,
    /// General settings, which do not belong to a view, a network or a sink.
    pub general: General,
    /// Views, in the order of the file.
    pub views: Vec<ViewConfig>,
    /// Names of networks, exporters and origins. The databases of origins are empty until
    /// [`read_databases`](Self::read_databases) is called.
    pub names: Names,
    /// Sinks of notifications.
    pub sinks: Vec<SinkOptions>,
}

/// A configuration that was checked on this machine.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The configuration.
    pub config: Config,
    /// Notes and warnings, which are not errors.
    pub notes: Problems,
}

impl Config {
    /// Creates the alert manager of all views, without alerts.
    #[must_use]
    pub fn manager(&self) -> AlertManager {
        let General { slice, url, .. } = &self.general;
        AlertManager::new(&self.views, *slice, self.names.clone(), url.clone())
    }

    /// Reads the configuration file `path`. The error lists all problems.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::parse(&read_text(path)?).map_err(|problems| problems.of(path))?)
    }

    /// Parses the configuration `text`. The error lists all problems.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let file = File::read(text, &mut problems);
        resolve::resolve(file, problems).map_err(|problems| problems.with_lines(text))
    }

    /// Like [`read`](Self::read), but a given `source` replaces the source in the file.
    pub(crate) fn read_with_source(path: &Path, source: &SourceOptions) -> Result<Self> {
        Self::read(path)?.with_source(source)
    }

    /// Reads the configuration file `path`, and checks on this machine the files, addresses and programs that it names.
    /// A given `source` replaces the source in the file.
    pub fn check(path: &Path, source: &SourceOptions) -> Result<Checked> {
        let text = read_text(path)?;
        let of = |problems: Problems| problems.with_lines(&text).of(path);
        let mut problems = Problems::default();
        let file = File::read(&text, &mut problems);
        let mut notes = trial::run(&file, source, &mut problems);
        let config = resolve::resolve(file.clone(), problems).map_err(of)?.with_source(source)?;
        if config.general.learn {
            notes.add(file.span_in("learn", ""), format!("note: {LEARNING}"));
        }
        for spot in blind_spots(&config) {
            let (span, kind) = match &spot {
                BlindSpot::Unreachable(it) => (file.span_of_rule(&it.rule, &it.view), "warning"),
                BlindSpot::OneWay(it) => (file.span_of_view(&it.view), "note"),
                BlindSpot::FewSources(_)
                | BlindSpot::SlowScans(_)
                | BlindSpot::PortScans(_)
                | BlindSpot::ReplyScans(_)
                | BlindSpot::ShortWindows(_) => (NO_LINE, "note"),
                BlindSpot::Sampled(_) if source.is_given() => (NO_LINE, "note"),
                BlindSpot::Sampled(_) => (file.span_in("input", "sampling"), "note"),
            };
            notes.add(span, format!("{kind}: {spot}"));
        }
        Ok(Checked { config, notes: of(notes) })
    }

    /// Reads the databases of ASes and countries that the configuration names.
    pub fn read_databases(&mut self) -> Result<()> {
        self.names.origins = self.general.origins()?;
        Ok(())
    }

    /// Returns this configuration with `source` in place of its source, if one is given. A probe needs a source, because
    /// it would notice a missing one only after it has connected.
    fn with_source(mut self, source: &SourceOptions) -> Result<Self> {
        if source.is_given() {
            source.replace(&mut self.source);
            self.source.check()?;
        }
        if let Task::Probe(probe) = &self.task {
            let is_live = self.source.is_live();
            ensure!(
                is_live || !self.source.input.is_empty(),
                "no input configured; set one of input, listen, listen-tcp, interface and url in [input] or as an option"
            );
            ensure!(
                !is_live || probe.pace.is_none(),
                "pace: must be set only for files that are not live"
            );
        }
        Ok(self)
    }

    /// Returns the sinks to notify: none while the program learns what is usual.
    pub(crate) fn active_sinks(&self) -> &[SinkOptions] {
        if !self.general.learn {
            return &self.sinks;
        }
        warn!("{LEARNING}");
        &[]
    }

    /// Returns the options of the network.
    ///
    /// # Errors
    ///
    /// Returns an error if this is not the configuration of a collector.
    pub fn network(&self) -> Result<&NetworkOptions> {
        match &self.task {
            Task::Collector(network) => Ok(network),
            other => Err(anyhow!(other.mismatch())),
        }
    }

    /// Creates a configuration with the default views. An alert of a host starts at `threshold` peers within `window`,
    /// and that of a network at eight times as many.
    pub fn simple(
        source: &SourceOptions,
        general: &General,
        threshold: u32,
        window: Duration,
    ) -> Result<Self> {
        let rule = |name: &str, views: &[&str], threshold: f64| RuleTable {
            name: name.to_owned(),
            views: views.iter().map(ToString::to_string).collect(),
            thresholds: [(Window::from(window), threshold)].into(),
            ..RuleTable::default()
        };
        let threshold = f64::from(threshold);
        let resolve = |rules| {
            let tables = Tables { rules, ..Tables::default() };
            let file = File { general: general.clone(), tables, ..File::default() };
            resolve::resolve(file, Problems::default())
        };
        let of_hosts = rule("default", &[], threshold);
        // Otherwise, a problem of `threshold` or `window` would be reported twice.
        resolve(vec![of_hosts.clone()])?;
        let of_networks =
            rule("networks", &resolve::NETWORKS, thresholds::NETWORK_FACTOR * threshold);
        resolve(vec![of_hosts, of_networks])?.with_source(source)
    }

    /// Applies the changes in `next` that do not need a restart. Logs the result. Returns whether all changes were
    /// applied, or `None` if `next` is an error.
    pub(crate) fn reload(&mut self, next: Result<Self>) -> Option<bool> {
        match next {
            Ok(next) => {
                let left = self.take_over(next);
                left.iter().for_each(|line| warn!("{line}"));
                let in_part = if left.is_empty() {
                    ""
                } else {
                    " in part; the warnings above list the other changes"
                };
                info!("configuration reloaded{in_part}");
                Some(left.is_empty())
            }
            Err(error) => {
                format!("{error:#}").lines().for_each(|line| warn!("{line}"));
                warn!("cannot reload the configuration; the previous one stays in use");
                None
            }
        }
    }

    /// Applies the rules, allow lists, labels and exporter names of `next`, and opens the databases that `next` names.
    /// Returns a line for each change that cannot be applied.
    pub fn take_over(&mut self, next: Self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut check = |is_same: bool, what: &str| {
            if !is_same {
                lines.push(format!("{what} changed; restart srlg to apply this"));
            }
            is_same
        };
        let (now, then) = (&self.general, &next.general);
        let is_same_slice = now.slice == then.slice;
        let http =
            |it: &General| (it.http, it.http_public, it.http_names.clone(), it.http_tokens.clone());
        let is_same_http = http(now) == http(then);
        check(self.source == next.source, "input");
        check(self.task == next.task, "[network] or [probe]");
        check(now.grace == then.grace, "grace");
        check(now.device == then.device, "device");
        check(is_same_http, "http, http-public, http-names or http-tokens");
        check(now.url == then.url, "url");
        check(now.state == then.state, "state");
        check(now.checkpoint == then.checkpoint, "checkpoint");
        check(now.keep == then.keep, "keep");
        check(now.learn == then.learn, "learn");
        check(now.silent_after == then.silent_after, "silent-after");
        check(self.sinks == next.sinks, "[[sink]]");
        let names = self.views.iter().map(|view| &view.name);
        check(names.eq(next.views.iter().map(|view| &view.name)), "the list of [[view]]");
        for view in &mut self.views {
            let found = next.views.iter().find(|next| next.name == view.name);
            let Some(next) = found.filter(|_| is_same_slice) else { continue };
            let is_same = check(
                view.view == next.view,
                &format!("view {}: hosts, peers or contacts", view.name),
            );
            let is_same_size = (view.pairs, view.memory) == (next.pairs, next.memory);
            check(is_same_size, &format!("view {}: pairs or memory", view.name));
            let (sizes, wanted) = (&view.sizes, &next.sizes);
            let fits = check(
                wanted.window <= sizes.window && wanted.threshold >= sizes.threshold,
                &format!(
                    "view {}: the rules (its detector supports only windows up to {} and alert ends at {:.0} peers or more)",
                    view.name,
                    humantime::format_duration(self.general.slice * sizes.window),
                    f64::from(sizes.threshold) / BELOW_DOWN
                ),
            );
            if is_same && fits {
                view.rules = next.rules.clone();
            }
        }
        self.names = Names { origins: self.names.origins.clone(), ..next.names };
        match next.general.origins() {
            Ok(origins) => {
                let General { as_file, country_file, .. } = next.general;
                self.names.origins = origins;
                (self.general.as_file, self.general.country_file) = (as_file, country_file);
            }
            Err(error) => lines.push(format!("{error:#}; the previous databases stay in use")),
        }
        if !is_same_slice {
            lines.push("slice changed; restart srlg to apply this and the rules".to_owned());
        }
        lines
    }
}

/// Logs each view of `config` that counts ports of replies, and each blind spot.
pub(crate) fn warn_of_views(config: &Config) {
    for view in config.views.iter().filter(|view| view.view.takes_ports_of_answers()) {
        warn!("view {}: {PORTS_OF_ANSWERS}", view.name);
    }
    for spot in blind_spots(config) {
        match spot {
            // The default configuration has these blind spots, too.
            BlindSpot::FewSources(_)
            | BlindSpot::SlowScans(_)
            | BlindSpot::PortScans(_)
            | BlindSpot::ReplyScans(_) => info!("{spot}"),
            _ => warn!("{spot}"),
        }
    }
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests;
