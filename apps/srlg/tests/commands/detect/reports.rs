//! Reports and their formats.

use std::io::Write as _;
use std::process::Stdio;

use super::*;

#[test]
fn ndjson_has_one_object_per_super_point_and_slice() {
    let output = ndjson("ndjson.csv", contacts(), &["--window", "1"]);
    assert!(output.status.success());
    let points = points(&output);
    assert_eq!(points.len(), 1);
    let (slice, start, end, host, cardinality) = &points[0];
    assert_eq!((*slice, *start, *end, host.as_str()), (61, 61_000, 62_000, "10.0.0.1"));
    assert_abs_diff_eq!(cardinality / 3500.0, 1.0, epsilon = 0.05);
    insta::assert_snapshot!(steady(&stderr(&output)));
}

#[test]
fn role_tells_contacts_that_a_host_starts_from_those_it_receives() {
    for (role, expected) in [("any", 3500.0), ("source", 1500.0), ("destination", 2000.0)] {
        let points = points(&ndjson("role.csv", contacts(), &["--role", role]));
        assert_eq!(points.len(), 1, "{role}");
        assert_abs_diff_eq!(points[0].4 / expected, 1.0, epsilon = 0.05);
    }
}

#[test]
fn only_hosts_inside_are_measured() {
    for (networks, found) in [
        (&["--inside", "10.0.0.0/8"][..], 1),
        (&["--inside", "10.0.0.1"], 1),
        (&["--inside", "192.168.0.0/16"], 0),
        (&["--inside", "192.168.0.0/16", "--inside", "10.0.0.7/24"], 1),
    ] {
        let output = ndjson("inside.csv", contacts(), networks);
        assert_eq!(points(&output).len(), found, "{networks:?}");
    }
}

#[test]
fn a_window_keeps_a_host_for_its_slices_despite_a_gap() {
    let mut csv = contacts();
    csv.push_str("63000,1.1.1.1,2.2.2.2\n900000000,1.1.1.1,2.2.2.2\n");
    let output = ndjson("window.csv", &csv, &["--window", "4"]);
    let slices: Vec<u64> = points(&output).iter().map(|point| point.0).collect();
    assert_eq!(slices, [61, 62, 63, 64]);
    let five = ndjson("window.csv", &csv, &["--window", "1", "--slice", "5m"]);
    assert_eq!(points(&five)[0].0, 0);
    assert_eq!(points(&five)[0].2, 300_000);
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
fn a_host_has_no_contact_with_itself_and_outsiders_are_counted() {
    let input = file(
        "self.csv",
        "time_ms,src,dst\n1,10.0.0.1,10.0.0.1\n1,1.1.1.1,2.2.2.2\n1,10.0.0.1,3.3.3.3\n",
    );
    let summary = stderr(&run(&["--input", &input, "--inside", "10.0.0.0/8"]));
    insta::assert_snapshot!(steady(&summary));
}

#[test]
fn preset_and_seed_reach_the_detector() {
    let estimate = |extra: &[&str]| {
        let output = ndjson("preset.csv", contacts(), extra);
        (points(&output)[0].4, stderr(&output))
    };
    let (default, summary) = estimate(&[]);
    assert!(summary.contains(" 31.6 MB "), "{summary}");
    let (paper, _) = estimate(&["--preset", "paper"]);
    assert_ne!(paper, default, "different recorders must give different counts");
    let others = ["1", "2", "3"].map(|seed| estimate(&["--seed", seed]).0);
    assert!(others.iter().any(|&other| other != default), "{default} {others:?}");
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

// Each run has a different seed. The host with 3500 peers exceeds the threshold of 1024 with any seed.
#[test]
fn hostile_traffic_is_hashed_by_another_seed_every_time() {
    let input = file("hostile.csv", contacts());
    let options = ["--input", &input, "--output", "ndjson", "--window", "1", "--hostile"];
    let [first, second] = [(); 2].map(|()| points(&run(&options)));
    assert_eq!((first[0].3.as_str(), second[0].3.as_str()), ("10.0.0.1", "10.0.0.1"));
    let secret = [&options[..], &["--seed", "77"]].concat();
    assert_eq!(points(&run(&secret)), points(&run(&secret)));
    assert_ne!(
        points(&run(&secret)),
        points(&run(&options[..6])),
        "different hash families must give different errors"
    );
}

#[test]
fn sample_peers_are_printed_where_they_are_asked_for() {
    let input = file("peers.csv", contacts());
    let ask = |more: &[&str]| stdout(&run(&[&["--input", &input, "--window", "1"], more].concat()));
    assert!(!ask(&["--output", "ndjson"]).contains("peers"));
    assert_eq!(ask(&["--output", "ndjson", "--peers", "0"]), ask(&["--output", "ndjson"]));
    let lines = ask(&["--output", "ndjson", "--peers", "5"]);
    assert_eq!(lines.matches("\"last_seen\":61").count(), 5, "{lines}");
    // More peers are requested than a sample holds. A sample has at most 64 peers, and nearly 64 after 3500 contacts.
    let many = ask(&["--output", "ndjson", "--peers", "1000"]).matches("\"last_seen\":61").count();
    assert!((48..=64).contains(&many), "{many}");
    assert_eq!(ask(&["--output", "csv", "--peers", "3"]).matches("@61").count(), 3);
}
