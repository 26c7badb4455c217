//! The command `srlg setup`, which creates the credentials of a network and the broker's configuration, and adds and
//! removes probes.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use async_nats::ServerAddr;

use crate::config::Config;
use crate::network::options::NetworkOptions;
use crate::network::setup::{self, CONF_FILE, make};
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

    /// Probe to add to the existing network; the keys of all other probes stay the same
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "remove"])]
    pub add: Option<String>,

    /// Probe to remove from the existing network; its key is deleted, and the keys of all other probes stay the same
    #[arg(long, value_name = "NAME", conflicts_with = "host")]
    pub remove: Option<String>,
}

/// Creates the credentials of the configured network, or changes its probes, and prints what each machine needs.
pub fn run(args: &Args) -> Result<()> {
    let config = Config::read(&args.config)?;
    let options = config.network().context("cannot set up a network")?;
    let NetworkOptions { folder, probes, broker, .. } = options;
    if let Some(probe) = &args.add {
        setup::add(folder, probe)?;
        return print_added(folder, probe, &args.config);
    }
    if let Some(probe) = &args.remove {
        setup::remove(folder, probe)?;
        return print_removed(folder, probe, &args.config);
    }
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

/// Prints what each machine needs after `probe` has been added.
fn print_added(folder: &Path, probe: &str, config: &Path) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} now has an account for the probe {probe}.",
        folder.join(CONF_FILE).display()
    )?;
    // After one reload, nats-server 2.9.10 accepts the key, but does not answer the probe.
    writeln!(
        out,
        "broker      needs the new nats.conf and a restart, because one reload is not enough"
    )?;
    writeln!(out, "new probe   needs ca.pem and {probe}.nk, which is secret")?;
    writeln!(out, "collector   needs {probe} in `probes` of {} and a restart", config.display())?;
    print_others(out)
}

/// Prints what each machine needs after `probe` has been removed.
fn print_removed(folder: &Path, probe: &str, config: &Path) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let conf = folder.join(CONF_FILE);
    writeln!(out, "{} no longer has an account for the probe {probe}.", conf.display())?;
    writeln!(
        out,
        "broker      needs the new nats.conf and a reload or restart, and then rejects {probe}"
    )?;
    writeln!(
        out,
        "collector   needs `probes` of {} without {probe} and a restart",
        config.display()
    )?;
    print_others(out)
}

fn print_others(mut out: impl Write) -> Result<()> {
    writeln!(out, "All other probes keep running with the files that they have.")?;
    Ok(())
}
