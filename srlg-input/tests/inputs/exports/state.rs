//! What a decoder saves, another loads.

use std::num::NonZeroU32;

use srlg_input::flow::{BadState, Decoder, DecoderOptions, Reason};

use crate::exports::build::{
    PLAIN, RECEIVED_NS, ipfix, options9, options10, plain, set, template9, template10, v9,
};
use crate::exports::{contacts, counted, decoder};

/// A decoder that knows two templates and a rate of either version.
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
    let flow = |id| set(id, &plain("192.0.2.1", "192.0.2.2", 60, 1));
    let found = contacts(&mut loaded, RECEIVED_NS, &v9(1, 3, &[flow(256)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sampling, NonZeroU32::new(10));
    let found = contacts(&mut loaded, RECEIVED_NS, &ipfix(1, 3, &[flow(256), flow(257)]));
    assert_eq!(found.len(), 2);
    let options = set(301, &[0, 0, 0, 1, 0, 0, 0, 20]);
    assert_eq!(contacts(&mut loaded, RECEIVED_NS, &ipfix(2, 3, &[options])), []);
    assert_eq!(counted(&loaded, [Reason::Options, Reason::Held]), [1, 0]);
    let other = v9(1, 4, &[flow(256)]);
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
fn damaged_bytes_are_refused_and_nothing_is_taken_of_them() {
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
    let flow = |id| set(id, &plain("192.0.2.1", "192.0.2.2", 60, 1));
    let sets = [flow(256), flow(257)];
    assert_eq!(
        contacts(&mut loaded, RECEIVED_NS, &ipfix(1, 3, &sets)),
        [],
        "the last is of options"
    );
    assert_eq!(contacts(&mut loaded, RECEIVED_NS, &v9(1, 3, &[flow(256)])), []);
}
