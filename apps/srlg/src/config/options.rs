//! Options of `srlg run`: a configuration file, or the simple case by options alone.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use srlg_input::InputOptions;

use crate::config::{Config, General};
use crate::notify::sinks::SinkOptions;

/// Options of `srlg run`.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// File of the configuration; an input that is named beside takes the place of the one in the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inside", "threshold", "window", "slice", "hold", "grace", "device", "http", "state"])]
    pub config: Option<PathBuf>,

    /// Where contacts come from.
    #[command(flatten)]
    pub source: InputOptions,

    /// Settings that a file has, too.
    #[command(flatten)]
    pub general: General,

    /// Distinct opposite hosts within the window that start an alert
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub window: Duration,

    /// Time below 0.8 of the threshold after which an alert ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub hold: Duration,

    /// File that alerts are added to, a line of JSON each; - is standard output, where they go without any sink
    #[arg(long, value_name = "FILE|-")]
    pub alerts: Option<PathBuf>,
}

impl Options {
    /// Returns the configuration that the options describe, or that of their file.
    pub fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => {
                let (source, general) = (self.source.clone(), self.general.clone());
                Config::simple(source, general, self.threshold, self.window, self.hold)?
            }
        };
        config.take_input(&self.source);
        if let Some(path) = &self.alerts {
            config.sinks.push(SinkOptions::file(path.clone()));
        } else if config.sinks.is_empty() {
            config.sinks.push(SinkOptions::file("-".into()));
        }
        Ok(config)
    }
}
