//! `srlg run` as a process that receives exports, with its log, web page, API and metrics.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Time limit for each wait, long enough for the program to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A running program, which is killed when this value is dropped.
pub(crate) struct Site {
    child: Child,
    folder: TempDir,
    /// Address at which the program receives exports.
    pub(crate) exports: SocketAddr,
    http: SocketAddr,
}

impl Site {
    /// Starts the program with inside networks and a web page, and waits until it can receive exports.
    pub(crate) fn start() -> Self {
        Self::of(
            "inside = ['10.0.0.0/8', '2001:db8::/32']\n\
             [input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/8']\n",
        )
    }

    /// Starts the program with this configuration and a web page, and waits until it can receive exports.
    pub(crate) fn of(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("srlg.toml");
        fs::write(&path, format!("http = '127.0.0.1:0'\n{config}")).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
        Self::run(folder, program.args(["run", "--config"]).arg(path))
    }

    /// Starts `program` with its log in `folder` and waits until it can receive exports.
    pub(crate) fn run(folder: TempDir, program: &mut Command) -> Self {
        let log = File::create(folder.path().join("log")).unwrap();
        let child = program.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut site = Self { child, folder, exports: nowhere, http: nowhere };
        site.exports = site.address("listening for flow exports on ");
        site.http = site.address("the page is at http://");
        site
    }

    /// Waits for a log line that contains `words`, and returns the address that follows them.
    fn address(&self, words: &str) -> SocketAddr {
        let started = Instant::now();
        loop {
            let log = self.log();
            let line = log.lines().find_map(|line| Some(line.split_once(words)?.1.to_owned()));
            if let Some(line) = line {
                return line.trim_end_matches('/').parse().unwrap();
            }
            assert!(started.elapsed() < START, "{words} not found in the log: {log}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let log = self.log();
        log.lines()
            .filter_map(|line| Some(line.split_once(" WARN ")?.1.trim().to_owned()))
            .collect()
    }

    /// Returns the body of the response to a GET request for `path`.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = self.ask(path);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/status")).unwrap()
    }

    /// Waits up to a minute until `is_so` accepts the active alerts that the API returns. Returns these alerts.
    pub(crate) fn alerts_when(&self, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let started = Instant::now();
        loop {
            let alerts: Vec<Value> = serde_json::from_str(&self.get("/api/v1/alerts")).unwrap();
            if is_so(&alerts) {
                return alerts;
            }
            assert!(started.elapsed() < START, "{alerts:?} {}", self.log());
            thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn has_metric(&self, line: &str) -> bool {
        self.get("/metrics").lines().any(|it| it == line)
    }

    /// Returns the first overview that `/events` sends to a web page.
    pub(crate) fn page(&self) -> Value {
        let (mut stream, mut text) = (self.ask("/events"), Vec::new());
        // An event ends with an empty line, like the head of a response.
        loop {
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            assert!(length > 0, "the page receives no event");
            text.extend_from_slice(&bytes[..length]);
            let text = String::from_utf8_lossy(&text);
            let event = text.split_once("data: ").and_then(|(_, event)| event.split_once('\n'));
            if let Some((event, _)) = event {
                return serde_json::from_str(event).unwrap();
            }
        }
    }

    /// Sends a GET request for `path`. The response can be read from the returned connection.
    pub(crate) fn ask(&self, path: &str) -> TcpStream {
        self.send(&format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    pub(crate) fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(START)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Waits until the log contains at least `count` warnings, and returns all warnings. Panics if this does not
    /// happen within a minute. A problem that lasts is warned of only once an hour.
    pub(crate) fn wait_for_warnings(&self, count: usize) -> Vec<String> {
        let started = Instant::now();
        loop {
            let warnings = self.warnings();
            if warnings.len() >= count {
                return warnings;
            }
            assert!(started.elapsed() < START, "{}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
