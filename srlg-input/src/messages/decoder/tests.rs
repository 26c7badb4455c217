use std::hint::black_box;
use std::num::{NonZeroU8, NonZeroU64};
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::contact::TCP;
use crate::messages::Layout;

const SECOND: u64 = 1_000_000_000;

const NOW: u64 = 1_700_000_000 * SECOND;

#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, number: u64, value: u64) -> Self {
        push(&mut self.0, number << 3);
        push(&mut self.0, value);
        self
    }

    fn bytes(mut self, number: u64, bytes: &[u8]) -> Self {
        push(&mut self.0, number << 3 | 2);
        push(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn with_length(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        push(&mut bytes, self.0.len() as u64);
        bytes.extend(&self.0);
        bytes
    }
}

fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Returns a flow as goflow2 writes it, including fields that the decoder does not use.
fn goflow2() -> Message {
    Message::default()
        .varint(1, 4)
        .varint(3, 1000)
        .varint(4, 7)
        .bytes(6, &[192, 0, 2, 1])
        .bytes(7, &[198, 51, 100, 7])
        .varint(9, 4096)
        .varint(10, 3)
        .bytes(11, &[203, 0, 113, 1])
        .varint(18, 1)
        .varint(20, 6)
        .varint(21, 40_000)
        .varint(22, 443)
        .varint(26, 2)
        .varint(30, 0x0800)
        .bytes(103, &[0, 1, 3])
        .varint(110, NOW - 3 * SECOND)
        .varint(112, NOW - 9 * SECOND)
}

fn reader() -> FlowReader {
    FlowReader::new(Format::Protobuf(Layout::goflow2()), &ExportOptions::default())
}

fn read(reader: &mut FlowReader, message: &[u8], stored_ns: u64) -> Option<Contact> {
    let mut contacts = Vec::new();
    reader.read(message, stored_ns, NOW, |contact| contacts.push(contact));
    assert!(contacts.len() <= 1);
    contacts.pop()
}

#[test]
fn a_flow_is_a_contact_with_all_that_it_states() {
    let mut reader = reader();
    let contact = read(&mut reader, &goflow2().0, NOW).unwrap();
    let mut expected =
        Contact::new(NOW - 3 * SECOND, [192, 0, 2, 1].into(), [198, 51, 100, 7].into());
    (expected.packets, expected.octets) = (NonZeroU64::new(3), NonZeroU64::new(4_096));
    expected.protocol = Some(TCP);
    expected.tcp_flags = NonZeroU8::new(2);
    (expected.source_port, expected.destination_port) = (Some(40_000), Some(443));
    expected.sampling = NonZeroU32::new(1000);
    (expected.exporter, expected.ingress) = (Some([203, 0, 113, 1].into()), NonZeroU32::new(1));
    assert_eq!(contact, expected);
    let [exporter] = &reader.exporters()[..] else { panic!("{reader:?}") };
    assert_eq!(exporter.address, "203.0.113.1:0".parse().unwrap());
    assert_eq!(exporter.last_read_ns, NOW - 3 * SECOND);
    assert_eq!((exporter.counts.records, exporter.counts.contacts), (1, 1));
}

#[test]
fn the_length_in_front_makes_no_difference() {
    let mut reader = reader();
    let bare = read(&mut reader, &goflow2().0, NOW);
    assert_eq!(read(&mut reader, &goflow2().with_length(), NOW), bare);
    // The first byte of this message is the tag of the source. It also equals the number of bytes after it, so it could
    // be a length prefix.
    let mut message = Message::default().bytes(6, &[192, 0, 2, 1]).bytes(7, &[198, 51, 100, 7]);
    let filler = 50 - (message.0.len() - 1) - 2;
    message = message.bytes(12, &vec![0; filler]);
    assert_eq!(usize::from(message.0[0]), message.0.len() - 1);
    let hosts = |contact: Contact| (contact.source, contact.destination);
    assert_eq!(read(&mut reader, &message.0, NOW).map(hosts), bare.map(hosts));
}

#[test]
fn hosts_of_both_families_are_known_by_their_length() {
    let mapped = |last| [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last];
    let six = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    let message = Message::default().bytes(6, &mapped(1)).bytes(7, &six);
    let contact = read(&mut reader(), &message.0, NOW).unwrap();
    assert_eq!(contact.source.to_string(), "192.0.2.1");
    assert_eq!(contact.destination.to_string(), "2001:db8::7");
    assert_eq!(contact.exporter.map(|host| host.to_string()).as_deref(), Some("0.0.0.0"));
}

#[test]
fn a_message_that_is_no_contact_is_counted() {
    let [host, zero] = [[192, 0, 2, 1], [0; 4]];
    for (message, reason) in [
        (Vec::new(), Reason::Malformed),
        (b"{\"src_addr\":\"192.0.2.1\"}".to_vec(), Reason::Malformed),
        (goflow2().0[..20].to_vec(), Reason::Malformed),
        (Message::default().bytes(6, &[1, 2, 3]).0, Reason::Malformed),
        (Message::default().varint(6, 1).0, Reason::Malformed),
        (Message::default().bytes(6, &host).0, Reason::NoHosts),
        (Message::default().bytes(6, &host).bytes(7, &[]).0, Reason::NoHosts),
        (Message::default().bytes(6, &host).bytes(7, &zero).0, Reason::ZeroHost),
        (Message::default().bytes(6, &host).bytes(7, &[0; 16]).0, Reason::ZeroHost),
    ] {
        let mut reader = reader();
        assert_eq!(read(&mut reader, &message, NOW), None);
        assert_eq!((reader.counts().of(reason), reader.counts().datagrams), (1, 1), "{message:?}");
    }
}

#[test]
fn times_are_those_of_the_receipt_unless_ends_are_trusted() {
    let hosts = || Message::default().bytes(6, &[192, 0, 2, 1]).bytes(7, &[192, 0, 2, 2]);
    let with_both = hosts().varint(110, NOW - SECOND).varint(112, NOW - 9 * SECOND);
    let in_seconds = hosts().varint(2, NOW / SECOND - 4).varint(5, NOW / SECOND - 8);
    let ahead = hosts().varint(110, NOW + SECOND).varint(112, NOW + SECOND);
    for (timestamps, message, ago_s) in [
        (Timestamps::Corrected, &with_both, 1),
        (Timestamps::Received, &with_both, 1),
        (Timestamps::Trusted, &with_both, 9),
        (Timestamps::Corrected, &in_seconds, 4),
        (Timestamps::Trusted, &in_seconds, 8),
        (Timestamps::Corrected, &hosts(), 2),
        (Timestamps::Trusted, &hosts(), 2),
        (Timestamps::Corrected, &ahead, 0),
        (Timestamps::Trusted, &ahead, 0),
    ] {
        let options = ExportOptions { timestamps, ..ExportOptions::default() };
        let mut reader = FlowReader::new(Format::Protobuf(Layout::goflow2()), &options);
        let contact = read(&mut reader, &message.0, NOW - 2 * SECOND).unwrap();
        assert_eq!((NOW - contact.time_ns) / SECOND, ago_s, "{timestamps}");
    }
}

/// A flow as goflow2 writes it in JSON, including fields that the decoder does not use.
const GOFLOW2_JSON: &str = r#"{"type":"NETFLOW_V9","time_received_ns":1699999997000000000,"sequence_num":7,"sampling_rate":1000,"sampler_address":"203.0.113.1","time_flow_start_ns":1699999990000000000,"time_flow_end_ns":1699999991000000000,"bytes":4096,"packets":3,"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","etype":"IPv4","proto":"TCP","src_port":40000,"dst_port":443,"in_if":1,"out_if":0,"src_mac":"00:00:00:00:00:00","tcp_flags":2,"next_hop":"","as_path":[]}"#;

fn json_reader() -> FlowReader {
    FlowReader::new(Format::Json, &ExportOptions::default())
}

#[test]
fn lines_of_json_are_the_contacts_that_protobuf_has() {
    let mut reader = json_reader();
    let contact = read(&mut reader, GOFLOW2_JSON.as_bytes(), NOW).unwrap();
    assert_eq!(Some(contact), read(&mut self::reader(), &goflow2().0, NOW));
    assert_eq!(reader.exporters()[0].address, "203.0.113.1:0".parse().unwrap());
    let lines = format!("{GOFLOW2_JSON}\r\n\n{GOFLOW2_JSON}\n");
    let mut contacts = Vec::new();
    reader.read(lines.as_bytes(), NOW, NOW, |contact| contacts.push(contact));
    assert_eq!(contacts, [contact; 2]);
    let counts = reader.counts();
    assert_eq!((counts.datagrams, counts.records, counts.contacts), (2, 3, 3));
}

#[test]
fn a_plain_contact_has_the_names_of_its_hosts() {
    let line = r#"{"time":"2023-11-14T22:13:17Z","source":"::ffff:192.0.2.1","destination":"198.51.100.7","exporter":"203.0.113.1",
        "sampling":"1000","packets":3,"bytes":4096,"ingress":1,"protocol":6,"source_port":40000,"destination_port":443,"tcp_flags":2,"initiated":true}"#;
    let contact = read(&mut json_reader(), line.replace('\n', "").as_bytes(), NOW).unwrap();
    let expected = read(&mut reader(), &goflow2().0, NOW).unwrap();
    assert_eq!(contact, Contact { initiated: Some(true), ..expected });
}

#[test]
fn times_and_protocols_of_json_are_numbers_or_texts() {
    let read = |field: &str| {
        let line = format!(r#"{{"source":"192.0.2.1","destination":"192.0.2.2",{field}}}"#);
        let contact = read(&mut json_reader(), line.as_bytes(), NOW - 2 * SECOND)?;
        Some(((NOW - contact.time_ns) / 1_000_000, contact.protocol))
    };
    for (field, expected) in [
        (r#""time":1699999995"#, (5_000, None)),
        (r#""time":1699999995.5"#, (4_500, None)),
        (r#""time":"1699999995""#, (5_000, None)),
        (r#""time":"2023-11-14T23:13:15+01:00""#, (5_000, None)),
        (r#""time":null"#, (2_000, None)),
        (r#""time_ns":1699999995000000000,"time":1"#, (5_000, None)),
        (r#""time":1700000100"#, (0, None)),
        (r#""proto":"icmpv6""#, (2_000, Some(58))),
        (r#""proto":17"#, (2_000, Some(17))),
        (r#""proto":"""#, (2_000, None)),
        (r#""proto":300"#, (2_000, None)),
        (r#""unknown":{"a":[1]}"#, (2_000, None)),
    ] {
        assert_eq!(read(field), Some(expected), "{field}");
    }
}

#[test]
fn a_line_of_json_that_is_no_contact_is_counted() {
    for (line, reason) in [
        ("", Reason::Malformed),
        ("{", Reason::Malformed),
        ("7", Reason::Malformed),
        ("[]", Reason::Malformed),
        (r#"["192.0.2.1","192.0.2.2"]"#, Reason::Malformed),
        ("null", Reason::Malformed),
        (r#"{"src_addr":"192.0.2.1","dst_addr":"router"}"#, Reason::Malformed),
        (r#"{"src_addr":"192.0.2.1","dst_addr":7}"#, Reason::Malformed),
        (r#"{"src_addr":"192.0.2.1","source":"192.0.2.1"}"#, Reason::Malformed),
        (r#"{"source":"192.0.2.1","destination":"192.0.2.2","packets":-1}"#, Reason::Malformed),
        (r#"{"source":"192.0.2.1","destination":"192.0.2.2","time":-1.5}"#, Reason::Malformed),
        (r#"{"source":"192.0.2.1","destination":"192.0.2.2","time":"now"}"#, Reason::Malformed),
        // A time in milliseconds is not plausible as nanoseconds.
        (
            r#"{"source":"192.0.2.1","destination":"192.0.2.2","time":1700000000000}"#,
            Reason::Malformed,
        ),
        (
            r#"{"source":"192.0.2.1","destination":"192.0.2.2","time":1700000000000.5}"#,
            Reason::Malformed,
        ),
        (
            r#"{"source":"192.0.2.1","destination":"192.0.2.2","time":"1700000000000"}"#,
            Reason::Malformed,
        ),
        (r#"{"src_addr":"192.0.2.1","dst_addr":""}"#, Reason::NoHosts),
        (r#"{"src_addr":"192.0.2.1","dst_addr":null}"#, Reason::NoHosts),
        (r#"{}"#, Reason::NoHosts),
        (r#"{"src_addr":"192.0.2.1","dst_addr":"::"}"#, Reason::ZeroHost),
    ] {
        let mut reader = json_reader();
        assert_eq!(read(&mut reader, line.as_bytes(), NOW), None);
        assert_eq!(reader.counts().of(reason), 1, "{line}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        read(&mut reader(), &bytes, NOW);
        json_reader().read(&bytes, NOW, NOW, |_| {});
    }

    #[test]
    fn no_damage_of_json_panics(at in 0_usize..1_000, byte in any::<u8>()) {
        let mut line = GOFLOW2_JSON.as_bytes().to_vec();
        let at = at % line.len();
        line[at] = byte;
        json_reader().read(&line, NOW, NOW, |_| {});
    }

    #[test]
    fn no_damage_panics(at in 0_usize..100, byte in any::<u8>(), length in 0_usize..120) {
        let mut message = goflow2().0;
        let at = at % message.len();
        message[at] = byte;
        message.truncate(length);
        read(&mut reader(), &message, NOW);
    }
}

#[test]
#[ignore = "measures speed; run it in a release build"]
fn flows_per_second() {
    let exporter = |peer: u32| [203, 0, 113, (peer % 16) as u8];
    let of_protobuf =
        |peer: u32| goflow2().bytes(7, &peer.to_be_bytes()).bytes(11, &exporter(peer)).0;
    let of_json = |peer: u32| {
        let [peer, exporter] = [Host::v4(peer), exporter(peer).into()];
        GOFLOW2_JSON
            .replace("198.51.100.7", &peer.to_string())
            .replace("203.0.113.1", &exporter.to_string())
            .into_bytes()
    };
    measure("protobuf", reader(), &(0..4_096).map(of_protobuf).collect::<Vec<_>>());
    measure("JSON", json_reader(), &(0..4_096).map(of_json).collect::<Vec<_>>());
}

fn measure(format: &str, mut reader: FlowReader, messages: &[Vec<u8>]) {
    let best = (0..5).map(|_| {
        let start = Instant::now();
        for _ in 0..100 {
            messages.iter().for_each(|message| {
                reader.read(black_box(message), NOW, NOW, |contact| {
                    black_box(contact);
                });
            });
        }
        start.elapsed().as_secs_f64()
    });
    let flows = 100.0 * messages.len() as f64;
    let best = best.fold(f64::MAX, f64::min);
    println!(
        "{format}: {:.0} flows/s, {:.1} ns each of {} bytes",
        flows / best,
        best / flows * 1e9,
        messages[1].len()
    );
}
