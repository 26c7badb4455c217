//! [`Args`]: what the collector is told, and the limits that follow from it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use srlg_host::Device;

use super::alerts::AlertOptions;
use super::rule::Limits;
use super::stream::Retention;
use crate::network::Network;
use crate::network::connect::Access;

/// Options of `srlg collect`.
#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct Args {
    /// The network and its broker.
    #[command(flatten)]
    pub access: Access,

    /// Folder for checkpoints; no two collectors can have the same
    #[arg(long, value_name = "FOLDER", default_value = "collector")]
    pub state: PathBuf,

    /// A line of JSON per slice goes to this file, or to standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub reports: PathBuf,

    /// Alerts of the whole network.
    #[command(flatten)]
    pub alerting: AlertOptions,

    /// Opposite hosts in the line of each super point: up to N out of a sample of 64, the last seen first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub peers: usize,

    /// How long a slice waits for the last probes after most have delivered it
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub deadline: Duration,

    /// Deltas further ahead of the others are refused [default: two windows, at least 3600]
    #[arg(long, value_name = "SLICES")]
    pub max_skew: Option<u64>,

    /// Memory for deltas that wait for their slice; beyond, the oldest slice closes
    #[arg(long, value_name = "MB", default_value_t = 512)]
    pub pending_mb: usize,

    /// Slices between two checkpoints
    #[arg(long, value_name = "SLICES", default_value_t = 10)]
    pub checkpoint_every: u64,

    /// End after this slice has closed
    #[arg(long, value_name = "SLICE")]
    pub until_slice: Option<u64>,

    /// Where to run: auto, cpu, cuda, cuda:N
    #[arg(long, default_value = "auto")]
    pub device: Device,

    /// Answer GET /metrics and GET /status here; a port alone is one of this machine for itself
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub http: Option<SocketAddr>,

    /// How long the stream keeps messages, if it is made [default: two windows and 200 slices, at least a day]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub stream_age: Option<Duration>,

    /// How much the stream keeps, if it is made
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    pub stream_mb: u32,
}

impl Args {
    /// Refuses what cannot work.
    pub(super) fn check(&self, network: &Network) -> Result<()> {
        ensure!(self.checkpoint_every > 0, "--checkpoint-every is 0: give at least 1");
        ensure!(self.pending_mb > 0, "--pending-mb is 0: give at least 1");
        ensure!(self.stream_mb > 0, "--stream-mb is 0: give at least 1");
        let longest = Duration::from_secs(86_400);
        ensure!(self.deadline <= longest, "--deadline is {:?}: give at most a day", self.deadline);
        let (age, least) = (self.stream_age, self.least_age(network));
        if let Some(age) = age {
            ensure!(age >= least, "--stream-age is {age:?}: give at least {least:?}");
        }
        Ok(())
    }

    pub(super) fn limits(&self, network: &Network) -> Limits {
        let window = u64::from(network.config.window);
        Limits {
            deadline: self.deadline,
            // Probes speak once per slice.
            quiet: self.deadline + network.slice() * 2,
            max_skew: self.max_skew.unwrap_or((2 * window).max(3600)),
            max_pending: self.pending_mb << 20,
            window,
        }
    }

    pub(super) fn retention(&self, network: &Network) -> Retention {
        let least_age = self.least_age(network);
        let window = network.slice() * network.config.window;
        let age = (window * 2 + network.slice() * 200).max(Duration::from_secs(86_400));
        let age = self.stream_age.unwrap_or(age.max(least_age));
        Retention { age, bytes: i64::from(self.stream_mb) << 20, least_age }
    }

    /// From the last checkpoint but one on: probes may have forgotten what the last one has.
    fn least_age(&self, network: &Network) -> Duration {
        let slices = u32::try_from(self.checkpoint_every.saturating_mul(2)).unwrap_or(u32::MAX);
        network.slice().saturating_mul(slices.saturating_add(2)) + self.deadline
    }
}

/// `9108`, `127.0.0.1:9108`.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "give a port, or ADDRESS:PORT".to_owned())
}
