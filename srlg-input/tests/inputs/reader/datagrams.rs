//! Datagrams of a capture: whole ones, and why others are none.

use std::net::SocketAddr;

use srlg_input::capture::{CaptureError, Reader, Skip};

use crate::reader::build::{self, MICROSECONDS};

/// A packet of `protocol` from 10.0.0.1 port 7 to 10.1.0.1 port 9 with `payload`, and the field of fragments.
fn packet(protocol: u8, fragment: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, fragment[0], fragment[1], 64, protocol, 0, 0];
    let [high, low] = (length - 20).to_be_bytes();
    let udp = [0, 7, 0, 9, high, low, 0, 0];
    [&head[..], &[10, 0, 0, 1], &[10, 1, 0, 1], &udp, payload].concat()
}

#[test]
fn whole_datagrams_come_with_their_payload_and_others_are_counted() {
    let largest = vec![7; 65_507];
    let mut file = build::pcap(false, MICROSECONDS, 101);
    for (second, bytes) in [
        packet(17, [0; 2], b"first"),
        packet(6, [0; 2], b"of TCP"),
        packet(17, [0x20, 0], b"a first fragment"),
        packet(17, [0, 1], b"a later one"),
        packet(17, [0; 2], b"cut")[..30].to_vec(),
        packet(17, [0; 2], b"no header")[..27].to_vec(),
        packet(17, [0; 2], &largest),
        packet(17, [0x40, 0], b""),
    ]
    .iter()
    .enumerate()
    {
        file.record(second as u32, 0, bytes);
    }
    let mut reader = Reader::new(std::io::Cursor::new(file.bytes.clone())).unwrap();
    let mut found = Vec::new();
    let ends: [SocketAddr; 2] = ["10.0.0.1:7", "10.1.0.1:9"].map(|end| end.parse().unwrap());
    while let Some(datagram) = reader.next_datagram().unwrap() {
        assert_eq!([datagram.source, datagram.destination], ends);
        found.push((datagram.time_ns / 1_000_000_000, datagram.payload.to_vec()));
    }
    assert_eq!(found, [(0, b"first".to_vec()), (6, largest), (7, Vec::new())]);
    let counts = reader.counts();
    assert_eq!((counts.packets, counts.contacts), (8, 3));
    let reasons = [Skip::NotUdp, Skip::Fragment, Skip::CutPayload, Skip::CutHeader];
    assert_eq!(reasons.map(|reason| counts.skipped(reason)), [1, 2, 1, 1]);
}

#[test]
fn a_contact_list_has_no_datagrams() {
    let list = "time_ms,src,dst\n1,10.0.0.1,10.0.0.2\n";
    let mut reader = Reader::new(list.as_bytes()).unwrap();
    assert!(matches!(reader.next_datagram(), Err(CaptureError::NoPackets)));
    assert!(matches!(reader.next_datagram(), Ok(None)), "reading has ended");
}
