//! The command line, and the detector that it asks for.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgGroup, ValueEnum};
use srlg_host::config::{HashFamily, random_seed};
use srlg_host::{Config, Device, SlidingDetector};
use srlg_input::{InputOptions, ViewOptions};

/// Several threads may hand on what came at one time, one after the other.
const LIVE_GRACE: Duration = Duration::from_millis(100);

/// Options of `srlg detect`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "interface", "kafka", "nats"])))]
pub struct Args {
    /// Where contacts come from.
    #[command(flatten)]
    pub source: InputOptions,

    /// What is measured.
    #[command(flatten)]
    pub view: ViewOptions,

    /// Distinct opposite hosts that make a super point
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub threshold: u32,

    /// Length of a slice: 1s, 500ms, 5m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_slice)]
    pub slice: Duration,

    /// Slices in the window
    #[arg(long, value_name = "SLICES", default_value_t = 300)]
    pub window: u32,

    /// Slices that a packet may be late and still count in its own [default: window - 1]
    #[arg(long, value_name = "SLICES")]
    pub late: Option<u32>,

    /// How long after its end a slice waits for contacts on their way [default: 100ms of what is live, else 0s]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub grace: Option<Duration>,

    /// A time stamp further ahead than this is rejected as broken [default: only those from later than tomorrow]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub max_gap: Option<Duration>,

    /// Where to run: auto (the first GPU, else the CPU), cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Auto)]
    pub device: Device,

    /// Scheme, sizes and sampling: tagged recorders, or the paper's as printed
    #[arg(long, value_enum, default_value = "default")]
    pub preset: Preset,

    /// Seed of the hashes [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Somebody may send traffic to mislead: hash by HalfSipHash-1-3, with a seed from the system's randomness unless --seed gives a secret one
    #[arg(long)]
    pub hostile: bool,

    /// table: a line per host, with its peak; ndjson, csv: a line per super point and slice
    #[arg(long, value_enum, default_value = "table")]
    pub output: Format,

    /// Opposite hosts to show below each super point: up to N out of a sample of 64, the last seen first, each with the slice in which that was; the preset paper has no sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub peers: usize,

    /// In the table, too, a line per super point and slice
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
    /// How long after its end a slice waits.
    pub fn grace(&self) -> Duration {
        let default = if self.source.is_live() { LIVE_GRACE } else { Duration::ZERO };
        self.grace.unwrap_or(default)
    }

    /// The detector that the options describe.
    pub fn detector(&self) -> Result<SlidingDetector> {
        let preset = match self.preset {
            Preset::Paper => Config::paper(),
            Preset::Default => Config::default(),
        };
        let config = Config {
            threshold: self.threshold,
            window: self.window,
            // Very large thresholds need longer linear estimators than the presets', of whole lines.
            linear_width: preset.linear_width.max(self.threshold.div_ceil(2).next_multiple_of(32)),
            ..self.hashing(preset)?
        };
        Ok(SlidingDetector::new(config, self.device)?)
    }

    /// `preset` with the hashes that the options ask for. A seed from the system is told to
    /// nobody: who knows it can choose traffic for it.
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
        bail!("give a whole number of milliseconds, at least 1");
    }
    Ok(slice)
}
