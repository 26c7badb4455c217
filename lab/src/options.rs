//! Options that several commands share: the sizes of detectors, and the settings of synthetic traffic.

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use srlg_core::Config;
use srlg_input::number;
use srlg_traffic::synthetic::Model;

use crate::results::{Details, details};

/// A named configuration. Commands that measure all presets use [`Preset::value_variants`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Preset {
    Paper,
    Default,
}

impl Preset {
    pub(crate) fn config(self) -> Config {
        match self {
            Self::Paper => Config::paper(),
            Self::Default => Config::default(),
        }
    }

    /// Returns the name that selects the preset on the command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub(crate) fn label(self) -> String {
        format!("preset {}", self.name())
    }
}

#[derive(Args)]
pub(crate) struct Sizes {
    /// Scheme and sizes of the detector
    #[arg(long, value_enum, default_value = "default")]
    pub(crate) preset: Preset,
    /// Plan the sizes for the load and this many bytes of recorders
    #[arg(long, value_parser = number::integer, conflicts_with = "preset")]
    pub(crate) memory: Option<u64>,
}

impl Sizes {
    /// Returns `base` or, if `memory` is set, the plan for `load` distinct pairs per window.
    pub(crate) fn config(&self, base: Config, load: u32) -> Result<Config> {
        self.memory.map_or(Ok(base), |memory| planned(base, load.into(), memory))
    }

    /// Returns the name of the preset, or "planned".
    pub(crate) fn name(&self) -> String {
        self.memory.map_or(self.preset.name(), |_| "planned".to_owned())
    }
}

/// Returns the plan for `load` distinct pairs per window and `memory` bytes of recorders, with the window, threshold
/// and seed of `base`.
pub(crate) fn planned(base: Config, load: u64, memory: u64) -> Result<Config> {
    let memory = usize::try_from(memory).context("--memory is too large")?;
    let plan = Config::for_load(base.threshold, base.window, load, memory)?;
    Ok(Config { seed: base.seed, ..plan.config })
}

/// Options for synthetic traffic in windows. Together with the other options of a command, they determine all results
/// except times.
#[derive(Args, Clone, Copy)]
pub(crate) struct Synthetic {
    /// Seconds per window. A slice is one second long, but a window that does not slide is a single slice
    #[arg(long, default_value = "300", value_parser = number::count)]
    pub(crate) window: u32,
    /// Minimum number of distinct peers of a super point
    #[arg(long, default_value = "1024", value_parser = number::count)]
    pub(crate) threshold: u32,
    /// Traffic model: backbone, metro, flood, slow-scan, flash-crowd or persistent
    #[arg(long, default_value = "backbone")]
    pub(crate) traffic: Model,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    pub(crate) seed: u64,
}

impl Synthetic {
    pub(crate) fn config(&self, preset: Preset) -> Config {
        let Self { window, threshold, seed, .. } = *self;
        Config { window, threshold, seed, ..preset.config() }
    }

    pub(crate) fn details(&self) -> Details {
        details!(self => window, threshold, seed; "traffic": self.traffic.name())
    }
}
