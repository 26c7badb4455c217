//! The demonstration of a network: three exporters, three probes, a broker and a collector on this machine.
//!
//! All parts except the exporters are processes that work in a temporary folder and stop with the demonstration. Each
//! site sees about a third of the pairs of each attack. The collector writes its notifications to a file, which this
//! module reads.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};

use super::attacks::Attacks;
use super::verdict::Verdict;
use super::{GENERAL, RULE, announce, exporter};
use crate::network::broker::Broker;

const PROBES: [&str; 3] = ["lisbon", "oslo", "turin"];
const CONFIG_FILE: &str = "srlg.toml";
const ALERTS_FILE: &str = "alerts.ndjson";

/// Maximum time for a process to start on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval at which files and processes are checked.
const PAUSE: Duration = Duration::from_millis(50);

/// Plays `attacks` to three probes, whose collector serves a web page at `http`.
pub(super) fn play(
    attacks: Attacks,
    length: Duration,
    http: SocketAddr,
    verdict: &mut Verdict,
) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let folder = folder.path();
    let broker = start_broker(folder, http)?;
    let mut collector = Node::start(folder, "collect", &["collect", "--config", CONFIG_FILE])?;
    let page = collector.wait_for("the page is at ")?;
    let (mut nodes, mut to) = (vec![collector], Vec::new());
    for name in PROBES {
        let mut args = vec!["probe", name, "--broker"];
        let broker = broker.address();
        args.extend([&broker, "--listen", "127.0.0.1:0", "--exporters", "127.0.0.1"]);
        args.extend(["--sampling", "1"]);
        let mut probe = Node::start(folder, name, &args)?;
        to.push(probe.wait_for("receiving flow exports on ")?.parse()?);
        nodes.push(probe);
    }
    announce("three exporters send NetFlow v9 to one probe each", &page, length, &attacks)?;
    let exporter = exporter::start(attacks, &to, length)?;
    let (started, mut read) = (Instant::now(), 0);
    while verdict.may_change(started.elapsed(), length) {
        thread::sleep(PAUSE);
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

/// Sets up the network in `folder` and starts its broker. The deadline is short, so that the slices in which probes are
/// still starting are closed before the attacks start.
fn start_broker(folder: &Path, http: SocketAddr) -> Result<Broker> {
    let configure = |broker: &str| {
        let text = format!(
            "{GENERAL}state = 'state'\nhttp = '{http}'\n\
             [network]\nprobes = ['{}']\nbroker = '{broker}'\ndeadline = '2s'\n{RULE}\
             [[sink]]\ntype = 'file'\npath = '{ALERTS_FILE}'\n",
            PROBES.join("', '")
        );
        fs::write(folder.join(CONFIG_FILE), text).context("cannot write into the temporary folder")
    };
    // The broker needs its keys to start, and its address is known only after the start.
    configure("localhost")?;
    let mut setup = Node::start(folder, "setup", &["setup", "--config", CONFIG_FILE])?;
    let status = setup.child.wait()?;
    if !status.success() {
        return Err(setup.failure(status));
    }
    let broker = Broker::start(folder)?;
    configure(&broker.address())?;
    Ok(broker)
}

/// A process that is killed when this value is dropped.
struct Node {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Node {
    fn start(folder: &Path, name: &'static str, args: &[&str]) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log)?).spawn();
        Ok(Self { name, child: child.with_context(|| format!("cannot start {name}"))?, log })
    }

    /// Waits for a log line that contains `text`, and returns the part of the line after `text`.
    fn wait_for(&mut self, text: &str) -> Result<String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let log = self.log();
            // A line without a line break is still being written.
            let lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some((_, rest)) = lines.filter_map(|line| line.split_once(text)).next() {
                return Ok(rest.trim().to_owned());
            }
            self.check()?;
            thread::sleep(PAUSE);
        }
        bail!("{} did not start within {PATIENCE:?}: {}", self.name, self.last_line())
    }

    /// Returns an error if the process has stopped.
    fn check(&mut self) -> Result<()> {
        self.child.try_wait()?.map_or(Ok(()), |status| Err(self.failure(status)))
    }

    fn failure(&self, status: ExitStatus) -> Error {
        anyhow!("{} stopped ({status}): {}", self.name, self.last_line())
    }

    fn last_line(&self) -> String {
        self.log().lines().last().unwrap_or("its log is empty").to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Killing fails if the process has already stopped.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
