//! Messages that a test sends itself, in any order.

use std::ops::Range;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream;
use srlg_cli::network::payload::{ViewDelta, delta_bytes, pack};
use srlg_cli::network::subjects::{PART_HEADER, Part, delta};
use srlg_host::{Config, Device, IpPair, SlidingDetector};

use crate::net::{Net, PROBES, VERSION, config};
use crate::network_traffic::seen;

/// A part of a probe's delta.
#[derive(Clone)]
pub struct Message {
    pub probe: usize,
    pub slice: u64,
    pub part: String,
    pub payload: Vec<u8>,
}

/// Returns the messages of `probe` for a slice, in parts of up to `bytes` bytes. The slice is sent under the number
/// `called`.
pub fn of_slice(
    config: Config,
    probe: usize,
    slice: u64,
    called: u64,
    bytes: usize,
) -> Vec<Message> {
    of_pairs(config, probe, called, &seen(probe, slice), bytes)
}

/// Returns the messages of `probe` for a slice with these `pairs`.
pub fn of_pairs(
    config: Config,
    probe: usize,
    called: u64,
    pairs: &[IpPair],
    bytes: usize,
) -> Vec<Message> {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.skip_to(called).unwrap();
    detector.ingest(pairs).unwrap();
    let parts = detector.delta(1).unwrap().into_parts(delta_bytes(bytes)).unwrap();
    let parts = parts.into_iter().map(|part| ViewDelta { view: 0, bytes: part.into() });
    let parts = pack(VERSION, &parts.collect::<Vec<_>>(), bytes);
    let count = parts.len() as u32;
    let message = |(number, payload)| {
        let part = Part { number, count }.to_string();
        Message { probe, slice: called, part, payload }
    };
    (1..).zip(parts).map(message).collect()
}

/// Returns the messages of all probes for `slices`, slice by slice, in parts of up to `bytes` bytes.
pub fn in_parts(slices: Range<u64>, bytes: usize) -> Vec<Message> {
    let of_probes = |slice| {
        (0..PROBES.len()).flat_map(move |probe| of_slice(config(), probe, slice, slice, bytes))
    };
    slices.flat_map(of_probes).collect()
}

/// Returns the messages of all probes for `slices`, with one message per delta.
pub fn whole(slices: Range<u64>) -> Vec<Message> {
    in_parts(slices, 1 << 20)
}

/// Publishes `messages` in order over about one second, so that a test can kill a collector twice in this time.
pub async fn publish_slowly(net: &Net, messages: &[Message]) {
    for some in messages.chunks(messages.len().div_ceil(40)) {
        tokio::time::sleep(Duration::from_millis(25)).await;
        publish(net, some).await;
    }
}

/// Publishes `messages` in order. The messages have no IDs, so the broker does not drop repeated messages.
pub async fn publish(net: &Net, messages: &[Message]) {
    let mut streams = Vec::new();
    for probe in PROBES {
        streams.push(jetstream::new(net.link(probe).await.client));
    }
    for message in messages {
        let mut headers = HeaderMap::new();
        headers.insert(PART_HEADER, message.part.as_str());
        let subject = delta(PROBES[message.probe]);
        let payload = message.payload.clone().into();
        let ack = streams[message.probe].publish_with_headers(subject, headers, payload).await;
        ack.unwrap().await.unwrap();
    }
}
