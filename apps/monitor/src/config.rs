//! What a monitor watches, and when it alerts: a file of TOML, or options of the command alone.
//!
//! ```text
//! file --[file]--> File --[resolve]--> Config <--[options]-- options of the command
//! ```
//!
//! Invariant: a [`Config`] is whole and right: whatever is wrong was told before, with its line.

mod file;
mod problem;
mod resolve;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_host::Device;
use srlg_input::InputOptions;
use srlg_input::contact::{Networks, ViewOptions};

use crate::rules::Rules;
use crate::sinks::SinkOptions;
use crate::watch::BELOW_DOWN;
pub use file::{File, RuleFile, Text};
pub use problem::Problems;

/// Holds all that a monitor does.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where contacts come from.
    pub source: InputOptions,
    /// Length of a slice.
    pub slice: Duration,
    /// How long after its end a slice waits for contacts on their way.
    pub grace: Duration,
    /// Where they are counted.
    pub device: Device,
    /// Views, in the order of the file.
    pub views: Vec<ViewConfig>,
    /// What networks are called.
    pub labels: Networks<String>,
    /// Address of the page, the metrics and the interface of programs.
    pub http: Option<SocketAddr>,
    /// Whether others than this machine may ask there.
    pub http_public: bool,
    /// Folder of the state that outlives a restart.
    pub state: Option<PathBuf>,
    /// Time between two checkpoints.
    pub checkpoint: Duration,
    /// How long notices are kept.
    pub keep: Duration,
    /// Where notices go.
    pub sinks: Vec<SinkOptions>,
}

/// Holds a view with its rules.
#[derive(Clone, Debug)]
pub struct ViewConfig {
    /// Its name.
    pub name: String,
    /// Which contacts count, and for whom.
    pub view: ViewOptions,
    /// `pairs` and `memory`, as they are written.
    pub load: (Option<u64>, Option<usize>),
    /// Sizes of its detector, with seed 0.
    pub sizes: srlg_host::Config,
    /// The rules of its hosts.
    pub rules: Rules,
}

impl Config {
    /// Reads the configuration in the file `path`.
    ///
    /// # Errors
    /// A file that cannot be read, and [`Problems`].
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::parse(&text).map_err(|problems| problems.of(path))?)
    }

    /// Reads the configuration `text`.
    ///
    /// # Errors
    /// [`Problems`]: all of them where the text is TOML, else the first.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let file: File = toml::from_str(text).map_err(|error| Problems::of_toml(text, &error))?;
        resolve::resolve(file).map_err(|problems| problems.with_lines(text))
    }

    /// Makes the configuration that `file` describes, which is not that of a text.
    ///
    /// # Errors
    /// [`Problems`].
    pub fn of(file: File) -> Result<Self, Problems> {
        resolve::resolve(file)
    }

    /// Takes over the rules, the allow lists and the labels of `next`, and returns what cannot be taken over without a
    /// restart, a line each.
    pub fn take_over(&mut self, next: Self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut check = |is_same: bool, what: &str| {
            if !is_same {
                lines.push(format!("{what} changed: restart the monitor for that"));
            }
            is_same
        };
        check(format!("{:?}", self.source) == format!("{:?}", next.source), "the input is");
        let is_same_slice = self.slice == next.slice;
        check(self.grace == next.grace, "grace is");
        let http = |config: &Self| (config.http, config.http_public);
        check(http(self) == http(&next), "http is");
        check(self.state == next.state, "state is");
        check(self.checkpoint == next.checkpoint, "checkpoint is");
        check(self.keep == next.keep, "keep is");
        check(self.sinks == next.sinks, "the list of sinks is");
        let names = |config: &Self| -> Vec<String> {
            config.views.iter().map(|view| view.name.clone()).collect()
        };
        check(names(self) == names(&next), "the list of views is");
        for view in &mut self.views {
            let found = next.views.iter().find(|next| next.name == view.name);
            let Some(next) = found.filter(|_| is_same_slice) else { continue };
            let is_same = format!("{:?}", view.view) == format!("{:?}", next.view);
            let is_same = check(is_same, &format!("what the view {} measures is", view.name));
            check(view.load == next.load, &format!("pairs or memory of the view {} is", view.name));
            let (sizes, wanted) = (&view.sizes, &next.sizes);
            let fits = check(
                wanted.window <= sizes.window && wanted.threshold >= sizes.threshold,
                &format!(
                    "the view {} was sized for windows of up to {} and for alerts that end at {:.0} or more, down times the threshold, and the rules are",
                    view.name,
                    humantime::format_duration(self.slice * sizes.window),
                    f64::from(sizes.threshold) / BELOW_DOWN
                ),
            );
            if is_same && fits {
                view.rules = next.rules.clone();
            }
        }
        self.labels = next.labels;
        if !is_same_slice {
            lines.push(
                "slice is changed: restart the monitor for that, and for the rules".to_owned(),
            );
        }
        lines
    }
}

#[cfg(test)]
mod tests;
