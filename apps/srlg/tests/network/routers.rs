//! A router that exports a scan to a live probe, and the notifications of the collector.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;
use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, be16, set};

use crate::collecting::alerts_of;
use crate::faketime::Clock;
use crate::net::Net;
use crate::network_traffic::configuration_with;
use crate::process::Process;

/// A view, and a rule whose alerts start after one slice and send an update every second. The threshold of the second
/// window is never reached. This window is longer than the first window and the hold time together, so that a silence of
/// 8 s could end an alert.
pub const RULES: &str = "[[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\n\
    pairs = 20_000\nmemory = 3_000_000\n\
    [[rule]]\nname = 'all'\nthresholds = { 2s = 100, 7s = 5000 }\nfor = 1\nof = 1\nrepeat = '1s'\nhold = '2s'\n";

const SCANNER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// First scanned host.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 0);

/// Number of scanned hosts. One host in five is scanned on port 139, all other hosts on port 445.
const SCANNED: u32 = 600;

/// Maximum number of flow records per datagram. Each record is a flow to one scanned host.
const RECORDS: usize = 30;

/// A router of a site, which exports NetFlow v9.
pub struct Router {
    socket: UdpSocket,
    number: u32,
    started: Instant,
}

impl Router {
    /// Creates the router with address `ip` of a probe that receives exports at `to`.
    pub fn new(ip: &str, to: &str) -> Self {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket.connect(to).unwrap();
        Self { socket, number: 0, started: Instant::now() }
    }

    /// Exports all flows that pass through the router.
    pub fn export(&mut self) {
        // The fields are source, destination, packets, end of the flow, protocol, TCP flags and destination port.
        let template = be16(&[256, 7, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2]);
        self.send(&set(0, &template));
        let records: Vec<_> = (0..SCANNED).map(|number| self.record(number)).collect();
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
}

/// Starts a collector with the [`RULES`] for `probes`, whose only sink is a file.
pub fn start_collector(net: &Net, probes: &[&str]) -> (Process, Notifications) {
    let state = net.folder().join("state");
    let file = alerts_of(&state);
    let text = configuration_with(net.folder(), RULES);
    let text = text.replace("['a', 'b', 'c']", &format!("{probes:?}"));
    let broker = format!("[network]\nbroker = '{}'\ndeadline = '2s'", net.broker.address());
    let config = format!(
        "http = '127.0.0.1:0'\nstate = '{}'\n{}[[sink]]\ntype = 'file'\npath = '{}'\n",
        state.display(),
        text.replace("[network]", &broker),
        file.display()
    );
    let path = net.folder().join("srlg.toml");
    fs::write(&path, config).unwrap();
    let mut collector = Process::srlg(["collect", "--config", path.to_str().unwrap()]);
    collector.wait_for("http://");
    (collector, Notifications { file })
}

/// Starts a live probe with the keys `general` of the top level. If `clock` is given, it is the system clock of the probe. Returns
/// the probe and the address at which it receives exports.
pub fn start_probe(
    net: &Net,
    name: &str,
    general: &str,
    clock: Option<&Clock>,
) -> (Process, String) {
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/8']\nsampling = 1\n";
    let mut program = net.probe(name, &net.spool(), general, input);
    if let Some(clock) = clock {
        clock.give(&mut program);
    }
    let mut probe = Process::start(&mut program);
    let line = probe.wait_for(" 127.0.0.1:");
    let at = line.rsplit(' ').next().unwrap().to_owned();
    (probe, at)
}
