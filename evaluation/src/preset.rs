//! `--preset`: configurations by name.
//!
//! Shape: [`Preset`], one for every constructor of [`Config`]. Invariant: commands
//! that measure "all presets" take [`Preset::value_variants`], so none is forgotten.

use clap::ValueEnum;
use srlg_core::Config;

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

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}
