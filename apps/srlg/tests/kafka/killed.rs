//! `srlg run` that is killed, and continues from its state.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::{Broker, PARTITIONS, has_kcat};
use crate::flows::{flows, goflow2};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running program, which dies with this value.
struct Site {
    child: Child,
    http: SocketAddr,
}

impl Site {
    fn start(folder: &Path, run: u32) -> Self {
        let log = folder.join(format!("log-{run}"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
        program.args(["run", "--config"]).arg(folder.join("srlg.toml"));
        program.arg("--alerts").arg(folder.join("alerts"));
        let program = program.stdin(Stdio::null()).stderr(File::create(&log).unwrap());
        let mut site = Self { child: program.spawn().unwrap(), http: ([127, 0, 0, 1], 0).into() };
        let address = |log: String| {
            let (_, address) = log.split_once("the page is at http://")?;
            address.split_once('/')?.0.parse().ok()
        };
        site.http = when(|| address(fs::read_to_string(&log).unwrap()));
        site
    }

    fn get(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.http);
        ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/status")).unwrap()
    }

    /// Waits until so many contacts have been read.
    fn wait_for_contacts(&self, count: u64) {
        when(|| (self.status()["input"]["contacts"] == count).then_some(()));
    }

    /// Returns the peers of the host of the flows in the last slice, when they are `is_so` many.
    fn peers(&self, is_so: impl Fn(f64) -> bool) -> f64 {
        when(|| {
            let status = self.status();
            let host = &status["views"][0]["top"][0];
            assert!(host["host"].is_null() || host["host"] == "10.0.0.7", "{host}");
            host["cardinality"].as_f64().filter(|peers| is_so(*peers))
        })
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// Returns what `look` finds, within a minute.
fn when<T>(look: impl Fn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn no_flow_after_the_stored_position_is_lost_when_a_monitor_is_killed() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "http = '127.0.0.1:0'\nstate = '{}'\nslice = '1s'\ncheckpoint = '3s'\n\
         [input]\nkafka = 'kafka://{}/flows'\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 300s = 500 }}\n",
        folder.path().join("state").display(),
        broker.addresses
    );
    fs::write(folder.path().join("srlg.toml"), config).unwrap();
    let produce = |partition, first, count| {
        let messages: Vec<_> = flows(first, count).iter().map(|flow| goflow2(flow, true)).collect();
        broker.produce("flows", partition, &messages);
    };
    let site = Site::start(folder.path(), 0);
    when(|| (site.status()["kafka"]["partitions"] == PARTITIONS).then_some(()));
    produce(0, 0, 2_000);
    site.wait_for_contacts(2_000);
    // A checkpoint has these, and their position.
    thread::sleep(Duration::from_secs(5));
    // What is read now may be in no checkpoint.
    produce(1, 2_000, 2_000);
    site.wait_for_contacts(4_000);
    site.kill();
    // While it is away.
    produce(2, 4_000, 2_000);
    let site = Site::start(folder.path(), 1);
    let peers = site.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
    for line in ["srlg_kafka_lag_messages 0", "srlg_kafka_failing 0", "srlg_kafka_expired_total 0"]
    {
        when(|| site.get("/metrics").lines().any(|it| it == line).then_some(()));
    }
}
