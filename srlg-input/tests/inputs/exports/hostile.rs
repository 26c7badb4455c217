//! Damaged exports: whatever comes, no panic, and no contact of a datagram that is not there.

use std::fs;
use std::time::{Duration, Instant};

use crate::exports::build::RECEIVED_NS;
use crate::exports::{contacts, datagrams, decoder, folder};

/// Payloads of all captures and bare ones, at most 20 of each file.
fn payloads() -> Vec<Vec<u8>> {
    let Some(flows) = folder("flows") else { return Vec::new() };
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

/// Numbers in no order: SplitMix64.
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

/// The payload with a few of its bytes, or of its 16-bit words, changed; cut at times, or continued
/// with another.
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

/// Decodes mutated payloads until `is_over`.
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

/// `SRLG_FUZZ_MINUTES`, 1 without it, of payloads that nobody has seen before.
#[test]
#[ignore = "takes minutes"]
fn payloads_may_be_changed_for_minutes() {
    let minutes = std::env::var("SRLG_FUZZ_MINUTES").map_or(1, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    println!("seed {seed}");
    mutate(seed, |_| Instant::now() > end);
}
