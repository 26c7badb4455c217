//! `srlg demo`: plays attacks over loopback and checks that each attack raises exactly one alert per round, with a
//! start and an end.
//!
//! ```text
//! Attacks --NetFlow v9--> site: a monitor in this process               --notifications--> Verdict
//! [attacks]  [exporter]   network: three probes, a broker, a collector                     [verdict]
//! ```

mod attacks;
mod exporter;
#[cfg(feature = "network")]
mod network;
mod site;
mod verdict;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(not(feature = "network"))]
use anyhow::bail;
use anyhow::{Result, ensure};

use attacks::{Attacks, ROUND};
use verdict::Verdict;

/// Top-level settings for both a site and a network, except for the length of a slice.
const GENERAL: &str = "inside = ['10.0.0.0/8', '2001:db8::/32']\n";

/// Rule for both a site and a network.
const RULE: &str = "[[rule]]\nname = 'default'\nthresholds = { 5s = 500 }\nhold = '2s'\n";

/// Options of `srlg demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show a network of three sites instead of one site
    #[arg(long)]
    pub network: bool,

    /// Duration in seconds, at least 20; the attacks are repeated every 20 seconds
    #[arg(long, value_name = "N", default_value_t = ROUND)]
    pub seconds: u64,

    /// File to which notifications are written, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub alerts: Option<PathBuf>,

    /// Listen address for the web page
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub http: SocketAddr,

    /// Seed of the traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Plays the attacks against a site or a network and checks the alerts.
///
/// # Errors
///
/// Returns an error if an option is invalid, or if a part of the demonstration cannot start or stops early.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.seconds >= ROUND,
        "--seconds: must be at least {ROUND} for the attacks and their ends, got {}",
        args.seconds
    );
    let attacks = Attacks::new(args.seed, args.seconds);
    let mut verdict = Verdict::new(&attacks, args.alerts.as_deref())?;
    let (length, http) = (Duration::from_secs(args.seconds), args.http);
    if !args.network {
        site::play(attacks, length, http, &mut verdict)?;
    } else {
        #[cfg(feature = "network")]
        network::play(attacks, length, http, &mut verdict)?;
        #[cfg(not(feature = "network"))]
        bail!(crate::features::missing("--network", "network"));
    }
    Ok(if verdict.print()? { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn announce(what: &str, page: &str, length: Duration, attacks: &Attacks) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{what} for {} s", length.as_secs())?;
    writeln!(out, "the page is at {page}")?;
    for planted in attacks.planted() {
        writeln!(out, "simulated: {planted}")?;
    }
    if attacks.rounds > 1 {
        writeln!(out, "the attacks are played every {ROUND} s, {} times in total", attacks.rounds)?;
    }
    writeln!(out)
}
