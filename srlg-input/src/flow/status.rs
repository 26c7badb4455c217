//! Counters of an exporter, as an input reports them.

use std::fmt;
use std::net::SocketAddr;

use crate::flow::counts::Counts;
use crate::flow::decoder::Decoder;
use crate::flow::exporter::Undecodable;
use crate::flow::sequence::Losses;

/// Counters of one exporter.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterStatus {
    /// Address, with port 0.
    pub address: SocketAddr,
    /// What became of its datagrams.
    pub counts: Counts,
    /// What is missing of its exports.
    pub losses: Losses,
    /// Nanoseconds by which its clock is behind that of this machine.
    pub skew_ns: i64,
    /// Templates that it has sent and that are remembered.
    pub templates: usize,
    /// Data sets that yielded no record by their template.
    pub undecodable: Vec<Undecodable>,
}

impl ExporterStatus {
    /// All that `decoder` remembers.
    pub(crate) fn of(decoder: &Decoder) -> impl Iterator<Item = Self> {
        let templates = decoder.templates();
        decoder.exporters().map(move |(address, exporter)| Self {
            address,
            counts: exporter.counts().clone(),
            losses: exporter.losses(),
            skew_ns: exporter.skew_ns(),
            templates: templates.get(&address).copied().unwrap_or(0),
            undecodable: exporter.undecodable().to_vec(),
        })
    }
}

impl fmt::Display for ExporterStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, counts, losses, skew_ns, templates: _, undecodable } = self;
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
