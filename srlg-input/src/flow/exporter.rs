//! What is remembered of an exporter.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::flow::clock::{Clock, Skew};
use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::decoder::Decoder;
use crate::flow::exporters::Entry;
use crate::flow::options::DecoderOptions;
use crate::flow::sampling::Samplers;
use crate::flow::sequence::{Count, Losses, Sequence};

/// Templates of undecodable sets that are told apart.
const MOST_UNDECODABLE: usize = 16;

/// Who an exporter is: an address, and a port if that is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// Tells of data sets that yield no record by their template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Observation domain, or source id.
    pub domain: u32,
    /// Id of the template.
    pub template: u16,
    /// Data sets so far.
    pub sets: u64,
}

/// Data sets that wait for their templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Number of data sets.
    pub sets: usize,
    /// When the first set without its template came, in nanoseconds since the Unix epoch.
    pub since_ns: u64,
}

impl Backlog {
    /// Returns the data sets of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { sets: self.sets + other.sets, since_ns: self.since_ns.min(other.since_ns) }
    }
}

/// Tells what came of one exporter.
#[derive(Debug)]
pub struct Exporter {
    /// When its last datagram came.
    pub(crate) last_seen_ns: u64,
    /// When its last datagram came that could be decoded.
    pub(crate) last_read_ns: u64,
    /// When its last record came.
    pub(crate) last_record_ns: u64,
    pub(crate) counts: FlowCounts,
    pub(crate) skew: Skew,
    pub(crate) losses: Losses,
    pub(crate) samplers: Samplers,
    undecodable: Vec<Undecodable>,
}

impl Key {
    pub(crate) fn new(exporter: SocketAddr, options: &DecoderOptions) -> Self {
        let port = if options.by_port { exporter.port() } else { 0 };
        Self { address: exporter.ip().to_canonical(), port }
    }
}

impl Exporter {
    pub(crate) fn new(options: &DecoderOptions) -> Self {
        Self {
            last_seen_ns: 0,
            last_read_ns: 0,
            last_record_ns: 0,
            counts: FlowCounts::default(),
            skew: Skew::default(),
            losses: Losses::default(),
            samplers: Samplers::new(options.samplers),
            undecodable: Vec::new(),
        }
    }

    /// Bytes that one takes at most, besides its own.
    pub(crate) const fn most_bytes(options: &DecoderOptions) -> usize {
        Samplers::most_bytes(options.samplers) + MOST_UNDECODABLE * size_of::<Undecodable>()
    }

    /// Returns what became of its datagrams.
    pub fn counts(&self) -> &FlowCounts {
        &self.counts
    }

    /// Returns what is missing of its exports.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Returns by how many nanoseconds its clock is behind the receiver's, as far as datagrams that
    /// waited least tell; 0 of sFlow, which has no clock, and of a clock that is more than an hour off.
    pub fn skew_ns(&self) -> i64 {
        self.skew.ns()
    }

    /// Returns the data sets that yielded no record, of the 16 templates that did so most recently, the least recent first.
    pub fn undecodable(&self) -> &[Undecodable] {
        &self.undecodable
    }

    /// The times of a datagram, which says that it was exported at `export_ns`, or 0 for unknown, and the skew of the exporter if
    /// the datagram has records.
    pub(crate) fn clock(
        &self,
        export_ns: u64,
        cut_ns: u64,
        uptime_ms: Option<u32>,
        received_ns: u64,
        options: &DecoderOptions,
    ) -> (Clock, Skew) {
        let mut skew = self.skew;
        let (export_ns, skew_ns) = if export_ns == 0 {
            (received_ns, 0)
        } else {
            (export_ns, skew.take(export_ns, received_ns))
        };
        let timestamps = options.timestamps;
        (Clock { export_ns, cut_ns, uptime_ms, received_ns, skew_ns, timestamps }, skew)
    }

    /// Takes the `skew` that [`clock`](Self::clock) returned after a datagram, if the datagram had records: a head alone moves
    /// no clock.
    pub(crate) fn learn_clock(&mut self, clock: &Clock, skew: Skew, counts: &mut FlowCounts) {
        if counts.records == 0 {
            return;
        }
        self.skew = skew;
        if clock.is_bad() {
            counts.add(Reason::BadClock);
        }
    }

    /// Takes a datagram into one of its sequences.
    pub(crate) fn follow(
        &mut self,
        sequence: &mut Sequence,
        number: u32,
        count: Option<Count>,
        uptime_ms: Option<u32>,
    ) {
        let before = sequence.losses;
        sequence.take(number, count, uptime_ms);
        self.losses.change(before, sequence.losses);
    }

    pub(crate) fn add_undecodable(&mut self, domain: u32, template: u16) {
        let is_it = |known: &Undecodable| known.domain == domain && known.template == template;
        let sets = match self.undecodable.iter().position(is_it) {
            Some(at) => self.undecodable.remove(at).sets,
            None => {
                if self.undecodable.len() == MOST_UNDECODABLE {
                    self.undecodable.remove(0);
                }
                0
            }
        };
        self.undecodable.push(Undecodable { domain, template, sets: sets + 1 });
    }
}

/// Counters of one exporter, as an input reports them.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterStatus {
    /// Address, with port 0.
    pub address: SocketAddr,
    /// When its last datagram came, in nanoseconds since the Unix epoch.
    pub last_seen_ns: u64,
    /// The same of its last datagram that could be decoded.
    pub last_read_ns: u64,
    /// The same of its last datagram with a record.
    pub last_record_ns: u64,
    /// What became of its datagrams.
    pub counts: FlowCounts,
    /// What is missing of its exports.
    pub losses: Losses,
    /// Nanoseconds by which its clock is behind that of this machine.
    pub skew_ns: i64,
    /// Templates that it has sent and that are remembered.
    pub templates: usize,
    /// Data sets that wait for their templates, if there are any.
    pub backlog: Option<Backlog>,
    /// Data sets that yielded no record by their template.
    pub undecodable: Vec<Undecodable>,
}

impl ExporterStatus {
    /// All that `decoder` remembers.
    pub(crate) fn of(decoder: &Decoder) -> impl Iterator<Item = Self> {
        decoder.exporters.iter().map(|(key, entry)| {
            let Entry { exporter, .. } = entry;
            Self {
                address: SocketAddr::new(key.address, key.port),
                last_seen_ns: exporter.last_seen_ns,
                last_read_ns: exporter.last_read_ns,
                last_record_ns: exporter.last_record_ns,
                counts: exporter.counts().clone(),
                losses: exporter.losses(),
                skew_ns: exporter.skew_ns(),
                templates: entry.templates(),
                backlog: entry.backlog(),
                undecodable: exporter.undecodable().to_vec(),
            }
        })
    }
}

impl fmt::Display for ExporterStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, counts, losses, skew_ns, undecodable, .. } = self;
        write!(f, "{}: {counts}; {} lost", address.ip(), losses.lost)?;
        if *skew_ns != 0 {
            write!(f, "; clock {:+.1} s", -(*skew_ns as f64) / 1e9)?;
        }
        for Undecodable { domain, template, sets } in undecodable {
            write!(f, "; {sets} sets of template {template} in domain {domain} hold no record")?;
        }
        Ok(())
    }
}
