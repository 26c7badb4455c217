//! The `detect` example as a user runs it: formats, options, and everything that goes wrong.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The example beside this test's own binary: cargo builds it before it runs all tests.
fn detect() -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    let example = profile.join("examples").join("detect");
    assert!(example.exists(), "not built yet: cargo build --example detect");
    Command::new(example)
}

fn run(args: &[&str]) -> Output {
    detect().args(args).stdin(Stdio::null()).output().expect("the example starts")
}

fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path.to_string_lossy().into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// In the second 61 a host is asked by 2000 others, and asks 1500 itself.
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

fn assert_one_line_and_exit_2(output: &Output) {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    assert_eq!(stderr(output).trim_end().lines().count(), 1, "{}", stderr(output));
    assert!(stderr(output).starts_with("detect: "), "{}", stderr(output));
}

#[test]
fn ndjson_has_one_object_per_super_point_and_slice() {
    let input = file("ndjson.csv", contacts());
    let output = run(&["--input", &input, "--output", "ndjson", "--window", "1"]);
    assert!(output.status.success());
    let points = points(&output);
    assert_eq!(points.len(), 1);
    let (slice, start, end, host, cardinality) = &points[0];
    assert_eq!((*slice, *start, *end, host.as_str()), (61, 61_000, 62_000, "10.0.0.1"));
    assert!((cardinality / 3500.0 - 1.0).abs() < 0.05, "{cardinality}");
    let summary = stderr(&output);
    for part in ["3500 packets, 3500 contacts", "pairs      7000", "slices     1 reported", "peak"]
    {
        assert!(summary.contains(part), "{part:?} is not in\n{summary}");
    }
}

#[test]
fn role_tells_contacts_that_a_host_starts_from_those_it_receives() {
    let input = file("role.csv", contacts());
    for (role, expected) in [("any", 3500.0), ("source", 1500.0), ("destination", 2000.0)] {
        let output = run(&["--input", &input, "--output", "ndjson", "--role", role]);
        let points = points(&output);
        assert_eq!(points.len(), 1, "{role}");
        assert!((points[0].4 / expected - 1.0_f64).abs() < 0.05, "{role}: {points:?}");
    }
}

#[test]
fn only_hosts_inside_are_measured() {
    let input = file("inside.csv", contacts());
    for (networks, found) in [
        (&["--inside", "10.0.0.0/8"][..], 1),
        (&["--inside", "10.0.0.1"], 1),
        (&["--inside", "192.168.0.0/16"], 0),
        (&["--inside", "192.168.0.0/16", "--inside", "10.0.0.7/24"], 1),
    ] {
        let output = run(&[&["--input", &input, "--output", "ndjson"], networks].concat());
        assert_eq!(points(&output).len(), found, "{networks:?}");
    }
}

#[test]
fn window_keeps_a_host_for_its_slices_and_a_gap_costs_nothing() {
    let mut csv = contacts();
    csv.push_str("63000,1.1.1.1,2.2.2.2\n900000000,1.1.1.1,2.2.2.2\n");
    let input = file("window.csv", csv);
    let output = run(&["--input", &input, "--output", "ndjson", "--window", "4"]);
    let slices: Vec<u64> = points(&output).iter().map(|point| point.0).collect();
    assert_eq!(slices, [61, 62, 63, 64]);
    let five = run(&["--input", &input, "--output", "ndjson", "--window", "1", "--slice", "5m"]);
    assert_eq!(points(&five)[0].0, 0);
    assert_eq!(points(&five)[0].2, 300_000);
}

#[test]
fn late_packets_land_in_their_slice_and_broken_times_are_counted() {
    let mut csv = contacts();
    csv = csv.replacen("time_ms,src,dst\n", "time_ms,src,dst\n65000,1.1.1.1,2.2.2.2\n", 1);
    csv.push_str("4102444800000,1.1.1.1,2.2.2.2\n"); // the year 2100
    let input = file("late.csv", csv);
    let output = run(&["--input", &input, "--output", "ndjson", "--window", "6"]);
    assert_eq!(points(&output).iter().map(|point| point.0).collect::<Vec<_>>(), [65]);
    assert!(stderr(&output).contains("0 too late, 1 from the future"), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: 1 packets"), "{}", stderr(&output));
    let narrow = run(&["--input", &input, "--output", "ndjson", "--max-gap", "1s"]);
    assert!(stderr(&narrow).contains("1 from the future"), "{}", stderr(&narrow));
    let strict = run(&["--input", &input, "--output", "ndjson", "--window", "6", "--late", "3"]);
    assert_eq!(points(&strict).len(), 0);
    assert!(stderr(&strict).contains("3500 too late"), "{}", stderr(&strict));
}

#[test]
fn tables_and_csv_hold_the_same_answer() {
    let input = file("table.csv", contacts());
    let table = stdout(&run(&["--input", &input]));
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.lines().nth(1).unwrap().starts_with("10.0.0.1 "), "{table}");
    let rows = stdout(&run(&["--input", &input, "--every-slice"]));
    assert!(rows.lines().nth(1).unwrap().starts_with("61 "), "{rows}");
    let csv = stdout(&run(&["--input", &input, "--output", "csv"]));
    assert!(csv.starts_with(
        "slice,start_ms,end_ms,host,cardinality,std_error,lower_bound\n61,61000,62000,10.0.0.1,"
    ));
    assert!(csv.ends_with(",false\n"), "{csv}");
}

#[test]
fn silence_of_months_is_a_reset_and_loses_nothing_after_it() {
    let mut csv = contacts();
    for peer in 0..2000 {
        writeln!(csv, "1700000000000,10.0.0.9,{}", Ipv4Addr::from_bits(0x4000_0000 + peer))
            .unwrap();
    }
    let input = file("silence.csv", csv);
    let output = run(&["--input", &input, "--output", "ndjson", "--window", "5"]);
    let last = points(&output).pop().unwrap();
    assert_eq!((last.0, last.3.as_str()), (1_700_000_000, "10.0.0.9"));
    assert!(stderr(&output).contains("0 too late, 0 from the future"), "{}", stderr(&output));
}

#[test]
fn a_host_has_no_contact_with_itself_and_outsiders_are_counted() {
    let input = file(
        "self.csv",
        "time_ms,src,dst\n1,10.0.0.1,10.0.0.1\n1,1.1.1.1,2.2.2.2\n1,10.0.0.1,3.3.3.3\n",
    );
    let summary = stderr(&run(&["--input", &input, "--inside", "10.0.0.0/8"]));
    assert!(summary.contains("pairs      1\n"), "{summary}");
    assert!(summary.contains("2 with no measured endpoint"), "{summary}");
}

#[test]
fn preset_and_seed_reach_the_detector() {
    let input = file("preset.csv", contacts());
    let estimate = |extra: &[&str]| {
        let output = run(&[&["--input", &input, "--output", "ndjson"], extra].concat());
        (points(&output)[0].4, stderr(&output))
    };
    let (default, summary) = estimate(&[]);
    assert!(summary.contains("31.7 MB of recorders"), "{summary}");
    assert!(estimate(&["--preset", "paper"]).1.contains("31.6 MB of recorders"));
    let others = ["1", "2", "3"].map(|seed| estimate(&["--seed", seed]).0);
    assert!(others.iter().any(|&other| other != default), "{default} {others:?}");
}

#[test]
fn thresholds_beyond_the_presets_lengthen_the_estimators() {
    let mut csv = "time_ms,src,dst\n".to_owned();
    for peer in 0..60_000 {
        writeln!(csv, "0,10.0.0.1,{}", Ipv4Addr::from_bits(0x4000_0000 + peer)).unwrap();
    }
    let input = file("large.csv", csv);
    let output = run(&["--input", &input, "--output", "ndjson", "--threshold", "50000"]);
    assert!((points(&output)[0].4 / 60_000.0 - 1.0_f64).abs() < 0.05, "{}", stdout(&output));
}

#[test]
fn standard_input_is_read_to_its_end() {
    let mut child = detect()
        .args(["--input", "-", "--output", "ndjson"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(contacts().as_bytes()).unwrap();
    assert_eq!(points(&child.wait_with_output().unwrap()).len(), 1);
}

#[test]
fn beyond_what_an_estimator_can_tell_is_a_lower_bound() {
    let mut csv = "time_ms,src,dst\n".to_owned();
    for peer in 0..400_000 {
        writeln!(csv, "0,10.0.0.1,{}", Ipv4Addr::from_bits(0x4000_0000 + peer)).unwrap();
    }
    let input = file("giant.csv", csv);
    let output = run(&["--input", &input, "--output", "ndjson", "--role", "source"]);
    assert!(stdout(&output).trim_end().ends_with(r#""lower_bound":true}"#), "{}", stdout(&output));
}

#[test]
fn input_that_cannot_be_read_is_one_line_and_exit_2() {
    let unknown = file("unknown.bin", b"\x7fELF and so on");
    let empty = file("empty.csv", b"");
    let header = file("header.csv", b"when,who,whom\n1,1.1.1.1,2.2.2.2\n");
    for input in [unknown.as_str(), &empty, &header, "no/such/file", env!("CARGO_MANIFEST_DIR")] {
        assert_one_line_and_exit_2(&run(&["--input", input]));
    }
}

#[test]
fn impossible_options_exit_2_and_say_why() {
    let input = file("options.csv", contacts());
    for (option, value, reason) in [
        ("--threshold", "0", "threshold is 0"),
        ("--window", "0", "window is 0"),
        ("--window", "65535", "window is 65535"),
        ("--slice", "0s", "milliseconds"),
        ("--slice", "10us", "milliseconds"),
        ("--inside", "10.0.0.0/33", "IPv4 network"),
        ("--inside", "2001:db8::/32", "only IPv4"),
        ("--role", "both", "invalid value"),
        ("--device", "cuda", "invalid value"),
        ("--colour", "red", "unexpected argument"),
    ] {
        let output = run(&["--input", &input, option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(stderr(&output).contains(reason), "{option} {value}: {}", stderr(&output));
        assert_one_line_and_exit_2(&output);
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn cut_capture_gives_its_whole_packets_and_a_warning() {
    // A pcap header, one record of a bare IPv4 header, and half of another.
    let mut pcap = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0,
    ];
    let record =
        [&[1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0, 0, 0x45, 0, 0, 20][..], &[0; 16]]
            .concat();
    pcap.extend_from_slice(&record);
    pcap.extend_from_slice(&record[..25]);
    let output = run(&["--input", &file("cut.pcap", pcap)]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("warning"), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("byte {}", 24 + 36)), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 packets"), "{}", stderr(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let input = file("disk.csv", contacts());
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let args = ["--input", &input, "--output", "ndjson"];
    let output = detect().args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_one_line_and_exit_2(&output);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = detect().args(args).stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert!(status.success());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = detect().stdout(writer).status().unwrap();
    assert!(status.success(), "the generated minute, too, may be cut short by head");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = detect().args(args).stderr(full).output().unwrap();
    assert_eq!((output.status.code(), points(&output).len()), (Some(0), 1));
}

#[test]
fn generated_minute_finds_every_planted_host() {
    let output = run(&["--seed", "3"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    assert!(!table.contains("missed"), "{table}");
    for part in ["FPR", "FNR", "memory", "time per slice", "M pairs/s"] {
        assert!(table.contains(part), "{part:?} is not in\n{table}");
    }
}

#[test]
fn every_capture_of_real_tools_is_read_without_a_panic() {
    let Some(folder) = srlg_evaluation::trace::data_dir() else {
        eprintln!("skipped: SRLG_DATA is absent");
        return;
    };
    for entry in fs::read_dir(folder.join("captures")).unwrap() {
        let path = entry.unwrap().path();
        let output =
            run(&["--input", &path.to_string_lossy(), "--output", "ndjson", "--threshold", "100"]);
        let expected =
            if path.extension().is_some_and(|e| e == "dat" || e == "md") { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{}: {}", path.display(), stderr(&output));
        if path.ends_with("pcap_usec_ddos_synack.pcap") {
            let points = points(&output);
            assert!((points[0].4 / 7055.0 - 1.0_f64).abs() < 0.05, "{points:?}");
        }
    }
}
