//! Exports of NetFlow v9, and captures of them.

use std::net::Ipv4Addr;

use crate::exports::build::{set, template9, v9};
use crate::reader::build::{self, MICROSECONDS, datagram};

/// The template of all records here: source, destination, packets.
pub(crate) fn template(number: u32) -> Vec<u8> {
    v9(number, 7, &[template9(256, &[(8, 4), (12, 4), (2, 4)])])
}

/// A datagram of records: hosts of these numbers to 10.0.0.1.
pub(crate) fn data(number: u32, hosts: std::ops::Range<u32>) -> Vec<u8> {
    let record = |host: u32| [0x0b00_0000 + host, 0x0a00_0001, 1].map(u32::to_be_bytes).concat();
    v9(number, 7, &[set(256, &hosts.flat_map(record).collect::<Vec<u8>>())])
}

/// The pair of such a record.
pub(crate) fn pair(host: u32) -> (String, String) {
    (Ipv4Addr::from_bits(0x0b00_0000 + host).to_string(), "10.0.0.1".to_owned())
}

/// A pcap of bare IP packets with these payloads, of 192.0.2.1.
pub(crate) fn capture(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = build::pcap(false, MICROSECONDS, 101);
    for payload in payloads {
        let mut packet = datagram(17, [0; 2], payload);
        packet[12..16].copy_from_slice(&[192, 0, 2, 1]);
        file.record(1_700_000_000, 0, &packet);
    }
    file.bytes
}
