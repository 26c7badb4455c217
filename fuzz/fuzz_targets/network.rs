//! A fuzz target that reads what the nodes of a network exchange: descriptions, payloads, headers and identities. The
//! first byte selects one of them. Everything that is accepted must be the same after it is written and read again.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use srlg_cli::network::payload::Payload;
use srlg_cli::network::subjects::{Part, delta, probe_of};
use srlg_cli::network::{NetworkVersion, VersionId};
use srlg_input::contact::Sampling;

fuzz_target!(|input: &[u8]| {
    let Some((selector, bytes)) = input.split_first() else { return };
    match (selector % 4, str::from_utf8(bytes)) {
        (0, _) => description(bytes),
        (1, _) => payload(bytes),
        (2, Ok(text)) => names(text),
        (3, Ok(text)) => sampling(text),
        _ => {}
    }
});

fn description(json: &[u8]) {
    let Ok(version) = NetworkVersion::from_json(json, "input") else { return };
    version.network.check().expect("checked before");
    let written = version.to_json().expect("JSON has no limits");
    assert_eq!(NetworkVersion::from_json(&written, "output").expect("as written"), version);
}

fn payload(bytes: &[u8]) {
    let Some(payload) = Payload::unpack(Bytes::copy_from_slice(bytes)) else { return };
    assert_eq!(payload.pack(usize::MAX), [bytes]);
    let parts = payload.pack(64);
    let parts = parts.into_iter().map(|part| Payload::unpack(part.into()).expect("as packed"));
    assert!(parts.flat_map(|part| part.states).eq(payload.states));
}

fn names(text: &str) {
    assert_same::<VersionId>(text);
    assert_same::<Part>(text);
    if let Some(probe) = probe_of(&delta(text)) {
        assert_eq!(probe, text);
    }
}

fn assert_same<T: FromStr<Err: Debug> + Display + Debug + PartialEq>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    assert_eq!(value.to_string().parse::<T>().expect("as written"), value);
}

fn sampling(json: &str) {
    let Ok(sampling) = serde_json::from_str::<Sampling>(json) else { return };
    let written = serde_json::to_string(&sampling).expect("JSON has no limits");
    assert_eq!(serde_json::from_str::<Sampling>(&written).expect("as written"), sampling);
}
