//! `srlg demo`: plays attacks over loopback and checks that each attack raises exactly one alert per round, with a
//! start and an end.
//!
//! ```text
//! Attacks --NetFlow v9--> site: `srlg run`                             --notifications--> Verdict
//! [attacks]  [exporter]   network: three probes, a broker, a collector                    [verdict]
//! ```
//!
//! All parts except the exporters are processes of this program, which work in a temporary folder and stop with the
//! demonstration. They write their notifications to a file, which this module reads.

mod attacks;
mod exporter;
#[cfg(feature = "network")]
mod network;
mod node;
mod site;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(not(feature = "network"))]
use anyhow::bail;
use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use attacks::{Attacks, ROUND};
use node::{Node, PAUSE};
use verdict::Verdict;

/// Top-level settings for both a site and a network, except for the length of a slice.
const GENERAL: &str = "inside = ['10.0.0.0/8', '2001:db8::/32']\n";

/// Rules for both a site and a network.
const RULES: &str = "
[[rule]]
name = 'hosts'
thresholds = { 5s = 500 }
hold = '2s'

[[rule]]
name = 'networks'
views = ['networks-in', 'networks-out']
thresholds = { 5s = 3000 }
hold = '2s'
";

/// Input of a site.
const INPUT: &str =
    "\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\nsampling = 1\n";

const CONFIG_FILE: &str = "srlg.toml";
const ALERTS_FILE: &str = "alerts.ndjson";

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

/// A demonstration before its processes have started.
struct Stage<'a> {
    folder: &'a Path,
    attacks: Attacks,
    length: Duration,
    http: SocketAddr,
    verdict: &'a mut Verdict,
    /// Texts of the configuration files, by name.
    files: BTreeMap<String, String>,
    /// Whether a signal has stopped the demonstration.
    is_stopped: Arc<AtomicBool>,
}

/// Plays the attacks against a site or a network and checks the alerts, unless a signal stops the demonstration.
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
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&is_stopped)).context("cannot handle signals")?;
    }
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let stage = Stage {
        folder: folder.path(),
        attacks,
        length: Duration::from_secs(args.seconds),
        http: args.http,
        verdict: &mut verdict,
        files: BTreeMap::new(),
        is_stopped: Arc::clone(&is_stopped),
    };
    if !args.network {
        site::play(stage)?;
    } else {
        #[cfg(feature = "network")]
        network::play(stage)?;
        #[cfg(not(feature = "network"))]
        bail!(crate::features::missing("--network", "network"));
    }
    if is_stopped.load(Relaxed) {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if verdict.print()? { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Stage<'_> {
    /// Writes the configuration file with the top-level settings in `settings` and the tables in `tables`.
    fn configure(&mut self, settings: &str, tables: &str) -> Result<()> {
        let http = self.http;
        let text = format!(
            "{GENERAL}{settings}http = '{http}'\nstate = 'state'\n{tables}{RULES}\n\
             [[sink]]\ntype = 'file'\npath = '{ALERTS_FILE}'\n"
        );
        self.write(CONFIG_FILE, &text)
    }

    /// Writes the configuration file `name`.
    fn write(&mut self, name: &str, text: &str) -> Result<()> {
        self.files.insert(name.to_owned(), text.to_owned());
        let written = fs::write(self.folder.join(name), text);
        written.context("cannot write into the temporary folder")
    }

    /// Exports the attacks to the addresses `to`, and records all notifications of `nodes`.
    fn play(self, what: &str, page: &str, to: &[SocketAddr], mut nodes: Vec<Node>) -> Result<()> {
        self.announce(what, page)?;
        let Self { folder, attacks, length, verdict, is_stopped, .. } = self;
        let exporter = exporter::start(attacks, to, length)?;
        let (started, mut read) = (Instant::now(), 0);
        while verdict.may_change(started.elapsed(), length) {
            thread::sleep(PAUSE);
            if is_stopped.load(Relaxed) {
                break;
            }
            nodes.iter_mut().try_for_each(Node::check)?;
            let text = fs::read_to_string(folder.join(ALERTS_FILE)).unwrap_or_default();
            // A line without a line break is still being written.
            let end = text.rfind('\n').map_or(0, |end| end + 1);
            for line in text[read..end].lines() {
                verdict.record(serde_json::from_str(line)?, started.elapsed())?;
            }
            read = end;
        }
        exporter.stop()?;
        writeln!(io::stdout())?;
        Ok(())
    }

    fn announce(&self, what: &str, page: &str) -> io::Result<()> {
        let Self { attacks, length, files, .. } = self;
        let mut out = io::stdout().lock();
        for (name, text) in files {
            writeln!(out, "configuration file {name}:\n")?;
            for line in text.lines() {
                let margin = if line.is_empty() { "" } else { "    " };
                writeln!(out, "{margin}{line}")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "{what} for {} s", length.as_secs())?;
        writeln!(out, "the page is at {page}")?;
        for planted in attacks.planted() {
            writeln!(out, "simulated: {planted}")?;
        }
        if attacks.rounds > 1 {
            let rounds = attacks.rounds;
            writeln!(out, "the attacks are played every {ROUND} s, {rounds} times in total")?;
        }
        writeln!(out)
    }
}
