use std::hint::black_box;
use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::contact::TCP;

const NOW: u64 = 1_700_000_000 * SECOND;

/// A message in the making.
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

/// A flow as goflow2 writes it, with fields that are passed over.
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
    FlowReader::new(Layout::goflow2(), &ExportOptions::default())
}

#[test]
fn a_flow_is_a_contact_with_all_that_it_states() {
    let mut reader = reader();
    let contact = reader.read(&goflow2().0, NOW, NOW).unwrap();
    let mut expected =
        Contact::new(NOW - 3 * SECOND, [192, 0, 2, 1].into(), [198, 51, 100, 7].into());
    expected.packets = Some(3);
    expected.protocol = Some(TCP);
    expected.tcp_flags = Some(2);
    expected.destination_port = Some(443);
    expected.sampling = NonZeroU32::new(1000);
    expected.exporter = Some([203, 0, 113, 1].into());
    assert_eq!(contact, expected);
    let [exporter] = &reader.exporters()[..] else { panic!("{reader:?}") };
    assert_eq!(exporter.address, "203.0.113.1:0".parse().unwrap());
    assert_eq!(exporter.last_read_ns, NOW - 3 * SECOND);
    assert_eq!((exporter.counts.records, exporter.counts.contacts), (1, 1));
}

#[test]
fn the_length_in_front_makes_no_difference() {
    let mut reader = reader();
    let bare = reader.read(&goflow2().0, NOW, NOW);
    assert_eq!(reader.read(&goflow2().with_length(), NOW, NOW), bare);
    // Its first byte, the tag of the source, is the number of bytes after it.
    let mut message = Message::default().bytes(6, &[192, 0, 2, 1]).bytes(7, &[198, 51, 100, 7]);
    let filler = 50 - (message.0.len() - 1) - 2;
    message = message.bytes(12, &vec![0; filler]);
    assert_eq!(usize::from(message.0[0]), message.0.len() - 1);
    let hosts = |contact: Contact| (contact.source, contact.destination);
    assert_eq!(reader.read(&message.0, NOW, NOW).map(hosts), bare.map(hosts));
}

#[test]
fn hosts_of_both_families_are_known_by_their_length() {
    let mapped = |last| [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last];
    let six = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    let message = Message::default().bytes(6, &mapped(1)).bytes(7, &six);
    let contact = reader().read(&message.0, NOW, NOW).unwrap();
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
        assert_eq!(reader.read(&message, NOW, NOW), None);
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
        let mut reader = FlowReader::new(Layout::goflow2(), &options);
        let contact = reader.read(&message.0, NOW - 2 * SECOND, NOW).unwrap();
        assert_eq!((NOW - contact.time_ns) / SECOND, ago_s, "{timestamps}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        reader().read(&bytes, NOW, NOW);
    }

    #[test]
    fn no_damage_panics(at in 0_usize..100, byte in any::<u8>(), length in 0_usize..120) {
        let mut message = goflow2().0;
        let at = at % message.len();
        message[at] = byte;
        message.truncate(length);
        reader().read(&message, NOW, NOW);
    }
}

#[test]
#[ignore = "measures speed; run it in a release build"]
fn flows_per_second() {
    let messages: Vec<Vec<u8>> = (0..4_096_u32)
        .map(|peer| {
            let exporter = [203, 0, 113, (peer % 16) as u8];
            goflow2().bytes(7, &peer.to_be_bytes()).bytes(11, &exporter).0
        })
        .collect();
    let mut reader = reader();
    let best = (0..5).map(|_| {
        let start = Instant::now();
        for _ in 0..500 {
            messages.iter().for_each(|message| {
                black_box(reader.read(black_box(message), NOW, NOW));
            });
        }
        start.elapsed().as_secs_f64()
    });
    let flows = 500.0 * messages.len() as f64;
    let best = best.fold(f64::MAX, f64::min);
    println!(
        "{:.0} flows/s, {:.1} ns each of {} bytes",
        flows / best,
        best / flows * 1e9,
        messages[1].len()
    );
}
