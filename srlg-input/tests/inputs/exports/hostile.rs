//! Tests of the memory limits of a decoder, and of damaged exports, which must not cause a panic or an invented
//! contact.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use srlg_input::flow::{BadOptions, Decoder, DecoderOptions, Reason};
use srlg_traffic::trace::recorded;

use crate::exports::build::{Field, PLAIN, RECEIVED_NS, plain, set, template9, v9};
use crate::exports::{contacts, counted, datagrams, decoder, exporter};

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
        // This exporter sends regularly, so it stays recent.
        decoder.decode(source(0), RECEIVED_NS, &flow, |_| {});
    }
    assert_eq!(decoder.counts().contacts, 100_000);
    assert_eq!(decoder.exporters().count(), 1_024);
    assert_eq!(decoder.templates().into_values().collect::<Vec<_>>(), [1; 1_024]);
    // Each dropped exporter and each dropped source is counted.
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
    assert_eq!(counted(&decoder, [Reason::SourceGone]), [5_000 - 256]);
    assert_eq!(decoder.templates().into_values().collect::<Vec<_>>(), [256]);
    let counts = decoder.exporter(exporter()).unwrap().counts();
    assert_eq!(counts.of(Reason::SourceGone), 5_000 - 256, "its own");
}

/// In this test, the sender of forged exports knows the permitted addresses.
#[test]
fn forged_exporters_do_not_displace_exporters_that_sent_records() {
    let (real, flow) = (source(1), set(256, &plain("192.0.2.1", "192.0.2.2", 60, 1)));
    let large: Vec<Field> = vec![(1, 4); 1_000];
    // The numbers are the first address, the step of the address, and the step of the domain.
    for (name, [first, address, domain], sets) in [
        ("bare heads", [2, 1, 0], vec![]),
        ("bare heads of the exporter itself", [1, 0, 1], vec![]),
        ("made-up templates", [2, 1, 0], vec![template9(256, &PLAIN)]),
        ("data that wait", [2, 1, 0], vec![flow.clone()]),
        ("large templates of one", [2, 0, 1], vec![template9(256, &large)]),
        ("records of one", [2, 0, 1], vec![template9(256, &PLAIN), flow.clone()]),
    ] {
        let mut decoder = decoder();
        let mut contacts = 0;
        let known = v9(0, 0, &[template9(256, &PLAIN), flow.clone()]);
        decoder.decode(real, RECEIVED_NS, &known, |_| contacts += 1);
        for number in 0..5_000 {
            let message = v9(0, number * domain, &sets);
            decoder.decode(source(first + number * address), RECEIVED_NS, &message, |_| {});
        }
        let again = v9(1, 0, std::slice::from_ref(&flow));
        decoder.decode(real, RECEIVED_NS, &again, |_| contacts += 1);
        assert_eq!(contacts, 2, "{name}");
        let counts = decoder.exporter(real).unwrap().counts();
        assert_eq!((counts.records, counts.of(Reason::SourceGone)), (2, 0), "{name}");
        let is_gone = decoder.counts().of(Reason::SourceGone) > 0;
        assert_eq!(is_gone, name != "bare heads of the exporter itself", "{name}");
    }
}

#[test]
fn those_that_use_most_of_a_full_table_lose_their_own() {
    let options = DecoderOptions { sources: 32, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    let flow = set(256, &plain("192.0.2.1", "192.0.2.2", 60, 1));
    let mut hear = |number: u32, domain| {
        let sets = [template9(256, &PLAIN), flow.clone()];
        decoder.decode(source(number), RECEIVED_NS, &v9(0, domain, &sets), |_| {});
    };
    (0..8).for_each(|domain| hear(1, domain));
    (0..32).for_each(|number| hear(2 + number % 2, number / 2));
    (0..16).for_each(|domain| hear(2, domain));
    let of = |number| {
        let gone = decoder.exporter(source(number)).unwrap().counts().of(Reason::SourceGone);
        (decoder.templates()[&(source(number).ip(), 0).into()], gone)
    };
    assert_eq!(of(1), (8, 0));
    assert!([2, 3].iter().all(|greedy| of(*greedy).0 >= 10), "{:?}", [2, 3].map(of));
    assert_eq!(decoder.templates().into_values().sum::<usize>(), 32);
}

#[test]
fn templates_of_a_datagram_that_wait_are_bounded_and_empty_sets_do_not_wait() {
    let options = DecoderOptions { held_bytes: 16 << 20, ..DecoderOptions::default() };
    for (name, content, templates, [held, dropped]) in [
        ("empty sets", &[][..], 16_000, [0, 0]),
        ("a template per set", &[1], 13_000, [64, 13_000 - 64]),
        ("one template", &[1], 1, [13_000, 0]),
    ] {
        let mut decoder = Decoder::new(options).unwrap();
        let sets: Vec<_> =
            (0..13_000).map(|number| set(256 + number % templates, content)).collect();
        contacts(&mut decoder, RECEIVED_NS, &v9(0, 0, &sets));
        assert_eq!(counted(&decoder, [Reason::Held, Reason::Dropped]), [held, dropped], "{name}");
    }
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
    // A template with 500 fields that are used takes more than 4,000 bytes.
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
fn templates_of_length_zero_yield_nothing() {
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

fn payloads() -> Vec<Vec<u8>> {
    let Some(flows) = recorded("flows") else { return Vec::new() };
    let mut all = Vec::new();
    let entries = |folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = [flows.clone(), flows.join("payloads"), flows.join("../captures")];
    let mut paths: Vec<_> = folders.into_iter().flat_map(entries).collect();
    paths.sort();
    for path in paths {
        match path.extension().and_then(|it| it.to_str()) {
            Some("pcap") => all.extend(datagrams(&path).into_iter().take(20).map(|it| it.payload)),
            Some("dat") => all.push(fs::read(&path).unwrap()),
            _ => {}
        }
    }
    assert!(all.len() > 100);
    all
}

#[test]
fn payloads_may_be_cut_at_every_byte() {
    let mut decoder = decoder();
    let mut count = 0;
    for payload in payloads() {
        for length in 0..payload.len() {
            contacts(&mut decoder, RECEIVED_NS, &payload[..length]);
            count += 1;
        }
    }
    assert_eq!(decoder.counts().datagrams, count);
}

/// A generator of pseudorandom numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((number ^ number >> 31) % bound as u64) as usize
    }
}

/// Returns `payload` after changes to a few bytes or 16-bit words. Some results are also truncated, or continued with
/// the end of `other`.
fn mutated(payload: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut payload = payload.to_vec();
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(payload.len());
        match numbers.below(4) {
            0 => payload[at] = numbers.below(256) as u8,
            1 => payload[at] ^= 1 << numbers.below(8),
            2 => payload[at..].iter_mut().take(2).for_each(|byte| *byte = 0xff),
            _ => payload[at..].iter_mut().take(2).for_each(|byte| *byte = 0),
        }
    }
    match numbers.below(8) {
        0 => payload.truncate(1 + numbers.below(payload.len())),
        1 => payload.extend_from_slice(&other[numbers.below(other.len())..]),
        _ => {}
    }
    payload
}

/// Decodes mutated payloads until `is_over` returns true for the number of decoded payloads.
fn mutate(seed: u64, mut is_over: impl FnMut(u64) -> bool) {
    let payloads = payloads();
    if payloads.is_empty() {
        return;
    }
    let (mut numbers, mut decoder, mut count) = (Numbers(seed), decoder(), 0);
    while !is_over(count) {
        let [payload, other] = [0; 2].map(|_| &payloads[numbers.below(payloads.len())]);
        let payload = mutated(payload, other, &mut numbers);
        contacts(&mut decoder, RECEIVED_NS, &payload);
        count += 1;
        let counts = decoder.counts();
        assert_eq!(counts.datagrams, count);
        assert!(counts.contacts <= 2 * counts.records, "a record has two directions");
    }
    println!("seed {seed}: {}", decoder.counts());
}

#[test]
fn payloads_may_be_changed_anywhere() {
    (0..4).for_each(|seed| mutate(seed, |count| count == 50_000));
}

/// Decodes mutated payloads for `SRLG_FUZZ_MINUTES` minutes (by default 1). Each run has a new seed.
#[test]
#[ignore = "takes minutes"]
fn payloads_may_be_changed_for_minutes() {
    let minutes = std::env::var("SRLG_FUZZ_MINUTES").map_or(1, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    println!("seed {seed}");
    mutate(seed, |_| Instant::now() > end);
}
