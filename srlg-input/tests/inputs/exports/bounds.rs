//! What is remembered is bounded, whoever sends whatever.

use std::net::{Ipv4Addr, SocketAddr};

use srlg_input::flow::{BadOptions, Decoder, DecoderOptions, Reason};

use crate::exports::build::{Field, PLAIN, RECEIVED_NS, plain, set, template9, v9};
use crate::exports::{contacts, counted, decoder};

fn source(number: u32) -> SocketAddr {
    (Ipv4Addr::from_bits(0x0a00_0000 + number), 2055).into()
}

#[test]
fn the_least_recent_sources_go() {
    let mut decoder = decoder();
    let message = v9(0, 0, &[template9(256, &PLAIN)]);
    let flow = v9(1, 0, &[set(256, &plain("192.0.2.1", "192.0.2.2", 60, 1))]);
    for number in 0..100_000 {
        decoder.decode(source(number), RECEIVED_NS, &message, |_| panic!("no flow"));
        // One that stays heard of.
        decoder.decode(source(0), RECEIVED_NS, &flow, |_| {});
    }
    assert_eq!(decoder.counts().contacts, 100_000);
    assert_eq!(decoder.exporters().count(), 1_024);
    assert_eq!(decoder.templates().into_values().collect::<Vec<_>>(), [1; 1_024]);
    // An exporter and its source, each.
    assert_eq!(counted(&decoder, [Reason::SourceGone]), [2 * (100_000 - 1_024)]);
    assert!(decoder.exporter(source(98_975)).is_none());
    assert!(decoder.exporter(source(98_977)).is_some());
}

#[test]
fn domains_of_one_exporter_are_bounded_too() {
    let mut decoder = decoder();
    for domain in 0..5_000 {
        contacts(&mut decoder, RECEIVED_NS, &v9(0, domain, &[template9(256, &PLAIN)]));
    }
    assert_eq!(counted(&decoder, [Reason::SourceGone]), [5_000 - 1_024]);
    assert_eq!(decoder.templates().into_values().collect::<Vec<_>>(), [1_024]);
}

#[test]
fn the_least_recent_templates_of_a_source_go() {
    let mut decoder = decoder();
    for id in 256..10_256 {
        contacts(&mut decoder, RECEIVED_NS, &v9(0, 0, &[template9(id, &PLAIN)]));
    }
    assert_eq!(counted(&decoder, [Reason::TemplateGone]), [10_000 - 256]);
    let flow = |id| v9(0, 0, &[set(id, &plain("192.0.2.1", "192.0.2.2", 60, 1))]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &flow(10_255)).len(), 1);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &flow(9_999)), []);
}

#[test]
fn templates_of_all_sources_together_are_bounded() {
    let options = DecoderOptions { template_bytes: 1 << 16, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    // 500 fields that matter take more than 4,000 bytes.
    let fields: Vec<Field> = vec![(1, 4); 500];
    for number in 0..100 {
        let message = v9(0, 0, &[template9(256, &fields)]);
        decoder.decode(source(number), RECEIVED_NS, &message, |_| {});
    }
    assert!(decoder.counts().of(Reason::SourceGone) > 80, "{}", decoder.counts());
    assert!(decoder.save().len() < 1 << 16);
}

#[test]
fn a_template_that_changes_all_the_time_takes_the_room_of_one() {
    let options = DecoderOptions { template_bytes: 1 << 16, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    decoder.decode(source(1), RECEIVED_NS, &v9(0, 0, &[template9(256, &PLAIN)]), |_| {});
    for number in 0..1_000 {
        let fields: Vec<Field> = vec![(1, 1 + number % 2); 500];
        decoder.decode(source(2), RECEIVED_NS, &v9(0, 0, &[template9(256, &fields)]), |_| {});
    }
    assert_eq!(counted(&decoder, [Reason::SourceGone, Reason::TemplateGone]), [0, 0]);
}

#[test]
fn templates_of_no_length_yield_nothing_at_once() {
    let mut decoder = decoder();
    let empty: Vec<Field> = vec![(8, 0); 1_000];
    let almost = [&empty[..], &[(4, 1)]].concat();
    let set_of = |id| set(id, &[6; 60_000]);
    let sets = [template9(256, &empty), set_of(256), template9(257, &almost)];
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(0, 0, &sets)), []);
    assert_eq!(counted(&decoder, [Reason::BadTemplate]), [1]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(1, 0, &[set_of(257)])), []);
    assert_eq!(counted(&decoder, [Reason::NoHosts]), [60_000]);
}

#[test]
fn options_out_of_range_are_refused() {
    let options = DecoderOptions { fields: 0, ..DecoderOptions::default() };
    let expected = BadOptions { name: "fields", value: 0, least: 1, most: 16_384 };
    assert_eq!(Decoder::new(options).unwrap_err(), expected);
}
