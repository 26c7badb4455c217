//! Processes of this program that stop with the demonstration.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};

/// Maximum time for a process to start on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval at which files and processes are checked.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// A process that is killed when this value is dropped.
pub(super) struct Node {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Node {
    /// Starts this program in `folder` with `args`.
    pub(super) fn start(folder: &Path, name: &'static str, args: &[&str]) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log)?).spawn();
        Ok(Self { name, child: child.with_context(|| format!("cannot start {name}"))?, log })
    }

    /// Waits for the URL of the web page.
    pub(super) fn page(&mut self) -> Result<String> {
        self.wait_for("the page is at ")
    }

    /// Waits for the address at which the process receives flow exports.
    pub(super) fn receives_at(&mut self) -> Result<SocketAddr> {
        Ok(self.wait_for("receiving flow exports on ")?.parse()?)
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

    /// Waits until the process has ended. If it fails, returns its last log line as an error.
    #[cfg(feature = "network")]
    pub(super) fn end(mut self) -> Result<()> {
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(self.failure(status)) }
    }

    /// Returns an error if the process has stopped.
    pub(super) fn check(&mut self) -> Result<()> {
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
