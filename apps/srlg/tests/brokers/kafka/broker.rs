//! Kafka brokers and a producer for tests, which run in `kcat` (`scripts/kafka.sh`). The brokers are the mock brokers
//! of librdkafka.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use srlg_traffic::skip::skip_or_fail;
use tempfile::TempDir;

/// Separator between messages in the producer's input. No message contains it.
const BETWEEN: &str = "<|between two messages|>";

pub(crate) const PARTITIONS: usize = 4;

/// Running brokers, which are killed when this value is dropped.
pub(crate) struct Broker {
    child: Child,
    _folder: TempDir,
    /// Addresses of the brokers, separated by commas.
    pub(crate) addresses: String,
}

/// Returns whether `kcat` is installed. If it is missing, prints a message, or panics if `SRLG_REQUIRE_KAFKA` is set.
pub(crate) fn has_kcat() -> bool {
    let kcat = Command::new("kcat").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if kcat.is_err() {
        skip_or_fail("SRLG_REQUIRE_KAFKA", "kcat is missing; run scripts/kafka.sh");
    }
    kcat.is_ok()
}

impl Broker {
    /// Starts two brokers with the topic `name`.
    pub(crate) fn start(name: &str) -> Self {
        Self::start_with(2, name)
    }

    pub(crate) fn start_with(count: usize, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let child = Command::new("kcat")
            .args(["-C", "-b", "mock", "-d", "mock", "-o", "end", "-t", name])
            .args(["-X", &format!("test.mock.num.brokers={count}")])
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let addresses = loop {
            let text = fs::read_to_string(&log).unwrap();
            let line = text.lines().find_map(|line| line.split_once("bootstrap.servers="));
            // The line may be incomplete.
            if let Some((_, addresses)) = line.filter(|_| text.lines().count() > 1) {
                break addresses.to_owned();
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{text}");
            thread::sleep(Duration::from_millis(20));
        };
        Self { child, _folder: folder, addresses }
    }

    pub(crate) fn produce(&self, topic: &str, partition: usize, messages: &[Vec<u8>]) {
        let mut producer = Command::new("kcat")
            .args(["-P", "-b", &self.addresses, "-t", topic, "-p", &partition.to_string()])
            .args(["-D", BETWEEN, "-z", ["none", "gzip", "snappy", "lz4"][partition % 4]])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = producer.stdin.take().unwrap();
        pipe.write_all(&messages.join(BETWEEN.as_bytes())).unwrap();
        drop(pipe);
        assert!(producer.wait().unwrap().success());
    }

    /// Sends the signal `name`. `STOP` suspends the brokers, and `CONT` resumes them.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
