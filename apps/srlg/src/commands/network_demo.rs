//! The whole of it on one machine: a broker, three probes and a collector, and the truth beside.
//!
//! Shape: processes of their own in a temporary folder, which end with the demonstration; generated
//! traffic of which each probe sees a third of all pairs. Invariant: it succeeds only if the reports of the
//! last slice agree with the exact answer as far as their standard errors allow (`verdict`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use srlg_traffic::family::Family;
use srlg_traffic::oracle::ExactWindow;

use crate::config::Config;
use crate::network::Network;
use crate::network::broker::Broker;
use crate::network::setup;
use crate::network::subjects::Part;
use crate::probe::traffic::Traffic;

mod verdict;

use verdict::{Point, Truth};

const PROBES: [&str; 3] = ["lisbon", "oslo", "turin"];
const SLICES: u32 = 30;
const FIRST: u64 = 1_000_000;
const PAIRS: u32 = 300_000;
const FAMILY: Family = Family::Mixed;
const REPORTS: &str = "reports.ndjson";
const CONFIG_FILE: &str = "srlg.toml";

/// Of the usual views, whose hosts are reported from 1024 opposite hosts on.
const CONFIG: &str = "state = 'state'

[network]
probes = ['lisbon', 'oslo', 'turin']
broker = 'localhost:4222'

[[rule]]
name = 'all'
thresholds = { 5m = 1423 }
";

/// Everything is there by then, on a slow machine too.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs the demonstration.
pub fn run() -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let folder = folder.path();
    let network =
        network(&Config::parse(CONFIG).map_err(|problems| problems.of(Path::new(CONFIG_FILE)))?);
    setup::make(folder, &network, &["localhost".to_owned()], 4222)?;
    let broker = Broker::start(folder)?;
    let config = CONFIG.replace("localhost:4222", &broker.address());
    fs::write(folder.join(CONFIG_FILE), config)?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "a broker, {} probes and a collector: {SLICES} slices of traffic ...",
        PROBES.len()
    )?;
    let nodes = Nodes::start(folder, &broker.address())?;
    let truth = truth(&network);
    let points = nodes.last_report()?;
    verdict::print(&mut out, &PROBES, &truth, &points)?;
    let faults = verdict::faults(&truth, &points, network.views[0].sizes.threshold);
    faults.iter().try_for_each(|fault| writeln!(out, "{fault}"))?;
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The seed is fixed: the demonstration is the same on every machine.
fn network(config: &Config) -> Network {
    Network::of(config, &PROBES.map(str::to_owned), 1)
}

fn traffic(share: Part) -> Traffic {
    Traffic {
        generate: Some(PAIRS),
        slices: SLICES,
        first_slice: Some(FIRST),
        share,
        family: FAMILY,
        traffic_seed: 1,
    }
}

/// The exact answer at the end of the last slice, of the network and of each probe.
fn truth(network: &Network) -> Truth {
    let shares = [Part::WHOLE].into_iter().chain(Part::all(PROBES.len() as u32));
    let exact = shares.map(|share| {
        let mut window = ExactWindow::new(network.window());
        let mut last = Vec::new();
        for pairs in traffic(share).slices() {
            pairs.into_iter().for_each(|pair| window.touch(pair));
            last = window.close_slice(1);
        }
        last.into_iter().collect()
    });
    let mut exact: Vec<_> = exact.collect();
    Truth { family: FAMILY, whole: exact.remove(0), probes: exact }
}

/// Processes of the demonstration, which end with it.
struct Nodes {
    folder: PathBuf,
    collector: Node,
    probes: Vec<Node>,
}

struct Node {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Nodes {
    fn start(folder: &Path, broker: &str) -> Result<Self> {
        let options = ["--config", CONFIG_FILE, "--reports", REPORTS].map(str::to_owned);
        let collector = Node::start(folder, "collect", &options)?;
        let probes = Part::all(PROBES.len() as u32).zip(PROBES).map(|(share, name)| {
            let traffic = [
                format!("--generate={PAIRS}"),
                format!("--slices={SLICES}"),
                format!("--first-slice={FIRST}"),
                format!("--share={share}"),
                format!("--family={FAMILY}"),
                "--pace=20".to_owned(),
                "--folder=.".to_owned(),
                format!("--broker={broker}"),
            ];
            Node::start(folder, name, &traffic)
        });
        Ok(Self { folder: folder.to_owned(), probes: probes.collect::<Result<_>>()?, collector })
    }

    /// Waits for the report of the last slice.
    fn last_report(mut self) -> Result<Vec<Point>> {
        let (start, last) = (Instant::now(), FIRST + u64::from(SLICES) - 1);
        while start.elapsed() < PATIENCE {
            let path = self.folder.join(REPORTS);
            let reports = fs::read_to_string(&path).unwrap_or_default();
            if let Some(points) = verdict::report(&reports, last)? {
                return Ok(points);
            }
            self.collector.check(false)?;
            self.probes.iter_mut().try_for_each(|probe| probe.check(true))?;
            thread::sleep(Duration::from_millis(50));
        }
        bail!("no report of the last slice within {PATIENCE:?}: {}", self.collector.said())
    }
}

impl Node {
    fn start(folder: &Path, name: &'static str, options: &[String]) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let program = std::env::current_exe().context("cannot find the file of this program")?;
        let mut command = Command::new(program);
        if PROBES.contains(&name) {
            command.arg("probe");
        }
        command.arg(name).args(options);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log)?).spawn();
        Ok(Self { name, child: child.with_context(|| format!("cannot start {name}"))?, log })
    }

    /// Fails where the process has ended, but for a good end where it may.
    fn check(&mut self, may_end: bool) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) if !(may_end && status.success()) => {
                bail!("{} ended, {status}: {}", self.name, self.said())
            }
            _ => Ok(()),
        }
    }

    /// The last line of its log.
    fn said(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().last().unwrap_or("without a word").to_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and is gone as well.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
