//! Flow logs of virtual cloud networks of Oracle Cloud (OCI). A record describes one direction.
//!
//! Searches return a record in an object `logContent`. A record without data about traffic has no addresses.
//!
//! Source: docs.oracle.com, "Details for VCN Flow Logs".

use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, scaled_time_ns, time_ns};
use super::value::{count, host, port, protocol_of};
use crate::packet::Skip;

/// The start of all types of records.
const TYPE: &str = "com.oraclecloud.vcn.flowlogs.";

/// Returns the record in `entry`, if there is one.
pub(super) fn record(entry: &Value) -> Option<&Value> {
    let record = entry.get("logContent").unwrap_or(entry);
    record["type"].as_str().filter(|kind| kind.starts_with(TYPE)).map(|_| record)
}

pub(super) fn row(entry: &Value) -> Result<Row, Skip> {
    let record = record(entry).ok_or(Skip::NoHosts)?;
    let data = &record["data"];
    let hosts = [host(&data["sourceAddress"])?, host(&data["destinationAddress"])?];
    let seconds = count(&data["endTime"]).or(count(&data["startTime"]));
    let last_ns = match seconds {
        Some(seconds) => scaled_time_ns(&seconds.to_string())?,
        None => record["time"].as_str().ok_or(Skip::NoTime).and_then(time_ns)?,
    };
    let there = SenderCounts {
        packets: count(&data["packets"]),
        octets: count(&data["bytesOut"]),
        tcp_flags: None,
        port: port(&data["sourcePort"]),
    };
    let back = SenderCounts { port: port(&data["destinationPort"]), ..SenderCounts::default() };
    let protocol = protocol_of(&data["protocol"]).or(protocol_of(&data["protocolName"]));
    let sent = [there, back];
    Ok(Conversation { last_ns, hosts, protocol, initiated: None, sent }.into())
}
