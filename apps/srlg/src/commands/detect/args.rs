//! Options of the command and the detector that they describe.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgGroup, ValueEnum};
use srlg_host::config::{HashFamily, random_seed};
use srlg_host::{Config, Device, SlidingDetector};
use srlg_input::{InputOptions, ViewOptions};

/// Default grace time of live input. Reader threads may deliver contacts with the same timestamp at different times.
const LIVE_GRACE: Duration = Duration::from_millis(100);

/// Options of `srlg detect`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "listen_tcp", "interface", "url"]).multiple(true)))]
pub struct Args {
    /// Source of contacts.
    #[command(flatten)]
    pub source: InputOptions,

    /// Hosts and peers to count.
    #[command(flatten)]
    pub view: ViewOptions,

    /// Minimum number of distinct peers of a super point
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of a slice, such as 1s, 500ms or 5m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_slice)]
    pub slice: Duration,

    /// Length of the window, in slices
    #[arg(long, value_name = "SLICES", default_value_t = 300)]
    pub window: u32,

    /// Maximum delay at which a contact still counts in its own slice, in slices [default: window - 1]
    #[arg(long, value_name = "SLICES")]
    pub late: Option<u32>,

    /// Time that a slice waits after its end for late contacts [default: 100ms for live input, else 0s]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub grace: Option<Duration>,

    /// Ignore contacts further ahead of the running slice than this [default: only those more than a day ahead of the
    /// system clock]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub max_gap: Option<Duration>,

    /// Device to use: auto (the first GPU, else the CPU), cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Cpu)]
    pub device: Device,

    /// Scheme and sizes: tagged recorders (default), or the paper's scheme
    #[arg(long, value_enum, default_value = "default")]
    pub preset: Preset,

    /// Seed of the hashes [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Protect against crafted traffic: hash with HalfSipHash-1-3 and a random seed, unless --seed gives a secret one
    #[arg(long)]
    pub hostile: bool,

    /// Output format: table has one line per host with its peak; ndjson and csv have one line per super point and
    /// slice
    #[arg(long, value_enum, default_value = "table")]
    pub output: Format,

    /// Number of sampled peers to show per super point, at most 64, most recent first; not available with the preset
    /// paper
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub peers: usize,

    /// Show one line per super point and slice in the table, instead of one line per host
    #[arg(long)]
    pub every_slice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    Paper,
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Ndjson,
    Csv,
}

impl Args {
    /// Returns the time that a slice waits after its end for late contacts.
    pub fn grace(&self) -> Duration {
        let default = if self.source.is_live() { LIVE_GRACE } else { Duration::ZERO };
        self.grace.unwrap_or(default)
    }

    /// Creates the detector that the options describe.
    pub fn detector(&self) -> Result<SlidingDetector> {
        let preset = match self.preset {
            Preset::Paper => Config::paper(),
            Preset::Default => Config::default(),
        };
        let preset = preset.for_threshold(self.threshold);
        let config = Config { window: self.window, ..self.hashing(preset)? };
        Ok(SlidingDetector::new(config, self.device)?)
    }

    /// Returns `preset` with the hash family and seed of the options. A random seed is never shown, because anyone who
    /// knows it can craft traffic.
    fn hashing(&self, preset: Config) -> Result<Config> {
        Ok(match (self.hostile, self.seed) {
            (false, seed) => Config { seed: seed.unwrap_or(0), ..preset },
            (true, Some(seed)) => Config { hash: HashFamily::HalfSip13, seed, ..preset },
            (true, None) => Config { hash: HashFamily::HalfSip13, seed: random_seed()?, ..preset },
        })
    }
}

fn parse_slice(text: &str) -> Result<Duration> {
    let slice = humantime::parse_duration(text)?;
    if slice.is_zero() || !slice.subsec_nanos().is_multiple_of(1_000_000) {
        bail!("must be a whole number of milliseconds and at least 1ms");
    }
    Ok(slice)
}
