//! Exports that were captured elsewhere, compared with the packets from which they were made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use srlg_traffic::trace::recorded;

use crate::program::srlg;
use crate::{last_points, output, pairs};

/// Names of files that contain unsampled exports of the packets in [`PACKETS`].
const WHOLE: [&str; 5] = [
    "softflowd_synack_v5",
    "softflowd_synack_v9",
    "softflowd_synack_ipfix",
    "softflowd_synack_ipfix_biflow",
    "pmacctd_synack_v9",
];
const PACKETS: &str = "captures/pcap_usec_ddos_synack.pcap";

/// Options of `detect` that put all contacts into one slice.
const ONE_SLICE: [&str; 8] =
    ["--threshold", "100", "--slice", "365d", "--output", "ndjson", "--seed", "1"];

fn detected(args: &[&str]) -> String {
    output("detect", &[args, &ONE_SLICE[..]].concat()).0
}

#[test]
fn exports_of_packets_are_the_pairs_and_super_points_of_the_packets() {
    let Some(data) = recorded(".") else { return };
    let packets = data.join(PACKETS);
    let packets = ["--input", packets.to_str().unwrap()];
    let (expected, points) = (pairs(&output("contacts", &packets).0), detected(&packets));
    assert_eq!((expected.len(), last_points(&points).len()), (7_055, 1));
    for name in WHOLE {
        let path = data.join(format!("flows/{name}.pcap"));
        let exports = ["--input", path.to_str().unwrap(), "--exports"];
        let (list, logged) = output("contacts", &exports);
        assert_eq!(pairs(&list), expected, "{name}: {logged}");
        assert_eq!(last_points(&detected(&exports)), last_points(&points), "{name}");
    }
}

/// Returns the path of each capture or export file, and the options for reading it.
fn files(data: &Path) -> Vec<(PathBuf, &'static [&'static str])> {
    let mut files: Vec<(PathBuf, &[&str])> = Vec::new();
    for (folder, options) in [("captures", &[][..]), ("flows", &["--exports"])] {
        let entries = fs::read_dir(data.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_capture = |path: &PathBuf| path.to_str().unwrap().contains(".pcap");
        files.extend(paths.filter(is_capture).map(|path| (path, options)));
    }
    files.sort();
    files
}

/// `detect` and a replay by `run` both have a window of 60 slices of one second. An alert starts when the count
/// minus its standard error has reached the threshold in three of the last five slices. Even if a host reaches the
/// threshold only at the end of the file, its alert starts, because a replay closes further slices after the end.
#[test]
fn a_replay_has_an_alert_for_each_host_that_detect_finds() {
    let Some(data) = recorded(".") else { return };
    let mut floods = 0;
    for (path, options) in files(&data) {
        let input = [&["--input", path.to_str().unwrap(), "--threshold", "1000"][..], options];
        let detect = ["--role", "destination", "--window", "60", "--output", "ndjson"];
        let detected = srlg("detect").args(input.concat()).args(detect).output().unwrap();
        // Some files are deliberately damaged.
        let points = last_points(std::str::from_utf8(&detected.stdout).unwrap());
        if points.is_empty() {
            continue;
        }
        let (alerts, _) = output("run", &input.concat());
        let alerts = alerts.lines().map(|line| serde_json::from_str(line).unwrap());
        // Replies that nobody asked for raise alerts of their own view.
        let is_in = |it: &Value| it["view"] == "fan-in" || it["view"] == "replies-in";
        let is_start = |it: &Value| it["status"] == "start" && is_in(it);
        let alerts: Vec<Value> = alerts.filter(is_start).collect();
        let hosts: BTreeSet<&str> = alerts.iter().map(|it| it["host"].as_str().unwrap()).collect();
        let expected: BTreeSet<&str> = points.keys().map(String::as_str).collect();
        assert_eq!(hosts, expected, "{}", path.display());
        assert_eq!(alerts.len(), hosts.len(), "{}: {alerts:?}", path.display());
        floods += hosts.len();
    }
    assert!(floods >= 8, "{floods}");
}

/// Numbers of pairs and frames in [`PACKETS`]. All pairs have the same destination.
const TRUTH: f64 = 7_055.0;
const FRAMES: f64 = 8_000.0;

/// A sample of one packet in N contains n hosts. If each host sent one packet, N n is an estimate of the number of
/// hosts. In that case, n has a binomial distribution with `TRUTH` trials, and the standard deviation of N n is
/// √(`TRUTH` (N - 1)). If some hosts sent more packets, the expected value of N n is larger, but at most `FRAMES`. The
/// standard deviation of N n and N times the standard error of the estimate are added as squares. About one seed in two
/// million causes a deviation of more than five times the square root of this sum. The upper bound is two of these
/// deviations above N n.
#[test]
fn a_sample_tells_its_rate_and_the_range_that_holds_the_truth() {
    let Some(data) = recorded(".") else { return };
    for (name, rate) in [("softflowd_synack_v9_sampled10", 10), ("pmacctd_synack_sflow_1in4", 4)] {
        let path = data.join(format!("flows/{name}.pcap"));
        let line = detected(&["--input", path.to_str().unwrap(), "--exports"]);
        let line: Value = serde_json::from_str(line.trim_end()).unwrap();
        let sampling = serde_json::json!({"least": rate, "most": rate, "unknown": false});
        assert_eq!((&line["sampling"], &line["host"]), (&sampling, &"10.10.10.10".into()));
        let [least, most] = [0, 1].map(|at| line["unsampled"][at].as_f64().unwrap());
        let (rate, error) = (f64::from(rate), line["std_error"].as_f64().unwrap());
        let deviation = |hosts: f64| (hosts * (rate - 1.0)).sqrt().hypot(rate * error);
        assert!(least - 5.0 * error <= TRUTH, "{name}: {line}");
        assert!(TRUTH <= most + 3.0 * deviation(TRUTH), "{name}: {line}");
        assert!(most <= FRAMES + 7.5 * deviation(FRAMES), "{name}: {line}");
    }
}
