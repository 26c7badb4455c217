//! Tests of sampling rates and losses.

use std::num::NonZeroU32;

use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Losses, Reason};

use crate::exports::build::{
    Field, PLAIN, RECEIVED_NS, SECOND, ipfix, options9, options10, plain, record5, set, template9,
    template10, v5, v9,
};
use crate::exports::{contacts, counted, decoder, exporter};

fn rate(contacts: &[Contact]) -> Option<u32> {
    assert_eq!(contacts.len(), 1);
    contacts[0].sampling.map(NonZeroU32::get)
}

/// Returns a NetFlow v9 datagram from `domain` that contains a template and a flow.
fn flow(number: u32, domain: u32, fields: &[Field], values: &[u8]) -> Vec<u8> {
    let record = [&plain("192.0.2.1", "192.0.2.2", 60, 1)[..], values].concat();
    v9(number, domain, &[template9(256, &[&PLAIN[..], fields].concat()), set(256, &record)])
}

/// Returns a NetFlow v9 datagram that contains an options record. The record states the sampling rate of `sampler` or,
/// if that is `None`, of the whole domain.
fn option(number: u32, domain: u32, sampler: Option<u8>, rate: u8) -> Vec<u8> {
    match sampler {
        Some(sampler) => {
            let record = [0, 0, 0, 0, sampler, 0, rate];
            v9(number, domain, &[options9(300, &[(48, 1), (50, 2)]), set(300, &record)])
        }
        None => {
            let sets = [options9(301, &[(34, 4)]), set(301, &[0, 0, 0, 0, 0, 0, 0, rate])];
            v9(number, domain, &sets)
        }
    }
}

#[test]
fn the_nearest_rate_counts() {
    let options = DecoderOptions { sampling: NonZeroU32::new(7), ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    let mut decode = |payload: &[u8]| contacts(&mut decoder, RECEIVED_NS, payload);
    let plain = flow(0, 1, &[], &[]);
    let sampled = flow(0, 1, &[(48, 1)], &[5]);
    assert_eq!(rate(&decode(&plain)), Some(7), "the configured rate");
    assert_eq!(decode(&option(0, 1, None, 10)), []);
    assert_eq!(rate(&decode(&plain)), Some(10), "the rate of the domain");
    assert_eq!(rate(&decode(&sampled)), Some(10));
    assert_eq!(rate(&decode(&flow(0, 2, &[(48, 1)], &[5]))), Some(7), "of another domain");
    decode(&option(0, 2, Some(5), 20));
    assert_eq!(rate(&decode(&sampled)), Some(20), "the rate of the sampler, from another domain");
    decode(&option(0, 1, Some(5), 30));
    assert_eq!(rate(&decode(&sampled)), Some(30), "the rate of the sampler in its domain");
    assert_eq!(rate(&decode(&flow(0, 2, &[(48, 1)], &[5]))), Some(20));
    assert_eq!(rate(&decode(&flow(0, 1, &[(48, 1), (34, 4)], &[5, 0, 0, 0, 40]))), Some(40));
    assert_eq!(rate(&decode(&flow(0, 1, &[(48, 1), (34, 4)], &[5, 0, 0, 0, 0]))), Some(30));
    assert_eq!(rate(&decode(&plain)), Some(10));
    decode(&option(0, 1, Some(5), 0));
    assert_eq!(rate(&decode(&sampled)), Some(30), "zero is nothing to learn");
    assert_eq!(counted(&decoder, [Reason::Options]), [4]);
}

#[test]
fn options_of_one_exporter_are_not_those_of_another() {
    let mut decoder = decoder();
    let mut rates = Vec::new();
    for (address, payload) in [
        ("192.0.2.1:1000", option(0, 1, None, 10)),
        ("192.0.2.2:1000", flow(0, 1, &[], &[])),
        ("192.0.2.1:2000", flow(1, 1, &[], &[])),
    ] {
        decoder
            .decode(address.parse().unwrap(), RECEIVED_NS, &payload, |it| rates.push(it.sampling));
    }
    assert_eq!(rates, [None, NonZeroU32::new(10)], "the port does not matter");
}

#[test]
fn scopes_of_ipfix_name_samplers() {
    let mut decoder = decoder();
    let options = [
        options10(300, &[(302, 4), (305, 4), (306, 4)]),
        set(300, &[0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 99]),
    ];
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &ipfix(0, 0, &options)), []);
    let record = [plain("192.0.2.1", "192.0.2.2", 60, 1), vec![9]].concat();
    let sets = [template10(256, &[&PLAIN[..], &[(302, 1)]].concat()), set(256, &record)];
    assert_eq!(rate(&contacts(&mut decoder, RECEIVED_NS, &ipfix(1, 0, &sets))), Some(100));
}

#[test]
fn a_rate_of_zero_is_unknown() {
    let record = record5(["192.0.2.1", "192.0.2.2"], [1, 60], [1, 2]);
    for (field, expected) in [(0, None), (0x4000, None), (0x4001, Some(1)), (0x3fff, Some(16_383))]
    {
        let payload = v5(0, field, std::slice::from_ref(&record));
        assert_eq!(rate(&contacts(&mut decoder(), RECEIVED_NS, &payload)), expected);
    }
}

fn losses(payloads: &[Vec<u8>]) -> Losses {
    let mut decoder = decoder();
    payloads.iter().for_each(|it| _ = contacts(&mut decoder, RECEIVED_NS, it));
    decoder.exporter(exporter()).unwrap().losses().unwrap()
}

fn lost(lost: u64) -> Losses {
    Losses { lost, ..Losses::default() }
}

#[test]
fn each_protocol_counts_in_its_unit() {
    let record = record5(["192.0.2.1", "192.0.2.2"], [1, 60], [1, 2]);
    let of5 = |number| v5(number, 0, &[record.clone(), record.clone()]);
    assert_eq!(losses(&[of5(10), of5(12)]), lost(0), "flows");
    assert_eq!(losses(&[of5(10), of5(18)]), lost(6));
    let of9 = |number, domain| flow(number, domain, &[], &[]);
    assert_eq!(losses(&[of9(10, 0), of9(11, 0)]), lost(0), "datagrams");
    assert_eq!(losses(&[of9(10, 0), of9(13, 0)]), lost(2));
    assert_eq!(
        losses(&[of9(10, 0), of9(90, 1), of9(11, 0), of9(91, 1)]),
        lost(0),
        "one per domain"
    );
    let records = plain("192.0.2.1", "192.0.2.2", 60, 1).repeat(3);
    let of10 = |number, id| ipfix(number, 0, &[template10(256, &PLAIN), set(id, &records)]);
    assert_eq!(losses(&[of10(10, 256), of10(13, 256)]), lost(0), "records");
    assert_eq!(losses(&[of10(10, 256), of10(20, 256)]), lost(7));
    assert_eq!(losses(&[of10(10, 256), of10(13, 257), of10(99, 256)]), lost(0), "not known");
    // The number of records is unknown if a set cannot be decoded completely.
    let bytes =
        |number, bytes: &[u8]| ipfix(number, 0, &[template10(256, &PLAIN), set(256, bytes)]);
    let next = bytes(99, &records);
    assert_eq!(losses(&[bytes(10, &[1; 15]), next.clone()]), lost(0), "undecodable");
    let text = template10(257, &[(8, 4), (12, 4), (82, 65_535)]);
    let cut = set(257, &[[9; 8].as_slice(), &[0], &[9; 8], &[200]].concat());
    assert_eq!(losses(&[ipfix(10, 0, &[text, cut]), next]), lost(0), "a field length is wrong");
}

#[test]
fn reordered_datagrams_are_not_lost() {
    let of9 = |number| flow(number, 0, &[], &[]);
    let reordered = losses(&[of9(1), of9(3), of9(2), of9(4)]);
    assert_eq!(reordered, Losses { lost: 0, reordered: 1, resets: 0 });
    let reset = losses(&[of9(1_000), of9(1_001), of9(0), of9(1)]);
    assert_eq!(reset, Losses { lost: 0, reordered: 0, resets: 1 });
}

#[test]
fn losses_are_unknown_while_exporters_share_an_address() {
    let (mut decoder, record) = (decoder(), record5(["192.0.2.1", "192.0.2.2"], [1, 60], [1, 2]));
    let mut send = |second: u64, number| {
        let payload = v5(number, 0, std::slice::from_ref(&record));
        contacts(&mut decoder, RECEIVED_NS + second * SECOND, &payload);
        let exporter = decoder.exporter(exporter()).unwrap();
        (exporter.losses().map(|losses| losses.lost), exporter.counts().of(Reason::SharedAddress))
    };
    for number in 0..4 {
        assert_eq!(send(number, number as u32), (Some(0), 0));
        assert_eq!(send(number, 3_000_000_000 + number as u32), (Some(0), 0));
    }
    assert_eq!(send(4, 4), (Some(0), 0), "the seventh return");
    assert_eq!(send(4, 3_000_000_004), (None, 1));
    assert_eq!(send(5, 5), (None, 2));
    // The second exporter stops. Five minutes after the last return, losses are known again.
    assert_eq!(send(304, 6), (None, 2));
    assert_eq!(send(305, 8), (Some(1), 2));
}
