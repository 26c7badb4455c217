//! Events in the Elastic Common Schema, as Packetbeat, Filebeat and other agents write them. Names of fields may be
//! nested objects or contain dots, and an export of Elasticsearch has the event in an object `_source`.
//!
//! Sources: elastic.co/guide/en/ecs, fields of source, destination, client, network and event; TCP flags are those of
//! Filebeat's NetFlow input.

use serde_json::Value;

use super::row::{Conversation, Row, SenderCounts, time_ns};
use super::value::{count, host, port, protocol_of};
use crate::packet::Skip;

/// Returns the event in `entry`, if there is one about a source.
pub(super) fn event(entry: &Value) -> Option<&Value> {
    let event = entry.get("_source").unwrap_or(entry);
    (event.get("@timestamp").is_some() && !field(event, "source.ip").is_null()).then_some(event)
}

pub(super) fn row(entry: &Value) -> Result<Row, Skip> {
    let event = event(entry).ok_or(Skip::NoHosts)?;
    let field = |path: &'static str| field(event, path);
    let hosts = [host(field("source.ip"))?, host(field("destination.ip"))?];
    let time = field("event.end").as_str().or(event["@timestamp"].as_str()).ok_or(Skip::NoTime)?;
    let flags = count(field("netflow.tcp_control_bits")).map(|flags| flags as u8);
    let sent = [
        SenderCounts {
            packets: count(field("source.packets")),
            octets: count(field("source.bytes")),
            tcp_flags: flags,
            port: port(field("source.port")),
        },
        SenderCounts {
            packets: count(field("destination.packets")),
            octets: count(field("destination.bytes")),
            tcp_flags: None,
            port: port(field("destination.port")),
        },
    ];
    // The source sent a packet, and only the client is defined as the host that opened the connection.
    let client = host(field("client.ip")).ok();
    let [is_source, is_destination] = hosts.map(|host| client == Some(host));
    let initiated = (is_source != is_destination).then_some(is_source);
    let protocol =
        protocol_of(field("network.iana_number")).or(protocol_of(field("network.transport")));
    Ok(Conversation { last_ns: time_ns(time)?, hosts, protocol, initiated, sent }.into())
}

/// Returns the value at `path`, which consists of the names of an object and of its field.
fn field<'a>(event: &'a Value, path: &'static str) -> &'a Value {
    let nested = path.split_once('.').map(|(object, name)| &event[object][name]);
    nested.filter(|value| !value.is_null()).unwrap_or(&event[path])
}
