//! Contacts that srlg reads from exports, compared with the packets from which the exports were made.
//!
//! - `same_hosts`: generated traffic, as packets and as exports in every format.
//! - `captures`: packets and exports that were captured elsewhere. These files are not part of the repository;
//!   `SRLG_DATA` names their folder.
//! - `tcp`: generated traffic, as IPFIX over TCP.
//! - `live`: softflowd, pmacctd and fprobe from Debian (`scripts/exporters.sh`) on loopback. Each test runs in its own
//!   namespaces, which requires root.
//!
//! If a program or the folder is missing, the tests that need it are skipped with a message. With
//! `SRLG_REQUIRE_EXPORTERS=1`, the tests of `live` fail instead.

mod captures;
mod live;
#[path = "../program/process.rs"]
mod process;
#[path = "../program/mod.rs"]
mod program;
mod programs;
mod received;
#[path = "../program/site.rs"]
mod running;
mod same_hosts;
mod tcp;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use program::{srlg, steady};
use srlg_traffic::packets::{packets, pcap};

/// The source and the destination of each contact.
type Pairs = BTreeSet<(String, String)>;

/// Returns whether `is` returns true within a minute.
fn becomes(mut is: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !is() {
        if started.elapsed() > Duration::from_secs(60) {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Writes Ethernet frames to a capture file named after `test`. Each item contains the time since the first frame, in
/// microseconds, and a frame.
fn capture(test: &str, frames: impl Iterator<Item = (u32, Vec<u8>)>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("exporters-{test}.pcap"));
    std::fs::write(&path, pcap(1, frames)).unwrap();
    path
}

/// Writes packets to a capture file named after `test`. Each item of `families` is `true` for IPv6 or `false` for IPv4.
fn packet_file(test: &str, families: &[bool]) -> PathBuf {
    capture(test, packets(families).iter().map(|packet| (packet.after_us, packet.frame())))
}

fn pairs(list: &str) -> Pairs {
    let mut lines = list.lines();
    assert_eq!(lines.next(), Some("time_ms,src,dst"));
    let pair = |line: &str| {
        let mut columns = line.split(',').skip(1).map(str::to_owned);
        (columns.next().unwrap(), columns.next().unwrap())
    };
    lines.map(pair).collect()
}

/// Runs `command` and returns its standard output and standard error. Panics if the command fails.
fn output(command: &str, args: &[&str]) -> (String, String) {
    let output = srlg(command).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (printed, logged) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{command} {args:?}: {logged}");
    (printed, logged)
}

/// Cardinality and standard error, as `detect` prints them.
type Point = [String; 2];

/// Returns the last reported values of each super point, by host.
fn last_points(ndjson: &str) -> BTreeMap<String, Point> {
    let point = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let digits = ["cardinality", "std_error"].map(|key| line[key].to_string());
        (line["host"].as_str().unwrap().to_owned(), digits)
    };
    ndjson.lines().map(point).collect()
}
