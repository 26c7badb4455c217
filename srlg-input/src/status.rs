//! What became of all that came.

use std::fmt;
use std::net::SocketAddr;

use srlg_capture::Counts as Packets;
use srlg_flow::{Counts as Flows, Decoder, Losses, Undecodable};

/// Tells what became of all that came of an input so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Packets of captures and interfaces, rows of lists and logs; datagrams, where captures hold exports.
    pub packets: Option<Packets>,
    /// Exports.
    pub flows: Option<Flows>,
    /// Sockets that exports are received at.
    pub sockets: Option<SocketStatus>,
    /// Packets that the kernel or the interface dropped, as this program was too slow.
    pub interface_drops: Option<u64>,
    /// All exporters that are remembered.
    pub exporters: Vec<ExporterStatus>,
}

/// Tells what became of the datagrams that were sent to sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Datagrams of permitted exporters.
    pub received: u64,
    /// Datagrams from elsewhere, which were not read.
    pub refused: u64,
    /// Datagrams that the kernel dropped, as the receive buffer was full; `None` where the system does not tell.
    pub dropped: Option<u64>,
}

/// Tells what came of one exporter.
#[derive(Clone, Debug, PartialEq)]
pub struct ExporterStatus {
    /// Address, with port 0.
    pub address: SocketAddr,
    /// What became of its datagrams.
    pub counts: Flows,
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

/// A line for each source of contacts; exporters are not among them.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, flows, sockets, interface_drops, exporters: _ } = self;
        let mut lines = Vec::new();
        lines.extend(packets.as_ref().map(ToString::to_string));
        lines.extend(flows.as_ref().map(ToString::to_string));
        lines.extend(sockets.as_ref().map(ToString::to_string));
        lines.extend(
            interface_drops
                .map(|drops| format!("{drops} packets dropped by the kernel or the interface")),
        );
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for SocketStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, refused, dropped } = self;
        write!(f, "{received} datagrams received, {refused} of other senders refused, ")?;
        match dropped {
            Some(dropped) => write!(f, "{dropped} dropped by the kernel"),
            None => f.write_str("unknown how many the kernel dropped"),
        }
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
