//! Bytes of version 1 are read by every later version. docs/format.md describes them.

use std::path::PathBuf;

use srlg::{Config, Delta, Device, Error, IpPair, SlidingDetector, Snapshot};

use crate::small;

/// A seed that is no default.
const SEED: u64 = 0x5eed;

fn tagged() -> Config {
    Config { seed: SEED, ..small::tagged() }
}

fn paper() -> Config {
    Config { seed: SEED, ..small::paper() }
}

/// A detector in slice 6, which saw some `contacts` in each slice from 3 on, and some of them a
/// slice late.
fn seen(config: Config, contacts: u32) -> SlidingDetector {
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    for slice in 3..=6 {
        detector.skip_to(slice.into()).unwrap();
        let pair = |n: u32| IpPair { aip: n % 7, bip: n.wrapping_mul(0x9e37_79b9) ^ slice };
        let pairs: Vec<IpPair> = (0..contacts).map(pair).collect();
        let (late, now) = pairs.split_at(pairs.len() / 3);
        detector.ingest(now).unwrap();
        detector.ingest_late(late, 1).unwrap();
    }
    detector
}

/// The same two silent slices later: no recorder of it is of age 0.
fn aged(mut detector: SlidingDetector) -> SlidingDetector {
    detector.skip_to(8).unwrap();
    detector
}

/// A file of version 1, the detector that it is of, and how many slices, if it is a delta.
fn golden() -> Vec<(&'static str, SlidingDetector, Option<u32>)> {
    vec![
        ("tagged-snapshot", seen(tagged(), 2000), None),
        ("tagged-snapshot-aged", aged(seen(tagged(), 2000)), None),
        ("tagged-delta-dense", seen(tagged(), 2000), Some(2)),
        ("tagged-delta-sparse", seen(tagged(), 20), Some(1)),
        ("tagged-delta-empty", seen(tagged(), 0), Some(1)),
        ("paper-snapshot-aged", aged(seen(paper(), 2000)), None),
        ("paper-snapshot", seen(paper(), 2000), None),
        ("paper-delta-dense", seen(paper(), 2000), Some(2)),
        ("paper-delta-sparse", seen(paper(), 20), Some(1)),
    ]
}

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "golden", "v1", &format!("{name}.srlg")].iter().collect()
}

fn bytes_of(detector: &mut SlidingDetector, slices: Option<u32>) -> Vec<u8> {
    match slices {
        None => {
            let snapshot = detector.snapshot().unwrap();
            snapshot.with_attachment(b"kept with it".to_vec()).to_bytes().unwrap()
        }
        Some(slices) => detector.take_delta(slices).unwrap().to_bytes().unwrap(),
    }
}

// Contents and not bytes: versions of zstd may compress otherwise.
#[test]
fn files_of_version_1_hold_what_equal_detectors_hold() {
    for (name, mut detector, slices) in golden() {
        let bytes = std::fs::read(path(name)).unwrap();
        let params = *detector.params();
        match slices {
            None => {
                let expected = detector.snapshot().unwrap().with_attachment(b"kept with it".into());
                assert!(Snapshot::from_bytes(&bytes, &params).unwrap() == expected, "{name}");
            }
            Some(slices) => {
                let expected = detector.take_delta(slices).unwrap();
                assert_eq!(expected.recorders() == 0, name.ends_with("empty"));
                assert!(Delta::from_bytes(&bytes, &params).unwrap() == expected, "{name}");
            }
        }
    }
}

/// Writes files that are not there yet: `cargo test --test behaviour format -- --ignored`. One that is there
/// stays, as it is what version 1 was.
#[test]
#[ignore = "writes the files that the other tests read"]
fn write_golden_files() {
    for (name, mut detector, slices) in golden() {
        if !path(name).exists() {
            std::fs::write(path(name), bytes_of(&mut detector, slices)).unwrap();
        }
    }
}

fn number(bytes: &[u8], offset: usize, len: usize) -> u64 {
    (0..len).rev().fold(0, |sum, byte| sum << 8 | u64::from(bytes[offset + byte]))
}

/// CRC-32 of Ethernet, bit by bit.
fn crc(bytes: &[u8]) -> u64 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    (!bytes.iter().fold(u32::MAX, byte)).into()
}

// Offsets are those of docs/format.md.
#[test]
fn headers_are_as_they_are_documented() {
    assert_eq!(crc(b"123456789"), 0xcbf4_3926, "the check value of CRC-32");
    for (name, mut detector, slices) in golden() {
        let params = *detector.params();
        for bytes in [std::fs::read(path(name)).unwrap(), bytes_of(&mut detector, slices)] {
            assert_eq!(&bytes[..4], b"SRLG");
            let of = |offset, len| number(&bytes, offset, len);
            let kind = if slices.is_none() { 1 } else { 2 };
            assert_eq!((of(4, 2), of(6, 1), of(7, 1)), (1, kind, 0), "{name}");
            assert_eq!(
                (of(8, 8), of(16, 8)),
                (params.sizes_fingerprint(), params.seed_fingerprint())
            );
            assert_eq!(
                (of(24, 8), of(32, 4), of(36, 4)),
                (detector.slice(), slices.unwrap_or(0).into(), 0)
            );
            let (sizes, attachment) = if slices.is_none() { (72, 12) } else { (0, 0) };
            assert_eq!(
                (of(56, 8), of(48, 8)),
                (attachment, bytes.len() as u64 - 68 - sizes - attachment)
            );
            assert_eq!(of(bytes.len() - 4, 4), crc(&bytes[..bytes.len() - 4]));
            if slices.is_none() {
                let (window, tags) = (params.window().into(), params.counter_sizes().tags.into());
                assert_eq!((of(64, 4), of(68, 4), of(64 + 13 * 4, 4)), (32, window, tags));
                assert_eq!(&bytes[bytes.len() - 16..bytes.len() - 4], b"kept with it");
            }
        }
    }
}

#[test]
fn later_version_is_told_apart_from_a_damaged_number() {
    for (name, detector, slices) in golden() {
        let mut bytes = std::fs::read(path(name)).unwrap();
        let read = |bytes: &[u8]| match slices {
            None => Snapshot::from_bytes(bytes, detector.params()).map(drop).unwrap_err(),
            Some(_) => Delta::from_bytes(bytes, detector.params()).map(drop).unwrap_err(),
        };
        for (version, is_later) in [(0, false), (2, true), (0x4001, true)] {
            bytes[4..6].copy_from_slice(&u16::to_le_bytes(version));
            assert!(matches!(read(&bytes), Error::Format(_)), "{name} {version}: damaged");
            let end = bytes.len() - 4;
            let sum = crc(&bytes[..end]) as u32;
            bytes[end..].copy_from_slice(&sum.to_le_bytes());
            let error = read(&bytes);
            let found = matches!(error, Error::Version { theirs, newest: 1 } if theirs == version);
            assert_eq!(found, is_later, "{name} {version}: {error}");
        }
    }
}

/// The recorders of a section and its words, and what follows it; by docs/format.md alone.
fn section(bytes: &[u8]) -> (Vec<(u64, u64)>, &[u8]) {
    let of = |offset, len| number(bytes, offset, len);
    let (n, first, p) = (of(0, 4) as usize, of(4, 4), of(8, 4) as usize);
    let (split, shift, layout, planes) = (of(12, 2), of(14, 2), of(16, 1), of(17, 1));
    let (places, mut rest) = bytes[20..].split_at(p);
    let mut recorders = Vec::new();
    if layout == 1 {
        let is_set = |bit: &u64| places[*bit as usize / 8] >> (bit % 8) & 1 == 1;
        recorders.extend((0..8 * p as u64).filter(is_set).map(|bit| first / 8 * 8 + bit));
    } else if n > 0 {
        recorders.push(first);
        for gap in places.split_inclusive(|byte| byte & 0x80 == 0) {
            let gap = gap.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
            recorders.push(recorders[recorders.len() - 1] + 1 + gap);
        }
    }
    let mut plane = |bit: u64| {
        let (bytes, behind) = rest.split_at(if planes & bit == 0 { 0 } else { n });
        rest = behind;
        (0..n).map(|at| bytes.get(at).map_or(0, |&byte| byte.into())).collect::<Vec<u64>>()
    };
    let (low, high) = (plane(1), plane(2));
    let words = low.iter().zip(high).map(|(low, high)| low + 256 * high);
    let words = words.map(|word| if word < split { word } else { word + shift });
    assert_eq!(recorders.len(), n);
    (recorders.into_iter().zip(words).collect(), rest)
}

#[test]
fn bodies_are_as_they_are_documented() {
    let mut layouts = [0; 2];
    for (name, mut detector, slices) in golden() {
        let params = *detector.params();
        for bytes in [std::fs::read(path(name)).unwrap(), bytes_of(&mut detector, slices)] {
            let start = if slices.is_none() { 136 } else { 64 };
            let frame = &bytes[start..start + number(&bytes, 48, 8) as usize];
            let body = zstd::bulk::decompress(frame, number(&bytes, 40, 8) as usize).unwrap();
            let (rough, rest) = section(&body);
            let (linear, end) = section(rest);
            assert_eq!((body.len(), end.len()), (number(&bytes, 40, 8) as usize, 0), "{name}");
            layouts[usize::from(body[16])] += rough.len();
            layouts[usize::from(rest[16])] += linear.len();
            // Slices 2 to 6 were touched, and a delta has the last ones.
            let is_aged = name.ends_with("aged");
            assert!(rough.iter().all(|&(_, age)| (age >= 2) == is_aged), "{name}");
            assert!(linear.iter().all(|&(at, _)| at < params.arrays()[1].recorders as u64));
            let most = slices.map_or(detector.slice() - 1, u64::from);
            let age = |word: u64| word / u64::from(params.counter_sizes().tags);
            let is_recent = |word| {
                age(word) < most
                    || (8..8 + most).contains(&age(word)) && params.counter().tagged().is_some()
            };
            assert!(linear.iter().all(|&(_, word)| is_recent(word)), "{name}");
            assert!(rough.iter().all(|&(_, age)| age < most), "{name}");
            assert!(linear.windows(2).all(|pair| pair[0].0 < pair[1].0));
            if let Some(slices) = slices {
                let count = detector.take_delta(slices).unwrap().recorders();
                assert_eq!(rough.len() + linear.len(), count, "{name}");
            }
        }
    }
    assert!(layouts.iter().all(|&recorders| recorders > 500), "both layouts: {layouts:?}");
}
