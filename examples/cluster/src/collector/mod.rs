//! The collector: merges the deltas of all probes, and reports.

mod rule;

use anyhow::{Result, bail};

use crate::connect::Access;

/// What `srlg-cluster collector` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The network and its broker.
    #[command(flatten)]
    pub access: Access,
}

/// Runs until it is told to stop.
///
/// # Errors
/// Always: there is no collector yet.
pub fn run(_args: Args) -> Result<()> {
    bail!("there is no collector yet")
}
