//! The programs of the test: a monitor, and a network of two probes, a collector and a broker.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use srlg_cli::network::broker::Broker;

use crate::accounts::Metrics;
use crate::disk::SmallDisk;
use crate::faketime::Clock;
use crate::probe::ProbeConfig;
use crate::process::Process;

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

/// Starts `command`, and appends its log to the file `log`.
fn start(command: &mut Command, log: &Path) -> Process {
    // The systemd unit sets the same variable, so that glibc returns the memory of checkpoints.
    Process::start_with_log(command.env("MALLOC_MMAP_THRESHOLD_", "131072"), log)
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
    pub(crate) program: Option<Process>,
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
        let mut program = start(&mut command, &self.folder.join("log"));
        self.page = program.wait_for_text_after(PAGE).trim_end_matches('/').to_owned();
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
    pub(crate) probes: [Option<Process>; PROBES.len()],
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
        let (name, exports) = (PROBES[probe], self.exports[probe]);
        let (folder, broker) = (&self.folder, &self.broker.address());
        let tables = &format!(
            "keep = 300\n[input]\nlisten = ['{exports}']\nexporters = ['127.0.2.0/24']\n\
             templates = 'templates-{name}'\n"
        );
        let state = &folder.join("spool");
        let config = ProbeConfig { name, folder, broker, state, general: "", tables };
        let log = folder.join(format!("log-{name}"));
        let mut program = start(config.command().current_dir(folder), &log);
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
