//! NetFlow v9 exporters.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use srlg_input::contact::TCP;

use super::attacks::{Attacks, Flow, STEPS};

/// Maximum number of records per datagram. 30 IPv6 records take 1,320 bytes.
const RECORDS: usize = 30;

/// Templates 256 (IPv4) and 257 (IPv6). The fields are source, destination, packets, end of the flow, protocol,
/// TCP flags and destination port.
const TEMPLATES: [[u16; 16]; 2] = [
    [256, 7, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2],
    [257, 7, 27, 16, 28, 16, 2, 4, 21, 4, 4, 1, 6, 1, 11, 2],
];

struct Exporter {
    socket: UdpSocket,
    to: SocketAddr,
    started: Instant,
    number: u32,
}

pub(super) struct Exporters {
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<Result<()>>,
}

impl Exporters {
    pub(super) fn stop(self) -> Result<()> {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.thread.join().ok().context("the exporter failed")?
    }
}

/// Starts a thread that exports flows for `length` in real time, with one exporter for each address in `to`. After this
/// time, the exporters send templates until they are stopped, because the end of an alert cannot be confirmed while an
/// exporter is silent. On a busy machine, the last alerts end late.
pub(super) fn start(attacks: Attacks, to: &[SocketAddr], length: Duration) -> Result<Exporters> {
    let started = Instant::now();
    let exporter = |&to: &SocketAddr| -> Result<Exporter> {
        let socket =
            UdpSocket::bind("127.0.0.1:0").context("cannot open a socket for the exporter")?;
        Ok(Exporter { socket, to, started, number: 0 })
    };
    let mut exporters = to.iter().map(exporter).collect::<Result<Vec<_>>>()?;
    let steps = length.as_secs() * STEPS;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&is_stopping);
    let work = move || {
        let is_running = || !stops.load(Ordering::Relaxed);
        let mut steps = (0..steps).take_while(|_| is_running());
        steps.try_for_each(|step| send(&mut exporters, &attacks, step))?;
        while is_running() {
            exporters.iter_mut().try_for_each(|exporter| exporter.send(0, Vec::new()))?;
            thread::sleep(Duration::from_millis(1_000 / STEPS));
        }
        Ok(())
    };
    let thread = thread::Builder::new().name("export".to_owned()).spawn(work);
    Ok(Exporters { is_stopping, thread: thread.context("cannot start a thread")? })
}

/// Sends the flows of a step at the end of the step.
fn send(exporters: &mut [Exporter], attacks: &Attacks, step: u64) -> Result<()> {
    let (count, flows) = (exporters.len(), attacks.step(step));
    let due = Duration::from_millis((step + 1) * 1_000 / STEPS);
    for (at, exporter) in exporters.iter_mut().enumerate() {
        let own = flows.iter().filter(|flow| flow.exporter(count) == at).collect();
        thread::sleep(due.saturating_sub(exporter.started.elapsed()));
        exporter.send(step, own)?;
    }
    Ok(())
}

impl Exporter {
    fn send(&mut self, step: u64, flows: Vec<&Flow>) -> Result<()> {
        if step.is_multiple_of(STEPS) {
            let sets = TEMPLATES.map(|fields| set(0, &words(&fields)));
            self.datagram(&sets.concat())?;
        }
        let (v4, v6): (Vec<_>, Vec<_>) = flows.into_iter().partition(|flow| flow.source.is_ipv4());
        for (template, flows) in [(256, v4), (257, v6)] {
            for flows in flows.chunks(RECORDS) {
                let records: Vec<u8> = flows.iter().flat_map(|flow| self.record(flow)).collect();
                self.datagram(&set(template, &records))?;
            }
        }
        Ok(())
    }

    fn record(&self, flow: &Flow) -> Vec<u8> {
        let Flow { source, destination, port, flags } = *flow;
        let octets = |host: IpAddr| match host {
            IpAddr::V4(host) => host.octets().to_vec(),
            IpAddr::V6(host) => host.octets().to_vec(),
        };
        let rest = [1_u32.to_be_bytes(), self.uptime_ms().to_be_bytes()].concat();
        let last = [&[TCP, flags][..], &port.to_be_bytes()].concat();
        [octets(source), octets(destination), rest, last].concat()
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
        self.socket.send_to(&bytes, self.to).context("cannot send exports")?;
        Ok(())
    }
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn set(id: u16, content: &[u8]) -> Vec<u8> {
    [words(&[id, content.len() as u16 + 4]), content.to_vec()].concat()
}
