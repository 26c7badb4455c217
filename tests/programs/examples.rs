//! Tests that run the programs in the folder `examples` as users run them.

use std::process::{Command, Output};

use approx::assert_abs_diff_eq;

fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    let path = profile.join("examples").join(name);
    assert!(path.exists(), "not built yet: cargo build --examples");
    Command::new(path)
}

fn printed(name: &str) -> String {
    printed_with(name, &[])
}

fn printed_with(name: &str, arguments: &[&str]) -> String {
    let output = example(name).args(arguments).output().expect("the example starts");
    let Output { status, stdout, stderr } = output;
    assert!(status.success() && stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("examples print text")
}

/// Asserts that `line` ends with `HOST CARDINALITY ±ERROR`, and that the estimate is within five standard errors of
/// `truth`. A larger error occurs with only one seed in two million.
fn assert_estimates(line: &str, host: &str, truth: f64) {
    let words: Vec<&str> = line.split(' ').collect();
    let [.., found, cardinality, error] = words[..] else { panic!("{line}") };
    let cardinality: f64 = cardinality.parse().expect("a number");
    let error: f64 = error.trim_start_matches('±').parse().expect("a number");
    assert_eq!(found, host, "{line}");
    assert_abs_diff_eq!(cardinality, truth, epsilon = 5.0 * error);
}

#[test]
fn every_planted_host_is_found_and_one_of_them_talks_ipv6() {
    let printed = printed("detect");
    // The last three lines are left out, because they contain the memory on a device, and times.
    let lines: Vec<&str> = printed.lines().collect();
    insta::assert_snapshot!(lines[..lines.len() - 3].join("\n"));
}

#[test]
fn captures_are_measured_by_the_time_stamps_of_their_contacts() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/capture.csv");
    let contact =
        |peer| format!("{},192.0.{}.{},10.0.0.1\n", 61_000 + peer, peer / 256, peer % 256);
    let contacts: String = (0..600).map(contact).collect();
    std::fs::write(path, format!("time_ms,src,dst\n{contacts}")).expect("a folder for tests");
    let printed = printed_with("capture", &[path]);
    assert_eq!(printed.split(' ').nth(1), Some("61:"), "{printed}");
    assert_estimates(printed.trim_end(), "10.0.0.1", 600.0);
    assert!(!example("capture").output().expect("the example starts").status.success());
}

#[test]
fn two_sites_find_together_what_neither_sees() {
    let printed = printed("merge");
    let lines: Vec<&str> = printed.lines().collect();
    assert_estimates(lines[2], "10.0.0.1", 1500.0);
    insta::assert_snapshot!(printed);
}

#[test]
fn devices_find_together_what_each_sees_a_third_of() {
    let printed = printed_with("gpus", &["cpu", "cpu", "cpu"]);
    let lines: Vec<&str> = printed.lines().collect();
    let [_, found @ .., _] = &lines[..] else { panic!("{printed}") };
    // Three hosts have 400 new peers in each of 12 slices. They are reported from 1,200 peers on.
    assert_eq!(found.len(), 3 * 10, "{printed}");
    let mut last = found[found.len() - 3..].to_vec();
    last.sort_by_key(|line| line.split(' ').nth(2));
    for (line, host) in last.iter().zip(["10.0.0.1", "10.0.0.2", "10.0.0.3"]) {
        assert_estimates(line, host, 2000.0);
    }
    insta::assert_snapshot!(printed);
}

#[test]
fn device_that_is_not_there_is_named_in_one_line() {
    let output = example("gpus").args(["cpu", "cuda:4294967295"]).output();
    let Output { status, stderr, .. } = output.expect("the example starts");
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(!status.success() && stderr.starts_with("gpus: cuda:4294967295: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn last_close_has_seen_what_all_threads_received() {
    let printed = printed("threads");
    assert_estimates(printed.lines().last().expect("a report"), "10.0.0.1", 6000.0);
}

#[test]
fn scanners_of_ports_are_found_and_nobody_else() {
    let printed = printed("ports");
    let lines: Vec<&str> = printed.lines().collect();
    let [vertical, horizontal] = lines[..] else { panic!("{printed}") };
    assert!(vertical.starts_with("5000 ") && horizontal.starts_with("2000 "), "{printed}");
    assert_estimates(vertical, "10.0.0.3", 5000.0);
    assert_estimates(horizontal, "2001:db8::4", 2000.0);
}
