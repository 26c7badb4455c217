//! The command `srlg setup`, which creates the credentials of a network and the broker's configuration.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use async_nats::ServerAddr;

use crate::config::Config;
use crate::network::options::NetworkOptions;
use crate::network::setup::make;
use crate::network::subjects::COLLECTOR;

/// Options of `srlg setup`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration file with a `[network]` table that names the probes
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Further names or addresses of the broker, which its certificate must contain besides the configured one
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub host: Vec<String>,
}

/// Creates the credentials of the configured network and prints which files each machine needs.
pub fn run(args: &Args) -> Result<()> {
    let config = Config::read(&args.config)?;
    let options = config.network().context("cannot set up a network")?;
    let NetworkOptions { folder, probes, broker, .. } = options;
    let broker = broker.parse::<ServerAddr>()?;
    let mut hosts = vec![broker.host().to_owned()];
    hosts.extend(args.host.iter().filter(|host| *host != broker.host()).cloned());
    make(folder, probes, &hosts, broker.port())?;
    let mut out = std::io::stdout().lock();
    let folder = folder.display();
    writeln!(
        out,
        "{folder} contains the credentials of the broker, the collector and these probes: {}.",
        probes.join(", ")
    )?;
    writeln!(
        out,
        "broker      needs nats.conf, server.pem and server.key: cd {folder} && nats-server -c nats.conf"
    )?;
    writeln!(out, "collector   needs ca.pem, {COLLECTOR}.nk and the configuration")?;
    writeln!(out, "each probe  needs ca.pem and its own NAME.nk")?;
    writeln!(out, "All files except ca.pem, server.pem and nats.conf are secret.")?;
    Ok(())
}
