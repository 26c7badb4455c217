//! Messages that no probe sends in this order: repeated, shuffled, late, of another time, broken.

use async_nats::HeaderMap;
use async_nats::jetstream;
use srlg_host::{Config, Delta, Device, SlidingDetector};

use crate::collecting::Collector;
use crate::input::Random;
use crate::net::{Net, PROBES, config, run};
use crate::network_traffic::{OneNode, seen};

const SLICES: std::ops::Range<u64> = 7000..7030;

/// A delta of a probe.
#[derive(Clone)]
struct Message {
    probe: usize,
    slice: u64,
    payload: Vec<u8>,
}

/// What `probe` of a network with this configuration sends.
fn deltas(config: Config, probe: usize) -> Vec<Message> {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    let delta = |slice| {
        detector.skip_to(slice).unwrap();
        detector.ingest(&seen(probe, slice)).unwrap();
        let payload = detector.take_delta(1).unwrap().to_bytes().unwrap();
        Message { probe, slice, payload }
    };
    SLICES.map(delta).collect()
}

/// What all probes send, slice by slice.
fn all_deltas() -> Vec<Message> {
    let mut all: Vec<_> = (0..3).flat_map(|probe| deltas(config(), probe)).collect();
    all.sort_by_key(|message| (message.slice, message.probe));
    all
}

/// Publishes in this order. Names are new each time: the broker drops no repetition.
async fn publish(net: &Net, messages: &[Message]) {
    let mut streams = Vec::new();
    for probe in PROBES {
        streams.push(jetstream::new(net.link(probe).await.client));
    }
    for message in messages {
        let mut headers = HeaderMap::new();
        headers.insert("Srlg-Part", "1/1");
        let subject = format!("srlg.delta.{}", PROBES[message.probe]);
        let payload = message.payload.clone().into();
        let ack = streams[message.probe].publish_with_headers(subject, headers, payload).await;
        ack.unwrap().await.unwrap();
    }
}

/// Runs a collector over these messages; it has to say the same as one node with all traffic.
fn assert_is_one_node(messages: &[Message]) {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let mut collector = Collector::start(&net, &[]);
    run(publish(&net, messages));
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn repeated_and_shuffled_deltas_make_no_difference() {
    let (mut random, mut messages) = (Random(5), Vec::new());
    for message in all_deltas() {
        (0..=random.below(3)).for_each(|_| messages.push(message.clone()));
    }
    // Each message up to thirty places from where it was; the very first slice tells where to begin.
    let first = messages.iter().take_while(|message| message.slice == SLICES.start).count();
    for start in (first..messages.len()).step_by(30) {
        let end = messages.len().min(start + 30);
        for at in (start + 1..end).rev() {
            messages.swap(at, start + random.below((at - start + 1) as u64) as usize);
        }
    }
    assert_is_one_node(&messages);
}

#[test]
fn messages_that_are_broken_or_of_another_network_make_no_difference() {
    let other_seed = deltas(Config { seed: 8, ..config() }, 0);
    let other_sizes = deltas(Config { linear_width: 2048, ..config() }, 1);
    let mut messages = Vec::new();
    for (index, message) in all_deltas().into_iter().enumerate() {
        let mut broken = message.clone();
        let at = index * 7 % broken.payload.len();
        broken.payload[at] ^= 1 << (index % 8);
        let mut cut = message.clone();
        cut.payload.truncate(index * 5 % message.payload.len());
        let slice = (message.slice - SLICES.start) as usize;
        messages.extend([broken, cut, other_seed[slice].clone(), other_sizes[slice].clone()]);
        messages.push(message);
    }
    assert_is_one_node(&messages);
}

#[test]
fn a_late_delta_counts_in_its_own_slice_from_then_on() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let mut collector = Collector::start(&net, &["--deadline", "300ms"]);
    let (late, rest): (Vec<_>, Vec<_>) =
        all_deltas().into_iter().partition(|message| (message.probe, message.slice) == (2, 7010));
    let (before, after) = rest.split_at(rest.len() - 3);
    run(publish(&net, before));
    collector.wait_for_slice(SLICES.end - 2);
    run(publish(&net, &late));
    run(publish(&net, after));
    collector.wait_for_slice(SLICES.end - 1);
    let reports = collector.reports();
    let of_slice = reports.iter().find(|report| report["slice"] == 7010).unwrap();
    assert_eq!(of_slice["closed"], "deadline");
    assert_eq!(of_slice["delivered"], serde_json::json!(["a", "b"]));
    collector.assert_last_is(&net, &OneNode::of(&[0, 1, 2], SLICES));
}

#[test]
fn a_probe_whose_clock_is_far_ahead_neither_moves_nor_stops_the_others() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let mut collector = Collector::start(&net, &["--deadline", "300ms", "--max-skew", "15"]);
    // What `c` sees, it calls slices of a thousand later.
    let ahead = |message: Message| {
        if message.probe < 2 {
            return message;
        }
        let mut detector = SlidingDetector::new(config(), Device::Cpu).unwrap();
        detector.skip_to(message.slice + 1000).unwrap();
        detector.ingest(&seen(2, message.slice)).unwrap();
        let payload = detector.take_delta(1).unwrap().to_bytes().unwrap();
        assert_eq!(
            Delta::from_bytes(&payload, detector.params()).unwrap().slice(),
            message.slice + 1000
        );
        Message { payload, slice: message.slice + 1000, ..message }
    };
    let messages: Vec<_> = all_deltas().into_iter().map(ahead).collect();
    run(publish(&net, &messages));
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_last_is(&net, &OneNode::of(&[0, 1], SLICES));
}
