//! An exporter of NetFlow v9.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};

use super::attacks::{Attacks, STEPS};

/// Records of a datagram: 36 of IPv6 are 1,296 bytes.
const RECORDS: usize = 30;

/// Fields of the templates 256 and 257: source, destination, packets, end of the flow, in IPv4 and IPv6.
const TEMPLATES: [[u16; 10]; 2] =
    [[256, 4, 8, 4, 12, 4, 2, 4, 21, 4], [257, 4, 27, 16, 28, 16, 2, 4, 21, 4]];

struct Exporter {
    socket: UdpSocket,
    to: SocketAddr,
    started: Instant,
    number: u32,
}

/// Starts a thread that exports all steps of `length` at their time.
pub(super) fn start(
    attacks: Attacks,
    to: SocketAddr,
    length: Duration,
) -> Result<JoinHandle<Result<()>>> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
    let mut exporter = Exporter { socket, to, started: Instant::now(), number: 0 };
    let steps = length.as_secs() * STEPS;
    let work = move || (0..steps).try_for_each(|step| exporter.send(step, &attacks.step(step)));
    thread::Builder::new().name("export".to_owned()).spawn(work).context("cannot start a thread")
}

impl Exporter {
    /// Sends the pairs of a step, when it is over.
    fn send(&mut self, step: u64, pairs: &[(IpAddr, IpAddr)]) -> Result<()> {
        let due = Duration::from_millis((step + 1) * 1_000 / STEPS);
        thread::sleep(due.saturating_sub(self.started.elapsed()));
        if step.is_multiple_of(STEPS) {
            let sets = TEMPLATES.map(|fields| set(0, &words(&fields)));
            self.datagram(&sets.concat())?;
        }
        let (v4, v6): (Vec<_>, Vec<_>) = pairs.iter().partition(|(source, _)| source.is_ipv4());
        for (template, pairs) in [(256, v4), (257, v6)] {
            for pairs in pairs.chunks(RECORDS) {
                let records: Vec<u8> = pairs.iter().flat_map(|pair| self.record(*pair)).collect();
                self.datagram(&set(template, &records))?;
            }
        }
        Ok(())
    }

    fn record(&self, (source, destination): (IpAddr, IpAddr)) -> Vec<u8> {
        let octets = |host: IpAddr| match host {
            IpAddr::V4(host) => host.octets().to_vec(),
            IpAddr::V6(host) => host.octets().to_vec(),
        };
        let rest = [1_u32.to_be_bytes(), self.uptime_ms().to_be_bytes()].concat();
        [octets(source), octets(destination), rest].concat()
    }

    fn uptime_ms(&self) -> u32 {
        self.started.elapsed().as_millis() as u32 + 1
    }

    fn datagram(&mut self, sets: &[u8]) -> Result<()> {
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() as u32;
        let mut bytes = words(&[9, 1]);
        for word in [self.uptime_ms(), seconds, self.number, 1] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(sets);
        self.number += 1;
        self.socket.send_to(&bytes, self.to).context("cannot send")?;
        Ok(())
    }
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn set(id: u16, content: &[u8]) -> Vec<u8> {
    [words(&[id, content.len() as u16 + 4]), content.to_vec()].concat()
}
