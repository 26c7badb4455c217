//! What is measured: inside or outside hosts, and contacts by who began them.

use super::*;

/// In one second a host outside tries 2000 inside ones, of which none answers, and 2000 clients outside ask a server
/// inside, which answers all.
fn log() -> String {
    let mut log = "#fields\tts\tid.orig_h\tid.resp_h\tid.orig_p\tid.resp_p\tproto\thistory\torig_pkts\tresp_pkts\n".to_owned();
    for number in 0..2000 {
        let [high, low] = [number / 250, number % 250];
        writeln!(log, "61\t198.51.100.9\t10.1.{high}.{low}\t4000\t22\ttcp\tS\t1\t0").unwrap();
        writeln!(log, "61\t192.0.{high}.{low}\t10.0.0.1\t4000\t443\ttcp\tShADad\t5\t5").unwrap();
    }
    log
}

fn found(name: &str, options: &[&str]) -> Vec<String> {
    let input = file(name, log());
    hosts(&run(&[&["--input", &input, "--output", "ndjson"], options].concat()))
}

#[test]
fn a_view_says_whose_contacts_count() {
    let inside = ["--inside", "10.0.0.0/8"];
    let with = |name, options: &[&str]| found(name, &[&inside, options].concat());
    assert_eq!(found("all.log", &[]), ["10.0.0.1", "198.51.100.9"]);
    assert_eq!(with("inside.log", &[]), ["10.0.0.1"]);
    assert_eq!(with("outside.log", &["--measure", "outside"]), ["198.51.100.9"]);
    // The answers of the server are its fan-out, too, but it began nothing.
    assert_eq!(with("fan-out.log", &["--role", "source"]), ["10.0.0.1"]);
    let scans = ["--role", "source", "--only", "initiated"];
    assert_eq!(with("scans.log", &scans), [""; 0]);
    assert_eq!(found("all-scans.log", &scans), ["198.51.100.9"]);
    assert_eq!(found("syn.log", &["--only", "tcp-syn"]), ["198.51.100.9"]);
}

#[test]
fn outside_hosts_are_outside_of_something() {
    let input = file("nothing-inside.log", log());
    let output = run(&["--input", &input, "--measure", "outside"]);
    assert_one_line_and_exit_2(&output);
    insta::assert_snapshot!(stderr(&output));
    // Without an input nothing would be looked at.
    let output = run(&["--only", "initiated"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
