//! NetFlow v9 exporters.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::{NonZeroU8, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use srlg_input::Contact;

use super::attacks::{Attacks, STEPS, exporter_of};

/// Maximum number of records per datagram. 30 IPv6 records take 1,380 bytes.
const RECORDS: usize = 30;

/// Templates 256 (IPv4) and 257 (IPv6). The fields are source, destination, packets, end of the flow, protocol,
/// TCP flags, source port and destination port.
const TEMPLATES: [[u16; 18]; 2] = [
    [256, 8, 8, 4, 12, 4, 2, 4, 21, 4, 4, 1, 6, 1, 7, 2, 11, 2],
    [257, 8, 27, 16, 28, 16, 2, 4, 21, 4, 4, 1, 6, 1, 7, 2, 11, 2],
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
        let own = flows.iter().filter(|flow| exporter_of(flow, count) == at).collect();
        thread::sleep(due.saturating_sub(exporter.started.elapsed()));
        exporter.send(step, own)?;
    }
    Ok(())
}

impl Exporter {
    fn send(&mut self, step: u64, flows: Vec<&Contact>) -> Result<()> {
        if step.is_multiple_of(STEPS) {
            let sets = TEMPLATES.map(|fields| set(0, &words(&fields)));
            self.datagram(&sets.concat())?;
        }
        let (v4, v6): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|flow| flow.source.as_v4().is_some());
        for (template, flows) in [(256, v4), (257, v6)] {
            for flows in flows.chunks(RECORDS) {
                let records: Vec<u8> = flows.iter().flat_map(|flow| self.record(flow)).collect();
                self.datagram(&set(template, &records))?;
            }
        }
        Ok(())
    }

    fn record(&self, flow: &Contact) -> Vec<u8> {
        let octets = |host| match IpAddr::from(host) {
            IpAddr::V4(host) => host.octets().to_vec(),
            IpAddr::V6(host) => host.octets().to_vec(),
        };
        let packets = flow.packets.map_or(0, NonZeroU64::get) as u32;
        let flags = flow.tcp_flags.map_or(0, NonZeroU8::get);
        let ports = [flow.source_port, flow.destination_port].map(Option::unwrap_or_default);
        let mut record = [octets(flow.source), octets(flow.destination)].concat();
        record.extend([packets.to_be_bytes(), self.uptime_ms().to_be_bytes()].concat());
        record.extend([flow.protocol.unwrap_or_default(), flags]);
        record.extend(words(&ports));
        record
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
