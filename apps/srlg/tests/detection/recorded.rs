//! Kinds of the incidents in recorded traffic, compared with the descriptions of the recordings.
//!
//! The records contain only times and addresses, so kinds follow from the counts of both directions alone. The test
//! requires the recordings in the folder that `SRLG_DATA` names, and is skipped with a message without them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::Ipv4Addr;
use std::path::Path;

use srlg_alerts::notification::{Kind, Notification};
use srlg_cli::config::Config;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::Contact;
use srlg_traffic::trace::{SUFFIX, Trace, recorded};

use crate::matrix::{Matrix, Truth};

/// Time of the first record, in milliseconds since the Unix epoch.
const START_MS: u64 = 1_750_000_000_000;

struct Recording {
    name: &'static str,
    inside: &'static str,
    /// Length of a slice. Slices of long recordings are longer than the default, because each close takes time.
    slice: &'static str,
    /// Hosts with at least 48 peers in a minute.
    hosts: &'static [(&'static str, Truth)],
}

const COMPOSITE: &[(&str, Truth)] = &[
    ("10.200.1.0", Truth::Flood),
    ("10.200.1.1", Truth::Flood),
    ("10.200.1.2", Truth::Flood),
    ("10.200.1.3", Truth::Flood),
    ("10.200.1.4", Truth::Flood),
    ("10.200.1.5", Truth::Flood),
    ("10.200.1.6", Truth::Flood),
    ("10.200.1.7", Truth::Flood),
    ("10.200.1.18", Truth::Flood),
    ("10.200.1.8", Truth::Scan),
    ("10.200.1.10", Truth::Scan),
    ("10.200.1.12", Truth::Scan),
    ("10.200.0.1", Truth::Background),
    ("10.47.26.25", Truth::Client),
];

const fn short(
    name: &'static str,
    inside: &'static str,
    hosts: &'static [(&'static str, Truth)],
) -> Recording {
    Recording { name, inside, slice: "1s", hosts }
}

const RECORDINGS: [Recording; 10] = [
    Recording { slice: "5s", ..short("composite_s1", "10.0.0.0/8", COMPOSITE) },
    Recording { slice: "5s", ..short("home_v4", "10.0.0.0/24", &[("10.0.0.238", Truth::Client)]) },
    short("ddos_bacnet_iot", "10.10.10.0/24", &[("10.10.10.1", Truth::Reflection)]),
    short("ddos_dns_rrsig", "10.10.10.0/24", &[("10.10.10.10", Truth::Reflection)]),
    short("ddos_snmp_amp", "10.10.10.0/24", &[("10.10.10.10", Truth::Reflection)]),
    short("ddos_synack_reflection", "10.10.10.0/24", &[("10.10.10.10", Truth::Reflection)]),
    short("ddos_synflood_spoofed", "10.10.10.0/24", &[("10.10.10.10", Truth::Flood)]),
    short("malware_slips_test7", "192.168.2.0/24", &[("192.168.2.16", Truth::Infected)]),
    short("p2p_ethereum", "192.168.1.0/24", &[("192.168.1.184", Truth::P2p)]),
    short("p2p_skype", "192.168.1.0/24", &[("192.168.1.34", Truth::P2p)]),
];

/// Replays `recording` from the folder `data` and returns the notifications about hosts.
fn replay(data: &Path, recording: &Recording) -> Vec<Notification> {
    let Recording { name, inside, slice, .. } = recording;
    // The threshold is low, because most of the recorded networks are small.
    let config = format!(
        "inside = ['{inside}']\nslice = '{slice}'\n[input]\ninput = ['-']\n\
         [network-views]\nenabled = false\n[[rule]]\nname = 'hosts'\nthresholds = {{ 60s = 48 }}\n"
    );
    let mut monitor = Monitor::new(&Config::parse(&config).unwrap(), 1).unwrap();
    let mut notified = Vec::new();
    for record in Trace::open(data.join(format!("{name}{SUFFIX}"))).unwrap() {
        let record = record.unwrap();
        let time_ns = (START_MS + u64::from(record.time_ms)) * 1_000_000;
        let [source, destination] =
            [record.source, record.destination].map(|host| Ipv4Addr::from_bits(host).into());
        monitor.ingest(&Contact::new(time_ns, source, destination)).unwrap();
        notified.extend(monitor.notifications().unwrap());
    }
    monitor.finish().unwrap();
    notified.extend(monitor.notifications().unwrap());
    notified
}

/// Returns the expected matrix of the recordings.
pub(crate) fn expected() -> Matrix {
    let mut matrix = Matrix::default();
    for (truth, kind, incidents) in [
        (Truth::Flood, Kind::Flood, 10),
        (Truth::Reflection, Kind::Flood, 4),
        (Truth::Scan, Kind::Scan, 3),
        (Truth::Infected, Kind::Scan, 1),
        (Truth::P2p, Kind::Scan, 1),
        (Truth::P2p, Kind::Server, 1),
        (Truth::Client, Kind::Scan, 2),
        (Truth::Background, Kind::Flood, 1),
    ] {
        matrix.add(truth, kind, incidents);
    }
    matrix
}

#[test]
fn kinds_in_recorded_traffic() {
    let Some(data) = recorded("dev") else { return };
    let mut matrix = Matrix::default();
    for recording in RECORDINGS {
        let notified = replay(&data, &recording);
        let truth: BTreeMap<_, _> = recording.hosts.iter().copied().collect();
        let rows = notified.iter().map(|it| (it.host.to_string(), it.kind));
        let rows: HashSet<_> = rows.collect();
        let hosts: BTreeSet<_> = rows.iter().map(|(host, _)| host.as_str()).collect();
        assert_eq!(hosts, truth.keys().copied().collect(), "{}", recording.name);
        for (host, kind) in &rows {
            matrix.add(truth[host.as_str()], *kind, 1);
        }
    }
    assert_eq!(matrix.table(), expected().table());
}
