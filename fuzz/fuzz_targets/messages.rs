//! A fuzz target that reads an arbitrary message of Kafka or NATS. The first byte selects the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use srlg_input::Contact;
use srlg_input::flow::{ExportOptions, FlowCounts, Reason};
use srlg_input::messages::{FlowReader, Format, Layout};

const AKVORADO: &str = "syntax = \"proto3\"; message FlowMessagev1 { uint64 TimeReceived = 1; uint64 SamplingRate = 3; \
    bytes ExporterAddress = 4; bytes SrcAddr = 9; bytes DstAddr = 10; uint32 Proto = 40; uint32 DstPort = 42; \
    uint64 Bytes = 43; uint64 Packets = 44; uint32 TCPFlags = 50; fixed32 InIf = 52; }";

const NOW_NS: u64 = 1_700_000_000_000_000_000;

fuzz_target!(|input: &[u8]| {
    let Some((selector, message)) = input.split_first() else { return };
    let format = match selector % 3 {
        0 => Format::Json,
        1 => Format::Protobuf(Layout::goflow2()),
        _ => Format::Protobuf(Layout::parse(AKVORADO).expect("a valid schema")),
    };
    let (contacts, counts) = read(&format, message);
    assert!(contacts.iter().all(|contact| contact.time_ns <= NOW_NS));
    let of = |reason| counts.of(reason);
    assert_eq!(counts.contacts, contacts.len() as u64);
    assert_eq!(counts.records, counts.contacts + of(Reason::NoHosts) + of(Reason::ZeroHost));
    let flows = counts.records + of(Reason::Malformed);
    if format == Format::Json {
        let lines = message.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        assert_eq!(flows, lines.len().max(1) as u64);
        let of_lines = lines.iter().flat_map(|line| read(&format, line).0);
        assert!(of_lines.eq(contacts), "each line is a flow of its own");
        return;
    }
    assert_eq!(flows, 1);
    // A message whose first byte equals the length of its rest can itself be a message with a prefix.
    let is_plain = |first: u8| first < 0x80 && usize::from(first) != message.len() - 1;
    if contacts.len() == 1 && message.len() < 0x80 && is_plain(message[0]) {
        let prefixed = [&[message.len() as u8], message].concat();
        assert_eq!(read(&format, &prefixed).0, contacts);
    }
});

fn read(format: &Format, message: &[u8]) -> (Vec<Contact>, FlowCounts) {
    let mut reader = FlowReader::new(format.clone(), &ExportOptions::default());
    let mut contacts = Vec::new();
    reader.read(message, NOW_NS - 1, NOW_NS, |contact| contacts.push(contact));
    assert_eq!(reader.counts().datagrams, 1);
    (contacts, reader.counts().clone())
}
