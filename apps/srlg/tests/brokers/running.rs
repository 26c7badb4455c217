//! Helpers that start programs and query their JSON API.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{PATIENCE, Process};

pub(crate) fn start(folder: &Path, args: &[&str]) -> Process {
    Process::start(Command::new(env!("CARGO_BIN_EXE_srlg")).args(args).current_dir(folder))
}

/// A monitor or a collector with a web page.
pub(crate) struct Site {
    pub(crate) program: Process,
    http: SocketAddr,
}

impl Site {
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        let mut program = start(folder, args);
        let address = program.wait_for_text_after("the page is at http://");
        let http = address.trim_end_matches('/').parse().unwrap();
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

/// Calls `look` until it returns a value. Panics if this takes too long.
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
