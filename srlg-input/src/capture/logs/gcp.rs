//! Flow logs of virtual private clouds of Google Cloud. A record describes one direction.
//!
//! Log sinks write a record as the payload of a log entry. Counts are 64-bit integers, which JSON of Google contains as
//! texts.
//!
//! Source: cloud.google.com/vpc/docs/about-flow-logs-records.

use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, time_ns};
use super::value::{count, host, port, protocol_of};
use crate::packet::Skip;

/// Returns the record in a log entry, if there is one.
pub(super) fn record(entry: &Value) -> Option<&Value> {
    let payload = entry.get("jsonPayload").unwrap_or(entry);
    payload["connection"].get("src_ip").map(|_| payload)
}

pub(super) fn row(entry: &Value) -> Result<Row, Skip> {
    let record = record(entry).ok_or(Skip::NoHosts)?;
    let connection = &record["connection"];
    let hosts = [host(&connection["src_ip"])?, host(&connection["dest_ip"])?];
    let times = [&record["end_time"], &record["start_time"], &entry["timestamp"]];
    let time = times.into_iter().find_map(Value::as_str).ok_or(Skip::NoTime)?;
    let there = SenderCounts {
        packets: count(&record["packets_sent"]),
        octets: count(&record["bytes_sent"]),
        tcp_flags: None,
        port: port(&connection["src_port"]),
    };
    let back = SenderCounts { port: port(&connection["dest_port"]), ..SenderCounts::default() };
    let protocol = protocol_of(&connection["protocol"]);
    let sent = [there, back];
    Ok(Conversation { last_ns: time_ns(time)?, hosts, protocol, initiated: None, sent }.into())
}
