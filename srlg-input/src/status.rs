//! Counters of an input.

use std::fmt;

use crate::capture::Counts as Packets;
#[cfg(feature = "flow")]
use crate::flow::{Counts as Flows, ExporterStatus};

/// Counters of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Packets of captures and interfaces, rows of lists and logs; datagrams, where captures hold exports.
    pub packets: Option<Packets>,
    /// Exports.
    #[cfg(feature = "flow")]
    pub flows: Option<Flows>,
    /// Sockets that exports are received at.
    pub sockets: Option<SocketStatus>,
    /// Packets that the kernel or the interface dropped, as this program was too slow.
    pub interface_drops: Option<u64>,
    /// All exporters that are remembered.
    #[cfg(feature = "flow")]
    pub exporters: Vec<ExporterStatus>,
}

/// Counters of the datagrams that were sent to sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Datagrams of permitted exporters.
    pub received: u64,
    /// Datagrams from elsewhere, which were not read.
    pub refused: u64,
    /// Datagrams that the kernel dropped, as the receive buffer was full; `None` where the system does not tell.
    pub dropped: Option<u64>,
}

/// A line for each source of contacts; exporters are not among them.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, sockets, interface_drops, .. } = self;
        let mut lines = Vec::new();
        lines.extend(packets.as_ref().map(ToString::to_string));
        #[cfg(feature = "flow")]
        lines.extend(self.flows.as_ref().map(ToString::to_string));
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
