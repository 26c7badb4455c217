//! A NetFlow v9 exporter.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use srlg_system::now_ms;
use srlg_traffic::export::{V9Header, be16, set};

/// Maximum number of records per datagram. A datagram of this size fits in an Ethernet frame.
const RECORDS: usize = 80;

/// A source and a destination.
pub(crate) type Pair = [Ipv4Addr; 2];

pub(crate) struct Exporter {
    socket: UdpSocket,
    number: u32,
    started: Instant,
}

impl Exporter {
    /// Creates an exporter, and sends its template to `to`.
    pub(crate) fn new(to: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        let mut exporter = Self { socket, number: 0, started: Instant::now() };
        // The fields are source, destination, packets and end of the flow.
        exporter.send(&set(0, &be16(&[256, 4, 8, 4, 12, 4, 2, 4, 21, 4])));
        exporter
    }

    /// Exports one current flow for each of `pairs`, evenly spread over `time`.
    pub(crate) fn export(&mut self, pairs: &[Pair], time: Duration) {
        let (started, datagrams) = (Instant::now(), pairs.len().div_ceil(RECORDS) as u32);
        for (at, pairs) in (1..).zip(pairs.chunks(RECORDS)) {
            let numbers = [1, self.uptime_ms()].map(u32::to_be_bytes).concat();
            let record =
                |hosts: &Pair| [&hosts.map(|host| host.octets()).concat(), &numbers[..]].concat();
            let records: Vec<Vec<u8>> = pairs.iter().map(record).collect();
            self.send(&set(256, &records.concat()));
            thread::sleep((time * at / datagrams).saturating_sub(started.elapsed()));
        }
    }

    fn send(&mut self, sets: &[u8]) {
        let (uptime_ms, time_s) = (self.uptime_ms(), (now_ms() / 1_000) as u32);
        let header = V9Header { records: 1, uptime_ms, time_s, number: self.number, domain: 1 };
        self.number += 1;
        self.socket.send(&header.with(sets)).unwrap();
    }

    fn uptime_ms(&self) -> u32 {
        self.started.elapsed().as_millis() as u32 + 1
    }
}
