//! Traffic as packets and as exports in every format. Packets and exports must give identical pairs, and identical
//! estimates of super points.
//!
//! All contacts are in one slice of an hour. Within a slice, neither the order of contacts nor repeated pairs change a
//! report, so equal pairs produce equal reports.
//!
//! With several slices, recorders would have different ages, and reports would differ in their last digits. The reason
//! is that a packet counts at its own time, a flow at the time of its last packet, and a sample at the arrival time of
//! its datagram.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use approx::assert_abs_diff_eq;
use srlg_traffic::export::{EXPORT_S, be16, biflow, biflows, flows, ipfix, sflow, v5, v9};
use srlg_traffic::packets::{Packet, packets};

use crate::{Pairs, Point, capture, last_points, output, packet_file, pairs, steady};

const THRESHOLD: &str = "512";

/// Writes a capture file of datagrams that an exporter sent after the last packet.
fn file(test: &str, datagrams: Vec<Vec<u8>>) -> PathBuf {
    sent(test, datagrams.into_iter().map(|payload| (EXPORT_S * 1_000_000, payload)))
}

/// Writes a capture file of datagrams from 192.0.2.1 to port 2055 of 192.0.2.10. Each item contains the time since the
/// first packet, in microseconds, and the payload of a datagram.
fn sent(test: &str, datagrams: impl Iterator<Item = (u32, Vec<u8>)>) -> PathBuf {
    let frame = |payload: &[u8]| {
        let length = payload.len() as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4, 8, 0, 0x45, 0];
        frame.extend((length + 28).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 10]);
        frame.extend(be16(&[40_000, 2_055, length + 8, 0]));
        frame.extend(payload);
        frame
    };
    capture(test, datagrams.map(|(after_us, payload)| (after_us, frame(&payload))))
}

/// Results of `contacts` and `detect` for a file of packets, which are the expected results for exports.
struct Truth {
    pairs: Pairs,
    points: BTreeMap<String, Point>,
}

/// Returns the super points and the summary that `detect` prints for `file`.
fn points(file: &Path, more: &[&str]) -> (BTreeMap<String, Point>, String) {
    let name = file.to_str().unwrap();
    let options =
        ["--input", name, "--slice", "1h", "--threshold", THRESHOLD, "--output", "ndjson"];
    let (printed, logged) = output("detect", &[&options[..], more].concat());
    (last_points(&printed), logged)
}

impl Truth {
    /// Runs `contacts` and `detect` on `file`, which contains `packets`. Asserts that `contacts` prints exactly the
    /// pairs of `packets`, and that `detect` finds exactly the super points.
    fn new(packets: &[Packet], file: &Path) -> Self {
        let pair = |it: &Packet| it.hosts.map(|host| host.to_string()).into();
        let expected: Pairs = packets.iter().map(pair).collect();
        assert_eq!(pairs(&output("contacts", &["--input", file.to_str().unwrap()]).0), expected);
        let mut peers: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for (source, destination) in &expected {
            peers.entry(source).or_default().insert(destination);
            peers.entry(destination).or_default().insert(source);
        }
        let least = THRESHOLD.parse().unwrap();
        peers.retain(|_, peers| peers.len() >= least);
        let (points, summary) = points(file, &[]);
        insta::assert_snapshot!(format!("{}_pairs_of_packets", expected.len()), steady(&summary));
        assert!(points.keys().eq(peers.keys().copied()), "{points:?}");
        for (host, peers) in peers {
            let [cardinality, error] = &points[host];
            let error: f64 = error.parse().unwrap();
            let cardinality: f64 = cardinality.parse().unwrap();
            // The estimate is off by more than five standard errors for only one in two million seeds.
            assert_abs_diff_eq!(cardinality, peers.len() as f64, epsilon = 5.0 * error);
        }
        Self { pairs: expected, points }
    }

    /// Asserts that the exports in `file` produce the expected results. The snapshot `name` contains the sampling
    /// rates, and shows that no data was lost.
    fn is_of(&self, name: &str, file: &Path) {
        let exports = ["--input", file.to_str().unwrap(), "--exports"];
        let (list, logged) = output("contacts", &exports);
        let found = pairs(&list);
        let more: Vec<_> = found.symmetric_difference(&self.pairs).take(3).collect();
        assert!(more.is_empty(), "{} of {}, {more:?}: {logged}", found.len(), self.pairs.len());
        let (points, summary) = points(file, &["--exports"]);
        assert_eq!(points, self.points, "{name}");
        insta::assert_snapshot!(name, steady(&(logged + &summary)));
    }
}

fn traffic(test: &str, families: &[bool]) -> (Vec<Packet>, Truth) {
    let packets = packets(families);
    let truth = Truth::new(&packets, &packet_file(test, families));
    assert_eq!(
        (truth.pairs.len(), truth.points.len()),
        (4_700 * families.len(), 3 * families.len())
    );
    (packets, truth)
}

#[test]
fn exports_of_every_format_have_the_hosts_of_the_packets() {
    // NetFlow v5 supports only IPv4.
    let (packets, truth) = traffic("packets-v5", &[false]);
    truth.is_of("v5", &file("v5", v5(&flows(&packets))));
    let (packets, truth) = traffic("packets", &[false, true]);
    let flows = flows(&packets);
    truth.is_of("v9", &file("v9", v9(&flows)));
    truth.is_of("ipfix", &file("ipfix", ipfix(&flows)));
    let biflows = biflows(&flows);
    // In each address family, only the conversations with the server have answers.
    assert_eq!(biflows.iter().filter(|(_, reverse)| reverse.is_some()).count(), 2 * 900);
    truth.is_of("biflow", &file("biflow", biflow(&biflows)));
    truth.is_of("sflow", &sent("sflow-datagrams", sflow(&packets).into_iter()));
}
