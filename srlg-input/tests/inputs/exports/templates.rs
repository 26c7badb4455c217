//! Tests of templates: arrival, scope, removal and saved state.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use srlg_input::flow::{BadState, Decoder, DecoderOptions, Reason};

use crate::exports::build::{
    EXPORT_S, PLAIN, RECEIVED_NS, SECOND, UPTIME_MS, ipfix, options9, options10, plain, set,
    template9, template10, v9, v9_at,
};
use crate::exports::{contacts, counted, decoder, exporter};

fn data(id: u16) -> Vec<u8> {
    set(id, &plain("192.0.2.1", "192.0.2.2", 60, 1))
}

#[test]
fn data_wait_for_their_template() {
    let mut decoder = decoder();
    let early = v9(0, 0, &[data(256), data(257)]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &early), []);
    let other = v9(1, 1, &[template9(256, &PLAIN)]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &other), [], "a template of another domain");
    let late_ns = RECEIVED_NS + 30 * SECOND;
    let template = v9_at(UPTIME_MS + 30_000, EXPORT_S + 30, 1, 0, &[template9(256, &PLAIN)]);
    let found = contacts(&mut decoder, late_ns, &template);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].time_ns, RECEIVED_NS, "of the datagram that brought the data");
    assert_eq!(contacts(&mut decoder, late_ns, &template), [], "once");
    assert_eq!(counted(&decoder, [Reason::Held, Reason::Dropped]), [2, 0]);
}

/// A FortiGate sends a set per record, and templates with every 20th datagram.
#[test]
fn sets_of_one_record_all_wait_for_their_template() {
    let mut decoder = decoder();
    for number in 0..20 {
        let data = |host| set(258, &plain(&format!("10.0.{number}.{host}"), "192.0.2.2", 60, 1));
        let sets: Vec<_> = (0..16).map(data).collect();
        assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(number, 0, &sets)), []);
    }
    let template = v9(20, 0, &[template9(258, &PLAIN)]);
    let found = contacts(&mut decoder, RECEIVED_NS, &template);
    assert_eq!(counted(&decoder, [Reason::Held, Reason::Dropped]), [320, 0]);
    let hosts: Vec<_> = found.iter().map(|contact| contact.source.to_string()).collect();
    let sent = (0..20).flat_map(|number| (0..16).map(move |host| format!("10.0.{number}.{host}")));
    assert_eq!(hosts, sent.collect::<Vec<_>>());
}

#[test]
fn templates_belong_to_an_address_and_not_to_a_port() {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    let found = |by_port, second| {
        let options = DecoderOptions { by_port, ..DecoderOptions::default() };
        let mut decoder = Decoder::new(options).unwrap();
        let mut found = 0;
        for (exporter, set) in [("192.0.2.1:1", template9(256, &PLAIN)), (second, data(256))] {
            decoder.decode(address(exporter), RECEIVED_NS, &v9(0, 0, &[set]), |_| found += 1);
        }
        found
    };
    assert_eq!(found(false, "192.0.2.1:1"), 1);
    assert_eq!(found(false, "192.0.2.1:2"), 1);
    assert_eq!(found(false, "[::ffff:192.0.2.1]:2"), 1, "the same address");
    assert_eq!(found(false, "192.0.2.2:1"), 0);
    assert_eq!(found(true, "192.0.2.1:1"), 1);
    assert_eq!(found(true, "192.0.2.1:2"), 0);
}

#[test]
fn versions_have_templates_of_their_own() {
    let mut decoder = decoder();
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(0, 0, &[template9(256, &PLAIN)])), []);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &ipfix(0, 0, &[data(256)])), []);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(1, 0, &[data(256)])).len(), 1);
    let embedded = ipfix(0, 1, &[template9(256, &PLAIN), data(256)]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &embedded).len(), 1, "one of v9 in IPFIX");
}

#[test]
fn a_template_may_be_another_than_before() {
    let mut decoder = decoder();
    let swapped = [PLAIN[1], PLAIN[0], PLAIN[2], PLAIN[3]];
    let mut source = |sets: &[Vec<u8>]| {
        contacts(&mut decoder, RECEIVED_NS, &v9(0, 0, sets))[0].source.to_string()
    };
    assert_eq!(source(&[template9(256, &PLAIN), data(256)]), "192.0.2.1");
    assert_eq!(source(&[template9(256, &swapped), data(256)]), "192.0.2.2");
    assert_eq!(source(&[data(256)]), "192.0.2.2");
    let options = v9(0, 0, &[options9(256, &PLAIN), set(256, &[0; 20]), data(256)]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &options), []);
    assert_eq!(counted(&decoder, [Reason::Options]), [1]);
}

#[test]
fn withdrawn_templates_are_removed() {
    let mut decoder = decoder();
    let mut found =
        |sets: &[Vec<u8>]| contacts(&mut decoder, RECEIVED_NS, &ipfix(0, 0, sets)).len();
    assert_eq!(found(&[template10(256, &PLAIN), data(256)]), 1);
    assert_eq!(found(&[set(2, &[1, 0, 0, 0]), data(256)]), 0);
    assert_eq!(found(&[template10(256, &PLAIN), template10(257, &PLAIN)]), 1, "which waited");
    assert_eq!(found(&[set(3, &[0, 3, 0, 0]), data(256)]), 1, "only options are withdrawn");
    assert_eq!(found(&[set(2, &[0, 2, 0, 0]), data(256), data(257)]), 0);
}

#[test]
fn a_set_without_contacts_is_reported_with_its_template() {
    let mut decoder = decoder();
    let short = [template9(256, &PLAIN), set(256, &[1; 15])];
    for _ in 0..2 {
        assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(0, 7, &short)), []);
    }
    let padding = [template9(256, &PLAIN), set(256, &[1; 3])];
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v9(0, 7, &padding)), []);
    assert_eq!(counted(&decoder, [Reason::Undecodable]), [2]);
    let known = decoder.exporter(exporter()).unwrap();
    let [found] = known.undecodable() else { panic!("{:?}", known.undecodable()) };
    assert_eq!((found.domain, found.template, found.sets), (7, 256, 2));
    assert_eq!(known.counts(), decoder.counts());
}

#[test]
fn forged_templates_do_not_hide_a_set_without_contacts() {
    let mut decoder = decoder();
    for id in 300..400 {
        let sets = [template9(id, &PLAIN), set(id, &[1; 15])];
        contacts(&mut decoder, RECEIVED_NS, &v9(0, 7, &sets));
        let known = decoder.exporter(exporter()).unwrap().undecodable();
        assert_eq!(known.last().map(|it| it.template), Some(id));
        assert!(known.len() <= 16);
    }
}

#[test]
fn an_empty_string_hides_no_record() {
    let fields = [PLAIN[0], PLAIN[1], (82, 65_535), PLAIN[3]];
    let record = |name: &[u8]| {
        [&[192, 0, 2, 1, 192, 0, 2, 2, name.len() as u8][..], name, &[0, 0, 0, 1]].concat()
    };
    let records = [record(b""), record(b"eth0"), record(b"")].concat();
    let message = ipfix(0, 0, &[template10(256, &fields), set(256, &records)]);
    assert_eq!(contacts(&mut decoder(), RECEIVED_NS, &message).len(), 3);
}

#[test]
fn a_wrong_length_is_reported_even_after_valid_records() {
    let fields = [PLAIN[0], PLAIN[1], (82, 65_535), PLAIN[3]];
    let record = |length: u8| [&[192, 0, 2, 1, 192, 0, 2, 2, length][..], &[0, 0, 0, 1]].concat();
    let lying = set(256, &[record(0), record(200), record(0)].concat());
    let whole = set(256, &[record(0), vec![0; 3]].concat());
    let mut decoder = decoder();
    let message = ipfix(0, 0, &[template10(256, &fields), lying, whole]);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &message).len(), 2);
    assert_eq!(counted(&decoder, [Reason::Malformed, Reason::Undecodable]), [1, 0]);
}

#[test]
fn a_damaged_set_does_not_spoil_those_before_it() {
    let mut decoder = decoder();
    let mut message = v9(0, 0, &[template9(256, &PLAIN), data(256), data(256)]);
    message.pop();
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &message).len(), 1);
    let mut lying = v9(1, 0, &[data(256), vec![1, 0, 0, 3]]);
    lying.extend(data(256));
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &lying).len(), 1);
    assert_eq!(counted(&decoder, [Reason::Cut, Reason::Malformed]), [1, 1]);
}

#[test]
fn truncation_and_wrong_lengths_have_their_own_reasons() {
    let message = ipfix(0, 0, &[template10(256, &PLAIN), data(256), data(256)]);
    let stating = |length: u16| {
        let mut message = message.clone();
        message[2..4].copy_from_slice(&length.to_be_bytes());
        message
    };
    let length = message.len() as u16;
    let lying = ipfix(0, 0, &[template10(256, &PLAIN), data(256), vec![1, 0, 0, 90]]);
    for (name, payload, contacts_in_it, counts) in [
        ("whole", message.clone(), 2, [0, 0]),
        ("bytes after the message", [&message[..], &[1]].concat(), 2, [0, 0]),
        ("truncated in a set", message[..message.len() - 1].to_vec(), 1, [1, 0]),
        ("truncated between sets", stating(length + 20), 2, [1, 0]),
        ("truncated in the header", message[..15].to_vec(), 0, [1, 0]),
        ("message shorter than its sets", stating(length - 1), 1, [0, 1]),
        ("message shorter than its header", stating(15), 0, [0, 1]),
        ("set beyond the message", lying, 1, [0, 1]),
    ] {
        let mut decoder = decoder();
        assert_eq!(contacts(&mut decoder, RECEIVED_NS, &payload).len(), contacts_in_it, "{name}");
        assert_eq!(counted(&decoder, [Reason::Cut, Reason::Malformed]), counts, "{name}");
    }
}

/// Returns a decoder that has templates and a sampling rate for NetFlow v9 and for IPFIX.
fn known() -> Decoder {
    let mut decoder = decoder();
    let option = [0, 0, 0, 0, 0, 0, 0, 10];
    for message in [
        v9(0, 3, &[template9(256, &PLAIN), options9(300, &[(34, 4)]), set(300, &option)]),
        ipfix(0, 3, &[template10(256, &PLAIN), template10(257, &PLAIN)]),
        ipfix(0, 3, &[options10(301, &[(302, 4), (34, 4)]), set(301, &option)]),
    ] {
        assert_eq!(contacts(&mut decoder, RECEIVED_NS, &message), []);
    }
    decoder
}

#[test]
fn data_decode_without_new_templates() {
    let mut loaded = decoder();
    loaded.load(&known().save()).unwrap();
    let found = contacts(&mut loaded, RECEIVED_NS, &v9(1, 3, &[data(256)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sampling, NonZeroU32::new(10));
    let found = contacts(&mut loaded, RECEIVED_NS, &ipfix(1, 3, &[data(256), data(257)]));
    assert_eq!(found.len(), 2);
    let options = set(301, &[0, 0, 0, 1, 0, 0, 0, 20]);
    assert_eq!(contacts(&mut loaded, RECEIVED_NS, &ipfix(2, 3, &[options])), []);
    assert_eq!(counted(&loaded, [Reason::Options, Reason::Held]), [1, 0]);
    let other = v9(1, 4, &[data(256)]);
    assert_eq!(contacts(&mut loaded, RECEIVED_NS, &other), [], "of another domain");
}

#[test]
fn what_is_loaded_is_saved_alike() {
    let saved = known().save();
    let mut loaded = decoder();
    loaded.load(&saved).unwrap();
    assert_eq!(loaded.save(), saved);
    loaded.load(&saved).unwrap();
    assert_eq!(loaded.save(), saved, "once more");
    let empty = decoder().save();
    assert_eq!(decoder().load(&empty), Ok(()));
}

#[test]
fn damaged_bytes_are_refused_without_side_effects() {
    let saved = known().save();
    let mut loaded = decoder();
    for length in 0..saved.len() {
        assert!(loaded.load(&saved[..length]).is_err(), "{length}");
    }
    for at in 0..saved.len() {
        let mut changed = saved.clone();
        changed[at] ^= 0x10;
        let found = loaded.load(&changed);
        let expected = if at < 8 {
            matches!(found, Err(BadState::Magic))
        } else {
            matches!(found, Err(BadState::Checksum { .. }))
        };
        assert!(expected, "{at}: {found:?}");
    }
    assert_eq!(loaded.save(), decoder().save());
}

#[test]
fn what_is_loaded_is_within_the_bounds_of_who_loads_it() {
    let options = DecoderOptions { templates: 1, ..DecoderOptions::default() };
    let mut loaded = Decoder::new(options).unwrap();
    loaded.load(&known().save()).unwrap();
    let sets = [data(256), data(257)];
    assert_eq!(
        contacts(&mut loaded, RECEIVED_NS, &ipfix(1, 3, &sets)),
        [],
        "the last is of options"
    );
    assert_eq!(contacts(&mut loaded, RECEIVED_NS, &v9(1, 3, &[data(256)])), []);
}
