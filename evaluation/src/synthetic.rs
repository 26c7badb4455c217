//! Options of all commands that measure on synthetic traffic in windows.
//!
//! Shape: [`Synthetic`]. Invariant: what a command measures follows from them, its loads and the
//! numbers of its windows.

use crate::number;
use crate::study::Details;
use clap::Args;
use srlg_traffic::synthetic::Model;

#[derive(Args, Clone, Copy)]
pub(crate) struct Synthetic {
    /// Seconds in a window; a slice is one second, but for windows that do not slide
    #[arg(long, default_value = "300", value_parser = number::count)]
    pub(crate) window: u32,
    /// Distinct opposite hosts that make a super point
    #[arg(long, default_value = "1024", value_parser = number::count)]
    pub(crate) threshold: u32,
    /// Model of the traffic: backbone, metro, flood, slow-scan, flash-crowd or persistent
    #[arg(long, default_value = "backbone")]
    pub(crate) traffic: Model,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    pub(crate) seed: u64,
}

impl Synthetic {
    /// The options, for JSON.
    pub(crate) fn details(&self) -> Details {
        vec![
            ("window", self.window.into()),
            ("threshold", self.threshold.into()),
            ("traffic", self.traffic.name().into()),
            ("seed", self.seed.into()),
        ]
    }
}
