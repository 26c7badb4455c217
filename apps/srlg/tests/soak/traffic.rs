//! Exporters that send NetFlow v9 at a steady rate, with planted attacks.
//!
//! All exporters belong to one thread. A test changes an exporter under its lock, so the counts of sent datagrams are
//! exact as soon as an exporter is paused.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, be16, set};
use srlg_traffic::trace::{Trace, dev_traces};

use crate::Random;
use crate::oracle::Attacks;

/// Number of records per datagram.
pub(crate) const RECORDS: u64 = 50;

/// Number of pairs in the background traffic, half of which are recorded if there are recorded traces. All pairs recur
/// within one window.
const PAIRS: usize = 60_000;

/// Maximum number of records that are read from each recorded trace.
const RECORDED: usize = 300_000;

/// Maximum number of peers of a host in the background traffic, far below the threshold.
const MOST_PEERS: usize = 100;

const TEMPLATE_INTERVAL: Duration = Duration::from_secs(5);

/// Time between two rounds of the thread.
const ROUND: Duration = Duration::from_millis(5);

/// Observation domain of malformed datagrams. The domain of all other datagrams is 1.
const MALFORMED_DOMAIN: u32 = 77;

/// Sender that no program permits.
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 9, 9);

/// The receiver of an exporter: the monitor, or a probe by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    Monitor,
    Probe(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Sending,
    Paused,
    /// The receiver is dead, so every datagram is lost.
    Unheard,
}

/// Numbers of datagrams and records that an exporter has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sent {
    /// Datagrams to a running receiver, including templates and malformed datagrams.
    pub(crate) datagrams: u64,
    /// Records in these datagrams.
    pub(crate) records: u64,
    pub(crate) malformed: u64,
    /// Datagrams from a sender that is not permitted.
    pub(crate) strange: u64,
    /// Datagrams to a receiver that was dead.
    pub(crate) unheard: u64,
}

impl std::ops::AddAssign for Sent {
    fn add_assign(&mut self, other: Self) {
        self.datagrams += other.datagrams;
        self.records += other.records;
        self.malformed += other.malformed;
        self.strange += other.strange;
        self.unheard += other.unheard;
    }
}

/// A source and a destination address.
pub(crate) type Pair = [u32; 2];

/// An exporter with a constant rate.
struct Exporter {
    receiver: Receiver,
    address: Ipv4Addr,
    to: SocketAddr,
    socket: UdpSocket,
    mode: Mode,
    sent: Sent,
    /// Datagrams per second.
    rate: f64,
    /// Number of datagrams that are due.
    due: f64,
    template: u16,
    next_template: Instant,
    number: u32,
    started: Instant,
    place: usize,
}

fn socket(address: Ipv4Addr, to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    socket.connect(to).unwrap();
    socket
}

impl Exporter {
    fn header(&mut self) -> V9Header {
        let uptime_ms = 1_000 + self.started.elapsed().as_millis() as u32;
        self.number += 1;
        V9Header {
            records: 1,
            uptime_ms,
            time_s: (now_ms() / 1_000) as u32,
            number: self.number - 1,
            domain: 1,
        }
    }

    /// Sends a datagram with `records` records. While the receiver is dead, the kernel may refuse datagrams.
    fn send(&mut self, datagram: &[u8], records: u64) {
        let sent = self.socket.send(datagram);
        if self.mode == Mode::Unheard {
            self.sent.unheard += 1;
            return;
        }
        assert_eq!(sent.unwrap(), datagram.len());
        self.sent.datagrams += 1;
        self.sent.records += records;
    }

    /// Sends the template. The order of the addresses depends on the number of the template.
    fn send_template(&mut self) {
        let [first, second] = if self.template.is_multiple_of(2) { [8, 12] } else { [12, 8] };
        // The other fields are packets, end of the flow, protocol, TCP flags and destination port.
        let fields = [self.template, 7, first, 4, second, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2];
        let datagram = self.header().with(&set(0, &be16(&fields)));
        self.send(&datagram, 0);
        self.next_template = Instant::now() + TEMPLATE_INTERVAL;
    }

    fn send_records(&mut self, pairs: impl Iterator<Item = Pair>) {
        let header = self.header();
        let mut records = Vec::with_capacity(22 * RECORDS as usize);
        for [source, destination] in pairs {
            let [first, second] = match self.template.is_multiple_of(2) {
                true => [source, destination],
                false => [destination, source],
            };
            for word in [first, second, 1, header.uptime_ms - 100] {
                records.extend(word.to_be_bytes());
            }
            records.extend([6, 2, 1, 187]);
        }
        let datagram = header.with(&set(self.template, &records));
        self.send(&datagram, RECORDS);
    }

    /// Starts the exporter again: with a new port, a new template, sequence number 0 and uptime 0.
    fn restart(&mut self) {
        self.socket = socket(self.address, self.to);
        self.template = 256 + (self.template + 1) % 16;
        (self.number, self.started) = (0, Instant::now());
        self.send_template();
    }

    /// Sends `count` malformed datagrams from the address of the exporter, and a third of this number from a stranger.
    fn send_malformed(&mut self, count: u64, random: &mut Random) {
        let (other, stranger) = (socket(self.address, self.to), socket(STRANGER, self.to));
        for number in 0..count {
            let time_s = (now_ms() / 1_000) as u32;
            let header = V9Header {
                records: 1,
                uptime_ms: 1_000,
                time_s,
                number: number as u32,
                domain: MALFORMED_DOMAIN,
            };
            let mut datagram = header.with(&set(300, &[7; 100]));
            match number % 4 {
                // The first byte is not 0, so no version matches.
                0 => {
                    datagram = (0..random.below(1_400)).map(|_| random.below(256) as u8).collect();
                    datagram.insert(0, 1 + random.below(255) as u8);
                }
                1 => datagram.truncate(2 + random.below(18) as usize),
                2 => datagram.truncate(24 + random.below(80) as usize),
                _ => datagram[1] = 11 + random.below(200) as u8,
            }
            other.send(&datagram).unwrap();
            if number % 3 == 0 {
                stranger.send(&datagram).unwrap();
                self.sent.strange += 1;
            }
            // A pause lets the receiver read the datagrams as they arrive.
            thread::sleep(Duration::from_millis(1));
        }
        self.sent.malformed += count;
        self.sent.datagrams += count;
    }
}

/// The thread of all exporters, which stops when this value is dropped.
pub(crate) struct Generator {
    exporters: Arc<Vec<Mutex<Exporter>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Number of recorded pairs in the background traffic.
    pub(crate) recorded: usize,
}

/// An exporter to create: its receiver, its address, the address of the receiver and the records per second.
pub(crate) struct Plan {
    pub(crate) receiver: Receiver,
    pub(crate) address: Ipv4Addr,
    pub(crate) to: SocketAddr,
    pub(crate) rate: f64,
}

impl Generator {
    pub(crate) fn start(plans: Vec<Plan>, attacks: Attacks, random: &mut Random) -> Self {
        let (pairs, recorded) = background(random);
        let now = Instant::now();
        let exporter = |Plan { receiver, address, to, rate }| {
            let rate = rate / RECORDS as f64;
            let (socket, place) = (socket(address, to), random.below(PAIRS as u64) as usize);
            Mutex::new(Exporter {
                receiver,
                address,
                to,
                socket,
                mode: Mode::Sending,
                sent: Sent::default(),
                rate,
                due: 0.0,
                template: 256,
                next_template: now,
                number: 0,
                started: now,
                place,
            })
        };
        let exporters: Arc<Vec<_>> = Arc::new(plans.into_iter().map(exporter).collect());
        let stop = Arc::new(AtomicBool::new(false));
        let (of_thread, stopped) = (Arc::clone(&exporters), Arc::clone(&stop));
        let thread = thread::spawn(move || send(&of_thread, &pairs, &attacks, &stopped));
        Self { exporters, stop, thread: Some(thread), recorded }
    }

    fn of(&self, receiver: Receiver) -> impl Iterator<Item = MutexGuard<'_, Exporter>> {
        let exporters = self.exporters.iter().map(|it| it.lock().unwrap());
        exporters.filter(move |it| it.receiver == receiver)
    }

    pub(crate) fn set_mode(&self, receiver: Receiver, mode: Mode) {
        for mut exporter in self.of(receiver) {
            // Discards the error of the last refused datagram.
            let _refused = exporter.socket.take_error().unwrap();
            (exporter.mode, exporter.due) = (mode, 0.0);
        }
    }

    pub(crate) fn sent(&self, receiver: Receiver) -> Sent {
        let mut all = Sent::default();
        self.of(receiver).for_each(|exporter| all += exporter.sent);
        all
    }

    pub(crate) fn restart_exporter(&self, receiver: Receiver, random: &mut Random) {
        let count = self.of(receiver).count() as u64;
        let mut of_receiver = self.of(receiver);
        of_receiver.nth(random.below(count) as usize).unwrap().restart();
    }

    pub(crate) fn send_malformed(&self, receiver: Receiver, count: u64, random: &mut Random) {
        self.of(receiver).next().unwrap().send_malformed(count, random);
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || joined.is_none_or(|joined| joined.is_ok()));
    }
}

fn send(exporters: &[Mutex<Exporter>], pairs: &[Pair], attacks: &Attacks, stop: &AtomicBool) {
    let (mut last, mut peers) = (Instant::now(), 0);
    while !stop.load(Relaxed) {
        thread::sleep(ROUND);
        let (now, attack) = (Instant::now(), attacks.active());
        for exporter in exporters {
            let mut exporter = exporter.lock().unwrap();
            if exporter.mode == Mode::Paused {
                continue;
            }
            if now >= exporter.next_template {
                exporter.send_template();
            }
            exporter.due += exporter.rate * (now - last).as_secs_f64();
            while exporter.due >= 1.0 {
                exporter.due -= 1.0;
                peers += 1;
                let planted = attack.into_iter().flat_map(|attack| attack.pairs(peers));
                let place = exporter.place;
                exporter.place = (place + RECORDS as usize) % pairs.len();
                let rest = (place..).map(|at| pairs[at % pairs.len()]);
                exporter.send_records(planted.chain(rest).take(RECORDS as usize));
            }
        }
        last = now;
    }
}

/// Returns the background traffic and the number of its recorded pairs. Destinations are in 10.0.0.0/10. Sources are in
/// 64.0.0.0/3. No host has more than [`MOST_PEERS`] peers.
fn background(random: &mut Random) -> (Vec<Pair>, usize) {
    let mut pairs = BTreeSet::new();
    let mut peers: BTreeMap<(bool, u32), usize> = BTreeMap::new();
    let mut add = |source: u32, destination: u32| {
        let pair = [0x4000_0000 | source >> 3, 0x0a00_0000 | destination & 0x3f_ffff];
        let [of_source, of_destination] =
            [(true, pair[0]), (false, pair[1])].map(|host| peers.get(&host).copied().unwrap_or(0));
        if of_source.max(of_destination) < MOST_PEERS && pairs.insert(pair) {
            *peers.entry((true, pair[0])).or_default() += 1;
            *peers.entry((false, pair[1])).or_default() += 1;
        }
        pairs.len()
    };
    let records =
        dev_traces().into_iter().flat_map(|path| Trace::open(path).unwrap().take(RECORDED));
    let mut recorded = 0;
    for record in records.map(Result::unwrap) {
        recorded = add(record.source, record.destination);
        if recorded == PAIRS / 2 {
            break;
        }
    }
    while add(random.below(1 << 32) as u32, random.below(1 << 14) as u32) < PAIRS {}
    let mut pairs: Vec<Pair> = pairs.into_iter().collect();
    // Without an order, consecutive records belong to different hosts.
    for at in (1..pairs.len()).rev() {
        pairs.swap(at, random.below(at as u64 + 1) as usize);
    }
    (pairs, recorded)
}
