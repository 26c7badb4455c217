//! Helpers that start programs and query their JSON API.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running program, which is killed when this value is dropped.
pub(crate) struct Program(pub(crate) Child);

impl Program {
    pub(crate) fn start(folder: &Path, log: &str, args: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
        program.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
        Self(program.stderr(File::create(folder.join(log)).unwrap()).spawn().unwrap())
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// A monitor or a collector with a web page.
pub(crate) struct Site {
    pub(crate) program: Program,
    http: SocketAddr,
}

impl Site {
    pub(crate) fn start(folder: &Path, log: &str, args: &[&str]) -> Self {
        let program = Program::start(folder, log, args);
        let address = |log: String| {
            let (_, address) = log.split_once("the page is at http://")?;
            address.split_once('/')?.0.parse().ok()
        };
        let http = when(|| {
            let log = fs::read_to_string(folder.join(log)).unwrap();
            assert!(!log.contains("srlg: "), "{log}");
            address(log)
        });
        Self { program, http }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.http);
        ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap()
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/status")).unwrap()
    }

    pub(crate) fn wait_for_contacts(&self, count: u64) {
        when(|| (self.status()["input"]["contacts"] == count).then_some(()));
    }

    /// Waits until `is_so` accepts the peer count of 10.0.0.7, the destination of all flows. Returns that count.
    pub(crate) fn peers(&self, is_so: impl Fn(f64) -> bool) -> f64 {
        when(|| {
            let status = self.status();
            let host = &status["views"][0]["top"][0];
            assert!(host["host"].is_null() || host["host"] == "10.0.0.7", "{host}");
            host["cardinality"].as_f64().filter(|peers| is_so(*peers))
        })
    }
}

/// Calls `look` until it returns a value. Panics after a minute.
#[track_caller]
pub(crate) fn when<T>(look: impl Fn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(50));
    }
}
