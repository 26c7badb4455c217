//! `srlg detect`: formats, options and errors.

mod limits;
mod ports;
mod reports;
mod views;

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use approx::assert_abs_diff_eq;

use crate::{srlg, steady};

fn detect() -> Command {
    srlg("detect")
}

fn run(args: &[&str]) -> Output {
    detect().args(args).stdin(Stdio::null()).output().expect("cannot start the program")
}

fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_string_lossy().into_owned()
}

fn ndjson(name: &str, content: impl AsRef<[u8]>, options: &[&str]) -> Output {
    run(&[&["--input", &file(name, content), "--output", "ndjson"], options].concat())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns contacts of second 61: 2,000 hosts contact 10.0.0.1, which contacts 1,500 hosts.
fn contacts() -> String {
    let mut csv = "time_ms,src,dst\n".to_owned();
    for peer in 0..2000 {
        writeln!(csv, "{},192.168.{}.{},10.0.0.1", 61_000 + peer % 1000, peer / 250, peer % 250)
            .unwrap();
    }
    for peer in 0..1500 {
        writeln!(csv, "61999,10.0.0.1,172.16.{}.{}", peer / 250, peer % 250).unwrap();
    }
    csv
}

fn fan_out(time_ms: u64, host: &str, peers: u32) -> String {
    let line = |peer| format!("{time_ms},{host},{}\n", Ipv4Addr::from_bits(0x4000_0000 + peer));
    (0..peers).map(line).collect()
}

fn points(output: &Output) -> Vec<(u64, u64, u64, String, f64)> {
    let number = |value: &serde_json::Value, key: &str| value[key].as_u64().unwrap();
    stdout(output)
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let host = value["host"].as_str().unwrap().to_owned();
            let cardinality = value["cardinality"].as_f64().unwrap();
            let [slice, start, end] =
                ["slice", "start_ms", "end_ms"].map(|key| number(&value, key));
            (slice, start, end, host, cardinality)
        })
        .collect()
}

fn hosts(output: &Output) -> Vec<String> {
    let mut hosts: Vec<String> = points(output).into_iter().map(|point| point.3).collect();
    hosts.sort();
    hosts
}

fn assert_one_line_and_exit_2(output: &Output) {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    assert_eq!(stderr(output).trim_end().lines().count(), 1, "{}", stderr(output));
    assert!(stderr(output).starts_with("srlg: "), "{}", stderr(output));
}
