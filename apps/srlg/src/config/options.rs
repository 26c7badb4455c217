//! Options of `srlg run`: a configuration file, or options for a simple configuration.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use srlg_input::contact::{IpNet, parse_network};

use crate::config::source::SourceOptions;
use crate::config::{Config, General, Task};
use srlg_notify::sinks::SinkOptions;

/// Options of `srlg run`.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Configuration file; a source given here replaces its `[input]`, and all other settings belong in the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inside", "threshold", "window", "http", "state"])]
    pub config: Option<PathBuf>,

    /// Source of contacts.
    #[command(flatten)]
    pub source: SourceOptions,

    /// Inside network (repeatable); without one, all hosts are inside and there is no view of outside hosts
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    pub inside: Vec<IpNet>,

    /// Number of distinct peers within the window at which an alert starts
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub window: Duration,

    /// Listen address for the web page, /metrics and the JSON API; must be loopback, because there is no authentication
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// Folder for checkpoints and the database of alerts; with it, a restart keeps windows, active alerts and unsent
    /// notifications
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl Options {
    /// Returns the configuration from the file or, without a file, from the options. A given source replaces that of
    /// the file. If no sink is configured, notifications go to standard output.
    pub fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read_with_source(path, &self.source)?,
            None => {
                let Self { inside, http, state, threshold, window, source, .. } = self.clone();
                let general = General { inside, http, state, ..General::default() };
                Config::simple(&source, &general, threshold, window)?
            }
        };
        if config.task != Task::Monitor {
            bail!("cannot run: {}", config.task.mismatch());
        }
        if config.sinks.is_empty() {
            config.sinks.push(SinkOptions::file("-".into()));
        }
        Ok(config)
    }
}
