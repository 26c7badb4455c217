//! Stand-ins for the commands `probe`, `collect` and `setup`, in a program that was built without the feature
//! `network`.

use std::ffi::OsString;
use std::fmt;

use anyhow::{Result, bail};

use crate::features::missing;

/// The arguments of a command that this program does not have.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

/// Another collector has changed the network. This program has no collector, so this error does not occur.
#[derive(Debug)]
pub enum Superseded {}

impl fmt::Display for Superseded {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// Fails, because this program does not have the command.
pub fn run(_: &Args) -> Result<()> {
    bail!(missing("networks of probes and a collector", "network"))
}
