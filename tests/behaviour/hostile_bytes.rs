//! Tests that read arbitrary bytes as a snapshot, a delta or pairs, and merge valid ones. Reading must return an error
//! or the encoded state, and must not use more memory than docs/format.md allows.

mod pairs;

use proptest::prelude::*;
use srlg::config::MOST_CANDIDATES;
use srlg::state::{Delta, Snapshot};
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector};

use crate::small;

fn filled(is_tagged: bool, contacts: u32) -> SlidingDetector {
    let config = if is_tagged { small::tagged() } else { small::paper() };
    // The candidate limit is small so that the hosts of a report take only a small part of the allowed memory.
    let config = Config { candidate_limit: 100, ..config };
    let detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    let pairs: Vec<Ipv4Pair> =
        (0..contacts).map(|peer| Ipv4Pair { inside: peer % 9, peer }).collect();
    detector.ingest(&pairs).unwrap();
    detector
}

#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    /// Overwrites an integer. The fields are the offset, the new value and the length in bytes.
    Number(usize, u64, usize),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let number = prop_oneof![Just(u64::MAX), Just(u64::MAX >> 1), 0u64..1000, any::<u64>()];
    let place = prop_oneof![0usize..64, 64usize..144];
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (place, number, prop::sample::select(vec![1, 2, 4, 8]))
            .prop_map(|(at, number, len)| Damage::Number(at, number, len)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        any::<prop::sample::Index>().prop_map(Damage::Repeat),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    match damage {
        Damage::Set(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Damage::Number(at, number, len) => {
            let behind = bytes.iter_mut().skip(*at).take(*len);
            behind.zip(number.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        }
        Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Repeat(at) => {
            let again = bytes[at.index(bytes.len())..].to_vec();
            bytes.extend(again);
        }
    }
}

/// Corrects the checksum at the end of `bytes`.
pub(crate) fn fix_up(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(4) {
        let sum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Applies `change` to the body and wraps the result in a valid envelope.
pub(crate) fn with_body(bytes: &[u8], start: usize, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let compress = |body: &mut Vec<u8>| {
        change(body);
        zstd::bulk::compress(body, 1).unwrap()
    };
    with_frame(bytes, start, compress)
}

/// Compresses the body with `compress`, which may change the body first, and wraps the frame in a valid envelope.
fn with_frame(
    bytes: &[u8],
    start: usize,
    compress: impl FnOnce(&mut Vec<u8>) -> Vec<u8>,
) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (body, frame) = (number(40), number(48));
    let mut body = zstd::bulk::decompress(&bytes[start..start + frame], body).unwrap();
    let compressed = compress(&mut body);
    let mut forged = [&bytes[..start], &compressed, &bytes[start + frame..]].concat();
    forged[40..48].copy_from_slice(&(body.len() as u64).to_le_bytes());
    forged[48..56].copy_from_slice(&(compressed.len() as u64).to_le_bytes());
    fix_up(&mut forged);
    forged
}

/// Returns the maximum number of bytes that reading a delta may allocate, according to docs/format.md.
fn most(detector: &SlidingDetector) -> u64 {
    let params = detector.params();
    let [rough, linear] = params.arrays().map(|shape| shape.recorders as u64);
    40 + rough.div_ceil(8) + linear.div_ceil(8) + word_bytes(detector) + (64 << 10)
}

fn word_bytes(detector: &SlidingDetector) -> u64 {
    let params = detector.params();
    params.recorder_bytes() as u64
}

/// Reads `bytes` as a delta, as a snapshot and as pairs, and merges the result if it is valid. Returns whether `bytes`
/// is valid as one of them. Asserts that no more memory is allocated than docs/format.md allows.
fn take(detector: &mut SlidingDetector, bytes: &[u8]) -> bool {
    let (params, most) = (*detector.params(), most(detector));
    let mut said = pairs::take(detector, bytes);
    let mut delta = None;
    let allocated = allocation_counter::measure(|| delta = Some(Delta::from_bytes(bytes, &params)));
    assert!(allocated.bytes_total <= most, "a delta: {} of {most} bytes", allocated.bytes_total);
    if let Some(Ok(delta)) = delta {
        said = true;
        let allocated = allocation_counter::measure(|| match detector.merge_delta(&delta) {
            Ok(()) | Err(Error::FromFuture { .. } | Error::OlderThanWindow { .. }) => {}
            Err(error) => panic!("{error}"),
        });
        assert!(allocated.bytes_total < 64 << 10);
        assert!(delta.into_parts(200).is_ok_and(|parts| !parts.is_empty()));
    }
    // Each host of a report takes 16 bytes in the body and up to 17 in memory.
    let kept = 4 + (16 + 17) * u64::from(MOST_CANDIDATES);
    let most = most + word_bytes(detector) + bytes.len() as u64 + kept;
    let mut snapshot = None;
    let read = || snapshot = Some(Snapshot::from_bytes(bytes, &params));
    let allocated = allocation_counter::measure(read);
    assert!(allocated.bytes_total <= most, "a snapshot: {} of {most}", allocated.bytes_total);
    if let Some(Ok(snapshot)) = snapshot {
        said = true;
        detector.restore(&snapshot).unwrap();
        detector.merge_snapshot(&snapshot).unwrap();
        detector.cardinality([10, 0, 0, 1].into()).unwrap();
        match detector.close_slice() {
            Ok(_) | Err(Error::LastSlice { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    said
}

/// Returns the bytes of a delta, of a snapshot and of pairs, each with the offset of its compressed frame.
fn originals(is_tagged: bool, contacts: u32) -> [(Vec<u8>, usize); 3] {
    let mut detector = filled(is_tagged, contacts);
    let delta = detector.delta(1).unwrap();
    // The snapshot includes the hosts of its report.
    detector.close_slice().unwrap();
    let snapshot = detector.snapshot().unwrap().with_attachment(vec![7; 30]);
    let pairs = pairs::original(contacts).to_bytes().unwrap();
    [(delta.to_bytes().unwrap(), 64), (snapshot.to_bytes().unwrap(), 144), (pairs, 64)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damaged_bytes_are_refused_and_forged_ones_take_no_more_than_is_stated(
        is_tagged: bool,
        contacts in prop_oneof![Just(0u32), 1u32..3000],
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let mut detector = filled(is_tagged, 100);
        for (bytes, start) in originals(is_tagged, contacts) {
            let mut damaged = bytes.clone();
            damages.iter().for_each(|damage| apply(&mut damaged, damage));
            let changed = damaged != bytes;
            prop_assert_eq!(take(&mut detector, &damaged), !changed, "the checksum finds it");
            fix_up(&mut damaged);
            take(&mut detector, &damaged);
            let damage_all = |body: &mut Vec<u8>| damages.iter().for_each(|damage| apply(body, damage));
            take(&mut detector, &with_body(&bytes, start, damage_all));
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(!take(&mut filled(true, 1), &bytes));
    }

    #[test]
    fn random_bodies_take_no_more_than_is_stated(
        is_tagged: bool,
        body in prop::collection::vec(prop_oneof![3 => 0u8..3, 1 => any::<u8>()], 0..400),
    ) {
        let mut detector = filled(is_tagged, 1);
        for (bytes, start) in originals(is_tagged, 50) {
            take(&mut detector, &with_body(&bytes, start, |old| old.clone_from(&body)));
        }
    }
}

#[test]
fn detector_that_is_restored_at_the_end_of_time_stays_there() {
    let mut detector = filled(true, 10);
    let [_, (mut bytes, _), _] = originals(true, 10);
    bytes[24..32].fill(0xff);
    fix_up(&mut bytes);
    detector.restore(&Snapshot::from_bytes(&bytes, detector.params()).unwrap()).unwrap();
    for _ in 0..2 {
        let error = detector.close_slice().unwrap_err();
        assert!(matches!(error, Error::LastSlice { running: u64::MAX, .. }), "{error}");
    }
    assert_eq!(detector.slice(), u64::MAX);
}

// Decoders of zstd differ in how they treat several frames.
#[test]
fn body_of_two_frames_is_refused() {
    let mut detector = filled(true, 10);
    for (bytes, start) in originals(true, 10) {
        let forged = with_frame(&bytes, start, |body| {
            let halves = body.chunks(body.len() / 2 + 1);
            let frames = halves.map(|half| zstd::bulk::compress(half, 1).unwrap());
            let frames: Vec<_> = frames.collect();
            assert_eq!(frames.len(), 2);
            frames.concat()
        });
        assert!(!take(&mut detector, &forged));
    }
}

// The inputs are a few bytes that claim to be gigabytes.
#[test]
fn bombs_are_refused_before_memory_is_asked_for() {
    let mut detector = filled(true, 10);
    for (bytes, start) in originals(true, 10) {
        for claimed in [1u64 << 20, 1 << 33, u64::MAX] {
            let mut bomb = bytes.clone();
            bomb[40..48].copy_from_slice(&claimed.to_le_bytes());
            fix_up(&mut bomb);
            assert!(!take(&mut detector, &bomb));
        }
        // 64 MiB of zeros compress to a few kilobytes, and the length in the header is wrong.
        let mut bomb = with_body(&bytes, start, |body| *body = vec![0; 64 << 20]);
        assert!(bomb.len() < 16 << 10);
        assert!(!take(&mut detector, &bomb));
        bomb[40..48].copy_from_slice(&1000u64.to_le_bytes());
        fix_up(&mut bomb);
        assert!(!take(&mut detector, &bomb));
    }
}
