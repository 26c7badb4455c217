//! Notifications name the sites that saw a host, and contain details from the exports of the routers at these sites.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use approx::assert_abs_diff_eq;
use serde_json::{Value, json};
use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, be16, set};

use crate::collecting::{Collector, alerts_of};
use crate::faketime::Clock;
use crate::net::{Net, PROBES, run};
use crate::process::{PATIENCE, Process};

/// A view, and a rule whose alerts start after one slice and send an update every second.
pub const RULES: &str = "[[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\n\
    pairs = 20_000\nmemory = 3_000_000\n\
    [[rule]]\nname = 'all'\nthresholds = { 5s = 100 }\nfor = 1\nof = 1\nrepeat = '1s'\nhold = '5s'\n";

const SCANNER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// First scanned host.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 0);

/// Number of scanned hosts. The first site sees all scans, the second site half, and the last site a third. One host in
/// five is scanned on port 139, all other hosts on port 445.
const SCANNED: u32 = 600;
const SEEN: [Range<u32>; PROBES.len()] = [0..SCANNED, 300..SCANNED, 200..400];

/// Maximum number of flow records per datagram. Each record is a flow to one scanned host.
const RECORDS: usize = 30;

/// Time between two exports of the same flows.
const PAUSE: Duration = Duration::from_millis(250);

/// A router of a site, which exports NetFlow v9.
pub struct Router {
    socket: UdpSocket,
    address: IpAddr,
    scanned: Range<u32>,
    number: u32,
    started: Instant,
}

impl Router {
    /// Creates the router of probe number `site`. The probe receives exports at `to`.
    pub fn new(site: usize, to: &str) -> Self {
        let address = Ipv4Addr::new(127, 0, 0, 2 + site as u8).into();
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.connect(to).unwrap();
        let scanned = SEEN[site].clone();
        Self { socket, address, scanned, number: 0, started: Instant::now() }
    }

    fn export_template(&mut self) {
        // The fields are source, destination, packets, end of the flow, protocol, TCP flags and destination port.
        let template = be16(&[256, 7, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2]);
        self.send(&set(0, &template));
    }

    /// Exports all flows that pass through the router.
    pub fn export(&mut self) {
        self.export_template();
        let records: Vec<_> = self.scanned.clone().map(|number| self.record(number)).collect();
        for records in records.chunks(RECORDS) {
            self.send(&set(256, &records.concat()));
        }
    }

    fn record(&self, number: u32) -> Vec<u8> {
        let port: u16 = if number.is_multiple_of(5) { 139 } else { 445 };
        let words = [SCANNER.to_bits(), FIRST.to_bits() + number, 1, self.uptime_ms()];
        let tcp_syn = [&[6, 2][..], &port.to_be_bytes()].concat();
        words.into_iter().flat_map(u32::to_be_bytes).chain(tcp_syn).collect()
    }

    fn send(&mut self, sets: &[u8]) {
        let (uptime_ms, time_s) = (self.uptime_ms(), (now_ms() / 1_000) as u32);
        let header = V9Header { records: 1, uptime_ms, time_s, number: self.number, domain: 1 };
        self.number += 1;
        // Sending fails if the probe has been killed.
        let _refused = self.socket.send(&header.with(sets));
    }

    fn uptime_ms(&self) -> u32 {
        self.started.elapsed().as_millis() as u32 + 1
    }
}

/// A guard that stops the exports when it is dropped, even if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The notifications in the alert file of a collector.
pub struct Notifications {
    pub file: PathBuf,
}

impl Notifications {
    pub fn all(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for a notification that `is` accepts.
    pub fn wait_for(&self, is: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let notifications = self.all();
            if let Some(notification) = notifications.iter().find(|notification| is(notification)) {
                return notification.clone();
            }
            assert!(started.elapsed() < PATIENCE, "{:?}", notifications.last());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Starts a live probe with the options in `more`. If `clock` is given, it is the system clock of the probe. Returns
/// the probe and the address at which it receives exports.
pub fn start_probe(
    net: &Net,
    name: &str,
    more: &[&str],
    clock: Option<&Clock>,
) -> (Process, String) {
    let (folder, spool, broker) = (net.folder(), net.spool(), net.broker.address());
    let [folder, spool] = [folder, &spool].map(|path| path.to_str().unwrap());
    let access = ["probe", name, "--folder", folder, "--spool", spool, "--broker", &broker];
    let input = ["--listen", "127.0.0.1:0", "--exporters", "127.0.0.0/8", "--sampling", "1"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
    program.args(access).args(input).args(more);
    if let Some(clock) = clock {
        clock.give(&mut program);
    }
    let mut probe = Process::start(&mut program);
    let line = probe.wait_for(" 127.0.0.1:");
    let at = line.rsplit(' ').next().unwrap().to_owned();
    (probe, at)
}

fn assert_sites(notification: &Value, sites: &[usize]) {
    let told = notification["sites"].as_array().unwrap();
    assert_eq!(told.len(), sites.len(), "{told:?}");
    for (told, &site) in told.iter().zip(sites) {
        assert_eq!(told["site"], PROBES[site]);
        let share = SEEN[site].len() as f64 / f64::from(SCANNED);
        assert_abs_diff_eq!(told["share"].as_f64().unwrap(), share, epsilon = 0.05);
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
    let Some(net) = Net::with_rules(RULES, 7) else { return };
    // Without a stream, probes that start before the collector could lose slices.
    run(net.stream());
    let mut collector = Collector::start(&net, &["--rules", RULES, "--deadline", "2s"]);
    let (mut probes, at): (Vec<_>, Vec<_>) =
        PROBES.iter().map(|name| start_probe(&net, name, &[], None)).unzip();
    let mut routers: Vec<_> =
        at.iter().enumerate().map(|(site, at)| Router::new(site, at)).collect();
    let addresses: BTreeSet<_> = routers.iter().map(|router| router.address.to_string()).collect();
    let status = collector.status(|status| {
        let spools = |sites: &Vec<Value>| {
            sites.iter().all(|site| site["spool"]["slices"].as_u64() > Some(0))
        };
        status["closed"]["complete"].as_u64() > Some(2)
            && status["sites"].as_array().is_some_and(spools)
    });
    for site in status["sites"].as_array().unwrap() {
        assert_eq!(site["spool"]["lost"], 0, "{status}");
    }
    let (notifications, is_over) =
        (Notifications { file: alerts_of(&net.folder().join("state")) }, AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Stop(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                routers.iter_mut().for_each(Router::export);
                thread::sleep(PAUSE);
            }
        });
        let start = notifications.wait_for(|_| true);
        assert_eq!((&start["status"], &start["host"]), (&json!("start"), &json!(SCANNER)));
        // This notification makes the collector request details from the probes.
        assert_eq!(start["sites_without_details"], json!(PROBES));
        assert_eq!([&start["detail_since_ms"], &start["sites"]], [&Value::Null; 2]);

        let all = notifications.wait_for(|notification| {
            notification["exporters"]
                .as_array()
                .is_some_and(|exporters| exporters.len() == PROBES.len())
        });
        assert_eq!((&all["id"], &all["status"]), (&start["id"], &json!("update")));
        assert_eq!(all["sites_without_details"], Value::Null);
        assert!(all["detail_since_ms"].as_u64() >= start["now_ms"].as_u64());
        assert_sites(&all, &[0, 1, 2]);
        assert_is_scan(&all);
        let exporters = all["exporters"].as_array().unwrap().iter();
        let exporters = exporters.map(|exporter| exporter.as_str().unwrap().to_owned());
        assert_eq!(exporters.collect::<BTreeSet<_>>(), addresses);

        probes[1].kill();
        let killed_ms = now_ms();
        let without = notifications.wait_for(|notification| {
            let is_later = notification["now_ms"].as_u64() > Some(killed_ms);
            let of_b = json!(["b"]);
            is_later
                && notification["sites_without_details"] == of_b
                && notification["missing_sites"] == of_b
        });
        assert_eq!((&without["id"], &without["status"]), (&start["id"], &json!("update")));
        assert_sites(&without, &[0, 2]);
        assert_is_scan(&without);
        let last = without["now_ms"].as_u64().unwrap() / 1_000;
        let is_without_b = |report: &Value| {
            report["slice"].as_u64() > Some(last)
                && report["delivered"] == json!(["a", "c"])
                && report["missing"] == json!(["b"])
        };
        let started = Instant::now();
        while !collector.reports().iter().any(is_without_b) {
            assert!(started.elapsed() < PATIENCE, "{:?}", collector.reports().last());
            thread::sleep(PAUSE);
        }
    });
    assert_eq!(collector.stop().0, Some(0));
    for at in [0, 2] {
        probes[at].terminate();
        assert_eq!(probes[at].end().0, Some(0));
    }
}

/// Export modes. In `ALL`, the routers export their flows. In `SOME_TEMPLATES`, the first router is silent, and all
/// other routers export only their templates. In `TEMPLATES`, all routers export only their templates.
const ALL: usize = 0;
const SOME_TEMPLATES: usize = 1;
const TEMPLATES: usize = 2;

#[test]
fn an_alert_does_not_end_while_a_router_of_a_site_is_silent() {
    let Some(net) = Net::with_rules(RULES, 7) else { return };
    let mut collector = Collector::start(&net, &["--rules", RULES, "--deadline", "2s"]);
    let (mut probes, at): (Vec<_>, Vec<_>) =
        PROBES.iter().map(|name| start_probe(&net, name, &["--silent-after", "3s"], None)).unzip();
    let mut routers: Vec<_> =
        at.iter().enumerate().map(|(site, at)| Router::new(site, at)).collect();
    let silent = format!("{} at {}", routers[0].address, PROBES[0]);
    let (notifications, is_over) =
        (Notifications { file: alerts_of(&net.folder().join("state")) }, AtomicBool::new(false));
    let exports = AtomicUsize::new(ALL);
    thread::scope(|scope| {
        let _stop = Stop(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                match exports.load(Ordering::Relaxed) {
                    ALL => routers.iter_mut().for_each(Router::export),
                    SOME_TEMPLATES => routers[1..].iter_mut().for_each(Router::export_template),
                    _ => routers.iter_mut().for_each(Router::export_template),
                }
                thread::sleep(PAUSE);
            }
        });
        notifications.wait_for(|notification| {
            notification["exporters"]
                .as_array()
                .is_some_and(|exporters| exporters.len() == PROBES.len())
        });
        exports.store(SOME_TEMPLATES, Ordering::Relaxed);
        let held = notifications.wait_for(|notification| notification["why"] == "unconfirmed");
        assert_eq!(
            (held["status"].as_str(), held["silent"].as_array().unwrap().len()),
            (Some("update"), 1)
        );
        assert_eq!(held["silent"][0]["source"], silent);
        // The window and the hold time have passed by this slice.
        collector.wait_for_slice(held["now_ms"].as_u64().unwrap() / 1_000 + 12);
        assert_eq!(notifications.all().last(), Some(&held));
        exports.store(TEMPLATES, Ordering::Relaxed);
        let heard = notifications.wait_for(|notification| notification["why"] == "resumed");
        assert_eq!(heard["silent"], Value::Null);
        let end = notifications.wait_for(|notification| notification["status"] == "end");
        assert_eq!(end["why"], "below");
        assert!(end["now_ms"].as_u64() >= heard["now_ms"].as_u64().map(|ms| ms + 5_000));
    });
    assert_eq!(collector.stop().0, Some(0));
    for probe in &mut probes {
        probe.terminate();
        assert_eq!(probe.end().0, Some(0));
    }
}
