//! Counters of inputs.

use std::fmt;

use crate::capture::PacketCounts;
use crate::connections::ConnectionCounts;
use crate::drops::Drops;
#[cfg(feature = "flow")]
use crate::flow::{ExporterStatus, FlowCounts};

/// Counters of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Counters of what was read: packets of captures or of an interface, rows of CSV files or logs, or messages of
    /// IPFIX files.
    pub packets: Option<PacketCounts>,
    /// Counters of flow exports, or of the flows in messages.
    #[cfg(feature = "flow")]
    pub flows: Option<FlowCounts>,
    /// Counters of the sockets that receive flow exports.
    pub sockets: Option<SocketStatus>,
    /// Counters of the packets that were lost during a capture on an interface.
    pub drops: Option<Drops>,
    /// Counters of the Kafka topic, or of the NATS stream or subject.
    pub broker: Option<BrokerStatus>,
    /// Status of each known exporter.
    #[cfg(feature = "flow")]
    pub exporters: Vec<ExporterStatus>,
}

impl Status {
    /// Adds the counters of another capture on the same interface.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { packets, drops, .. } = other;
        if let Some(packets) = packets {
            *self.packets.get_or_insert_default() += packets;
        }
        if let Some(drops) = drops {
            *self.drops.get_or_insert_default() += *drops;
        }
    }
}

/// Counters of the datagrams and TCP connections to the sockets of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketStatus {
    /// Number of datagrams from permitted exporters, and of messages in their TCP connections.
    pub received: u64,
    /// Number of datagrams and TCP connections that were refused because their senders are not permitted.
    pub refused: u64,
    /// Number of datagrams that the kernel dropped because the receive buffer was full. It is `None` if the system does
    /// not report this number.
    pub dropped: Option<u64>,
    /// Counters of the TCP connections of permitted exporters, if the input listens for them.
    pub connections: Option<ConnectionCounts>,
}

/// Counters of a Kafka topic, or of a NATS stream or subject. The flows in the messages are counted in `Status::flows`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerStatus {
    /// URL of the topic, stream or subject, as configured.
    pub source: String,
    /// Number of partitions that are being read. For a stream or a subject, the number is 1 while messages can be
    /// received, and 0 otherwise.
    pub partitions: usize,
    /// Number of messages read.
    pub messages: u64,
    /// Number of stored messages that have not been read yet. For a subject, the number is 0, because the broker does
    /// not store the messages of a subject.
    pub lag: u64,
    /// Number of messages that the broker deleted before they were read.
    pub expired: u64,
    /// Number of messages of a subject that were dropped because they were not read in time, as far as the NATS client
    /// reports them.
    pub dropped: u64,
    /// Number of flows from one-minute periods in which no flow had both a source and a destination address.
    pub without_hosts: u64,
    /// Number of errors of the broker, of a partition or of the schema. Reading is retried after each error.
    pub retries: u64,
    /// The current error of the broker, of a partition or of the schema, if there is one.
    pub error: Option<String>,
}

impl fmt::Display for BrokerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, partitions, messages, lag, expired, dropped, retries, error, .. } = self;
        write!(
            f,
            "{source}: {messages} messages read from {partitions} partitions, {lag} waiting, {expired} deleted unread, {dropped} dropped, {retries} retries"
        )?;
        error.iter().try_for_each(|error| write!(f, "; {error}"))
    }
}

/// Writes one line for each type of counters. Exporters are omitted.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, sockets, drops, broker, .. } = self;
        let mut lines = Vec::new();
        lines.extend(packets.as_ref().map(ToString::to_string));
        #[cfg(feature = "flow")]
        lines.extend(self.flows.as_ref().map(ToString::to_string));
        lines.extend(sockets.as_ref().map(ToString::to_string));
        lines.extend(drops.as_ref().map(ToString::to_string));
        lines.extend(broker.as_ref().map(ToString::to_string));
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for SocketStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, refused, dropped, connections } = self;
        write!(f, "{received} datagrams received, {refused} refused (sender not permitted), ")?;
        match dropped {
            Some(dropped) => write!(f, "{dropped} dropped by the kernel")?,
            None => f.write_str("kernel drops not reported")?,
        }
        connections.iter().try_for_each(|connections| write!(f, ", {connections}"))
    }
}
