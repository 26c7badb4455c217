//! The programs of the test: a monitor, and a network of two probes, a collector and a broker.

use std::fs::{self, File};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_cli::network::broker::Broker;

use crate::accounts::Metrics;
use crate::disk::SmallDisk;
use crate::faketime::Clock;

/// Time limit for each wait, long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) const PROBES: [&str; 2] = ["a", "b"];

/// Size of a disk that is filled by a fault. Under this load, state takes a few megabytes.
const DISK: &str = "100m";

/// Maximum size of the broker's stream, in MB.
pub(crate) const STREAM_MB: u64 = 64;

/// Length of the window of [`RULE`], in seconds.
pub(crate) const WINDOW_S: f64 = 10.0;

/// A rule whose alerts start within about 5 s and end about 15 s after an attack.
const RULE: &str = "[[rule]]\nname = 'all'\nthresholds = { 10s = 1000 }\nhold = '5s'\n";

const LISTENING: &str = "listening for flow exports on ";
const RECEIVING: &str = "receiving flow exports on ";
const PAGE: &str = "the page is at ";

/// A process of srlg, which is killed when this value is dropped.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
    /// Length of the log when the process started.
    logged: usize,
}

impl Program {
    fn start(command: &mut Command, log: &Path) -> Self {
        let logged = fs::metadata(log).map_or(0, |log| log.len() as usize);
        let file = File::options().create(true).append(true).open(log).unwrap();
        // The systemd unit sets the same variable, so that glibc returns the memory of checkpoints.
        command.env("MALLOC_MMAP_THRESHOLD_", "131072");
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().unwrap();
        Self { child, log: log.to_owned(), logged }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the log of this process.
    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap().split_off(self.logged)
    }

    /// Waits for a log line that contains `words`, and returns the text after them.
    fn wait_for(&mut self, words: &str) -> String {
        let started = Instant::now();
        loop {
            let log = self.log();
            let lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some((_, rest)) = lines.filter_map(|line| line.split_once(words)).next() {
                return rest.trim_end().trim_end_matches('/').to_owned();
            }
            self.assert_runs();
            assert!(started.elapsed() < PATIENCE, "{words} not found in the log: {log}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn assert_runs(&mut self) {
        let status = self.child.try_wait().unwrap();
        assert!(status.is_none(), "stopped with {status:?}: {}", self.log());
    }

    /// Waits for the process to exit, and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "still running: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
        self.child.wait().unwrap().code()
    }

    /// Stops the process with SIGTERM and asserts that it succeeds.
    pub(crate) fn stop(mut self) {
        let done = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(done.success());
        assert_eq!(self.exit_code(), Some(0), "{}", self.log());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn get(page: &str, path: &str) -> String {
    let answer = ureq::get(format!("{page}{path}")).call();
    answer.unwrap().body_mut().read_to_string().unwrap()
}

/// Returns a free UDP address on loopback.
pub(crate) fn free_address() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn srlg(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
    command.args(args).current_dir(folder);
    command
}

/// Returns the part of a configuration that the monitor and the collector share.
fn general(disk: &SmallDisk, webhook: SocketAddr, input: &str) -> String {
    format!(
        "inside = ['10.0.0.0/8']\nhttp = '127.0.0.1:0'\nstate = '{}/state'\n{input}{RULE}\
         [[sink]]\ntype = 'file'\npath = 'alerts'\n\
         [[sink]]\ntype = 'webhook'\nurl = 'http://{webhook}/'\ntimeout = '3s'\nmost-per-minute = 10_000\n",
        disk.folder().display()
    )
}

/// A program with a web page and a state on a small disk: the monitor or the collector.
pub(crate) struct Service {
    command: &'static str,
    folder: PathBuf,
    clock: Option<Clock>,
    pub(crate) disk: SmallDisk,
    pub(crate) program: Option<Program>,
    page: String,
}

impl Service {
    fn new(command: &'static str, folder: PathBuf, disk: SmallDisk, clock: Option<Clock>) -> Self {
        Self { command, folder, clock, disk, program: None, page: String::new() }
    }

    /// Creates a monitor that receives exports at `exports`.
    pub(crate) fn monitor(folder: &Path, exports: SocketAddr, webhook: SocketAddr) -> Self {
        let folder = folder.join("monitor");
        fs::create_dir(&folder).unwrap();
        let disk = SmallDisk::new(DISK).expect("the test runs as root");
        let input = format!(
            "[input]\nlisten = ['{exports}']\nexporters = ['127.0.1.0/24']\ntemplates = 'templates'\n"
        );
        fs::write(folder.join("srlg.toml"), general(&disk, webhook, &input)).unwrap();
        let clock = Clock::new(&folder);
        Self::new("run", folder, disk, clock)
    }

    pub(crate) fn start(&mut self) {
        let mut command = srlg(&[self.command, "--config", "srlg.toml"], &self.folder);
        if let Some(clock) = &self.clock {
            clock.give(&mut command);
        }
        let mut program = Program::start(&mut command, &self.folder.join("log"));
        self.page = program.wait_for(PAGE);
        if self.command == "run" {
            program.wait_for(LISTENING);
        }
        self.program = Some(program);
    }

    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics::parse(&get(&self.page, "/metrics"))
    }

    /// Returns all incidents from the API.
    pub(crate) fn incidents(&self) -> Value {
        serde_json::from_str(&get(&self.page, "/api/v1/incidents?limit=1000")).unwrap()
    }

    pub(crate) fn alerts(&self) -> String {
        fs::read_to_string(self.folder.join("alerts")).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.disk.folder().join("state")
    }
}

/// A network of probes, a collector and a broker, all in one folder.
pub(crate) struct Network {
    folder: PathBuf,
    pub(crate) broker: Broker,
    pub(crate) collector: Service,
    pub(crate) probes: [Option<Program>; PROBES.len()],
    exports: [SocketAddr; PROBES.len()],
}

impl Network {
    /// Starts a network whose probes receive exports at `exports`.
    pub(crate) fn start(
        folder: &Path,
        exports: [SocketAddr; PROBES.len()],
        webhook: SocketAddr,
    ) -> Self {
        let folder = folder.join("network");
        fs::create_dir(&folder).unwrap();
        let disk = SmallDisk::new(DISK).expect("the test runs as root");
        let configure = |broker: &str| {
            let network = format!(
                "[network]\nprobes = {PROBES:?}\nbroker = '{broker}'\nstream-mb = {STREAM_MB}\n"
            );
            fs::write(folder.join("srlg.toml"), general(&disk, webhook, &network)).unwrap();
        };
        configure("localhost");
        let setup = srlg(&["setup", "--config", "srlg.toml"], &folder).output().unwrap();
        assert!(setup.status.success(), "{}", String::from_utf8_lossy(&setup.stderr));
        let broker = Broker::start(&folder).unwrap();
        configure(&broker.address());
        let collector = Service::new("collect", folder.clone(), disk, None);
        let mut network = Self { folder, broker, collector, probes: [None, None], exports };
        network.collector.start();
        (0..PROBES.len()).for_each(|probe| network.start_probe(probe));
        network
    }

    pub(crate) fn start_probe(&mut self, probe: usize) {
        let (name, exports) = (PROBES[probe], self.exports[probe].to_string());
        let broker = self.broker.address();
        let args = ["probe", name, "--broker", &broker, "--listen", &exports, "--keep", "300"];
        let templates = format!("templates-{name}");
        let more = ["--exporters", "127.0.2.0/24", "--templates", &templates];
        let log = self.folder.join(format!("log-{name}"));
        let mut program = Program::start(srlg(&args, &self.folder).args(more), &log);
        program.wait_for(RECEIVING);
        self.probes[probe] = Some(program);
    }

    pub(crate) fn spool(&self, probe: usize) -> PathBuf {
        self.folder.join("spool").join(PROBES[probe])
    }

    pub(crate) fn broker_store(&self) -> PathBuf {
        self.folder.join("jetstream")
    }
}
