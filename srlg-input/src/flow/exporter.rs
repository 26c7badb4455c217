//! The state of an exporter.

use std::net::{IpAddr, SocketAddr};

use crate::flow::clock::{Clock, Skew};
use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::options::DecoderOptions;
use crate::flow::sampling::Samplers;
use crate::flow::sequence::{Datagram, Losses, Sequence, is_recent};

/// Maximum number of templates that [`Exporter::undecodable`] lists.
const MOST_UNDECODABLE: usize = 16;

/// The identity of an exporter: its address, and its port if exporters are distinguished by port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// A template for which at least one data set yielded no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Observation domain or source ID.
    pub domain: u32,
    /// Template ID.
    pub template: u16,
    /// Number of data sets that have yielded no record so far.
    pub sets: u64,
}

/// Data sets that wait for their templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Number of data sets.
    pub sets: usize,
    /// Time at which the first set that had to wait arrived, in nanoseconds since the Unix epoch. This set may already
    /// have been dropped.
    pub since_ns: u64,
}

impl Backlog {
    pub(crate) fn and(self, other: Self) -> Self {
        Self { sets: self.sets + other.sets, since_ns: self.since_ns.min(other.since_ns) }
    }
}

/// Counters and state of one exporter.
#[derive(Debug)]
pub struct Exporter {
    pub(crate) last_seen_ns: u64,
    /// Time of receipt of the last datagram that could be decoded.
    pub(crate) last_read_ns: u64,
    /// Time of receipt of the last datagram with a record.
    pub(crate) last_record_ns: u64,
    pub(crate) counts: FlowCounts,
    pub(crate) skew: Skew,
    losses: Losses,
    /// Time of receipt of the last datagram that showed several exporters behind this address.
    shared_ns: Option<u64>,
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
            shared_ns: None,
            samplers: Samplers::new(options.samplers),
            undecodable: Vec::new(),
        }
    }

    /// Returns the maximum memory of an exporter in bytes, excluding the struct itself.
    pub(crate) const fn most_bytes(options: &DecoderOptions) -> usize {
        Samplers::most_bytes(options.samplers) + MOST_UNDECODABLE * size_of::<Undecodable>()
    }

    /// Returns the counters of the exporter's datagrams.
    pub fn counts(&self) -> &FlowCounts {
        &self.counts
    }

    /// Returns the losses of the exporter, in datagrams, flows or records. Returns `None` if they are unknown, because
    /// the sequence numbers of the last five minutes belong to several exporters
    /// ([`Reason::SharedAddress`](crate::flow::Reason::SharedAddress)).
    pub fn losses(&self) -> Option<Losses> {
        let is_shared = self.shared_ns.is_some_and(|ns| is_recent(ns, self.last_seen_ns));
        (!is_shared).then_some(self.losses)
    }

    /// Returns by how many nanoseconds the exporter's clock is behind the local clock, estimated from the datagrams
    /// with the smallest delay. Datagrams whose export time is more than an hour off are ignored. Without an
    /// estimate, the result is 0, as for sFlow, whose datagrams state no time.
    pub fn skew_ns(&self) -> i64 {
        self.skew.ns()
    }

    /// Returns the templates for which at least one data set yielded no record. Only the 16 templates with the most
    /// recent failures are listed, least recent first.
    pub fn undecodable(&self) -> &[Undecodable] {
        &self.undecodable
    }

    /// Returns the times of a datagram, and the skew to adopt if the datagram has records. `export_ns` is the stated
    /// export time, or 0 if it is unknown.
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
            (export_ns, skew.add(export_ns, received_ns))
        };
        let timestamps = options.timestamps;
        (Clock { export_ns, cut_ns, uptime_ms, received_ns, skew_ns, timestamps }, skew)
    }

    /// Adopts the `skew` that [`clock`](Self::clock) returned, but only if the datagram had records. Headers without
    /// records therefore cannot change the skew.
    pub(crate) fn learn_clock(&mut self, clock: &Clock, skew: Skew, counts: &mut FlowCounts) {
        if counts.records == 0 {
            return;
        }
        self.skew = skew;
        if clock.is_bad() {
            counts.add(Reason::BadClock);
        }
    }

    /// Updates `sequence` and the losses of the exporter with a datagram.
    pub(crate) fn follow(
        &mut self,
        sequence: &mut Sequence,
        datagram: Datagram,
        counts: &mut FlowCounts,
    ) {
        let before = sequence.losses;
        if sequence.add(datagram) {
            self.shared_ns = Some(datagram.received_ns);
            counts.add(Reason::SharedAddress);
        }
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
