//! Both families in one run, and networks that count as hosts.

use super::*;

/// In the second 61 an IPv6 host and an IPv4 host are asked by 2000 others each; those of the IPv6 host are in as many
/// networks of 64 bits as `networks`.
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
    let input = file("both-inside.csv", both(2000));
    for (inside, found) in [
        ("2001:db8::/64", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("10.0.0.0/8", "10.0.0.1"),
    ] {
        let output = run(&["--input", &input, "--output", "ndjson", "--inside", inside]);
        assert_eq!(hosts(&output), [found], "{inside}");
    }
}

#[test]
fn a_flood_from_one_network_is_one_opposite_host_where_networks_count() {
    let input = file("both-prefix.csv", both(1));
    let all = ["--input", &input, "--output", "ndjson", "--inside", "2001:db8::/64"];
    assert_eq!(hosts(&run(&all)), ["2001:db8::1"]);
    assert_eq!(hosts(&run(&[&all[..], &["--peer-prefix6", "64"]].concat())), [""; 0]);
    // The network as a host has all contacts of its hosts.
    let network = run(&[&all[..], &["--host-prefix6", "48"]].concat());
    assert_eq!(hosts(&network), ["2001:db8::"]);
}

#[test]
fn the_paper_s_scheme_measures_ipv4_and_says_what_it_left_out() {
    let input = file("both-paper.csv", both(2000));
    let output = run(&["--input", &input, "--output", "ndjson", "--preset", "paper"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(hosts(&output).iter().all(|host| !host.contains(':')), "{:?}", hosts(&output));
    assert!(hosts(&output).contains(&"10.0.0.1".to_owned()));
    insta::assert_snapshot!(steady(&stderr(&output)));
}
