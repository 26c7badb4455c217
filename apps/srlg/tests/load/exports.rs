//! Processor time, memory and losses of a monitor that receives NetFlow v9 records over loopback.
//!
//! `SRLG_RATES=50000,1000000` sets the rates, in records per second. `SRLG_SECONDS=8` sets the duration of the
//! measurement at each rate. `SRLG_RECORDS=1` sets the number of records per datagram, `SRLG_EXPORTERS=8` the number of
//! exporters, and `SRLG_RECEIVERS=2` the number of receiving threads.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{SetSockOpt, sockopt};
use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, be16, set};

use crate::{memory_bytes, next, number_before};

/// Default number of records per datagram. Routers fit this many records into a datagram of about 1,400 bytes.
const RECORDS: u32 = 50;

/// Number of different datagrams. By default, they contain 750,000 flows to 2,048 hosts. The sources are random, from a
/// range of 16 million addresses.
const DATAGRAMS: u32 = 15_000;

/// Clock ticks per second in /proc.
const TICKS: f64 = 100.0;

/// Returns the data after the NetFlow v9 header: a template set, and one data set per datagram. Each data set
/// contains `records` records.
fn bodies(records: u32) -> (Vec<u8>, Vec<Vec<u8>>) {
    // The fields are source, destination, packets, end of the flow, protocol, TCP flags and destination port.
    let template = be16(&[256, 7, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2]);
    let mut random = 7_u64;
    let mut record = || {
        let random = next(&mut random);
        let (from, to) = ((random >> 40) as u32, (random >> 29) as u32 & 0x7ff);
        let words = [0x5000_0000 | from, 0x0a00_0000 | to, 1, 99_900];
        let bytes = words.iter().flat_map(|word: &u32| word.to_be_bytes());
        bytes.chain([6, 2, 1, 187]).collect::<Vec<u8>>()
    };
    let mut body = || {
        let records: Vec<u8> = (0..records).flat_map(|_| record()).collect();
        set(256, &records)
    };
    (set(0, &template), (0..DATAGRAMS).map(|_| body()).collect())
}

fn datagram(number: u32, body: &[u8]) -> Vec<u8> {
    let time_s = (now_ms() / 1_000) as u32;
    V9Header { records: 1, uptime_ms: 100_000, time_s, number, domain: 1 }.with(body)
}

/// Maximum number of bytes to send per system call.
const SENT_AT_ONCE: usize = 60_000;

/// An exporter whose datagrams all have the same length. The kernel splits the data of one system call into several
/// datagrams. With one call per datagram, the sender would be as slow as the receiver.
struct Exporter {
    socket: UdpSocket,
    number: u32,
}

impl Exporter {
    fn new(number: u32, to: SocketAddr, template: &[u8], length: usize) -> Self {
        let address = Ipv4Addr::from_bits(0x7f00_0002 + number);
        let socket = UdpSocket::bind((address, 0)).unwrap();
        socket.connect(to).unwrap();
        socket.send(&datagram(0, template)).unwrap();
        sockopt::UdpGsoSegment.set(&socket, &(length as i32)).unwrap();
        Self { socket, number: 0 }
    }

    /// Sends one datagram for each of `bodies`, in one system call.
    fn send<'a>(&mut self, bodies: impl Iterator<Item = &'a Vec<u8>>) {
        let mut bytes = Vec::with_capacity(SENT_AT_ONCE);
        for body in bodies {
            self.number += 1;
            bytes.extend(datagram(self.number, body));
        }
        assert_eq!(self.socket.send(&bytes).unwrap(), bytes.len());
    }
}

/// Sends up to `rate` datagrams per second for `time`, from `exporters` in turn. Returns the number of sent datagrams.
fn send(exporters: &mut [Exporter], bodies: &[Vec<u8>], rate: f64, time: Duration) -> u32 {
    let at_once = (SENT_AT_ONCE / datagram(0, &bodies[0]).len()).min(32) as u32;
    let (started, mut sent) = (Instant::now(), 0);
    let mut bodies = bodies.iter().cycle();
    let mut turns = (0..exporters.len()).cycle();
    while started.elapsed() < time {
        let due = (started.elapsed().as_secs_f64() * rate) as u32;
        let until = due.min(sent + 1_000);
        while sent + at_once <= until {
            let turn = turns.next().unwrap();
            exporters[turn].send(bodies.by_ref().take(at_once as usize));
            sent += at_once;
        }
        thread::sleep(Duration::from_micros(200));
    }
    sent
}

fn set_number(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

/// Returns the processor time of a process in seconds and its memory in bytes.
fn expense(process: u32) -> (f64, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    (ticks / TICKS, memory_bytes(process, "VmRSS"))
}

#[test]
#[ignore = "a measurement: needs an idle machine and --release"]
fn records_of_netflow_v9_over_loopback() {
    let rates = std::env::var("SRLG_RATES")
        .unwrap_or("50000,500000,1000000,1500000,2000000,2500000,3000000".to_owned());
    let seconds = set_number("SRLG_SECONDS", 8);
    let records = set_number("SRLG_RECORDS", RECORDS);
    let exporters = set_number("SRLG_EXPORTERS", 1);
    let receivers = set_number("SRLG_RECEIVERS", 1);
    let (template, bodies) = bodies(records);
    println!("{records} records per datagram, {exporters} exporters, {receivers} receivers");
    println!(
        "\n| records/s sent | dropped | share of a core | resident memory |\n|---|---|---|---|"
    );
    for rate in rates.split(',').map(|rate| rate.parse::<f64>().unwrap()) {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let config = folder.path().join("srlg.toml");
        let text = format!(
            "inside = ['10.0.0.0/8']\n[input]\nlisten = ['{to}']\nexporters = ['127.0.0.0/8']\n\
             receivers = {receivers}\n[[rule]]\nname = 'default'\nthresholds = {{ 60s = 20000 }}\n"
        );
        fs::write(&config, text).unwrap();
        let mut monitor = Command::new(env!("CARGO_BIN_EXE_srlg"))
            .args(["run", "--config"])
            .arg(&config)
            .stdout(fs::File::create(folder.path().join("alerts")).unwrap())
            .stderr(Stdio::from(fs::File::create(&log).unwrap()))
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(2));
        let length = datagram(0, &bodies[0]).len();
        let exporter = |number| Exporter::new(number, to, &template, length);
        let mut exporters: Vec<_> = (0..exporters).map(exporter).collect();
        let (before, _) = expense(monitor.id());
        let (began, time) = (Instant::now(), Duration::from_secs(seconds.into()));
        let sent = u64::from(send(&mut exporters, &bodies, rate / f64::from(records), time));
        let took = began.elapsed().as_secs_f64();
        thread::sleep(Duration::from_secs(1));
        let (after, memory) = expense(monitor.id());
        Command::new("kill").args(["-INT", &monitor.id().to_string()]).status().unwrap();
        assert!(monitor.wait().unwrap().success());
        let log = fs::read_to_string(log).unwrap();
        let (received, dropped) =
            (number_before(&log, " datagrams received"), number_before(&log, " dropped by"));
        assert_eq!(received + dropped, sent + exporters.len() as u64);
        println!(
            "| {:.0} | {:.2} % | {:.1} % | {:.0} MB |",
            (sent * u64::from(records)) as f64 / took,
            dropped as f64 / sent as f64 * 100.0,
            (after - before) / took * 100.0,
            memory as f64 / 1e6,
        );
    }
}
