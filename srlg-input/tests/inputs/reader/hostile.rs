//! Whatever the bytes, reading ends, in order, without a panic.

use proptest::prelude::*;
use srlg_input::capture::{Format, Reader};

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::drain;

/// Reads the messages of an IPFIX file, none of which is shorter than its header.
fn read_messages(mut reader: Reader, longest: Option<u64>) {
    let (mut messages, mut bytes) = (0, 0);
    while let Some(message) = reader.next_datagram().expect("memory does not fail") {
        assert!(message.payload.len() >= 16);
        messages += 1;
        bytes += message.payload.len() as u64;
    }
    assert_eq!(reader.counts().packets, messages);
    assert!(longest.is_none_or(|longest| bytes <= longest));
    assert!(reader.truncation().is_none_or(|truncation| truncation.offset == bytes));
}

/// Reads `bytes` if they are a capture at all; `drain` checks the counts.
fn read_any(bytes: Vec<u8>) {
    let length = bytes.len() as u64;
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    let Ok(reader) = Reader::new(std::io::Cursor::new(bytes)) else { return };
    if reader.format() == Format::IpfixFile {
        return read_messages(reader, (!packed).then_some(length));
    }
    let outcome = drain(reader);
    // The smallest records: an empty pcap record, a simple packet, a CSV row of one byte.
    assert!(packed || outcome.counts.packets <= length);
    if let Some(truncation) = outcome.truncation {
        assert!(packed || truncation.offset <= length);
        assert_eq!(truncation.to_string().lines().count(), 1);
    }
}

fn valid_files() -> [Vec<u8>; 5] {
    let mut pcap = build::pcap(false, MICROSECONDS, 1);
    let mut pcapng = Fields::new(true);
    pcapng.section(true).interface(1, &[0, 9, 0, 1, 9, 0, 0, 0]).interface(101, &[]);
    let mut csv = b"time_ms,src,dst\n".to_vec();
    let mut ipfix = Vec::new();
    for host in 0..6 {
        pcap.record(host.into(), 0, &build::frame(host));
        pcapng.packet(0, host.into(), &build::frame(host)).obsolete(1, 0, &build::ipv4(host));
        pcapng.block(5, &[host; 9]).block(3, &[0; 24]);
        ipfix.extend(build::ipfix(host.into(), &[1, 0, 0, 8, host, 2, 3, 4]));
        csv.extend_from_slice(format!("{host}.5,10.0.0.{host},10.1.0.1\n").as_bytes());
        csv.extend_from_slice(format!("{host},2001:db8::{host},[fe80::1]\n").as_bytes());
    }
    let packed = build::gzip(&pcap.bytes);
    [pcap.bytes, pcapng.bytes, csv, packed, ipfix]
}

/// What makes a reader believe that it knows the format.
fn prefixes() -> impl Strategy<Value = Vec<u8>> {
    let mut section = Fields::new(false);
    section.section(false).interface(1, &[]);
    prop::sample::select(vec![
        Vec::new(),
        build::pcap(false, MICROSECONDS, 1).bytes,
        build::pcap(true, MICROSECONDS, 113).bytes,
        section.bytes,
        b"time_ms,src,dst\n".to_vec(),
        build::ipfix(0, &[1, 0, 0, 4]),
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
    ])
}

proptest! {
    #[test]
    fn arbitrary_bytes_come_to_an_end(
        prefix in prefixes(),
        tail in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        read_any([prefix, tail].concat());
    }

    #[test]
    fn mutated_files_come_to_an_end(
        which in 0_usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let mut file = valid_files()[which].clone();
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        if cuts {
            file.truncate(cut.index(file.len()));
        }
        read_any(file);
    }

    #[test]
    fn arbitrary_frames_of_any_link_type_are_one_packet(
        link_type in 0_u32..300,
        frame in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut file = build::pcap(false, MICROSECONDS, link_type);
        file.record(0, 0, &frame);
        let outcome = crate::reader::read(file.bytes);
        prop_assert_eq!(outcome.counts.packets, 1);
        prop_assert_eq!(outcome.truncation, None);
    }
}
