//! A collector with its reports and its state.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_host::state::Checkpoints;
use srlg_host::{SliceReport, SuperPoint};

use crate::input::csv;
use crate::net::{Net, PROBES, VERSION, configuration, configuration_with};
use crate::network_traffic::{OneNode, seen};
use crate::process::{PATIENCE, Process};

/// Starts probe number `probe` with the traffic of its router.
pub fn start_probe(net: &Net, probe: usize, slices: Range<u64>, more: &[&str]) -> Process {
    let name = PROBES[probe];
    let path = net.folder().join(format!("{name}.csv"));
    if !path.exists() {
        csv(net.folder(), name, |slice| seen(probe, slice), slices);
    }
    let (folder, spool, broker) = (net.folder(), net.spool(), net.broker.address());
    let [folder, spool, path] = [folder, &spool, &path].map(|path| path.to_str().unwrap());
    let options = ["--folder", folder, "--spool", spool, "--broker", &broker, "--input", path];
    Process::srlg(["probe", name].into_iter().chain(options).chain(more.iter().copied()))
}

/// Log text that a collector writes once it accepts HTTP requests and signals.
const LISTENS: &str = "http://";

/// Returns the alert file of the collector whose state is in the folder `state`.
pub fn alerts_of(state: &Path) -> PathBuf {
    state.with_file_name("alerts.ndjson")
}

pub struct Collector {
    node: Process,
    state: PathBuf,
    reports: PathBuf,
}

impl Collector {
    /// Starts a collector with a long deadline. Options in `more` that the command does not support are written as keys
    /// of the configuration. `--rules` replaces the views and rules.
    pub fn start(net: &Net, more: &[&str]) -> Self {
        let (mut state, mut reports) =
            (net.folder().join("state"), net.folder().join("reports.ndjson"));
        let (mut broker, mut deadline, mut skew) = (net.broker.address(), "1h", "100000");
        let (mut checkpoint, mut options) = ("10".to_owned(), Vec::new());
        let mut text = configuration(net.folder());
        for option in more.chunks(2) {
            let &[name, value] = option else { panic!("{option:?} requires a value") };
            match name {
                "--rules" => text = configuration_with(net.folder(), value),
                "--state" => state = value.into(),
                "--reports" => reports = value.into(),
                "--broker" => value.clone_into(&mut broker),
                "--deadline" => deadline = value,
                "--max-skew" => skew = value,
                "--checkpoint-every" => value.clone_into(&mut checkpoint),
                _ => options.extend(option),
            }
        }
        let text = text.replace(
            "[network]\n",
            &format!(
                "state = '{}'\ncheckpoint = '{checkpoint}s'\n[network]\nbroker = '{broker}'\n\
                 deadline = '{deadline}'\nmax-skew = {skew}\n",
                state.display()
            ),
        );
        let sink = format!("[[sink]]\ntype = 'file'\npath = '{}'\n", alerts_of(&state).display());
        let config = net.folder().join("srlg.toml");
        fs::write(&config, text + &sink).unwrap();
        let paths = [&config, &reports].map(|path| path.to_str().unwrap());
        let args = ["collect", "--config", paths[0], "--reports", paths[1]];
        Self { node: Process::srlg(args.into_iter().chain(options)), state, reports }
    }

    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Returns the reports of the collector. Repeated reports must be equal and are returned once.
    pub fn reports(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.reports).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut reports = BTreeMap::new();
        for line in whole.lines() {
            let report: Value = serde_json::from_str(line).unwrap();
            let before = reports.insert(report["slice"].as_u64(), report.clone());
            assert!(before.is_none_or(|before| before == report), "{report}");
        }
        reports.into_values().collect()
    }

    pub fn wait_for_slice(&mut self, slice: u64) {
        self.status(|status| status["running"].as_u64() > Some(slice));
    }

    /// Waits until the collector accepts HTTP requests and signals.
    pub fn wait(&mut self) {
        self.node.wait_for(LISTENS);
    }

    /// Waits until the collector logs that it cannot reach the broker at `address`.
    pub fn wait_for_broker(&mut self, address: &str) {
        self.node.wait_for(address);
    }

    pub fn wait_for_numbers(&mut self, numbers: &[u64]) {
        self.node.wait_for_numbers(numbers);
    }

    pub fn ends_within(&mut self, patience: Duration) -> bool {
        self.node.wait(patience).is_some()
    }

    /// Waits for the collector to exit by itself. Returns its exit code and log.
    pub fn end(&mut self) -> (Option<i32>, String) {
        self.node.end()
    }

    /// Returns the body of the response to a GET request. The request must succeed.
    pub fn get(&mut self, path: &str) -> String {
        let line = self.node.wait_for(LISTENS);
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
            let ended = self.node.wait(Duration::from_millis(10));
            let goes_on = ended.is_none() && start.elapsed() < PATIENCE;
            assert!(goes_on, "{status}\n{}", self.stop().1);
        }
    }

    /// Stops the collector with SIGTERM. Returns its exit code and log.
    pub fn stop(&mut self) -> (Option<i32>, String) {
        if self.node.wait(Duration::ZERO).is_none() {
            // Before this line, a signal would kill the collector at once.
            self.node.wait_for(LISTENS);
            self.node.terminate();
        }
        self.node.end()
    }

    /// Stops the collector. Asserts that the collector's reports and last checkpoint are identical to the results of
    /// one node, bit for bit. Returns the log.
    pub fn assert_is(&mut self, net: &Net, one: &OneNode) -> String {
        let said = self.assert_last_is(net, one);
        let reports = self.reports();
        assert!(reports.iter().all(|report| report["closed"] == "complete"));
        let found: Vec<_> = reports.iter().map(line).collect();
        assert_eq!(found, one.reports.iter().map(bits).collect::<Vec<_>>());
        said
    }

    /// Stops the collector. Asserts that the collector's last report and last checkpoint are identical to the results
    /// of one node. Returns the log.
    pub fn assert_last_is(&mut self, net: &Net, one: &OneNode) -> String {
        let (code, said) = self.stop();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(self.reports().last().map(line), one.reports.last().map(bits), "{said}");
        let params = net.network.views[0].sizes.validate().unwrap();
        let latest = Checkpoints::open(self.state.join("network").join(VERSION.to_string()))
            .unwrap()
            .latest(&params)
            .unwrap();
        assert!(latest.damaged.is_empty());
        let snapshot = latest.snapshot.unwrap().with_attachment(Vec::new());
        assert!(snapshot == one.snapshot, "the state differs: {said}");
        said
    }
}

/// The number of a slice, and the host, cardinality and standard error of each super point. Floating-point values are
/// stored as bits.
type Bits = (u64, Vec<(IpAddr, u64, u64)>);

fn bits(report: &SliceReport) -> Bits {
    let point =
        |point: &SuperPoint| (point.host, point.cardinality.to_bits(), point.std_error.to_bits());
    (report.slice, report.super_points.iter().map(point).collect())
}

fn line(report: &Value) -> Bits {
    let point = |point: &Value| {
        let float = |name: &str| point[name].as_f64().unwrap().to_bits();
        (point["host"].as_str().unwrap().parse().unwrap(), float("cardinality"), float("std_error"))
    };
    let points = report["super_points"].as_array().unwrap().iter().map(point);
    (report["slice"].as_u64().unwrap(), points.collect())
}
