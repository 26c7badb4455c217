//! A builder of exports for tests.

use std::net::IpAddr;

/// Export time of all exports, in seconds since 1970, unless a test changes it.
pub(crate) const EXPORT_S: u32 = 1_700_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Time of receipt, in nanoseconds since 1970.
pub(crate) const RECEIVED_NS: u64 = EXPORT_S as u64 * SECOND;
/// Uptime of the exporter, in milliseconds.
pub(crate) const UPTIME_MS: u32 = 1_000_000;

/// A field of a template: its type, and its length in bytes. If the highest bit of the type is set, the field describes
/// the reverse direction (RFC 5103).
pub(crate) type Field = (u16, u16);

pub(crate) const REVERSE: u16 = 0x8000;

/// Fields that are sufficient for a contact: IPv4 addresses, octets and packets.
pub(crate) const PLAIN: [Field; 4] = [(8, 4), (12, 4), (1, 4), (2, 4)];

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

pub(crate) fn set(id: u16, content: &[u8]) -> Vec<u8> {
    [&words(&[id, content.len() as u16 + 4])[..], content].concat()
}

fn fields(fields: &[Field], has_enterprises: bool) -> Vec<u8> {
    let field = |&(number, length): &Field| {
        let mut bytes = words(&[number, length]);
        if has_enterprises && number & REVERSE != 0 {
            bytes.extend(29305_u32.to_be_bytes());
        }
        bytes
    };
    fields.iter().flat_map(field).collect()
}

/// Returns a NetFlow v9 set that defines template `id`.
pub(crate) fn template9(id: u16, of: &[Field]) -> Vec<u8> {
    set(0, &[words(&[id, of.len() as u16]), fields(of, false)].concat())
}

/// Returns an IPFIX set that defines template `id`.
pub(crate) fn template10(id: u16, of: &[Field]) -> Vec<u8> {
    set(2, &[words(&[id, of.len() as u16]), fields(of, true)].concat())
}

/// Returns a NetFlow v9 set that defines options template `id`, whose scope is the whole exporter.
pub(crate) fn options9(id: u16, of: &[Field]) -> Vec<u8> {
    let head = words(&[id, 4, of.len() as u16 * 4, 1, 4]);
    set(1, &[head, fields(of, false)].concat())
}

/// Returns an IPFIX set that defines options template `id`, whose first field is the scope.
pub(crate) fn options10(id: u16, of: &[Field]) -> Vec<u8> {
    set(3, &[words(&[id, of.len() as u16, 1]), fields(of, true)].concat())
}

pub(crate) fn v9(number: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    v9_at(UPTIME_MS, EXPORT_S, number, domain, sets)
}

pub(crate) fn v9_at(
    uptime_ms: u32,
    export_s: u32,
    number: u32,
    domain: u32,
    sets: &[Vec<u8>],
) -> Vec<u8> {
    let mut bytes = words(&[9, sets.len() as u16]);
    for word in [uptime_ms, export_s, number, domain] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(sets.concat());
    bytes
}

pub(crate) fn ipfix(number: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let sets = sets.concat();
    let mut bytes = words(&[10, sets.len() as u16 + 16]);
    for word in [EXPORT_S, number, domain] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(sets);
    bytes
}

/// Returns a record whose fields are [`PLAIN`].
pub(crate) fn plain(source: &str, destination: &str, octets: u32, packets: u32) -> Vec<u8> {
    let counts = [octets.to_be_bytes(), packets.to_be_bytes()].concat();
    [address(source), address(destination), counts].concat()
}

pub(crate) fn address(text: &str) -> Vec<u8> {
    match text.parse().unwrap() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Returns a NetFlow v5 record. `hosts` are source and destination, and `counts` are packets and octets. `uptime_ms` is
/// the uptime of the exporter at the first and at the last packet.
pub(crate) fn record5(hosts: [&str; 2], counts: [u32; 2], uptime_ms: [u32; 2]) -> Vec<u8> {
    // The next hop is missing, and the interfaces are 7 and 8.
    let between = vec![0, 0, 0, 0, 0, 7, 0, 8];
    let mut bytes = [address(hosts[0]), address(hosts[1]), between].concat();
    for word in [counts[0], counts[1], uptime_ms[0], uptime_ms[1]] {
        bytes.extend(word.to_be_bytes());
    }
    // Ports, padding, flags, protocol and unused fields.
    bytes.extend([0x30, 0x39, 0, 80, 0, 0x12, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

pub(crate) fn v5(number: u32, sampling: u16, records: &[Vec<u8>]) -> Vec<u8> {
    legacy(5, number, sampling, records)
}

/// Returns a NetFlow v5 or v7 datagram.
pub(crate) fn legacy(version: u16, number: u32, sampling: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = words(&[version, records.len() as u16]);
    for word in [UPTIME_MS, EXPORT_S, 0, number] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(words(&[0, sampling]));
    bytes.extend(records.concat());
    bytes
}
