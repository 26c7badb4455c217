//! Tests of a network's rules: probes, a broker and a collector in one process.
//!
//! The broker is a list of messages, and a test determines how much time passes. The system clock only sets when a probe
//! starts and which slices lie too far in the future. The tests in `tests/network` run the
//! same program as processes with a real broker, where the subject is the broker, a kill or the system clock.

mod alerts;
mod collector;
mod handmade;
mod merged;
#[path = "../tests/program/network_messages.rs"]
mod network_messages;
#[path = "../tests/program/network_traffic.rs"]
mod network_traffic;
mod one_site;
mod sites;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use srlg_notify::store::Store;
use tempfile::TempDir;

use crate::collect::simulated::{CollectorFiles, SimulatedCollector, StoredMessage};
use crate::config::Config;
use crate::network::{Network, NetworkVersion, subjects};
use crate::probe::simulated::{LiveInput, SimulatedProbe};
use network_messages::Message;
use network_traffic::{
    OneNode, PROBES, configuration, configuration_with, distinct_reports, version,
};

/// A network without processes. Collectors and probes are separate, because tests stop and restart them.
struct Simulation {
    folder: TempDir,
    version: NetworkVersion,
    files: CollectorFiles,
    /// Messages of the stream, whose sequence numbers start at 1.
    stream: Vec<StoredMessage>,
}

impl Simulation {
    /// Creates a network whose collector waits for an hour until it closes a slice without all probes.
    fn new() -> Self {
        Self::with("deadline = '1h'\n")
    }

    /// Creates a network. `keys` are lines in the table `[network]`.
    fn with(keys: &str) -> Self {
        Self::of(&configuration(Path::new("FOLDER")), keys, 7)
    }

    /// Creates a network with the views and rules in `rules` and the seed `seed`.
    fn with_rules(rules: &str, keys: &str, seed: u64) -> Self {
        Self::of(&configuration_with(Path::new("FOLDER"), rules), keys, seed)
    }

    fn of(text: &str, keys: &str, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = CollectorFiles::of(folder.path());
        let with_keys = text.replace("[network]\n", &format!("[network]\n{keys}"));
        let network = Network::of(&Config::parse(&with_keys).unwrap(), seed);
        let version = version(network);
        let simulation = Self { folder, version, files, stream: Vec::new() };
        simulation.configure(text, "10s", keys);
        simulation
    }

    /// Writes the configuration of the collector.
    fn configure(&self, text: &str, checkpoint: &str, keys: &str) {
        let state = self.files.state.display();
        let head = format!("state = '{state}'\ncheckpoint = '{checkpoint}'\n[network]\n{keys}");
        fs::write(&self.files.config, text.replace("[network]\n", &head)).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn spools(&self) -> PathBuf {
        self.path().join("spool")
    }

    /// Starts a collector, which continues after the former one.
    fn collector(&self) -> SimulatedCollector {
        SimulatedCollector::start(&self.files, &self.version)
    }

    /// Starts a collector in the folder `name`, as if there had been none.
    fn collector_in(&self, name: &str) -> (SimulatedCollector, CollectorFiles) {
        let folder = self.path().join(name);
        fs::create_dir(&folder).unwrap();
        let files = CollectorFiles::of(&folder);
        let text = fs::read_to_string(&self.files.config).unwrap();
        let former = self.files.state.display().to_string();
        fs::write(&files.config, text.replace(&former, &files.state.display().to_string()))
            .unwrap();
        (SimulatedCollector::start(&files, &self.version), files)
    }

    /// Starts a probe, which continues after the former one with this name. See [`SimulatedProbe::start`].
    fn probe(&self, name: &str, live: Option<LiveInput>) -> SimulatedProbe {
        SimulatedProbe::start(name, &self.spools(), &self.version, live)
    }

    /// Adds `messages` to the stream.
    fn publish(&mut self, messages: &[Message]) {
        self.stream.extend(messages.iter().map(|message| StoredMessage {
            subject: subjects::slice(PROBES[message.probe]),
            headers: message.headers(),
            payload: message.payload.clone().into(),
        }));
    }

    /// Adds the unsent messages of `probe` to the stream.
    fn send(&mut self, probe: &mut SimulatedProbe) {
        let subject = subjects::slice(probe.name());
        self.stream.extend(probe.send().into_iter().map(|part| StoredMessage {
            subject: subject.clone(),
            headers: part.headers,
            payload: part.payload,
        }));
    }

    /// Returns the reports of the collector. Repeated reports must be equal and are returned once.
    fn reports(&self) -> Vec<Value> {
        distinct_reports(&fs::read_to_string(&self.files.reports).unwrap_or_default())
    }

    /// Returns the notifications of the collector.
    fn notifications(&self) -> Vec<Value> {
        notifications(&self.files.state)
    }

    /// Stops the collector. Asserts that its reports and its last checkpoint are identical to the results of one node,
    /// bit for bit.
    fn assert_is(&self, collector: SimulatedCollector, one: &OneNode) {
        collector.stop();
        one.assert_equals(&self.reports(), &self.files.state);
    }

    /// Stops the collector. Asserts that its last report and its last checkpoint are identical to the results of one
    /// node.
    fn assert_last_is(&self, collector: SimulatedCollector, one: &OneNode) {
        collector.stop();
        one.assert_ends_equal(&self.reports(), &self.files.state);
    }
}

/// Returns the notifications in the database in the folder `state`.
fn notifications(state: &Path) -> Vec<Value> {
    let all = Store::read(state).unwrap().after(0, 1_000_000).unwrap();
    all.iter().map(|(_, notification)| serde_json::to_value(notification).unwrap()).collect()
}
