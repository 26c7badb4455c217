//! Flows of Cilium's Hubble, as `hubble observe -o json` and the exporter of Hubble write them. A flow is an event
//! about one packet or request.
//!
//! Cilium reports only some packets of a connection, so the number of packets is unknown.
//!
//! Source: github.com/cilium/cilium, api/v1/flow/flow.proto.

use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, time_ns};
use super::value::{count, host, port};
use crate::packet::Skip;

/// TCP flags by name, from the lowest bit to the highest.
const FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/// Names of transport protocols, and their numbers.
const PROTOCOLS: [(&str, u8); 5] =
    [("TCP", 6), ("UDP", 17), ("ICMPv4", 1), ("ICMPv6", 58), ("SCTP", 132)];

/// Returns the flow in `entry`, if there is one. Old versions write the flow without the object around it.
pub(super) fn flow(entry: &Value) -> Option<&Value> {
    let nested = entry.get("flow").filter(|flow| flow.get("verdict").is_some());
    nested.or_else(|| entry["IP"].get("source").map(|_| entry))
}

pub(super) fn row(entry: &Value) -> Result<Row, Skip> {
    let flow = flow(entry).ok_or(Skip::NoHosts)?;
    let hosts = [host(&flow["IP"]["source"])?, host(&flow["IP"]["destination"])?];
    let time = flow["time"].as_str().or(entry["time"].as_str()).ok_or(Skip::NoTime)?;
    let layer = PROTOCOLS
        .into_iter()
        .find_map(|(name, number)| flow["l4"].get(name).map(|fields| (number, fields)));
    let fields = layer.map_or(&Value::Null, |(_, fields)| fields);
    let there = SenderCounts {
        tcp_flags: tcp_flags(&fields["flags"]),
        port: port(&fields["source_port"]),
        ..SenderCounts::default()
    };
    let back = SenderCounts { port: port(&fields["destination_port"]), ..SenderCounts::default() };
    let mut row = Row::from(Conversation {
        last_ns: time_ns(time)?,
        hosts,
        protocol: layer.map(|(number, _)| number),
        initiated: flow["is_reply"].as_bool().map(|is_reply| !is_reply),
        sent: [there, back],
    });
    if let (Some((1 | 58, _)), Ok(contact)) = (layer, &mut row.first) {
        // Hubble omits fields with the value 0, such as the type of an echo reply.
        contact.icmp_type = u8::try_from(count(&fields["type"]).unwrap_or(0)).ok();
    }
    Ok(row)
}

fn tcp_flags(names: &Value) -> Option<u8> {
    let names = names.as_object()?;
    let is_set = |name: &str| names.get(name).and_then(Value::as_bool) == Some(true);
    let bits = FLAGS.iter().enumerate().filter(|(_, name)| is_set(name));
    Some(bits.fold(0, |flags, (bit, _)| flags | 1 << bit))
}
