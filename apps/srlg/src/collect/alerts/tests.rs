//! The follower on reports of a detector: what is written, and what is not.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;
use srlg_host::config::Scheme;
use srlg_host::{Config, Device, IpPair, SlidingDetector};

use super::*;
use crate::collect::rule::{Cause, Close};
use crate::network::Network;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    alerting: AlertOptions,
}

fn network() -> Network {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 4096, tags: 64 };
    let config =
        Config { window: 3, linear_width: 1024, threshold: 64, scheme, ..Config::default() };
    let probes = vec!["a".to_owned(), "b".to_owned()];
    Network { probes, slice_ms: 1000, part_bytes: 1 << 20, config }
}

fn options(folder: &Path, more: &[&str]) -> AlertOptions {
    let path = folder.join("alerts.ndjson");
    let args = ["", "--alerts", path.to_str().unwrap(), "--hold", "3s"];
    Command::parse_from(args.iter().chain(more)).alerting
}

/// What probes delivered of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Delivered {
    All,
    /// Of `a` alone; the window lacks it.
    One,
    /// Of all, in a window that lacks something.
    Since,
    Nothing,
}

fn close(slice: u64, delivered: Delivered) -> Close {
    let (delivered, late) = match delivered {
        Delivered::All | Delivered::Since => (vec![0, 1], vec![]),
        Delivered::One => (vec![0], vec![1]),
        Delivered::Nothing => (vec![], vec![0, 1]),
    };
    let is_window_whole = matches!(delivered.len(), 2);
    Close { slice, cause: Cause::Deadline, delivered, late, missing: vec![], is_window_whole }
}

/// A collector's detector, and its follower.
struct Run {
    folder: tempfile::TempDir,
    more: Vec<&'static str>,
    detector: SlidingDetector,
    kept: Option<FollowerState>,
}

impl Run {
    fn new(more: &[&'static str]) -> Self {
        let mut detector = SlidingDetector::new(network().config, Device::Cpu).unwrap();
        detector.skip_to(1000).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, more: more.to_vec(), detector, kept: None }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("alerts.ndjson")
    }

    fn reports(&self) -> Lines {
        Lines::open("report", &self.folder.path().join("reports.ndjson"), None).unwrap()
    }

    fn follower(&self) -> Follower {
        let options = options(self.folder.path(), &self.more);
        options.follower(&network(), &self.reports(), self.kept.as_ref()).unwrap().unwrap()
    }

    /// Follows slices, in each of which host 7 has so many opposite hosts, new ones. Each is followed twice: by a follower
    /// that is killed before a checkpoint, then by one that goes on from the checkpoint, which is JSON.
    fn follow(&mut self, slices: &[(u32, Delivered)]) {
        for &(opposite, delivered) in slices {
            let first = self.detector.slice() as u32 * 10_000;
            let pairs: Vec<_> =
                (first..first + opposite).map(|opposite| IpPair { inside: 7, opposite }).collect();
            self.detector.ingest(&pairs).unwrap();
            let report = self.detector.close_slice().unwrap();
            let mut close = close(report.slice, delivered);
            close.is_window_whole &= delivered != Delivered::Since;
            let slice = ClosedSlice {
                names: &network().probes,
                slice_ms: 1000,
                close: &close,
                report: &report,
                sampling: "1:10".parse().unwrap(),
            };
            self.follower().follow(&slice).unwrap();
            let mut follower = self.follower();
            follower.follow(&slice).unwrap();
            let kept = serde_json::to_vec(&follower.state().unwrap()).unwrap();
            self.kept = Some(serde_json::from_slice(&kept).unwrap());
        }
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Slice and status of each line.
    fn told(&self) -> Vec<(u64, String)> {
        let told = |line: Value| {
            (line["slice"].as_u64().unwrap(), line["status"].as_str().unwrap().to_owned())
        };
        self.lines().into_iter().map(told).collect()
    }
}

fn told(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
    lines.iter().map(|&(slice, status)| (slice, status.to_owned())).collect()
}

#[test]
fn an_alert_starts_once_and_ends_once_with_one_id_however_often_its_collector_is_killed() {
    let mut run = Run::new(&[]);
    run.follow(&[[(200, Delivered::All); 5], [(0, Delivered::All); 5]].concat());
    run.follow(&[(0, Delivered::All); 5]);
    let lines = run.lines();
    assert_eq!(run.told(), told(&[(1002, "start"), (1010, "end")]), "{lines:?}");
    assert_eq!(lines[0]["id"], lines[1]["id"]);
    assert_eq!(lines[0]["host"], "0.0.0.7");
    assert_eq!((&lines[0]["start_ms"], &lines[0]["window_ms"]), (&1_003_000.into(), &3000.into()));
    assert_eq!((&lines[0]["threshold"], &lines[0]["sampling"]), (&96.0.into(), &"1:10".into()));
    assert_eq!(lines[0]["peers"].as_array().unwrap().len(), 32);
    assert_eq!(lines[1]["peers"], Value::Array(vec![]));
    insta::assert_snapshot!(format!("{}\n{}", lines[0]["text"], lines[1]["text"]));
}

#[test]
fn nothing_ends_while_a_delta_of_the_window_is_missing() {
    for lacking in [Delivered::One, Delivered::Since, Delivered::Nothing] {
        let mut run = Run::new(&["--repeat", "1h"]);
        run.follow(&[(150, Delivered::All); 5]);
        run.follow(&[(0, lacking); 20]);
        assert_eq!(run.told(), told(&[(1002, "start")]), "{lacking:?}");
        assert_eq!(run.follower().active(), 1);
        run.follow(&[(0, Delivered::All); 4]);
        // From the first whole slice on it is below for --hold.
        assert_eq!(run.told(), told(&[(1002, "start"), (1028, "end")]), "{lacking:?}");
    }
}

#[test]
fn alerts_start_while_probes_are_missing_which_the_line_names() {
    let mut run = Run::new(&[]);
    run.follow(&[(150, Delivered::One); 3]);
    let line = &run.lines()[0];
    assert_eq!(run.told(), told(&[(1002, "start")]));
    assert_eq!((&line["late"], &line["missing"]), (&vec!["b"].into(), &Value::Array(vec![])));
    assert_eq!(line["is_window_whole"], false);
}

#[test]
fn a_threshold_below_that_of_reports_and_a_file_for_both_are_refused() {
    let run = Run::new(&[]);
    let low = options(run.folder.path(), &["--alert-threshold", "63"]);
    let too_low = low.terms(&network()).unwrap_err();
    let both = options(run.folder.path(), &[]);
    let lines = Lines::open("report", &run.path(), None).unwrap();
    let shared = both.follower(&network(), &lines, None).unwrap_err();
    let texts = format!("{too_low}\n{shared}");
    insta::assert_snapshot!(texts.replace(run.folder.path().to_str().unwrap(), "FOLDER"));
}
