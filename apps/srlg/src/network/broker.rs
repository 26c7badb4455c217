//! A broker of this machine's own, for the demonstration and for tests.
//!
//! Shape: [`Broker::start`] runs `nats-server` in a folder that `setup` has made. Invariant: it is gone
//! when the value is dropped, and started again it has what it had acknowledged.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::network::setup::CONF_FILE;

/// Debian's package puts it where not everybody's PATH looks.
const PROGRAMS: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];

/// What the broker writes, in its folder.
pub const LOG_FILE: &str = "nats.log";

/// What a broker says that finds another program on its port.
const PORT_TAKEN: &str = "address already in use";

/// A broker may take so long to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running `nats-server`, which dies with this value.
#[derive(Debug)]
pub struct Broker {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Broker {
    /// Whether there is a `nats-server` to start.
    #[must_use]
    pub fn is_installed() -> bool {
        program().is_ok()
    }

    /// Starts a broker with the `nats.conf` of `folder` on a free port of this machine alone,
    /// and waits until it answers.
    pub fn start(folder: &Path) -> Result<Self> {
        loop {
            let broker = Self::start_on(folder, free_port()?);
            // Somebody else was faster: the next port is another one.
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

    /// `HOST:PORT`, for clients.
    #[must_use]
    pub fn address(&self) -> String {
        format!("localhost:{}", self.port)
    }

    /// Ends it as a loss of power would end the process: by SIGKILL.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Kills it and starts it again, on the same port with the same store.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.child = spawn(&self.folder, self.port)?;
        wait(&mut self.child, &self.folder, self.port)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // One that has died already cannot be killed, and is gone as well.
        let _gone = self.kill();
    }
}

/// Where `nats-server` is.
fn program() -> Result<&'static str> {
    let runs = |program: &&str| {
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    PROGRAMS.into_iter().find(runs).context(
        "there is no nats-server on PATH: apt-get install nats-server, or https://nats.io/download",
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

/// Waits until the broker listens and greets, or is gone.
fn wait(child: &mut Child, folder: &Path, port: u16) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // A greeting alone could be that of another broker, which took the port first.
        if listens(folder, child.id()) && greets(port) {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            let log = std::fs::read_to_string(folder.join(LOG_FILE)).unwrap_or_default();
            bail!(
                "nats-server ended, {status}: {}",
                log.lines().last().unwrap_or("without a word")
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    bail!(
        "nats-server has not answered within {PATIENCE:?}: see {}",
        folder.join(LOG_FILE).display()
    )
}

/// Whether the log says so of the process `id`: lines begin with it.
fn listens(folder: &Path, id: u32) -> bool {
    let log = std::fs::read_to_string(folder.join(LOG_FILE)).unwrap_or_default();
    let own = format!("[{id}]");
    log.lines().any(|line| line.starts_with(&own) && line.ends_with("Server is ready"))
}

/// The first thing that a broker says is INFO.
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
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free for the broker")?;
    Ok(listener.local_addr()?.port())
}
