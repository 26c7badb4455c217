//! A monitor under load; Linux alone: its memory in an hour of traffic with attacks, and how many records of NetFlow v9 it
//! takes over loopback, at what expense.
//!
//! `SRLG_RATES=50000,1000000` sets the rates, in records per second, and `SRLG_SECONDS=8` how long each lasts. `SRLG_RECORDS=1` sets
//! the records of a datagram, `SRLG_EXPORTERS=8` how many exporters send, and `SRLG_RECEIVERS=2` the threads that receive.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{SetSockOpt, sockopt};
use srlg_cli::now_ms;
use srlg_traffic::export::{V9Header, be16, set};

/// The next number that looks random, equal on every machine.
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *random
}

/// Bytes of memory that the system tells of a process as `name`: now, or the most since [`forget_peak`].
fn memory_bytes(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

/// Seconds of the replay, and contacts in each beside attacks.
const SECONDS: u64 = 3_600;
const CONTACTS: u64 = 1_000;

/// Seconds after which memory must be taken: windows are full, attacks of every kind have come and gone, and checkpoints of
/// all views were written.
const SETTLED: u64 = 1_200;

/// Beginning of the traffic: some time in 2026.
const START_MS: u64 = 1_780_000_000_000;

struct Traffic {
    random: u64,
    lines: String,
}

impl Traffic {
    fn next(&mut self) -> u32 {
        (next(&mut self.random) >> 32) as u32
    }

    /// An address of the /8 that `first` names.
    fn address(&mut self, first: u8, hosts: u32) -> String {
        let [_, b, c, d] = (self.next() % hosts).to_be_bytes();
        format!("{first}.{b}.{c}.{d}")
    }

    fn contact(&mut self, second: u64, from: &str, to: &str) {
        writeln!(self.lines, "{},{from},{to}", START_MS + second * 1_000).unwrap();
    }

    /// Everybody's traffic, and every minute for 20 seconds: a flood of a new host, a scan by a new host, and of a
    /// whole network.
    fn second(&mut self, second: u64) {
        self.lines.clear();
        for _ in 0..CONTACTS {
            let (from, to) = (self.address(80, 1 << 20), self.address(10, 1 << 12));
            self.contact(second, &from, &to);
        }
        let [_, _, b, c] = ((second / 60) as u32).to_be_bytes();
        if second % 60 < 20 {
            for _ in 0..300 {
                let peer = self.address(81, 1 << 24);
                self.contact(second, &peer, &format!("10.{b}.{c}.200"));
                let target = self.address(10, 1 << 16);
                self.contact(second, &format!("198.{b}.{c}.9"), &target);
            }
            for host in 0..64 {
                for _ in 0..80 {
                    let peer = self.address(82, 1 << 24);
                    self.contact(second, &peer, &format!("10.77.{c}.{host}"));
                }
            }
        }
    }
}

fn forget_peak(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").unwrap();
}

#[test]
fn an_hour_takes_no_more_than_its_first_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let alerts = folder.path().join("alerts");
    let views = ["fan-in", "fan-out", "outside"].map(|name| {
        let [role, measure] = match name {
            "fan-in" => ["destination", "inside"],
            "fan-out" => ["source", "inside"],
            _ => ["source", "outside"],
        };
        format!("[[view]]\nname = '{name}'\nrole = '{role}'\nmeasure = '{measure}'\npairs = 200_000\nmemory = 4_000_000\n")
    });
    let config = format!(
        "inside = ['10.0.0.0/8']\nslice = '4s'\ncheckpoint = '1s'\nhttp = '127.0.0.1:0'\nstate = '{}'\n{}[[rule]]\nname = 'all'\nthresholds = {{ 60s = 1000 }}\n",
        folder.path().join("state").display(),
        views.concat()
    );
    fs::write(folder.path().join("srlg.toml"), config).unwrap();
    let mut monitor = Command::new(env!("CARGO_BIN_EXE_srlg"))
        // As in the unit of systemd: glibc gives back what a checkpoint took.
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .args(["run", "--input", "-"])
        .args([&"--config".into(), &folder.path().join("srlg.toml"), &"--alerts".into(), &alerts])
        .stdin(Stdio::piped())
        .stderr(fs::File::create(folder.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut pipe = monitor.stdin.take().unwrap();
    pipe.write_all(b"time_ms,src,dst\n").unwrap();
    let mut traffic = Traffic { random: 1, lines: String::new() };
    let mut settled = 0;
    for second in 0..SECONDS {
        traffic.second(second);
        pipe.write_all(traffic.lines.as_bytes()).unwrap();
        // Peaks are compared: a checkpoint that is being written takes memory for a moment.
        if second == SETTLED {
            settled = memory_bytes(monitor.id(), "VmHWM");
            forget_peak(monitor.id());
        }
    }
    let most = memory_bytes(monitor.id(), "VmHWM");
    drop(pipe);
    assert!(monitor.wait().unwrap().success());
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let starts = fs::read_to_string(alerts).unwrap().matches("\"status\":\"start\"").count();
    println!("{}", log.lines().take(3).collect::<Vec<_>>().join("\n"));
    println!(
        "\n| replayed, s | alerts | at most in the first {SETTLED} s, MB | later |\n|---|---|---|---|"
    );
    let [settled_mb, most_mb] = [settled, most].map(|bytes| bytes as f64 / 1e6);
    println!("| {SECONDS} | {starts} | {settled_mb:.1} | {most_mb:.1} |");
    // A flood, a scan and a flood of a network in each minute.
    assert!(starts >= 3 * (SECONDS / 60) as usize - 3, "{starts}");
    assert!(
        most as f64 <= 1.05 * settled as f64,
        "{most} bytes, {settled} in the first {SETTLED} s"
    );
}

/// Records of a datagram by default, as routers fill 1,400 bytes.
const RECORDS: u32 = 50;

/// Datagrams that differ: 750,000 flows from 16 million hosts to 2,048.
const DATAGRAMS: u32 = 15_000;

/// What /proc counts by.
const TICKS: f64 = 100.0;

/// What follows a header of NetFlow v9: the template, then records of it.
fn bodies(records: u32) -> (Vec<u8>, Vec<Vec<u8>>) {
    // Source, destination, packets, end of the flow, protocol, flags and port of the destination.
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

/// A datagram of an exporter that has run for 100 seconds.
fn datagram(number: u32, body: &[u8]) -> Vec<u8> {
    let time_s = (now_ms() / 1_000) as u32;
    V9Header { records: 1, uptime_ms: 100_000, time_s, number, domain: 1 }.with(body)
}

/// The bytes that one call sends at most.
const SENT_AT_ONCE: usize = 60_000;

/// An exporter, whose datagrams are all of one length. The kernel cuts what a call sends: a call for each datagram would take
/// the sender as long as it takes the receiver.
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

    /// Sends a datagram with each of `bodies`.
    fn send<'a>(&mut self, bodies: impl Iterator<Item = &'a Vec<u8>>) {
        let mut bytes = Vec::with_capacity(SENT_AT_ONCE);
        for body in bodies {
            self.number += 1;
            bytes.extend(datagram(self.number, body));
        }
        assert_eq!(self.socket.send(&bytes).unwrap(), bytes.len());
    }
}

/// Sends `rate` datagrams a second for `time`, by `exporters` in turn, or as many as can be sent; how many were.
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

/// The number that a variable of the environment sets.
fn set_number(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

/// Seconds of processors that a process has had, and its bytes in memory.
fn expense(process: u32) -> (f64, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    (ticks / TICKS, memory_bytes(process, "VmRSS"))
}

fn number_before(text: &str, what: &str) -> u64 {
    let before = text.rsplit_once(what).unwrap_or_else(|| panic!("no {what:?} in:\n{text}")).0;
    before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "measures: wants the machine for itself, and --release"]
fn records_of_netflow_v9_over_loopback() {
    let rates = std::env::var("SRLG_RATES")
        .unwrap_or("50000,500000,1000000,1500000,2000000,2500000,3000000".to_owned());
    let seconds = set_number("SRLG_SECONDS", 8);
    let records = set_number("SRLG_RECORDS", RECORDS);
    let exporters = set_number("SRLG_EXPORTERS", 1);
    let receivers = set_number("SRLG_RECEIVERS", 1);
    let (template, bodies) = bodies(records);
    println!("{records} records a datagram, {exporters} exporters, {receivers} receivers");
    println!("\n| records/s sent | dropped | of a core | resident |\n|---|---|---|---|");
    for rate in rates.split(',').map(|rate| rate.parse::<f64>().unwrap()) {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut monitor = Command::new(env!("CARGO_BIN_EXE_srlg"))
            .args(["run", "--exporters", "127.0.0.0/8", "--inside", "10.0.0.0/8"])
            .args(["--receivers", &receivers.to_string()])
            .args(["--threshold", "20000", "--listen", &to.to_string(), "--alerts"])
            .arg(folder.path().join("alerts"))
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
