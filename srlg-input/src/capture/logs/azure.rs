//! Flow logs of Azure: of virtual networks, and of network security groups in versions 1 and 2.
//!
//! A flow is a text with fields that are separated by commas, called a tuple. The service writes an hour of tuples as
//! one JSON value, grouped by time, interface and rule.
//!
//! Sources: learn.microsoft.com, Network Watcher, "Virtual network flow logs" and "NSG flow logs" (log format).

use super::row::{Conversation, Row, SenderCounts, number, protocol, scaled_time_ns};
use crate::capture::csv::parse_host;
use crate::packet::Skip;

/// The key of the tuples.
pub(super) const KEY: &str = "flowTuples";

/// Texts of which one is among the first fields of a log.
const MARKS: [&str; 3] =
    [r#""flowTuples""#, r#""FlowLogFlowEvent""#, r#""NetworkSecurityGroupFlowEvent""#];

/// Returns whether a log that starts with `head` has tuples.
pub(super) fn detect(head: &str) -> bool {
    MARKS.iter().any(|mark| head.contains(mark))
}

/// Parses a tuple. After time, hosts, ports, protocol and direction of the flow relative to the interface, virtual
/// networks write state and encryption, and security groups write decision and state. Packets and bytes follow, sent
/// and received.
pub(super) fn row(tuple: &str) -> Result<Row, Skip> {
    let fields: Vec<&str> = tuple.split(',').collect();
    let [time, source, destination, from, to, name, _, rest @ ..] = &fields[..] else {
        return Err(Skip::BadRow);
    };
    let hosts = [parse_host(source)?, parse_host(destination)?];
    let protocol = match *name {
        "T" => Some(6),
        "U" => Some(17),
        name => protocol(name),
    };
    // Only continuing and ended flows have counts. Other flows have no counts or zeros.
    let has_counts = rest.iter().take(2).any(|state| matches!(*state, "C" | "E"));
    let count = |place: usize| {
        let field = rest.get(place).copied().filter(|field| has_counts && !field.is_empty());
        number(field)
    };
    let sender = |place: usize, port: &str| -> Result<SenderCounts, Skip> {
        let [packets, octets] = [count(place)?, count(place + 1)?];
        Ok(SenderCounts { packets, octets, tcp_flags: None, port: number(Some(port))? })
    };
    let sent = [sender(2, from)?, sender(4, to)?];
    let last_ns = scaled_time_ns(time)?;
    // The service tracks connections and writes the host that opened one as its source.
    Ok(Conversation { last_ns, hosts, protocol, initiated: Some(true), sent }.into())
}
