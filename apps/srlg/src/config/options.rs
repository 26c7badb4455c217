//! Options of `srlg run`: a configuration file, or options for a simple configuration.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use srlg_input::InputOptions;

use crate::config::{Config, General};
use srlg_notify::sinks::SinkOptions;

/// Options of `srlg run`.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Configuration file; input options given here override it, and all other settings belong in the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inside", "threshold", "window", "slice", "hold", "grace", "device", "http", "state", "silent_after"])]
    pub config: Option<PathBuf>,

    /// Source of contacts.
    #[command(flatten)]
    pub source: InputOptions,

    /// General settings, which a configuration file can also contain.
    #[command(flatten)]
    pub general: General,

    /// Number of distinct peers within the window at which an alert starts
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub window: Duration,

    /// Time that a count must stay below 0.8 times the threshold before its alert ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub hold: Duration,

    /// File to which notifications are appended as lines of JSON; - is standard output, the default if no sink is
    /// configured
    #[arg(long, value_name = "FILE|-")]
    pub alerts: Option<PathBuf>,
}

impl Options {
    /// Returns the configuration from the file or, without a file, from the options. Input options replace the input of
    /// the file, and `alerts` adds a sink.
    pub fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => {
                let (source, general) = (self.source.clone(), self.general.clone());
                Config::simple(source, general, self.threshold, self.window, self.hold)?
            }
        };
        config.set_input(&self.source);
        if let Some(path) = &self.alerts {
            config.sinks.push(SinkOptions::file(path.clone()));
        } else if config.sinks.is_empty() {
            config.sinks.push(SinkOptions::file("-".into()));
        }
        Ok(config)
    }
}
