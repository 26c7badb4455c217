//! A local broker, for the demonstration and for tests.
//!
//! [`Broker::start`] runs `nats-server` in a folder that `srlg setup` has created. Invariant: the server stops when the
//! [`Broker`] is dropped. After a restart, it still has all messages that it had acknowledged.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::network::setup::CONF_FILE;

/// Commands that start the broker, in the order in which they are tried. Debian installs `nats-server` in a folder that
/// is not on every user's PATH.
const PROGRAMS: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];

/// Log file of the broker, in its folder.
pub const LOG_FILE: &str = "nats.log";

/// Log text of a broker whose port is already in use.
const PORT_TAKEN: &str = "address already in use";

/// Maximum startup time of a broker.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running `nats-server`, which is killed when this value is dropped.
#[derive(Debug)]
pub struct Broker {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Broker {
    /// Returns whether a `nats-server` is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        program().is_ok()
    }

    /// Starts a broker with the `nats.conf` of `folder` on a free loopback port and waits until it answers.
    pub fn start(folder: &Path) -> Result<Self> {
        loop {
            let broker = Self::start_on(folder, free_port()?);
            // Another process may take the port before the broker does. In this case, the next attempt uses a new port.
            let is_taken = |error: &anyhow::Error| error.to_string().contains(PORT_TAKEN);
            if !broker.as_ref().is_err_and(is_taken) {
                return broker;
            }
        }
    }

    fn start_on(folder: &Path, port: u16) -> Result<Self> {
        let mut child = spawn(folder, port)?;
        wait(&mut child, folder, port)?;
        Ok(Self { folder: folder.to_owned(), port, child })
    }

    /// Returns the address for clients, as `HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// Returns the process ID of the broker.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops the broker with SIGKILL, as abruptly as a power failure would.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Kills the broker and starts it again, on the same port and with the same store.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.child = spawn(&self.folder, self.port)?;
        wait(&mut self.child, &self.folder, self.port)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // A broker that has already stopped cannot be killed.
        let _gone = self.kill();
    }
}

fn program() -> Result<&'static str> {
    let runs = |program: &&str| {
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    PROGRAMS.into_iter().find(runs).context(
        "cannot find nats-server on PATH; install the package nats-server, or see https://nats.io/download",
    )
}

fn spawn(folder: &Path, port: u16) -> Result<Child> {
    let path = folder.join(LOG_FILE);
    let log = File::options().create(true).append(true).open(&path);
    let log = log.with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new(program()?);
    command.current_dir(folder).args(["-c", CONF_FILE, "-a", "127.0.0.1", "-p", &port.to_string()]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().context("cannot start nats-server")
}

/// Waits until the broker is ready and greets clients. Fails if it stops, or if it takes longer than [`PATIENCE`].
fn wait(child: &mut Child, folder: &Path, port: u16) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // A greeting without this log line could come from another broker that took the port first.
        if listens(folder, child.id()) && greets(port) {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            let log = std::fs::read_to_string(folder.join(LOG_FILE)).unwrap_or_default();
            bail!(
                "nats-server stopped ({status}): {}",
                log.lines().last().unwrap_or("the log is empty")
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    bail!("nats-server did not answer within {PATIENCE:?}; see {}", folder.join(LOG_FILE).display())
}

/// Returns whether the log shows that the process `id` is ready. Log lines begin with the process ID.
fn listens(folder: &Path, id: u32) -> bool {
    let log = std::fs::read_to_string(folder.join(LOG_FILE)).unwrap_or_default();
    let own = format!("[{id}]");
    log.lines().any(|line| line.starts_with(&own) && line.ends_with("Server is ready"))
}

/// Returns whether the broker sends INFO, its first message to a client.
fn greets(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let greeting = || -> io::Result<[u8; 4]> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting)?;
        Ok(greeting)
    };
    greeting().is_ok_and(|greeting| &greeting == b"INFO")
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .context("cannot find a free port for the broker")?;
    Ok(listener.local_addr()?.port())
}
