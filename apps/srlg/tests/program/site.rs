//! `srlg run` as a process that receives exports, with its log, web page, API and metrics.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{PATIENCE, Process};

/// A running program.
pub(crate) struct Site {
    program: Process,
    /// Folder of the configuration, which exists as long as the program.
    _folder: TempDir,
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

    /// Starts `command`, whose files are in `folder`, and waits until it can receive exports.
    pub(crate) fn run(folder: TempDir, command: &mut Command) -> Self {
        let mut program = Process::start(command);
        let mut address = |words: &str| {
            let text = program.wait_for_text_after(words);
            text.trim_end_matches('/').parse().unwrap()
        };
        let exports = address("listening for flow exports on ");
        let http = address("the page is at http://");
        Self { program, _folder: folder, exports, http }
    }

    pub(crate) fn log(&self) -> String {
        self.program.log()
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

    /// Waits until `is_so` accepts the active alerts that the API returns. Returns these alerts.
    pub(crate) fn alerts_when(&self, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let started = Instant::now();
        loop {
            let alerts: Vec<Value> = serde_json::from_str(&self.get("/api/v1/alerts")).unwrap();
            if is_so(&alerts) {
                return alerts;
            }
            assert!(started.elapsed() < PATIENCE, "{alerts:?} {}", self.log());
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
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Waits until the log contains at least `count` warnings, and returns all warnings. Panics if this does not
    /// happen in time. A problem that lasts is warned of only once an hour.
    pub(crate) fn wait_for_warnings(&self, count: usize) -> Vec<String> {
        let started = Instant::now();
        loop {
            let warnings = self.warnings();
            if warnings.len() >= count {
                return warnings;
            }
            assert!(started.elapsed() < PATIENCE, "{}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }
}
