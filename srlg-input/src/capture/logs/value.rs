//! Values in JSON that all logs have: hosts, ports, protocols and counts.

use serde_json::Value;

use super::row::protocol;
use crate::capture::csv::parse_host;
use crate::contact::Host;
use crate::packet::Skip;

/// Parses a host. A missing host and the text `-` are no host.
pub(super) fn host(value: &Value) -> Result<Host, Skip> {
    value.as_str().filter(|text| *text != "-").ok_or(Skip::NoHosts).and_then(parse_host)
}

/// Returns a count, which is a number or a text.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

pub(super) fn port(value: &Value) -> Option<u16> {
    u16::try_from(count(value)?).ok()
}

/// Returns the IP protocol, which is a number or a name.
pub(super) fn protocol_of(value: &Value) -> Option<u8> {
    let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
    number.or_else(|| protocol(value.as_str()?))
}
