//! Notifications name the sites that saw a host, and contain details from the exports of the routers at these sites.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::time::Duration;

use approx::assert_abs_diff_eq;
use serde_json::{Value, json};
use srlg_input::flow::{ExporterStatus, FlowCounts, Losses};
use srlg_input::{Contact, Status};
use srlg_system::now_ms;

use super::Simulation;
use super::network_traffic::PROBES;
use crate::collect::simulated::SimulatedCollector;
use crate::network::subjects;
use crate::probe::simulated::{LiveInput, SimulatedProbe};

/// A view, and a rule whose alerts start after one slice and send an update every second.
const RULES: &str = "[[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\n\
    pairs = 20_000\nmemory = 3_000_000\n\
    [[rule]]\nname = 'all'\nthresholds = { 5s = 100 }\nfor = 1\nof = 1\nrepeat = '1s'\nhold = '5s'\n";

const SCANNER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// First scanned host.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 0);

/// Number of scanned hosts. The first site sees all scans, the second site half, and the last site a third. One host in
/// five is scanned on port 139, all other hosts on port 445.
const SCANNED: u32 = 600;
const SEEN: [Range<u32>; PROBES.len()] = [0..SCANNED, 300..SCANNED, 200..400];

const SECOND: Duration = Duration::from_secs(1);

/// Maximum time in which a test expects a notification, in simulated seconds.
const PATIENCE: u64 = 60;

/// The kind of exports that a router sends.
#[derive(Clone, Copy, PartialEq)]
enum Exports {
    Flows,
    /// Only templates, which show that the router is there.
    Templates,
    Nothing,
}

/// A network of three sites, each with a router.
struct Sites {
    network: Simulation,
    collector: SimulatedCollector,
    /// Probes, or `None` for a probe that was killed.
    probes: Vec<Option<SimulatedProbe>>,
    exports: [Exports; PROBES.len()],
    /// Times of the last datagram and of the last record of each router.
    last_ns: [(u64, u64); PROBES.len()],
    now_ns: u64,
}

fn router(site: usize) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 2 + site as u8).into()
}

impl Sites {
    fn start() -> Self {
        let network = Simulation::with_rules(RULES, "deadline = '2s'\n", 7);
        let collector = network.collector();
        let exporters = vec!["192.0.2.0/24".parse().unwrap()];
        let live = LiveInput { exporters, silent_after: Duration::from_secs(3) };
        let probe = |name| Some(network.probe(name, Some(live.clone())));
        let probes = PROBES.map(probe).into();
        let (exports, last_ns) = ([Exports::Flows; 3], [(0, 0); 3]);
        let now_ns = now_ms() / 1000 * 1_000_000_000;
        Self { network, collector, probes, exports, last_ns, now_ns }
    }

    /// Lets a second pass.
    fn pass_second(&mut self) {
        let time_ns = self.now_ns;
        self.now_ns += SECOND.as_nanos() as u64;
        for (site, probe) in self.probes.iter_mut().enumerate() {
            let Some(probe) = probe else { continue };
            let last = &mut self.last_ns[site];
            if self.exports[site] == Exports::Flows {
                let flow = |number| flow(time_ns, site, number);
                probe.ingest(&SEEN[site].clone().map(flow).collect::<Vec<_>>());
                last.1 = time_ns;
            }
            if self.exports[site] != Exports::Nothing {
                last.0 = time_ns;
            }
            probe.advance(&status(site, *last), self.now_ns);
            for report in probe.reports() {
                self.collector.receive_report(&subjects::report(PROBES[site]), &report);
            }
            self.network.send(probe);
        }
        self.collector.read(&self.network.stream);
        self.collector.wait(SECOND);
        let watchlist = self.collector.watchlist();
        for probe in self.probes.iter().flatten() {
            probe.receive_watchlist(watchlist.clone());
        }
    }

    /// Lets time pass until there is a notification that `is` accepts, and returns it.
    fn wait_for(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..PATIENCE {
            let notifications = self.network.notifications();
            if let Some(notification) = notifications.iter().find(|notification| is(notification)) {
                return notification.clone();
            }
            self.pass_second();
        }
        panic!("{:?}", self.network.notifications().last());
    }
}

/// Returns the export of a flow from the scanner to a host.
fn flow(time_ns: u64, site: usize, number: u32) -> Contact {
    let scanned = Ipv4Addr::from_bits(FIRST.to_bits() + number);
    let mut contact = Contact::new(time_ns, SCANNER.into(), scanned.into());
    contact.packets = NonZeroU64::new(1);
    (contact.protocol, contact.tcp_flags) = (Some(6), NonZeroU8::new(2));
    contact.destination_port = Some(if number.is_multiple_of(5) { 139 } else { 445 });
    (contact.sampling, contact.exporter) = (NonZeroU32::new(1), Some(router(site).into()));
    contact
}

fn status(site: usize, (last_read_ns, last_record_ns): (u64, u64)) -> Status {
    let mut counts = FlowCounts::default();
    counts.records = 1;
    let exporter = ExporterStatus {
        address: SocketAddr::new(router(site), 0),
        last_seen_ns: last_read_ns,
        last_read_ns,
        last_record_ns,
        counts,
        losses: Some(Losses::default()),
        skew_ns: 0,
        templates: 1,
        backlog: None,
        undecodable: Vec::new(),
    };
    Status { exporters: vec![exporter], ..Status::default() }
}

fn has_all_exporters(notification: &Value) -> bool {
    notification["exporters"].as_array().is_some_and(|exporters| exporters.len() == PROBES.len())
}

fn assert_sites(notification: &Value, sites: &[usize]) {
    let found = notification["sites"].as_array().unwrap();
    assert_eq!(found.len(), sites.len(), "{found:?}");
    for (found, &site) in found.iter().zip(sites) {
        assert_eq!(found["site"], PROBES[site]);
        let share = SEEN[site].len() as f64 / f64::from(SCANNED);
        assert_abs_diff_eq!(found["share"].as_f64().unwrap(), share, epsilon = 0.05);
    }
}

/// Asserts that the details of a notification match the exports: the kind is a scan, most contacts are to port 445, and
/// all peers are scanned hosts.
fn assert_is_scan(notification: &Value) {
    assert_eq!((&notification["kind"], &notification["host"]), (&json!("scan"), &json!(SCANNER)));
    let count = notification["cardinality"].as_f64().unwrap();
    assert_abs_diff_eq!(count / f64::from(SCANNED), 1.0, epsilon = 0.05);
    let [port, share] = [0, 1].map(|at| notification["top_ports"][0][at].clone());
    assert_eq!(port, "tcp/445");
    assert_abs_diff_eq!(share.as_f64().unwrap(), 0.8, epsilon = 0.05);
    assert_eq!(notification["syn_only"], 1.0);
    let peers = notification["peers"].as_array().unwrap();
    assert_eq!(peers.len(), 32);
    for peer in peers {
        let peer: Ipv4Addr = peer.as_str().unwrap().parse().unwrap();
        let number = peer.to_bits().wrapping_sub(FIRST.to_bits());
        assert!(number < SCANNED, "{peer} was not scanned");
    }
}

#[test]
fn notifications_name_the_sites_that_saw_a_scanner_and_those_that_do_not_answer() {
    let mut sites = Sites::start();
    let start = sites.wait_for(|_| true);
    assert_eq!((&start["status"], &start["host"]), (&json!("start"), &json!(SCANNER)));
    // This notification makes the collector request details from the probes.
    assert_eq!(start["sites_without_details"], json!(PROBES));
    assert_eq!([&start["detail_since_ms"], &start["sites"]], [&Value::Null; 2]);

    let all = sites.wait_for(has_all_exporters);
    assert_eq!((&all["id"], &all["status"]), (&start["id"], &json!("update")));
    assert_eq!(all["sites_without_details"], Value::Null);
    assert!(all["detail_since_ms"].as_u64() >= start["now_ms"].as_u64());
    assert_sites(&all, &[0, 1, 2]);
    assert_is_scan(&all);
    let exporters = all["exporters"].as_array().unwrap().iter();
    let exporters: BTreeSet<_> = exporters.map(|it| it.as_str().unwrap().to_owned()).collect();
    assert_eq!(exporters, [0, 1, 2].map(|site| router(site).to_string()).into());

    sites.probes[1] = None;
    let killed_ms = sites.now_ns / 1_000_000;
    let without = sites.wait_for(|notification| {
        let of_b = json!(["b"]);
        notification["now_ms"].as_u64() > Some(killed_ms)
            && notification["sites_without_details"] == of_b
            && notification["missing_sites"] == of_b
    });
    assert_eq!((&without["id"], &without["status"]), (&start["id"], &json!("update")));
    assert_sites(&without, &[0, 2]);
    assert_is_scan(&without);
    sites.pass_second();
    let report = sites.network.reports().pop().unwrap();
    assert_eq!(report["delivered"], json!(["a", "c"]));
    assert_eq!(report["missing"], json!(["b"]));
}

#[test]
fn an_alert_does_not_end_while_a_router_of_a_site_is_silent() {
    let mut sites = Sites::start();
    let silent = format!("{} at {}", router(0), PROBES[0]);
    sites.wait_for(has_all_exporters);
    sites.exports = [Exports::Nothing, Exports::Templates, Exports::Templates];
    let unconfirmed = sites.wait_for(|notification| notification["why"] == "unconfirmed");
    let found = unconfirmed["silent"].as_array().unwrap();
    assert_eq!((unconfirmed["status"].as_str(), found.len()), (Some("update"), 1));
    assert_eq!(found[0]["source"], silent);
    // The window and the hold time pass.
    (0..12).for_each(|_| sites.pass_second());
    assert_eq!(sites.network.notifications().last(), Some(&unconfirmed));
    sites.exports = [Exports::Templates; 3];
    let resumed = sites.wait_for(|notification| notification["why"] == "resumed");
    assert_eq!(resumed["silent"], Value::Null);
    let end = sites.wait_for(|notification| notification["status"] == "end");
    assert_eq!(end["why"], "below");
    assert!(end["now_ms"].as_u64() >= resumed["now_ms"].as_u64().map(|ms| ms + 5_000));
}

#[test]
fn a_network_without_traffic_has_lost_its_input_although_its_probes_send_slices() {
    let mut sites = Sites::start();
    sites.wait_for(has_all_exporters);
    let mut lost_after = |exports| {
        sites.exports = exports;
        (0..62).for_each(|_| sites.pass_second());
        sites.collector.is_input_lost()
    };
    assert!(!lost_after([Exports::Flows, Exports::Nothing, Exports::Nothing]));
    assert!(lost_after([Exports::Nothing; 3]));
    assert!(!lost_after([Exports::Flows; 3]));
    let ends = |it: &Value| it["status"] == "end";
    assert!(!sites.network.notifications().iter().any(ends));
}
