//! A small writer of MaxMind databases with 24-bit records.

use std::collections::BTreeMap;

use ipnet::IpNet;

/// A value in the data section of a database.
pub(crate) enum Value {
    Text(String),
    U16(u16),
    U32(u32),
    U64(u64),
    List(Vec<Value>),
    Map(BTreeMap<&'static str, Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Value {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Text(text) => {
                control(2, text.len(), to);
                to.extend(text.bytes());
            }
            Self::U16(number) => {
                control(5, 2, to);
                to.extend(number.to_be_bytes());
            }
            Self::U32(number) => {
                control(6, 4, to);
                to.extend(number.to_be_bytes());
            }
            Self::U64(number) => {
                control(9, 8, to);
                to.extend(number.to_be_bytes());
            }
            Self::List(values) => {
                control(11, values.len(), to);
                values.iter().for_each(|value| value.write(to));
            }
            Self::Map(values) => {
                control(7, values.len(), to);
                for (key, value) in values {
                    Self::from(*key).write(to);
                    value.write(to);
                }
            }
        }
    }
}

/// Writes the control bytes of a value, which state its type and its length.
fn control(kind: u8, length: usize, to: &mut Vec<u8>) {
    let (first, more) = if length < 29 { (length, None) } else { (29, Some(length - 29)) };
    // Types of 8 and above have a separate byte.
    match kind.checked_sub(7) {
        Some(extended @ 1..) => to.extend([first as u8, extended]),
        _ => to.push(kind << 5 | first as u8),
    }
    to.extend(more.map(|more| u8::try_from(more).expect("values must be shorter than 285 bytes")));
}

/// Target of a pointer. Each node of the search tree has two pointers.
#[derive(Clone, Copy)]
enum Side {
    Nothing,
    Node(usize),
    /// Offset of a record in the data section.
    Record(usize),
}

/// Returns a database of type `kind` with the records of `networks`. In `networks`, a network must come after the
/// networks that contain it.
pub(crate) fn database(kind: &str, networks: &[(IpNet, Value)]) -> Vec<u8> {
    let mut nodes = vec![[Side::Nothing; 2]];
    let mut data = Vec::new();
    for (network, value) in networks {
        let record = Side::Record(data.len());
        value.write(&mut data);
        insert(&mut nodes, *network, record);
    }
    let mut file = Vec::new();
    for side in nodes.iter().flatten() {
        let number = match side {
            Side::Nothing => nodes.len(),
            Side::Node(node) => *node,
            Side::Record(place) => nodes.len() + 16 + place,
        };
        assert!(number < 1 << 24, "too many records for 24 bits");
        file.extend(&(number as u32).to_be_bytes()[1..]);
    }
    file.extend([0; 16]);
    file.extend(data);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    let metadata = [
        ("binary_format_major_version", Value::U16(2)),
        ("binary_format_minor_version", Value::U16(0)),
        // This is 2026-11-20.
        ("build_epoch", Value::U64(1_795_132_800)),
        ("database_type", kind.into()),
        ("description", Value::Map([("en", "made by a test".into())].into())),
        ("ip_version", Value::U16(6)),
        ("languages", Value::List(vec!["en".into()])),
        ("node_count", Value::U32(nodes.len() as u32)),
        ("record_size", Value::U16(24)),
    ];
    Value::Map(metadata.into()).write(&mut file);
    file
}

/// Inserts `record` for the addresses of `network`. IPv4 addresses are stored in `::/96`.
fn insert(nodes: &mut Vec<[Side; 2]>, network: IpNet, record: Side) {
    let (bits, length) = match network {
        IpNet::V4(it) => (u128::from(it.network().to_bits()), 96 + it.prefix_len()),
        IpNet::V6(it) => (it.network().to_bits(), it.prefix_len()),
    };
    let side = |depth: u8| (bits >> (127 - depth) & 1) as usize;
    let mut node = 0;
    for depth in 0..length - 1 {
        let former = nodes[node][side(depth)];
        node = match former {
            Side::Node(next) => next,
            // Both halves of the network inherit its record.
            _ => {
                nodes.push([former; 2]);
                let next = nodes.len() - 1;
                nodes[node][side(depth)] = Side::Node(next);
                next
            }
        };
    }
    nodes[node][side(length - 1)] = record;
}

pub(crate) fn as_database(networks: &[(&str, u32, &str)]) -> Vec<u8> {
    let record = |(network, number, name): &(&str, u32, &str)| {
        let fields = [
            ("autonomous_system_number", Value::U32(*number)),
            ("autonomous_system_organization", (*name).into()),
        ];
        (network.parse().unwrap(), Value::Map(fields.into()))
    };
    database("GeoLite2-ASN", &networks.iter().map(record).collect::<Vec<_>>())
}

pub(crate) fn country_database(networks: &[(&str, &str)]) -> Vec<u8> {
    let record = |(network, code): &(&str, &str)| {
        let country = Value::Map([("iso_code", (*code).into())].into());
        (network.parse().unwrap(), Value::Map([("country", country)].into()))
    };
    database("GeoLite2-Country", &networks.iter().map(record).collect::<Vec<_>>())
}
