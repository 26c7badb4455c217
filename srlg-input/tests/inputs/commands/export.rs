//! Exports of NetFlow v9, and captures of them.

use std::net::Ipv4Addr;

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A datagram of version 9, the one of this number, with these sets.
fn datagram(number: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = words(&[9, sets.len() as u16]);
    for word in [1_000, 1_700_000_000, number, 7] {
        bytes.extend(u32::to_be_bytes(word));
    }
    bytes.extend(sets.concat());
    bytes
}

/// The template of all records here: source, destination, packets.
pub(crate) fn template(number: u32) -> Vec<u8> {
    datagram(number, &[words(&[0, 20, 256, 3, 8, 4, 12, 4, 2, 4])])
}

/// A datagram of records: hosts of these numbers to 10.0.0.1.
pub(crate) fn data(number: u32, hosts: std::ops::Range<u32>) -> Vec<u8> {
    let record = |host: u32| [0x0b00_0000 + host, 0x0a00_0001, 1].map(u32::to_be_bytes).concat();
    let records: Vec<u8> = hosts.flat_map(record).collect();
    datagram(number, &[[words(&[256, records.len() as u16 + 4]), records].concat()])
}

/// The pair of such a record.
pub(crate) fn pair(host: u32) -> (String, String) {
    (Ipv4Addr::from_bits(0x0b00_0000 + host).to_string(), "10.0.0.1".to_owned())
}

/// A pcap of bare IP packets with these payloads, of 192.0.2.1.
pub(crate) fn capture(payloads: &[Vec<u8>]) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for payload in payloads {
        let length = payload.len() as u16;
        let mut packet =
            words(&[0x4500, length + 28, 0, 0, 0x4011, 0, 0xc000, 0x0201, 0xc000, 0x0202]);
        packet.extend(words(&[2_055, 2_055, length + 8, 0]));
        packet.extend(payload);
        let captured = packet.len() as u32;
        let record = [1_700_000_000, 0, captured, captured];
        file.extend(record.into_iter().flat_map(u32::to_le_bytes));
        file.extend(packet);
    }
    file
}
