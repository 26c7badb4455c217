//! Generated exports over TCP, compared with the packets from which they were made.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;

use srlg_traffic::export::{flows, ipfix};
use srlg_traffic::packets::packets;

use crate::received::{Collector, pairs_of};
use crate::{Point, last_points, output, packet_file, pairs};

const FAMILIES: [bool; 2] = [false, true];

/// Sends the flows of all packets to `collector`, and closes the connection.
fn export_to(collector: &Collector) {
    let mut exporter = TcpStream::connect(("127.0.0.1", collector.port)).unwrap();
    exporter.write_all(&ipfix(&flows(&packets(&FAMILIES))).concat()).unwrap();
}

#[test]
fn messages_over_tcp_are_the_pairs_of_the_packets() {
    let file = packet_file("tcp-pairs", &FAMILIES);
    let collector = Collector::start_with("--listen-tcp", "contacts", &[]);
    export_to(&collector);
    // What has arrived is read before the program exits.
    let (printed, logged) = collector.stop();
    assert_eq!(pairs(&printed), pairs_of(&file), "{logged}");
}

#[test]
fn hosts_of_messages_over_tcp_are_found_while_detect_receives() {
    let file = packet_file("tcp-hosts", &FAMILIES);
    let options = ["--threshold", "512", "--output", "ndjson"];
    let of_packets = ["--input", file.to_str().unwrap()];
    let hosts = |points: BTreeMap<String, Point>| points.into_keys().collect::<Vec<_>>();
    let expected = hosts(last_points(&output("detect", &[&of_packets[..], &options].concat()).0));
    assert_eq!(expected.len(), 6);
    let received = [&options[..], &["--timestamps", "received"]].concat();
    let collector = Collector::start_with("--listen-tcp", "detect", &received);
    export_to(&collector);
    collector.wait_for(|it| hosts(last_points(&it.printed())) == expected);
    let (_, logged) = collector.stop();
    assert!(logged.contains(" 0 lost"), "{logged}");
}
