//! How many records of NetFlow v9 a monitor takes over loopback, and at what expense; Linux alone.
//!
//! `SRLG_RATES=50000,1000000` sets the rates, in records per second, and `SRLG_SECONDS=8` how long each lasts.

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Records of a datagram, as routers fill 1,400 bytes.
const RECORDS: u32 = 50;

/// Datagrams that differ: 750,000 flows from 16 million hosts to 2,048.
const DATAGRAMS: u32 = 15_000;

/// What /proc counts by.
const TICKS: f64 = 100.0;

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// What follows a header of NetFlow v9: the template, then records of it.
fn bodies() -> (Vec<u8>, Vec<Vec<u8>>) {
    // Source, destination, packets, end of the flow, protocol, flags and port of the destination.
    let template = words(&[0, 36, 256, 7, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2]);
    let mut random = 7_u64;
    let mut record = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (from, to) = ((random >> 40) as u32, (random >> 29) as u32 & 0x7ff);
        let words = [0x5000_0000 | from, 0x0a00_0000 | to, 1, 99_900];
        let bytes = words.iter().flat_map(|word: &u32| word.to_be_bytes());
        bytes.chain([6, 2, 1, 187]).collect::<Vec<u8>>()
    };
    let mut body = || {
        let records: Vec<u8> = (0..RECORDS).flat_map(|_| record()).collect();
        [words(&[256, records.len() as u16 + 4]), records].concat()
    };
    (template, (0..DATAGRAMS).map(|_| body()).collect())
}

/// A datagram of an exporter that has run for 100 seconds.
fn datagram(number: u32, body: &[u8]) -> Vec<u8> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as u32;
    let header = [100_000, now, number, 1].into_iter().flat_map(u32::to_be_bytes);
    words(&[9, 1]).into_iter().chain(header).chain(body.iter().copied()).collect()
}

/// Sends `rate` records a second for `time`, or as many as can be sent; how many were.
fn send(socket: &UdpSocket, bodies: &[Vec<u8>], rate: f64, time: Duration) -> u32 {
    let (started, mut sent) = (Instant::now(), 0);
    while started.elapsed() < time {
        let due = (started.elapsed().as_secs_f64() * rate / f64::from(RECORDS)) as u32;
        let until = due.min(sent + 1_000);
        for number in sent..until {
            let body = &bodies[(number % DATAGRAMS) as usize];
            socket.send(&datagram(number + 1, body)).unwrap();
        }
        sent = until;
        thread::sleep(Duration::from_micros(200));
    }
    sent
}

/// Seconds of processors that a process has had, and its bytes in memory.
fn expense(process: u32) -> (f64, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let memory = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    (ticks / TICKS, memory.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024)
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
    let seconds = std::env::var("SRLG_SECONDS").map_or(8, |seconds| seconds.parse().unwrap());
    let (template, bodies) = bodies();
    println!("\n| records/s sent | dropped | of a core | resident |\n|---|---|---|---|");
    for rate in rates.split(',').map(|rate| rate.parse().unwrap()) {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut monitor = Command::new(env!("CARGO_BIN_EXE_srlg"))
            .args(["run", "--exporters", "127.0.0.1", "--inside", "10.0.0.0/8"])
            .args(["--threshold", "20000", "--listen", &to.to_string(), "--alerts"])
            .arg(folder.path().join("alerts"))
            .stderr(Stdio::from(fs::File::create(&log).unwrap()))
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(2));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        socket.send(&datagram(0, &template)).unwrap();
        let (before, _) = expense(monitor.id());
        let (began, time) = (Instant::now(), Duration::from_secs(seconds));
        let sent = u64::from(send(&socket, &bodies, rate, time));
        let took = began.elapsed().as_secs_f64();
        thread::sleep(Duration::from_secs(1));
        let (after, memory) = expense(monitor.id());
        Command::new("kill").args(["-INT", &monitor.id().to_string()]).status().unwrap();
        assert!(monitor.wait().unwrap().success());
        let log = fs::read_to_string(log).unwrap();
        let (received, dropped) =
            (number_before(&log, " datagrams received"), number_before(&log, " dropped by"));
        assert_eq!(received + dropped, sent + 1);
        println!(
            "| {:.0} | {:.2} % | {:.1} % | {:.0} MB |",
            (sent * u64::from(RECORDS)) as f64 / took,
            dropped as f64 / sent as f64 * 100.0,
            (after - before) / took * 100.0,
            memory as f64 / 1e6,
        );
    }
}
