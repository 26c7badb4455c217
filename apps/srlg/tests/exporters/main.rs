//! What exporters make of traffic, and srlg of what they export, is what was in the packets.
//!
//! - `same_hosts`: traffic that is made here, as packets and as exports of every format.
//! - `captures`: packets that others captured, and what exporters made of them. They are not part of this repository;
//!   `SRLG_DATA` names their folder.
//! - `live`: softflowd, pmacctd and fprobe of Debian (`scripts/exporters.sh`), on loopback, each test in namespaces of its
//!   own, which takes root.
//!
//! Where something lacks, a test says so and passes; with `SRLG_REQUIRE_EXPORTERS=1` the last ones fail.

mod captures;
mod live;
#[path = "../program/mod.rs"]
mod program;
mod programs;
mod received;
#[path = "../program/site.rs"]
mod running;
mod same_hosts;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use program::{srlg, steady};
use srlg_traffic::packets::{packets, pcap};

/// Source and destination of contacts.
type Pairs = BTreeSet<(String, String)>;

/// Says a line aloud: what is printed of a test that passes nobody sees.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Waits until something `is` so; whether it came to that in a minute.
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

/// Writes frames of Ethernet, each with its microseconds after the first, to a file of its own for `test`.
fn capture(test: &str, frames: impl Iterator<Item = (u32, Vec<u8>)>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("exporters-{test}.pcap"));
    std::fs::write(&path, pcap(1, frames)).unwrap();
    path
}

/// Writes the packets of the families to a file of its own for `test`.
fn packet_file(test: &str, families: &[bool]) -> PathBuf {
    capture(test, packets(families).iter().map(|packet| (packet.after_us, packet.frame())))
}

/// The pairs of a contact list.
fn pairs(list: &str) -> Pairs {
    let mut lines = list.lines();
    assert_eq!(lines.next(), Some("time_ms,src,dst"));
    let pair = |line: &str| {
        let mut columns = line.split(',').skip(1).map(str::to_owned);
        (columns.next().unwrap(), columns.next().unwrap())
    };
    lines.map(pair).collect()
}

/// What `command` prints, when it succeeds with these arguments, and what it tells.
fn output(command: &str, args: &[&str]) -> (String, String) {
    let output = srlg(command).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (printed, told) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{command} {args:?}: {told}");
    (printed, told)
}

/// Cardinality and standard error, in the digits that `detect` prints.
type Point = [String; 2];

/// The last super point of each host.
fn last_points(ndjson: &str) -> BTreeMap<String, Point> {
    let point = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let digits = ["cardinality", "std_error"].map(|key| line[key].to_string());
        (line["host"].as_str().unwrap().to_owned(), digits)
    };
    ndjson.lines().map(point).collect()
}
