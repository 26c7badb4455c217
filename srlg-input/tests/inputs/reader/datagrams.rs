//! Tests that read the datagrams in captures and the messages in IPFIX files, and check the reasons for skipped
//! packets.

use std::io::Cursor;
use std::net::SocketAddr;

use srlg_input::capture::{CaptureError, Cause, Format, Reader, Skip, Truncation};

use crate::reader::build::{self, MICROSECONDS, datagram};

#[test]
fn whole_datagrams_come_with_their_payload_and_others_are_counted() {
    let largest = vec![7; 65_507];
    let mut file = build::pcap(false, MICROSECONDS, 101);
    for (second, bytes) in [
        datagram(17, [0; 2], b"first"),
        datagram(6, [0; 2], b"of TCP"),
        datagram(17, [0x20, 0], b"a first fragment"),
        datagram(17, [0, 1], b"a later one"),
        datagram(17, [0; 2], b"cut")[..30].to_vec(),
        datagram(17, [0; 2], b"no header")[..27].to_vec(),
        datagram(17, [0; 2], &largest),
        datagram(17, [0x40, 0], b""),
    ]
    .iter()
    .enumerate()
    {
        file.record(second as u32, 0, bytes);
    }
    let mut reader = Reader::new(Cursor::new(file.bytes.clone())).unwrap();
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

const SECOND: u64 = 1_000_000_000;

/// Returns the time and bytes of each message in an IPFIX file, and the truncation, if any.
fn read(bytes: impl Into<Vec<u8>>) -> (Vec<(u64, Vec<u8>)>, Option<Truncation>) {
    let mut reader = Reader::new(Cursor::new(bytes.into())).expect("an IPFIX file");
    assert_eq!(reader.format(), Format::IpfixFile);
    let nowhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let mut messages = Vec::new();
    while let Some(message) = reader.next_datagram().unwrap() {
        assert_eq!([message.source, message.destination], [nowhere; 2]);
        messages.push((message.time_ns, message.payload.to_vec()));
    }
    assert!(reader.next_datagram().unwrap().is_none(), "the end stays the end");
    let counts = reader.counts();
    let found = messages.len() as u64;
    assert_eq!((counts.packets, counts.contacts), (found, found));
    (messages, reader.truncation().cloned())
}

/// Returns a message that contains one data set, or no sets if `content` is empty.
fn message(export_s: u32, content: &[u8]) -> Vec<u8> {
    if content.is_empty() {
        return build::ipfix(export_s, &[]);
    }
    let length = (content.len() as u16 + 4).to_be_bytes();
    build::ipfix(export_s, &[&[1, 0][..], &length, content].concat())
}

fn three() -> [(u64, Vec<u8>); 3] {
    [(7, &b"first"[..]), (u32::MAX, b"second"), (0, b"")]
        .map(|(export_s, content)| (u64::from(export_s) * SECOND, message(export_s, content)))
}

fn file(messages: &[(u64, Vec<u8>)]) -> Vec<u8> {
    messages.iter().flat_map(|(_, message)| message.clone()).collect()
}

#[test]
fn every_message_is_a_datagram_at_the_time_of_its_export() {
    let file = file(&three());
    assert_eq!(read(build::gzip(&file)), (three().to_vec(), None));
    assert_eq!(read(file), (three().to_vec(), None));
}

#[test]
fn the_longest_message_fits() {
    let long = message(1, &[7; 65_535 - 20]);
    assert_eq!(long.len(), 65_535);
    let many = vec![(SECOND, long); 20];
    assert_eq!(read(file(&many)), (many, None));
}

#[test]
fn a_file_may_begin_with_a_message_without_sets() {
    let [_, _, empty] = three();
    for messages in [vec![empty.clone()], vec![empty.clone(), three()[0].clone()]] {
        assert_eq!(read(file(&messages)), (messages, None));
    }
}

#[test]
fn contacts_of_an_ipfix_file_are_refused() {
    let mut reader = Reader::new(Cursor::new(file(&three()))).unwrap();
    let error = reader.next_contacts().unwrap_err();
    assert!(matches!(error, CaptureError::Exports));
    assert_eq!(reader.next_contacts().unwrap(), None, "reading has ended");
    assert!(reader.next_datagram().unwrap().is_none());
}

#[test]
fn a_file_cut_at_any_byte_gives_the_whole_messages() {
    let all = three();
    let file = file(&all);
    let ends = [all[0].1.len(), all[0].1.len() + all[1].1.len(), file.len()];
    // 20 bytes are enough to recognise the file.
    for length in 20..=file.len() {
        let (messages, truncation) = read(&file[..length]);
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(messages, all[..whole], "cut to {length} bytes");
        let start = if whole == 0 { 0 } else { ends[whole - 1] };
        let cut = Truncation { offset: start as u64, cause: Cause::EndOfInput };
        assert_eq!(truncation, (start < length).then_some(cut), "cut to {length} bytes");
    }
    for length in 0..20 {
        let file = file[..length].to_vec();
        assert!(Reader::new(Cursor::new(file)).is_err(), "{length} bytes");
    }
}

#[test]
fn a_cut_gzip_stream_is_blamed() {
    let messages = vec![three()[0].clone(); 1_000];
    let packed = build::gzip(&file(&messages));
    let (found, truncation) = read(&packed[..packed.len() - 8]);
    assert!(messages.starts_with(&found));
    assert!(matches!(truncation.unwrap().cause, Cause::Gzip(_)));
}

#[test]
fn a_header_that_lies_ends_the_file() {
    let first = &three()[..1];
    for (version, length) in [(10, 0), (10, 15), (9, 20), (11, 65_535), (0, 0)] {
        let lie = [u16::to_be_bytes(version), u16::to_be_bytes(length)].concat();
        let (messages, truncation) = read([file(first), lie, vec![0; 99]].concat());
        assert_eq!(messages, first);
        let (offset, cause) = (first[0].1.len() as u64, Cause::MessageHeader { version, length });
        assert_eq!(truncation, Some(Truncation { offset, cause }));
    }
}

#[test]
fn content_whose_first_set_cannot_be_is_no_ipfix_file() {
    // The parameters are the length of the message, and the ID and the length of the set.
    let of = |length: u16, id: u16, set: u16| {
        let [length, id, set] = [length, id, set].map(u16::to_be_bytes);
        [&[0, 10], &length[..], &[0; 12], &id, &set, &[0; 100]].concat()
    };
    assert_eq!(Reader::new(Cursor::new(of(40, 2, 24))).unwrap().format(), Format::IpfixFile);
    for (length, id, set) in [
        (0, 2, 4),
        (15, 2, 4),
        (16, 2, 4),
        (19, 2, 4),
        (40, 0, 24),
        (40, 1, 24),
        (40, 4, 24),
        (40, 255, 24),
        (40, 2, 3),
        (40, 2, 25),
    ] {
        let refused = Reader::new(Cursor::new(of(length, id, set)));
        assert!(matches!(refused, Err(CaptureError::UnknownFormat { .. })), "{length} {id} {set}");
    }
}

#[test]
fn other_formats_are_still_themselves() {
    let pcap = build::pcap(false, MICROSECONDS, 1).bytes;
    assert_eq!(Reader::new(Cursor::new(pcap)).unwrap().format(), Format::Pcap);
    // A NetFlow v9 datagram is not an IPFIX message.
    let v9 = [&[0, 9, 0, 1][..], &[0; 12], &[0, 0, 0, 20], &[0; 16]].concat();
    assert!(Reader::new(Cursor::new(v9)).is_err());
}
