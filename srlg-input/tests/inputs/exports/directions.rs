//! Tests of the hosts, directions and other fields of records.

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Nat, Reason};

use crate::exports::build::{
    Field, PLAIN, RECEIVED_NS, REVERSE, address, ipfix, plain, set, template9, template10, v9,
};
use crate::exports::{contacts, counted, decoder};

/// Decodes the IPFIX record `record`, whose template has `fields`.
pub(super) fn of(
    options: DecoderOptions,
    fields: &[Field],
    record: &[Vec<u8>],
) -> (Decoder, Vec<Contact>) {
    let mut decoder = Decoder::new(options).unwrap();
    let sets = [template10(256, fields), set(256, &record.concat())];
    let contacts = contacts(&mut decoder, RECEIVED_NS, &ipfix(0, 0, &sets));
    assert_eq!(decoder.counts().records, 1);
    (decoder, contacts)
}

fn hosts(contacts: &[Contact]) -> Vec<String> {
    contacts.iter().map(|it| format!("{} {}", it.source, it.destination)).collect()
}

fn counts(contact: &Contact) -> [u64; 2] {
    [contact.packets, contact.octets].map(|count| count.map_or(0, NonZeroU64::get))
}

fn hosts_of(fields: &[Field], record: &[Vec<u8>]) -> Vec<String> {
    hosts(&of(DecoderOptions::default(), fields, record).1)
}

fn reasons<const N: usize>(fields: &[Field], record: &[Vec<u8>], reasons: [Reason; N]) -> [u64; N] {
    let (decoder, contacts) = of(DecoderOptions::default(), fields, record);
    assert_eq!(contacts, []);
    counted(&decoder, reasons)
}

const BOTH: [Field; 4] = [(8, 4), (12, 4), (27, 16), (28, 16)];

fn both(hosts: [&str; 4]) -> Vec<Vec<u8>> {
    hosts.map(address).to_vec()
}

#[test]
fn the_family_that_is_not_zero_counts() {
    let v4 = ["192.0.2.1", "192.0.2.2"];
    let v6 = ["2001:db8::1", "2001:db8::2"];
    let none = ["0.0.0.0", "::"];
    let of_v4 = both([v4[0], v4[1], none[1], none[1]]);
    assert_eq!(hosts_of(&BOTH, &of_v4), ["192.0.2.1 192.0.2.2"]);
    let of_v6 = both([none[0], none[0], v6[0], v6[1]]);
    assert_eq!(hosts_of(&BOTH, &of_v6), ["2001:db8::1 2001:db8::2"]);
    let of_both = both([v4[0], v4[1], v6[0], v6[1]]);
    let versioned = [&BOTH[..], &[(60, 1)]].concat();
    for (version, expected) in [(4, "192.0.2.1 192.0.2.2"), (6, "2001:db8::1 2001:db8::2")] {
        let record = [&of_both[..], &[vec![version]]].concat();
        assert_eq!(hosts_of(&versioned, &record), [expected]);
    }
    let wrong = [&of_v4[..], &[vec![6]]].concat();
    assert_eq!(hosts_of(&versioned, &wrong), ["192.0.2.1 192.0.2.2"], "6 and no address of it");
}

#[test]
fn an_address_of_zero_is_no_host() {
    for record in [["0.0.0.0"; 2], ["0.0.0.0", "192.0.2.1"], ["192.0.2.1", "0.0.0.0"]] {
        let record = record.map(address);
        assert_eq!(reasons(&BOTH[..2], &record, [Reason::ZeroHost, Reason::NoHosts]), [1, 0]);
    }
    let zero = ["::", "::ffff:0:0"].map(address);
    assert_eq!(reasons(&BOTH[2..], &zero, [Reason::ZeroHost]), [1]);
    assert_eq!(reasons(&[(1, 4)], &[vec![0; 4]], [Reason::ZeroHost, Reason::NoHosts]), [0, 1]);
}

#[test]
fn a_mapped_address_is_that_of_ipv4() {
    let record = ["::ffff:192.0.2.1", "::ffff:192.0.2.2"].map(address);
    assert_eq!(hosts_of(&BOTH[2..], &record), ["192.0.2.1 192.0.2.2"]);
}

#[test]
fn either_end_of_a_translator_counts() {
    let fields = [(8, 4), (12, 4), (225, 4), (226, 4), (281, 16), (282, 16)];
    let record = |post: [&str; 4]| {
        let pre = ["10.0.0.1", "192.0.2.1"].map(address);
        [&pre[..], &post.map(address)].concat()
    };
    let post = DecoderOptions { nat: Nat::Post, ..DecoderOptions::default() };
    let translated = record(["198.51.100.1", "0.0.0.0", "::", "::"]);
    assert_eq!(hosts_of(&fields, &translated), ["10.0.0.1 192.0.2.1"]);
    assert_eq!(hosts(&of(post, &fields, &translated).1), ["198.51.100.1 192.0.2.1"]);
    let untranslated = record(["0.0.0.0", "0.0.0.0", "::", "::"]);
    assert_eq!(hosts(&of(post, &fields, &untranslated).1), ["10.0.0.1 192.0.2.1"]);
}

#[test]
fn a_translator_may_change_the_family() {
    let post = DecoderOptions { nat: Nat::Post, ..DecoderOptions::default() };
    let (v4, v6) = ("192.0.2.1 192.0.2.2", "2001:db8::1 64:ff9b::c000:202");
    let record = |version: u8| {
        let hosts = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "64:ff9b::c000:202"].map(address);
        [vec![vec![version]], hosts.to_vec()].concat()
    };
    let from_v6 = [(60, 1), (225, 4), (226, 4), (27, 16), (28, 16)];
    let from_v4 = [(60, 1), (8, 4), (12, 4), (281, 16), (282, 16)];
    for (fields, version, pre_hosts, post_hosts) in [(from_v6, 6, v6, v4), (from_v4, 4, v4, v6)] {
        assert_eq!(hosts_of(&fields, &record(version)), [pre_hosts]);
        assert_eq!(hosts(&of(post, &fields, &record(version)).1), [post_hosts]);
    }
}

/// Returns an Ethernet frame with a TCP SYN from port 12345 of 192.0.2.1 to port 80 of 192.0.2.2.
pub(super) fn frame() -> Vec<u8> {
    let mut frame = vec![0; 54];
    frame[12..18].copy_from_slice(&[0x08, 0x00, 0x45, 0, 0, 40]);
    frame[23] = 6;
    frame[26..34].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    frame[34..38].copy_from_slice(&[0x30, 0x39, 0, 80]);
    frame[47] = 2;
    frame
}

#[test]
fn a_record_may_hold_the_packet_itself() {
    let check = |fields: &[Field], record: &[Vec<u8>]| {
        let (_, contacts) = of(DecoderOptions::default(), fields, record);
        assert_eq!(hosts(&contacts), ["192.0.2.1 192.0.2.2"]);
        let contact = contacts[0];
        assert_eq!((contact.protocol, contact.tcp_flags), (Some(6), NonZeroU8::new(2)));
        assert_eq!((contact.source_port, contact.destination_port), (Some(12_345), Some(80)));
    };
    let variable = |bytes: &[u8]| [&[bytes.len() as u8], bytes].concat();
    check(&[(315, 54)], &[frame()]);
    check(&[(315, 65_535)], &[variable(&frame())]);
    check(&[(408, 2), (315, 54)], &[vec![0, 1], frame()]);
    check(&[(313, 40)], &[frame()[14..].to_vec()]);
    check(&[(8, 4), (12, 4), (315, 54)], &[vec![0; 8], frame()]);
    // This frame has a VN-Tag.
    check(&[(315, 60)], &[[&frame()[..12], &[0x89, 0x26, 0, 0, 0, 0], &frame()[12..]].concat()]);
    // The total length is 0 if the packet was sampled before a network card split it.
    let mut unstated = frame();
    unstated[16..18].fill(0);
    check(&[(315, 54)], &[unstated.clone()]);
    check(&[(313, 40)], &[unstated[14..].to_vec()]);
    for record in [[vec![0, 1], vec![0; 54]], [vec![0, 2], frame()]] {
        let bad = reasons(&[(408, 2), (315, 54)], &record, [Reason::BadFrame]);
        assert_eq!(bad, [1]);
    }
}

/// Decodes a biflow whose forward and reverse packet counts are `packets`. For each contact, returns the hosts, whether
/// the source initiated the contact, and the number of packets.
fn biflow(packets: [u32; 2], direction: Option<u8>) -> Vec<(String, Option<bool>, Option<u64>)> {
    let fields = [(8, 4), (12, 4), (2, 4), (2 | REVERSE, 4), (239, 1)];
    let mut record = ["192.0.2.1", "192.0.2.2"].map(address).to_vec();
    record.extend(packets.map(|count| count.to_be_bytes().to_vec()));
    record.extend(direction.map(|direction| vec![direction]));
    let fields = &fields[..record.len()];
    let (decoder, contacts) = of(DecoderOptions::default(), fields, &record);
    assert_eq!(contacts.len() as u64 + decoder.counts().of(Reason::NoPackets), 2);
    let hosts = hosts(&contacts).into_iter();
    let parts = |(hosts, it): (_, &Contact)| (hosts, it.initiated, it.packets.map(NonZeroU64::get));
    hosts.zip(&contacts).map(parts).collect()
}

#[test]
fn each_direction_of_a_biflow_counts_if_it_has_packets() {
    let forward = |initiated| ("192.0.2.1 192.0.2.2".to_owned(), initiated, Some(3));
    let reverse = |initiated| ("192.0.2.2 192.0.2.1".to_owned(), initiated, Some(5));
    let both = |first, second| vec![forward(first), reverse(second)];
    assert_eq!(biflow([3, 5], None), both(Some(true), Some(false)));
    assert_eq!(biflow([3, 0], None), [forward(Some(true))]);
    assert_eq!(biflow([0, 5], None), [reverse(Some(false))]);
    assert_eq!(biflow([0, 0], None), []);
    assert_eq!(biflow([3, 5], Some(0)), both(None, None), "arbitrary");
    assert_eq!(biflow([3, 5], Some(1)), both(Some(true), Some(false)));
    assert_eq!(biflow([3, 5], Some(2)), both(Some(false), Some(true)));
    assert_eq!(biflow([3, 5], Some(3)), both(None, None), "by the perimeter");
}

#[test]
fn octets_are_used_where_packets_are_missing() {
    let words = |words: &[u32]| words.iter().map(|it| it.to_be_bytes().to_vec()).collect();
    let of = |fields: &[Field], counts: &[u32]| {
        let fields = [&BOTH[..2], fields].concat();
        let counts: Vec<Vec<u8>> = words(counts);
        let record = [&["192.0.2.1", "192.0.2.2"].map(address)[..], &counts].concat();
        hosts_of(&fields, &record).len()
    };
    // The values are counts for the initiator and the responder, first octets and then packets.
    for (octets, expected) in [([7, 0], 1), ([0, 7], 1), ([7, 7], 2), ([0, 0], 0)] {
        assert_eq!(of(&[(231, 4), (232, 4)], &octets), expected);
        assert_eq!(of(&[(298, 4), (299, 4)], &octets), expected);
    }
    assert_eq!(of(&[(231, 4), (298, 4), (299, 4)], &[7, 0, 1]), 1, "octets alone do not count");
    assert_eq!(of(&[(2, 4)], &[0]), 0);
    assert_eq!(of(&[(2, 4), (1, 4)], &[0, 0]), 0);
    assert_eq!(of(&[(2, 4), (1, 4)], &[0, 60]), 1);
    assert_eq!(of(&[(1, 4)], &[0]), 1, "a uniflow without a packet count");
    assert_eq!(of(&[(2, 4), (86, 4)], &[0, 9]), 1, "no recent packets, but a total");
}

// Open vSwitch sends both counts. If totals were used, the whole of an hour-long flow would be counted every minute.
#[test]
fn totals_count_only_where_a_record_has_no_other_counts() {
    let of = |fields: &[Field], numbers: &[u32]| -> Vec<[u64; 2]> {
        let fields = [&[(8, 4), (12, 4)], fields].concat();
        let numbers: Vec<_> = numbers.iter().map(|it| it.to_be_bytes().to_vec()).collect();
        let record = [&["192.0.2.1", "192.0.2.2"].map(address)[..], &numbers].concat();
        of(DecoderOptions::default(), &fields, &record).1.iter().map(counts).collect()
    };
    let both = [(2, 4), (86, 4), (85, 4), (1, 4)];
    assert_eq!(of(&both, &[3, 70, 9_000, 180]), [[3, 180]]);
    assert_eq!(of(&both, &[0, 70, 9_000, 0]), [[70, 9_000]]);
    assert_eq!(of(&[(86, 4), (85, 4)], &[70, 9_000]), [[70, 9_000]]);
    let reverse = both.map(|(number, length)| (number | REVERSE, length));
    let numbers = [3, 70, 9_000, 180, 4, 80, 10_000, 240];
    assert_eq!(of(&[both, reverse].concat(), &numbers), [[3, 180], [4, 240]]);
}

#[test]
fn the_reverse_direction_has_its_own_port_and_flags() {
    let fields = [
        (8, 4),
        (12, 4),
        (7, 2),
        (11, 2),
        (4, 1),
        (6, 1),
        (6 | REVERSE, 1),
        (2, 4),
        (2 | REVERSE, 4),
        (1, 8),
        (1 | REVERSE, 2),
        (10, 4),
    ];
    let mut record = ["192.0.2.1", "192.0.2.2"].map(address).to_vec();
    record.extend([vec![0x30, 0x39], vec![0, 80], vec![6], vec![0x02], vec![0x12]]);
    record.extend([vec![0, 0, 0, 1], vec![0, 0, 0, 2]]);
    record.extend([vec![0, 0, 0, 0, 0, 0, 0, 40], vec![0, 90], 70_000_u32.to_be_bytes().to_vec()]);
    let (_, contacts) = of(DecoderOptions::default(), &fields, &record);
    let ports = |it: &Contact| [it.source_port, it.destination_port];
    let parts = contacts.iter().map(|it| (ports(it), it.tcp_flags, counts(it)));
    let expected = [
        ([Some(12_345), Some(80)], NonZeroU8::new(0x02), [1, 40]),
        ([Some(80), Some(12_345)], NonZeroU8::new(0x12), [2, 90]),
    ];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
    let ingress = contacts.iter().map(|it| it.ingress.map(NonZeroU32::get));
    assert_eq!(ingress.collect::<Vec<_>>(), [Some(70_000), None]);
}

#[test]
fn a_contact_has_all_fields_of_a_uniflow() {
    let mut decoder = decoder();
    let fields = [&PLAIN[..], &[(4, 1), (6, 1), (7, 2), (11, 2), (10, 2)]].concat();
    let record =
        [plain("192.0.2.1", "192.0.2.2", 60, 3), vec![6, 0x12, 0, 53, 0, 80, 1, 2]].concat();
    let message = v9(0, 0, &[template9(256, &fields), set(256, &record)]);
    let [contact] = contacts(&mut decoder, RECEIVED_NS, &message)[..] else { panic!("one") };
    assert_eq!((counts(&contact), contact.protocol), ([3, 60], Some(6)));
    assert_eq!((contact.tcp_flags, contact.ingress), (NonZeroU8::new(0x12), NonZeroU32::new(258)));
    assert_eq!((contact.source_port, contact.destination_port), (Some(53), Some(80)));
    assert_eq!((contact.initiated, contact.sampling), (None, None));
    assert_eq!(contact.exporter, Some([192, 0, 2, 1].into()));
}

#[test]
fn fields_that_a_protocol_lacks_are_absent() {
    let fields = [&PLAIN[..], &[(4, 1), (6, 1), (7, 2), (11, 2)]].concat();
    let record = [plain("192.0.2.1", "192.0.2.2", 60, 3), vec![1, 0, 8, 0, 8, 0]];
    let (_, contacts) = of(DecoderOptions::default(), &fields, &record);
    let parts = (contacts[0].protocol, contacts[0].tcp_flags);
    let ports = [contacts[0].source_port, contacts[0].destination_port];
    assert_eq!((parts, ports), ((Some(1), None), [None; 2]), "ICMP");
}
