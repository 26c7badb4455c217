//! A collector, and what it has reported and saved.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_host::state::Checkpoints;
use srlg_host::{SliceReport, SuperPoint};

use crate::input::csv;
use crate::net::{Net, PROBES};
use crate::network_traffic::{OneNode, seen};
use crate::node::{Node, PATIENCE};

/// Probe number `probe` on what its router sees.
pub fn start_probe(net: &Net, probe: usize, slices: Range<u64>, more: &[&str]) -> Node {
    let name = PROBES[probe];
    let path = net.folder().join(format!("{name}.csv"));
    if !path.exists() {
        csv(net.folder(), name, |slice| seen(probe, slice), slices);
    }
    let (folder, spool, broker) = (net.folder(), net.spool(), net.broker.address());
    let [folder, spool, path] = [folder, &spool, &path].map(|path| path.to_str().unwrap());
    let options = ["--folder", folder, "--spool", spool, "--broker", &broker, "--input", path];
    let inside = ["--inside", "10.0.0.0/8"];
    Node::start(
        ["probe", name].into_iter().chain(options).chain(inside).chain(more.iter().copied()),
    )
}

/// What a collector logs once it listens, to signals too.
const LISTENS: &str = "http://";

pub struct Collector {
    node: Node,
    state: PathBuf,
    reports: PathBuf,
}

impl Collector {
    /// A collector that gives probes all the time that they need.
    pub fn start(net: &Net, more: &[&str]) -> Self {
        let (state, reports) = (net.folder().join("state"), net.folder().join("reports.ndjson"));
        let broker = net.broker.address();
        let [folder, at, to] = [net.folder(), &state, &reports].map(|path| path.to_str().unwrap());
        let options = ["--folder", folder, "--broker", &broker, "--state", at, "--reports", to];
        let patient = ["--deadline", "1h", "--max-skew", "100000"];
        let http = ["--http", "127.0.0.1:0"];
        let http = if more.contains(&http[0]) { &[][..] } else { &http };
        let args = options.iter().chain(&patient).chain(http).chain(more);
        let node = ["collect"].into_iter().chain(args.copied());
        Self { node: Node::start(node), state, reports }
    }

    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Whole lines of its reports.
    pub fn reports(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.reports).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn wait_for_slice(&mut self, slice: u64) {
        // Until then there may be reports that it will take back, as they are after its checkpoint.
        self.node.wait_for(LISTENS);
        let start = Instant::now();
        while self.reports().last().is_none_or(|report| report["slice"] != slice) {
            let ended = self.node.wait(Duration::from_millis(10));
            assert!(ended.is_none() && start.elapsed() < PATIENCE, "{}", self.stop().1);
        }
    }

    /// Waits until it listens.
    pub fn wait(&mut self) {
        self.node.wait_for(LISTENS);
    }

    /// Waits until it logs that it finds no broker at `address`.
    pub fn wait_for_broker(&mut self, address: &str) {
        self.node.wait_for(address);
    }

    pub fn wait_for_numbers(&mut self, numbers: &[u64]) {
        self.node.wait_for_numbers(numbers);
    }

    pub fn ends_within(&mut self, patience: Duration) -> bool {
        self.node.wait(patience).is_some()
    }

    /// Its end, which comes without a word from here.
    pub fn end(&mut self) -> (Option<i32>, String) {
        self.node.end()
    }

    /// What it answers to GET.
    pub fn get(&mut self, path: &str) -> String {
        let line = self.node.wait_for(LISTENS);
        let address = line.split("http://").nth(1).unwrap().trim();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The status, once `is` says that it is the one.
    pub fn status(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = serde_json::from_str(&self.get("/status")).unwrap();
            if is(&status) {
                return status;
            }
            let ended = self.node.wait(Duration::from_millis(10));
            let goes_on = ended.is_none() && start.elapsed() < PATIENCE;
            assert!(goes_on, "{status}\n{}", self.stop().1);
        }
    }

    /// SIGTERM, and what it had said.
    pub fn stop(&mut self) -> (Option<i32>, String) {
        if self.node.wait(Duration::ZERO).is_none() {
            // From then on it ends by itself: a signal before would just kill it.
            self.node.wait_for(LISTENS);
            self.node.terminate();
        }
        self.node.end()
    }

    /// Ends it: its reports and its last checkpoint are those of one node, bit for bit. What it had said.
    pub fn assert_is(&mut self, net: &Net, one: &OneNode) -> String {
        let said = self.assert_last_is(net, one);
        let reports = self.reports();
        assert!(reports.iter().all(|report| report["closed"] == "complete"));
        let found: Vec<_> = reports.iter().map(line).collect();
        assert_eq!(found, one.reports.iter().map(bits).collect::<Vec<_>>());
        said
    }

    /// The same of its last report alone.
    pub fn assert_last_report_is(&mut self, one: &OneNode) -> String {
        let (code, said) = self.stop();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(self.reports().last().map(line), one.reports.last().map(bits), "{said}");
        said
    }

    /// The same of its last report and its last checkpoint alone.
    pub fn assert_last_is(&mut self, net: &Net, one: &OneNode) -> String {
        let said = self.assert_last_report_is(one);
        let params = net.network.config.validate().unwrap();
        let latest = Checkpoints::open(&self.state).unwrap().latest(&params).unwrap();
        assert!(latest.damaged.is_empty());
        let snapshot = latest.snapshot.unwrap().with_attachment(Vec::new());
        assert!(snapshot == one.snapshot, "another state: {said}");
        said
    }
}

/// Slice, and of each super point host, cardinality and standard error as bits.
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
