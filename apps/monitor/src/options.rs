//! What `srlg-monitor run` takes: a configuration, or the simple case by options alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use ipnet::IpNet;
use srlg_host::Device;
use srlg_input::InputOptions;
use srlg_input::contact::parse_network;
use toml::Spanned;

use crate::config::{Config, File, RuleFile, Text};
use crate::sinks::SinkOptions;

/// What `srlg-monitor run` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// File of the configuration; an input that is named beside takes the place of the one in the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inside", "threshold", "window", "slice", "hold", "grace", "device", "http", "state"])]
    pub config: Option<PathBuf>,

    /// Where contacts come from.
    #[command(flatten)]
    pub source: InputOptions,

    /// Inside network, repeatable; without one all hosts are inside, and no outside hosts are watched
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    pub inside: Vec<IpNet>,

    /// Distinct opposite hosts within the window that start an alert
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub window: Duration,

    /// Length of a slice, by which the window moves
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub slice: Duration,

    /// Time below 0.8 of the threshold after which an alert ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub hold: Duration,

    /// How long after its end a slice waits for contacts on their way
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub grace: Duration,

    /// Where views are counted: cpu, cuda, cuda:N or auto
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Cpu)]
    pub device: Device,

    /// File that alerts are added to, a line of JSON each; - is standard output, where they go without any sink
    #[arg(long, value_name = "FILE|-")]
    pub alerts: Option<PathBuf>,

    /// Address of the page, the metrics and the interface of programs
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// Folder of the state: with a state a restart continues with the window, with open alerts and with notices that sinks wait for
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl Options {
    /// Returns what is to be done.
    ///
    /// # Errors
    /// What is wrong with the file, or with the options.
    pub fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::of(self.file())?,
        };
        if self.config.is_none() || self.names_input() {
            config.source = self.source.clone();
        }
        if let Some(path) = &self.alerts {
            config.sinks.push(SinkOptions::file(path.clone()));
        } else if config.sinks.is_empty() {
            config.sinks.push(SinkOptions::file("-".into()));
        }
        Ok(config)
    }

    fn names_input(&self) -> bool {
        !self.source.input.is_empty() || self.source.is_live()
    }

    /// The file that says the same as the options.
    fn file(&self) -> File {
        let text = |value: String| -> Text { Spanned::new(0..0, value) };
        let time = |value: Duration| text(humantime::format_duration(value).to_string());
        let window = humantime::format_duration(self.window).to_string();
        let thresholds = BTreeMap::from([(window, f64::from(self.threshold))]);
        let rule = RuleFile {
            name: text("default".to_owned()),
            views: Vec::new(),
            networks: Vec::new(),
            thresholds: Spanned::new(0..0, thresholds),
            down: None,
            for_slices: None,
            of_slices: None,
            hold: Some(time(self.hold)),
            repeat: None,
        };
        File {
            inside: self.inside.iter().map(|network| text(network.to_string())).collect(),
            slice: Some(time(self.slice)),
            grace: Some(time(self.grace)),
            device: Some(text(self.device.to_string())),
            http: self.http.map(|address| text(address.to_string())),
            state: self.state.as_ref().map(|path| text(path.display().to_string())),
            rule: vec![rule],
            ..File::default()
        }
    }
}
