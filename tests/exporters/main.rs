//! What exporters make of traffic, and srlg of what they export, is what was in the packets.
//!
//! Exporters are Debian's, on loopback (`scripts/exporters.sh`). Where one lacks, a test says so and passes; with
//! `SRLG_REQUIRE_EXPORTERS=1` it fails.

#[path = "../example.rs"]
mod example;

mod captures;
mod collector;
mod exports;
mod flows;
mod loopback;
mod packets;
mod programs;
mod same_hosts;

use std::collections::BTreeSet;

use collector::Collector;
use example::example;

/// Source and destination of contacts.
type Pairs = BTreeSet<(String, String)>;

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

/// What `program` prints, when it succeeds with these arguments, and what it tells.
fn output(program: &str, args: &[&str]) -> (String, String) {
    let output = example(program).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (printed, told) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{program} {args:?}: {told}");
    (printed, told)
}

/// Host and cardinality of the last line of each host, in the digits that `detect` prints.
fn last_points(ndjson: &str) -> BTreeSet<(String, String)> {
    let mut points = std::collections::BTreeMap::new();
    for line in ndjson.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        points.insert(line["host"].as_str().unwrap().to_owned(), line["cardinality"].to_string());
    }
    points.into_iter().collect()
}
