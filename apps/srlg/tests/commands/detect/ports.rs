//! Ports and services: reports are compared with exact counts of the same contacts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use srlg_traffic::trace::recorded;

use super::*;

const HEADER: &str = "time_ms,src,dst,protocol,src_port,dst_port,initiated\n";

/// Returns the contacts of one second.
///
/// - Eight hosts together scan 3,000 ports of one host.
/// - A service has 2,000 clients. Its answers go to port 40000 of each client.
/// - A client has 1,500 connections to another service, whose answers go to 1,500 ports.
/// - A host contacts 1,400 services over IPv6.
/// - A host pings 100 hosts.
fn traffic() -> String {
    let mut csv = HEADER.to_owned();
    let mut add = |source: String, destination: String, protocol: u8, port: u32, more: &str| {
        writeln!(csv, "61000,{source},{destination},{protocol},,{port},{more}").unwrap();
    };
    for port in 1..=3000 {
        add(format!("203.0.113.{}", port % 8), "192.0.2.1".into(), 6, port, "true");
    }
    for client in 0..2000 {
        let client_address = format!("10.9.{}.{}", client / 250, client % 250);
        add(client_address.clone(), "192.0.2.2".into(), 6, 443, "true");
        add("192.0.2.2".into(), client_address, 6, 40_000, "false");
    }
    for port in 0..1500 {
        add("10.0.0.7".into(), "192.0.2.3".into(), 17, 53, "true");
        add("192.0.2.3".into(), "10.0.0.7".into(), 17, 50_000 + port, "false");
    }
    for service in 0..1400 {
        let network = format!("2001:db8:0:{:x}::1", service / 4);
        add("2001:db8:ff::9".into(), network, 6, 80 + service % 4, "true");
    }
    (0..100).for_each(|host| add("10.0.0.1".into(), format!("10.2.0.{host}"), 1, 0, "true"));
    csv
}

/// Counts the distinct peers of each host in a contact list, ignoring contacts without a port. `pair` maps the
/// addresses and the port of a contact, such as `tcp/443`, to a host and a peer.
fn exact(
    contacts: &str,
    only_initiated: bool,
    pair: impl Fn([&str; 2], &str) -> (String, String),
) -> BTreeMap<String, usize> {
    let mut peers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in contacts.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [_, source, destination, protocol, _, port, initiated] = fields[..] else {
            panic!("{row}")
        };
        let protocol = match protocol {
            "6" => "tcp",
            "17" => "udp",
            _ => continue,
        };
        if port.is_empty() || (only_initiated && initiated != "true") {
            continue;
        }
        let (host, peer) = pair([source, destination], &format!("{protocol}/{port}"));
        peers.entry(host).or_default().insert(peer);
    }
    peers.into_iter().map(|(host, peers)| (host, peers.len())).collect()
}

/// Asserts that the last report contains exactly the hosts that have at least 1,024 peers in `exact`. Each count must
/// be within four standard errors of the exact count.
fn assert_alike(output: &Output, exact: &BTreeMap<String, usize>) {
    let text = stdout(output);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.iter().map(|line| line["slice"].as_u64()).max().flatten();
    let found: BTreeMap<&str, &Value> = lines
        .iter()
        .filter(|line| line["slice"].as_u64() == last)
        .map(|line| (line["host"].as_str().unwrap(), line))
        .collect();
    let large = exact.iter().filter(|(_, count)| **count >= 1024);
    let expected: BTreeMap<&str, usize> = large.map(|(host, n)| (&**host, *n)).collect();
    assert!(!expected.is_empty());
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (host, count) in expected {
        let [cardinality, std_error] =
            ["cardinality", "std_error"].map(|key| found[host][key].as_f64().unwrap());
        let error = (cardinality - count as f64).abs();
        assert!(error <= 4.0 * std_error, "{host}: {cardinality} ± {std_error} instead of {count}");
    }
}

/// Returns the /64 network of an IPv6 address, or an IPv4 address unchanged.
fn network(address: &str) -> String {
    match address.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("{}/64", std::net::Ipv6Addr::from(address.to_bits() >> 64 << 64)),
        Err(_) => address.to_owned(),
    }
}

#[test]
fn views_of_ports_count_what_there_is() {
    let csv = traffic();
    let initiated = ["--only", "initiated"];
    let view = |name: &str, options: &[&str]| ndjson(name, &csv, &[&initiated, options].concat());
    let scanned = view("scanned.csv", &["--role", "destination", "--peer", "port"]);
    let by_port = exact(&csv, true, |[_, to], port| (to.to_owned(), port.to_owned()));
    assert_alike(&scanned, &by_port);
    assert!(!stderr(&scanned).contains("warning"), "{}", stderr(&scanned));
    let service = ["--role", "destination", "--host", "address+port", "--host-prefix6", "64"];
    let by_service =
        exact(&csv, true, |[from, to], port| (format!("{} {port}", network(to)), from.to_owned()));
    assert_eq!(by_service["192.0.2.2 tcp/443"], 2000);
    assert_alike(&view("service.csv", &service), &by_service);
    let sweep = ["--role", "source", "--peer", "address+port", "--peer-prefix6", "64"];
    let by_scanner =
        exact(&csv, true, |[from, to], port| (from.to_owned(), format!("{} {port}", network(to))));
    assert_eq!(by_scanner["2001:db8:ff::9"], 1400);
    assert_alike(&view("sweep.csv", &sweep), &by_scanner);
    let networks = ["--role", "destination", "--host-prefix4", "24"];
    let by_network = exact(&csv, true, |[from, to], _| {
        let whole =
            to.rsplit_once('.').map_or_else(|| to.to_owned(), |(it, _)| format!("{it}.0/24"));
        (whole, from.to_owned())
    });
    assert_eq!(by_network["192.0.2.0/24"], 2009);
    assert_alike(&view("networks.csv", &networks), &by_network);
}

#[test]
fn contacts_without_a_port_are_counted_and_ports_of_answers_are_warned_of() {
    let all = ndjson("answers.csv", traffic(), &["--role", "destination", "--peer", "port"]);
    let by_port = exact(&traffic(), false, |[_, to], port| (to.to_owned(), port.to_owned()));
    assert_eq!(by_port["10.0.0.7"], 1500, "a busy client");
    assert_alike(&all, &by_port);
    insta::assert_snapshot!(steady(&stderr(&all)));
    let without = run(&["--input", &file("plain.csv", contacts()), "--peer", "port"]);
    assert!(stderr(&without).contains("\nports      3500 contacts without a port ignored\n"));
}

#[test]
fn hosts_and_peers_that_do_not_go_together_are_refused() {
    let input = file("refused.csv", HEADER);
    let texts = [
        &["--host", "address+port", "--peer", "port"][..],
        &["--host", "address+port"],
        &["--host", "address+port", "--role", "destination"],
        &["--peer", "address+port"],
        &["--peer", "address+port", "--peer-prefix6", "64", "--preset", "paper"],
    ]
    .map(|options| {
        let output = run(&[&["--input", &input, "--only", "initiated"], options].concat());
        assert_one_line_and_exit_2(&output);
        stderr(&output)
    });
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn recorded_ports_are_those_of_every_export_of_them() {
    let Some(data) = recorded(".") else { return };
    for (path, options) in [
        ("captures/pcap_usec_ddos_synack.pcap", &[][..]),
        ("flows/softflowd_synack_v5.pcap", &["--exports"]),
        ("flows/softflowd_synack_v9.pcap", &["--exports"]),
        ("flows/softflowd_synack_ipfix_biflow.pcap", &["--exports"]),
        ("flows/pmacctd_synack_v9.pcap", &["--exports"]),
        ("flows/pmacctd_synack_sflow_1in4.pcap", &["--exports"]),
    ] {
        let path = data.join(path);
        let input = [&["--input", path.to_str().unwrap()], options].concat();
        let mut list = srlg("contacts");
        let list = list.args(&input).arg("--ports").output().unwrap();
        let list = stdout(&list);
        // The list is also a valid input.
        let copy = file("recorded.csv", &list);
        let view =
            ["--role", "destination", "--peer", "port", "--output", "ndjson", "--slice", "1h"];
        let of_list = run(&[&["--input", &copy], &view[..]].concat());
        let of_exports = run(&[&input, &view[..]].concat());
        let by_port = exact(&list, false, |[_, to], port| (to.to_owned(), port.to_owned()));
        assert_alike(&of_exports, &by_port);
        assert_eq!(hosts(&of_list), hosts(&of_exports), "{}", path.display());
        let with_ports = ["--peer", "address+port", "--peer-prefix6", "64"];
        let both = run(&[&input, &view[..2], &with_ports, &view[4..]].concat());
        let by_both = exact(&list, false, |[from, to], port| {
            (to.to_owned(), format!("{} {port}", network(from)))
        });
        assert_alike(&both, &by_both);
    }
    fs::remove_file(file("recorded.csv", "")).unwrap();
}
