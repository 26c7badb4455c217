//! Records of Suricata's EVE log with the event types `flow` (both directions) and `netflow` (one direction).

use std::num::NonZeroU8;

use crate::contact::{Contact, Host};
use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, protocol, time_ns};
use crate::capture::csv::parse_host;
use crate::packet::Skip;

pub(super) fn row(record: &Value) -> Result<Row, Skip> {
    match record["event_type"].as_str() {
        Some("flow") => flow(record),
        Some("netflow") => netflow(record),
        Some(_) => Err(Skip::OtherEvent),
        None => Err(Skip::NoHosts),
    }
}

fn flow(record: &Value) -> Result<Row, Skip> {
    let sent = |packets: &str, octets: &str, flags: &str, port: &str| SenderCounts {
        packets: record["flow"][packets].as_u64(),
        octets: record["flow"][octets].as_u64(),
        tcp_flags: tcp_flags(record, flags),
        port: self::port(record, port),
    };
    let sent = [
        sent("pkts_toserver", "bytes_toserver", "tcp_flags_ts", "src_port"),
        sent("pkts_toclient", "bytes_toclient", "tcp_flags_tc", "dest_port"),
    ];
    let last_ns = last_ns(record, "flow")?;
    let (hosts, protocol) = (hosts(record)?, proto(record));
    Ok(Conversation { last_ns, hosts, protocol, initiated: Some(true), sent }.into())
}

fn netflow(record: &Value) -> Result<Row, Skip> {
    let [source, destination] = hosts(record)?;
    let mut contact = Contact::new(last_ns(record, "netflow")?, source, destination);
    contact.protocol = proto(record);
    contact.tcp_flags = tcp_flags(record, "tcp_flags").and_then(NonZeroU8::new);
    contact.source_port = port(record, "src_port");
    contact.destination_port = port(record, "dest_port");
    let count = |name: &str| record["netflow"][name].as_u64();
    Ok(Row::one(contact, count("pkts"), count("bytes")))
}

fn hosts(record: &Value) -> Result<[Host; 2], Skip> {
    let field = |name: &str| record[name].as_str().ok_or(Skip::NoHosts).and_then(parse_host);
    Ok([field("src_ip")?, field("dest_ip")?])
}

/// Returns the end time of the flow, or the time of the record if the flow has no end time.
fn last_ns(record: &Value, of: &str) -> Result<u64, Skip> {
    let end = record[of]["end"].as_str().or(record["timestamp"].as_str());
    end.ok_or(Skip::NoTime).and_then(time_ns)
}

fn proto(record: &Value) -> Option<u8> {
    record["proto"].as_str().and_then(protocol)
}

fn tcp_flags(record: &Value, name: &str) -> Option<u8> {
    u8::from_str_radix(record["tcp"][name].as_str()?, 16).ok()
}

fn port(record: &Value, name: &str) -> Option<u16> {
    u16::try_from(record[name].as_u64()?).ok()
}
