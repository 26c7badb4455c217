//! What a monitor watches, and when it alerts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use ipnet::IpNet;
use srlg_alert::{Rule, Terms};
use srlg_contact::parse_network;
use srlg_host::{Config, Hash, random_seed};
use srlg_input::InputOptions;

/// What `srlg-monitor run` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
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

    /// Time below the threshold after which an alert ends
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub hold: Duration,

    /// How long after its end a slice waits for contacts on their way
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub grace: Duration,

    /// File that alerts are added to, a line of JSON each; - is standard output
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    pub alerts: PathBuf,
}

impl Options {
    /// Returns the number of slices in the window.
    ///
    /// # Errors
    /// Lengths that are none of slices and windows.
    pub fn slices(&self) -> Result<u32> {
        let (window, slice) = (self.window.as_millis(), self.slice.as_millis());
        ensure!(
            slice > 0 && self.slice.subsec_nanos().is_multiple_of(1_000_000),
            "--slice is {:?}: give a whole number of milliseconds, at least 1",
            self.slice
        );
        ensure!(
            window >= slice && window.is_multiple_of(slice),
            "--window is {:?}: give a multiple of --slice, {:?}",
            self.window,
            self.slice
        );
        Ok(u32::try_from(window / slice)?)
    }

    /// Returns the rule of all hosts.
    ///
    /// # Errors
    /// A threshold that is none.
    pub fn rule(&self) -> Result<Rule> {
        let hold_ms = u64::try_from(self.hold.as_millis())?;
        let terms = Terms { threshold: self.threshold.into(), hold_ms, ..Terms::default() };
        Ok(Rule::new("default", terms)?)
    }

    /// Returns the sizes of the detector of a view. Hosts are reported from below the count at which an alert ends; who sends
    /// traffic cannot know the hashes.
    ///
    /// # Errors
    /// No randomness, or a threshold that no detector has.
    pub fn detector(&self) -> Result<Config> {
        let least = f64::from(self.threshold) * Terms::default().down * 0.9;
        let threshold = (least as u32).max(8);
        let preset = Config::default();
        let linear_width = preset.linear_width.max(threshold.div_ceil(2).next_multiple_of(32));
        let (window, seed) = (self.slices()?, random_seed()?);
        Ok(Config { threshold, window, linear_width, hash: Hash::HalfSip13, seed, ..preset })
    }
}
