//! A collector with its reports and its state.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::input::csv;
use crate::net::Net;
use crate::network_traffic::{OneNode, PROBES, configuration, distinct_reports, seen};
use crate::process::{PATIENCE, Process};

/// Starts probe number `probe` with the traffic of its router and further keys of `[probe]`.
pub fn start_probe(net: &Net, probe: usize, slices: Range<u64>, keys: &str) -> Process {
    Process::start(&mut probe_command(net, probe, slices, keys))
}

/// Returns the command that starts a probe, like [`start_probe`].
pub fn probe_command(net: &Net, probe: usize, slices: Range<u64>, keys: &str) -> Command {
    let name = PROBES[probe];
    let path = net.folder().join(format!("{name}.csv"));
    if !path.exists() {
        csv(net.folder(), name, |slice| seen(probe, slice), slices);
    }
    let tables = format!("{keys}[input]\ninput = ['{}']\n", path.display());
    net.probe(name, &net.spool(), "", &tables)
}

/// Log text that a collector writes once it accepts HTTP requests and signals.
const LISTENS: &str = "http://";

/// Returns the alert file of the collector whose state is in the folder `state`.
pub fn alerts_of(state: &Path) -> PathBuf {
    state.with_file_name("alerts.ndjson")
}

pub struct Collector {
    program: Process,
    state: PathBuf,
    reports: PathBuf,
}

impl Collector {
    /// Starts a collector with a long deadline. Options in `more` that the command does not support are written as keys
    /// of the configuration.
    pub fn start(net: &Net, more: &[&str]) -> Self {
        let (mut state, mut reports) =
            (net.folder().join("state"), net.folder().join("reports.ndjson"));
        let (mut broker, mut skew) = (net.broker.address(), "100000");
        let (mut checkpoint, mut options) = ("10".to_owned(), Vec::new());
        let text = configuration(net.folder());
        for option in more.chunks(2) {
            let &[name, value] = option else { panic!("{option:?} requires a value") };
            match name {
                "--state" => state = value.into(),
                "--reports" => reports = value.into(),
                "--broker" => value.clone_into(&mut broker),
                "--max-skew" => skew = value,
                "--checkpoint-every" => value.clone_into(&mut checkpoint),
                _ => options.extend(option),
            }
        }
        let text = text.replace(
            "[network]\n",
            &format!(
                "http = '127.0.0.1:0'\nstate = '{}'\ncheckpoint = '{checkpoint}s'\n[network]\nbroker = '{broker}'\n\
                 deadline = '1h'\nmax-skew = {skew}\nmost-pairs = {}\n",
                state.display(),
                net.network.most_pairs
            ),
        );
        let sink = format!("[[sink]]\ntype = 'file'\npath = '{}'\n", alerts_of(&state).display());
        let config = net.folder().join("srlg.toml");
        fs::write(&config, text + &sink).unwrap();
        let paths = [&config, &reports].map(|path| path.to_str().unwrap());
        let args = ["collect", "--config", paths[0], "--reports", paths[1]];
        Self { program: Process::srlg(args.into_iter().chain(options)), state, reports }
    }

    pub fn kill(&mut self) {
        self.program.kill();
    }

    /// Returns the reports of the collector. Repeated reports must be equal and are returned once.
    pub fn reports(&self) -> Vec<Value> {
        distinct_reports(&fs::read_to_string(&self.reports).unwrap_or_default())
    }

    pub fn wait_for_slice(&mut self, slice: u64) {
        self.status(|status| status["running"].as_u64() > Some(slice));
    }

    /// Waits until the collector accepts HTTP requests and signals.
    pub fn wait(&mut self) {
        self.program.wait_for(LISTENS);
    }

    /// Waits until the collector logs that it cannot reach the broker at `address`.
    pub fn wait_for_broker(&mut self, address: &str) {
        self.program.wait_for(address);
    }

    pub fn wait_for_numbers(&mut self, numbers: &[u64]) {
        self.program.wait_for_numbers(numbers);
    }

    pub fn ends_within(&mut self, patience: Duration) -> bool {
        self.program.wait(patience).is_some()
    }

    /// Waits for the collector to exit by itself. Returns its exit code and log.
    pub fn end(&mut self) -> (Option<i32>, String) {
        self.program.end()
    }

    /// Returns the body of the response to a GET request. The request must succeed.
    pub fn get(&mut self, path: &str) -> String {
        let line = self.program.wait_for(LISTENS);
        let address = line.split("http://").nth(1).unwrap().trim().trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Returns the status of the network, including the number of alerts, once `is` accepts the status.
    pub fn status(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let mut overview: Value = serde_json::from_str(&self.get("/api/v1/status")).unwrap();
            let mut status = overview["network"].take();
            status["alerts"] = overview["alerts"].as_array().unwrap().len().into();
            if is(&status) {
                return status;
            }
            let ended = self.program.wait(Duration::from_millis(10));
            let goes_on = ended.is_none() && start.elapsed() < PATIENCE;
            assert!(goes_on, "{status}\n{}", self.stop().1);
        }
    }

    /// Stops the collector with SIGTERM. Returns its exit code and log.
    pub fn stop(&mut self) -> (Option<i32>, String) {
        if self.program.wait(Duration::ZERO).is_none() {
            // Before this line, a signal would kill the collector at once.
            self.program.wait_for(LISTENS);
            self.program.terminate();
        }
        self.program.end()
    }

    /// Stops the collector. Asserts that the collector's reports and last checkpoint are identical to the results of
    /// one node, bit for bit. Returns the log.
    pub fn assert_is(&mut self, one: &OneNode) -> String {
        let (code, said) = self.stop();
        assert_eq!(code, Some(0), "{said}");
        one.assert_equals(&self.reports(), &self.state);
        said
    }
}
