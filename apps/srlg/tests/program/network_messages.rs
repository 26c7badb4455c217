//! Messages of probes that a test makes itself, in any order.

use std::ops::Range;

use async_nats::HeaderMap;
use srlg_cli::network::payload::{Payload, ViewState, state_bytes};
use srlg_cli::network::subjects::{PART_HEADER, Part};
use srlg_host::{Config, Device, Ipv4Pair, SlidingDetector};

use super::network_traffic::{PROBES, VERSION, seen, sizes};

/// A part of a probe's delta.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) probe: usize,
    pub(crate) part: String,
    pub(crate) payload: Vec<u8>,
}

impl Message {
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(PART_HEADER, self.part.as_str());
        headers
    }
}

/// Returns the messages of `probe` for a slice, in parts of up to `bytes` bytes. The slice is sent under the number
/// `called`.
pub(crate) fn of_slice(
    config: Config,
    probe: usize,
    slice: u64,
    called: u64,
    bytes: usize,
) -> Vec<Message> {
    of_pairs(config, probe, called, &seen(probe, slice), bytes)
}

/// Returns the messages of `probe` for a slice with these `pairs`.
pub(crate) fn of_pairs(
    config: Config,
    probe: usize,
    called: u64,
    pairs: &[Ipv4Pair],
    bytes: usize,
) -> Vec<Message> {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(called).unwrap();
    detector.ingest(pairs).unwrap();
    let parts = detector.delta(1).unwrap().into_parts(state_bytes(bytes)).unwrap();
    let states = parts.into_iter().map(|part| ViewState { view: 0, bytes: part.into() }).collect();
    let parts = Payload { version: VERSION, slice: called, states }.pack(bytes);
    let count = parts.len() as u32;
    let message = |(number, payload)| {
        let part = Part { number, count }.to_string();
        Message { probe, part, payload }
    };
    (1..).zip(parts).map(message).collect()
}

/// Returns the messages of all probes for `slices`, slice by slice, in parts of up to `bytes` bytes.
pub(crate) fn in_parts(slices: Range<u64>, bytes: usize) -> Vec<Message> {
    let of_probes = |slice| {
        (0..PROBES.len()).flat_map(move |probe| of_slice(sizes(), probe, slice, slice, bytes))
    };
    slices.flat_map(of_probes).collect()
}

/// Returns the messages of all probes for `slices`, with one message per delta.
pub(crate) fn whole(slices: Range<u64>) -> Vec<Message> {
    in_parts(slices, 1 << 20)
}
