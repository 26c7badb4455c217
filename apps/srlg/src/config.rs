//! What a monitor watches, and when it alerts: a file of TOML, or options of the command alone.
//!
//! ```text
//! text --[document, file]--> File --[resolve]--> Config
//! options of a command -----> File
//! File --[trial]--> what cannot be used on this machine
//! ```
//!
//! Invariant: a [`Config`] is whole and right: whatever is wrong was told before, with its line.

mod document;
mod file;
pub mod options;
mod resolve;
mod trial;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_input::contact::Networks;
use srlg_input::{InputOptions, ViewOptions};
use tracing::{info, warn};

use crate::alerts::book::BELOW_DOWN;
use crate::alerts::rules::Rules;
use crate::exporters::ExporterNames;
use crate::network::options::NetworkOptions;
use crate::notify::sinks::SinkOptions;
use crate::origins::OriginLookup;
pub use document::Problems;
pub use file::General;
pub(crate) use file::parse_silence;
use file::{File, RuleTable, Tables, Window};

/// A warning about a view with [`takes_ports_of_answers`](ViewOptions::takes_ports_of_answers).
pub(crate) const PORTS_OF_ANSWERS: &str = "ports of answers count, too, so that a busy server looks like a scanner and a busy client like a host that is scanned; give only = \"initiated\" if the input says who began";

/// Everything that a monitor does.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where contacts come from, unless probes tell of them.
    pub source: InputOptions,
    /// The network whose probes tell of contacts.
    pub network: Option<NetworkOptions>,
    /// Settings that are not about a view, a network or a sink.
    pub general: General,
    /// Views, in the order of the file.
    pub views: Vec<ViewConfig>,
    /// Labels of networks.
    pub labels: Networks<String>,
    /// Names of exporters.
    pub exporters: ExporterNames,
    /// Databases of ASes and countries; none until they are [read](Self::read_databases).
    pub origins: OriginLookup,
    /// Where notices go.
    pub sinks: Vec<SinkOptions>,
}

/// A configuration that can be used on this machine.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The configuration.
    pub config: Config,
    /// Findings that are not mistakes on every machine.
    pub notes: Problems,
}

/// A view with its rules.
#[derive(Clone, Debug)]
pub struct ViewConfig {
    /// Its name.
    pub name: String,
    /// Contacts that count, and the hosts that they count for.
    pub view: ViewOptions,
    /// Distinct pairs of the longest window that the detector is sized for, if they are given.
    pub pairs: Option<u64>,
    /// Bytes that the detector may take, if they are given.
    pub memory: Option<usize>,
    /// Sizes of its detector, with seed 0.
    pub sizes: srlg_host::Config,
    /// The rules of its hosts.
    pub rules: Rules,
}

impl Config {
    /// Reads the configuration in the file `path`.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(Self::parse(&read_text(path)?).map_err(|problems| problems.of(path))?)
    }

    /// Reads the configuration `text`. The error names all problems.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let file = File::read(text, &mut problems);
        resolve::resolve(file, problems).map_err(|problems| problems.with_lines(text))
    }

    /// Reads the configuration in the file `path`, and tries what it names on this machine. An input of `source` takes the place
    /// of the one in the file.
    pub fn check(path: &Path, source: &InputOptions) -> Result<Checked> {
        let text = read_text(path)?;
        let of = |problems: Problems| problems.with_lines(&text).of(path);
        let mut problems = Problems::default();
        let file = File::read(&text, &mut problems);
        let notes = trial::run(&file, is_input(source).then_some(source), &mut problems);
        let mut config = resolve::resolve(file, problems).map_err(of)?;
        config.take_input(source);
        Ok(Checked { config, notes: of(notes) })
    }

    /// Reads the databases of ASes and countries that the configuration names.
    pub fn read_databases(&mut self) -> Result<()> {
        self.origins = OriginLookup::open(&self.general)?;
        Ok(())
    }

    /// Takes the input of `source` in place of that of the file, if it names one.
    fn take_input(&mut self, source: &InputOptions) {
        if is_input(source) {
            self.source = source.clone();
        }
    }

    /// Makes the configuration with the usual views and one rule for all hosts, which starts an alert at `threshold` peers
    /// within `window`, and ends it after `hold`.
    pub fn simple(
        source: InputOptions,
        general: General,
        threshold: u32,
        window: Duration,
        hold: Duration,
    ) -> Result<Self, Problems> {
        let rule = RuleTable {
            name: "default".to_owned(),
            thresholds: [(Window::from(window), threshold.into())].into(),
            hold: Some(hold),
            ..RuleTable::default()
        };
        let tables = Tables { input: source, rules: vec![rule], ..Tables::default() };
        resolve::resolve(File { general, tables, ..File::default() }, Problems::default())
    }

    /// Takes over what can be taken over of `next` without a restart, and logs what becomes of it. Returns whether that was
    /// all of it, or none where `next` is an error.
    pub(crate) fn reload(&mut self, next: Result<Self>) -> Option<bool> {
        match next {
            Ok(next) => {
                let left = self.take_over(next);
                left.iter().for_each(|line| warn!("{line}"));
                let in_part = if left.is_empty() { "" } else { " in part" };
                info!("the configuration is reloaded{in_part}");
                Some(left.is_empty())
            }
            Err(error) => {
                format!("{error:#}").lines().for_each(|line| warn!("{line}"));
                warn!(
                    "the configuration is not reloaded: the one that was read before stays in force"
                );
                None
            }
        }
    }

    /// Takes over the rules, the allow lists, the labels and the names of exporters of `next`, and reads its databases again.
    /// Returns what cannot be taken over, a line each.
    pub fn take_over(&mut self, next: Self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut check = |is_same: bool, what: &str| {
            if !is_same {
                lines.push(format!("{what} changed: restart srlg for that"));
            }
            is_same
        };
        let (now, then) = (&self.general, &next.general);
        let is_same_slice = now.slice == then.slice;
        let http =
            |it: &General| (it.http, it.http_public, it.http_names.clone(), it.http_tokens.clone());
        let is_same_http = http(now) == http(then);
        check(self.source == next.source, "the input is");
        check(self.network == next.network, "the network is");
        check(now.grace == then.grace, "grace is");
        check(now.device == then.device, "device is");
        check(is_same_http, "http is");
        check(now.url == then.url, "url is");
        check(now.state == then.state, "state is");
        check(now.checkpoint == then.checkpoint, "checkpoint is");
        check(now.keep == then.keep, "keep is");
        check(now.silent_after == then.silent_after, "silent-after is");
        check(self.sinks == next.sinks, "the list of sinks is");
        let names = self.views.iter().map(|view| &view.name);
        check(names.eq(next.views.iter().map(|view| &view.name)), "the list of views is");
        for view in &mut self.views {
            let found = next.views.iter().find(|next| next.name == view.name);
            let Some(next) = found.filter(|_| is_same_slice) else { continue };
            let is_same =
                check(view.view == next.view, &format!("what the view {} measures is", view.name));
            let is_same_size = (view.pairs, view.memory) == (next.pairs, next.memory);
            check(is_same_size, &format!("pairs or memory of the view {} is", view.name));
            let (sizes, wanted) = (&view.sizes, &next.sizes);
            let fits = check(
                wanted.window <= sizes.window && wanted.threshold >= sizes.threshold,
                &format!(
                    "the view {} was sized for windows of up to {} and for alerts that end at {:.0} or more, down times the threshold, and the rules are",
                    view.name,
                    humantime::format_duration(self.general.slice * sizes.window),
                    f64::from(sizes.threshold) / BELOW_DOWN
                ),
            );
            if is_same && fits {
                view.rules = next.rules.clone();
            }
        }
        (self.labels, self.exporters) = (next.labels, next.exporters);
        match OriginLookup::open(&next.general) {
            Ok(origins) => self.origins = origins,
            Err(error) => lines.push(format!("{error:#}; the former databases stay in use")),
        }
        if !is_same_slice {
            lines.push("slice is changed: restart srlg for that, and for the rules".to_owned());
        }
        lines
    }
}

/// Logs a warning about each of `views` that takes ports of answers.
pub(crate) fn warn_of_ports(views: &[ViewConfig]) {
    for view in views.iter().filter(|view| view.view.takes_ports_of_answers()) {
        warn!("in the view {}: {PORTS_OF_ANSWERS}", view.name);
    }
}

/// Returns whether `source` names an input.
fn is_input(source: &InputOptions) -> bool {
    !source.input.is_empty() || source.is_live()
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests;
