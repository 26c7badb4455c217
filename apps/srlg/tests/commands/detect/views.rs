//! Views: inside or outside hosts, contacts by initiator, both address families in one run, and networks that count as
//! one host or one peer.

use super::*;

/// Returns a Zeek log of one second. An outside host contacts 2,000 inside hosts and gets no answers. An inside server
/// answers 2,000 outside clients.
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
    hosts(&ndjson(name, log(), options))
}

#[test]
fn a_view_selects_the_contacts_that_count() {
    let inside = ["--inside", "10.0.0.0/8"];
    let with = |name, options: &[&str]| found(name, &[&inside, options].concat());
    assert_eq!(found("all.log", &[]), ["10.0.0.1", "198.51.100.9"]);
    assert_eq!(with("inside.log", &[]), ["10.0.0.1"]);
    assert_eq!(with("outside.log", &["--measure", "outside"]), ["198.51.100.9"]);
    // Replies of the server also count as its fan-out, but it initiated no contact.
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
    // The command requires an input.
    let output = run(&["--only", "initiated"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// Returns contacts of second 61, in which an IPv6 host and an IPv4 host have 2,000 peers each. The peers of the IPv6
/// host are in `networks` different /64 networks.
fn both(networks: u32) -> String {
    let mut csv = "time_ms,src,dst\n".to_owned();
    for peer in 0..2000 {
        let network = peer % networks;
        writeln!(csv, "61000,2001:db8:1:{network:x}::{peer:x},[2001:db8::1]").unwrap();
        writeln!(csv, "61500,192.0.{}.{},10.0.0.1", peer / 250, peer % 250).unwrap();
    }
    csv
}

#[test]
fn one_run_reports_hosts_of_both_families() {
    let input = file("both.csv", both(2000));
    let output = run(&["--input", &input, "--output", "ndjson"]);
    assert_eq!(hosts(&output), ["10.0.0.1", "2001:db8::1"]);
    for point in points(&output) {
        assert_abs_diff_eq!(point.4 / 2000.0, 1.0, epsilon = 0.05);
    }
    insta::assert_snapshot!(steady(&stderr(&output)));
    let table = stdout(&run(&["--input", &input]));
    assert!(table.contains("2001:db8::1 ") && table.contains("10.0.0.1 "), "{table}");
    let csv = stdout(&run(&["--input", &input, "--output", "csv"]));
    assert!(csv.contains("61,61000,62000,2001:db8::1,"), "{csv}");
}

#[test]
fn networks_of_either_family_are_measured() {
    for (inside, found) in [
        ("2001:db8::/64", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("10.0.0.0/8", "10.0.0.1"),
    ] {
        let output = ndjson("both-inside.csv", both(2000), &["--inside", inside]);
        assert_eq!(hosts(&output), [found], "{inside}");
    }
}

#[test]
fn a_flood_from_one_network_is_one_peer_where_networks_are_counted() {
    let of = |options: &[&str]| {
        let options = [&["--inside", "2001:db8::/64"], options].concat();
        hosts(&ndjson("both-prefix.csv", both(1), &options))
    };
    assert_eq!(of(&[]), ["2001:db8::1"]);
    assert_eq!(of(&["--peer-prefix6", "64"]), [""; 0]);
    // A network that counts as one host has all contacts of its hosts.
    assert_eq!(of(&["--host-prefix6", "48"]), ["2001:db8::/48"]);
}

#[test]
fn the_scheme_of_the_paper_counts_ipv4_and_reports_what_it_skipped() {
    let output = ndjson("both-paper.csv", both(2000), &["--preset", "paper"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(hosts(&output).iter().all(|host| !host.contains(':')), "{:?}", hosts(&output));
    assert!(hosts(&output).contains(&"10.0.0.1".to_owned()));
    insta::assert_snapshot!(steady(&stderr(&output)));
}
