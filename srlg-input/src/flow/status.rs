//! Counters and state of exporters, as inputs report them.

use std::fmt;
use std::net::SocketAddr;

use crate::flow::counts::FlowCounts;
use crate::flow::decoder::Decoder;
use crate::flow::exporter::{Backlog, Undecodable};
use crate::flow::exporters::Entry;
use crate::flow::sequence::Losses;

/// Counters and state of one exporter, as an input reports them.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterStatus {
    /// Address of the exporter. The port is 0.
    pub address: SocketAddr,
    /// Time at which the exporter's last datagram arrived, in nanoseconds since the Unix epoch.
    pub last_seen_ns: u64,
    /// Time at which the exporter's last decodable datagram arrived, in nanoseconds since the Unix epoch.
    pub last_read_ns: u64,
    /// Time at which the exporter's last datagram with a record arrived, in nanoseconds since the Unix epoch.
    pub last_record_ns: u64,
    /// Counters of the exporter's datagrams.
    pub counts: FlowCounts,
    /// Losses of the exporter, in datagrams, flows or records. `None` if they are unknown, because several exporters
    /// send from the address.
    pub losses: Option<Losses>,
    /// Number of nanoseconds by which the exporter's clock is behind the local clock.
    pub skew_ns: i64,
    /// Number of the exporter's templates.
    pub templates: usize,
    /// Data sets that wait for their templates, if there are any.
    pub backlog: Option<Backlog>,
    /// Templates for which at least one data set yielded no record.
    pub undecodable: Vec<Undecodable>,
}

impl ExporterStatus {
    /// Adds the status of the same exporter in another decoder.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.last_seen_ns < other.last_seen_ns {
            (self.last_seen_ns, self.skew_ns) = (other.last_seen_ns, other.skew_ns);
        }
        self.last_read_ns = self.last_read_ns.max(other.last_read_ns);
        self.last_record_ns = self.last_record_ns.max(other.last_record_ns);
        self.counts += &other.counts;
        self.losses = self.losses.zip(other.losses).map(|(losses, more)| losses.and(more));
        self.templates += other.templates;
        self.backlog = [self.backlog, other.backlog].into_iter().flatten().reduce(Backlog::and);
        self.undecodable.extend(&other.undecodable);
    }

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
        write!(f, "{}: {counts}; ", address.ip())?;
        match losses {
            Some(losses) => write!(f, "{} lost", losses.lost)?,
            None => f.write_str("losses unknown")?,
        }
        // A smaller skew would be written as 0.0 s.
        if skew_ns.unsigned_abs() >= 50_000_000 {
            write!(f, "; clock {:+.1} s", -(*skew_ns as f64) / 1e9)?;
        }
        for Undecodable { domain, template, sets } in undecodable {
            write!(f, "; {sets} undecodable sets of template {template} in domain {domain}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> ExporterStatus {
        ExporterStatus {
            address: ([192, 0, 2, 1], 0).into(),
            last_seen_ns: 0,
            last_read_ns: 0,
            last_record_ns: 0,
            counts: FlowCounts::default(),
            losses: Some(Losses::default()),
            skew_ns: 0,
            templates: 0,
            backlog: None,
            undecodable: Vec::new(),
        }
    }

    #[test]
    fn a_status_states_how_far_the_clock_is_ahead_unless_it_is_almost_correct() {
        let skews = [-49_999_999, 50_000_000, -2_300_000_000];
        let lines = skews.map(|skew_ns| ExporterStatus { skew_ns, ..status() }.to_string());
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_status_says_that_losses_are_unknown() {
        insta::assert_snapshot!(ExporterStatus { losses: None, ..status() }.to_string());
    }
}
