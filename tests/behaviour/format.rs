//! Tests that bytes of format version 3, which docs/format.md describes, can still be read.

mod golden;
mod pairs;

use std::net::{IpAddr, Ipv6Addr};

use srlg::state::{Delta, SlicePairs, Snapshot, StateHeader, StateKind};
use srlg::{Device, Error, SlidingDetector};

use golden::{SEED, bytes_of, golden, path, seen, tagged};

// The test compares contents and not bytes, because versions of zstd may compress differently.
#[test]
fn files_of_version_3_hold_what_equal_detectors_hold() {
    for (name, mut detector, slices) in golden() {
        let bytes = std::fs::read(path(name)).unwrap();
        let params = *detector.params();
        let header = StateHeader::read(&bytes).unwrap();
        assert_eq!((header.slice, header.slices), (detector.slice(), slices.unwrap_or(0)));
        match slices {
            None => {
                assert_eq!(header.kind, StateKind::Snapshot);
                let config = Snapshot::config(&bytes, SEED).unwrap();
                let mut restored = SlidingDetector::new(config, Device::Cpu).unwrap();
                let snapshot = Snapshot::from_bytes(&bytes, restored.params()).unwrap();
                restored.restore(&snapshot).unwrap();
                assert!(restored.snapshot().unwrap() == detector.snapshot().unwrap(), "{name}");
                let other = Snapshot::config(&bytes, SEED + 1);
                assert!(matches!(other, Err(Error::OtherSeed { .. })));
                let expected = detector.snapshot().unwrap().with_attachment(b"kept with it".into());
                assert!(Snapshot::from_bytes(&bytes, &params).unwrap() == expected, "{name}");
            }
            Some(slices) => {
                assert_eq!(header.kind, StateKind::Delta);
                assert!(Snapshot::config(&bytes, 0).is_err());
                let expected = detector.delta(slices).unwrap();
                assert_eq!(expected.recorders() == 0, name.ends_with("empty"));
                assert!(Delta::from_bytes(&bytes, &params).unwrap() == expected, "{name}");
            }
        }
    }
}

/// Writes missing golden files if it is run with `cargo test --test behaviour format -- --ignored`. Existing files are
/// not changed, because they define version 3.
#[test]
#[ignore = "writes the files that the other tests read"]
fn write_golden_files() {
    for (name, mut detector, slices) in golden() {
        if !path(name).exists() {
            std::fs::write(path(name), bytes_of(&mut detector, slices)).unwrap();
        }
    }
    for (name, pairs) in pairs::golden() {
        if !path(name).exists() {
            std::fs::write(path(name), pairs.to_bytes().unwrap()).unwrap();
        }
    }
}

fn number(bytes: &[u8], offset: usize, len: usize) -> u64 {
    (0..len).rev().fold(0, |sum, byte| sum << 8 | u64::from(bytes[offset + byte]))
}

/// Returns the CRC-32 checksum of `bytes` with the Ethernet polynomial, computed bit by bit.
fn crc(bytes: &[u8]) -> u64 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    (!bytes.iter().fold(u32::MAX, byte)).into()
}

fn correct_crc(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc(&bytes[..end]) as u32;
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

// The offsets come from docs/format.md.
#[test]
fn headers_are_as_they_are_documented() {
    assert_eq!(crc(b"123456789"), 0xcbf4_3926, "the check value of CRC-32");
    for (name, mut detector, slices) in golden() {
        let params = *detector.params();
        for bytes in [std::fs::read(path(name)).unwrap(), bytes_of(&mut detector, slices)] {
            assert_eq!(&bytes[..4], b"SRLG");
            let of = |offset, len| number(&bytes, offset, len);
            let kind = if slices.is_none() { 1 } else { 2 };
            assert_eq!((of(4, 2), of(6, 1), of(7, 1)), (3, kind, 0), "{name}");
            assert_eq!(
                (of(8, 8), of(16, 8)),
                (params.sizes_fingerprint(), params.seed_fingerprint())
            );
            assert_eq!(
                (of(24, 8), of(32, 4), of(36, 4)),
                (detector.slice(), slices.unwrap_or(0).into(), 0)
            );
            let (sizes, attachment) = if slices.is_none() { (80, 12) } else { (0, 0) };
            assert_eq!(
                (of(56, 8), of(48, 8)),
                (attachment, bytes.len() as u64 - 68 - sizes - attachment)
            );
            assert_eq!(of(bytes.len() - 4, 4), crc(&bytes[..bytes.len() - 4]));
            if slices.is_none() {
                let (window, tags) = (params.window().into(), params.counter_sizes().tags.into());
                let is_tagged = u64::from(params.counter().tagged().is_some());
                let size = |number: usize| of(64 + number * 4, 4);
                let threshold = params.threshold().into();
                assert_eq!((size(0), size(2)), (is_tagged, threshold));
                assert_eq!((size(3), size(16)), (window, tags));
                assert_eq!(&bytes[bytes.len() - 16..bytes.len() - 4], b"kept with it");
            }
        }
    }
}

#[test]
fn other_versions_are_distinguished_from_a_damaged_number() {
    for (name, detector, slices) in golden() {
        let params = detector.params();
        assert_versions_are_distinguished(name, |bytes| match slices {
            None => Snapshot::from_bytes(bytes, params).map(drop).unwrap_err(),
            Some(_) => Delta::from_bytes(bytes, params).map(drop).unwrap_err(),
        });
    }
    for (name, _) in pairs::golden() {
        assert_versions_are_distinguished(name, |bytes| {
            SlicePairs::from_bytes(bytes, 1_000).map(drop).unwrap_err()
        });
    }
}

/// Asserts that `read` returns the right error for other versions of the golden file `name`.
fn assert_versions_are_distinguished(name: &str, read: impl Fn(&[u8]) -> Error) {
    let mut bytes = std::fs::read(path(name)).unwrap();
    for version in [0, 1, 2, 4, 0x4001] {
        bytes[4..6].copy_from_slice(&u16::to_le_bytes(version));
        assert!(matches!(read(&bytes), Error::Format(_)), "{name} {version}: damaged");
        correct_crc(&mut bytes);
        let error = read(&bytes);
        let is_right = match version {
            0 => matches!(error, Error::Format(_)),
            1 | 2 => {
                matches!(error, Error::FormerVersion { theirs, oldest: 3, .. } if theirs == version)
            }
            _ => matches!(error, Error::Version { theirs, newest: 3, .. } if theirs == version),
        };
        assert!(is_right, "{name} {version}: {error}");
    }
}

/// Reads the shares as docs/format.md describes them. Returns the numbers of both columns, and the bytes after the shares.
fn shares(bytes: &[u8]) -> (Vec<(u64, u64)>, &[u8]) {
    let end = (0..).step_by(5).find(|&at| bytes[at] == 255).unwrap();
    let entry = |entry: &[u8]| (1 << entry[0], number(entry, 1, 4));
    (bytes[..end].chunks(5).map(entry).collect(), &bytes[end + 1..])
}

fn leb128(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
}

/// Reads a section as docs/format.md describes it. Returns the index and the word of each recorder, and the bytes after
/// the section.
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
            recorders.push(recorders[recorders.len() - 1] + 1 + leb128(gap));
        }
    }
    let mut plane = |bit: u64| {
        let (bytes, behind) = rest.split_at(if planes & bit == 0 { 0 } else { n });
        rest = behind;
        (0..n).map(|at| bytes.get(at).map_or(0, |&byte| byte.into())).collect::<Vec<u64>>()
    };
    let planes: Vec<Vec<u64>> = (0..8).map(|byte| plane(1 << byte)).collect();
    let word = |at: usize| planes.iter().rev().fold(0, |word, plane| word << 8 | plane[at]);
    let words = (0..n).map(word).map(|word| if word < split { word } else { word + shift });
    assert_eq!(recorders.len(), n);
    (recorders.into_iter().zip(words).collect(), rest)
}

/// Reads the hosts that follow both sections of a snapshot, as docs/format.md describes them.
fn hosts(bytes: &[u8]) -> Vec<Ipv6Addr> {
    let count = number(bytes, 0, 4) as usize;
    assert_eq!(bytes.len(), 4 + 16 * count);
    let host = |bytes: &[u8]| Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap());
    bytes[4..].chunks(16).map(host).collect()
}

/// Returns the super points that the golden file `name` must contain, in ascending order of their addresses.
fn reported_hosts(name: &str) -> Vec<Ipv6Addr> {
    if !name.ends_with("reported") {
        return Vec::new();
    }
    let report = seen(tagged(), 2000).close_slice().unwrap();
    let points = report.super_points.iter();
    let mapped = |host: IpAddr| match host {
        IpAddr::V4(host) => host.to_ipv6_mapped(),
        IpAddr::V6(host) => host,
    };
    let mut hosts: Vec<Ipv6Addr> = points.map(|point| mapped(point.host)).collect();
    assert!(hosts.len() >= 5, "{hosts:?}");
    hosts.sort_unstable();
    hosts
}

#[test]
fn bodies_are_as_they_are_documented() {
    let mut layouts = [0; 2];
    for (name, mut detector, slices) in golden() {
        let params = *detector.params();
        for bytes in [std::fs::read(path(name)).unwrap(), bytes_of(&mut detector, slices)] {
            let start = if slices.is_none() { 144 } else { 64 };
            let frame = &bytes[start..start + number(&bytes, 48, 8) as usize];
            let body = zstd::bulk::decompress(frame, number(&bytes, 40, 8) as usize).unwrap();
            let (shares, sections) = shares(&body);
            match name.ends_with("shares") {
                true => assert_eq!(shares, [(2, 2), (4, 2)], "{name}"),
                false => assert_eq!(shares, [(1, detector.slice() + 1)], "{name}"),
            }
            let (rough, rest) = section(sections);
            let (linear, end) = section(rest);
            assert_eq!(body.len(), number(&bytes, 40, 8) as usize, "{name}");
            match slices {
                None => assert_eq!(hosts(end), reported_hosts(name), "{name}"),
                Some(_) => assert!(end.is_empty(), "{name}"),
            }
            layouts[usize::from(sections[16])] += rough.len();
            layouts[usize::from(rest[16])] += linear.len();
            // Slices 2 to 6 were touched, and a delta contains the last ones.
            let rough: Vec<u64> =
                rough.iter().map(|&(_, word)| word / params.finder().age_step()).collect();
            let least = detector.slice() - 6;
            assert!(rough.iter().all(|&age| age >= least), "{name}");
            assert!(linear.iter().all(|&(at, _)| at < params.arrays()[1].recorders as u64));
            let most = slices.map_or(detector.slice() - 1, u64::from);
            let age = |word: u64| word / u64::from(params.counter_sizes().tags);
            let is_recent = |word| {
                age(word) < most
                    || (8..8 + most).contains(&age(word)) && params.counter().tagged().is_some()
            };
            assert!(linear.iter().all(|&(_, word)| is_recent(word)), "{name}");
            assert!(rough.iter().all(|&age| age < most), "{name}");
            assert!(linear.windows(2).all(|pair| pair[0].0 < pair[1].0));
            if let Some(slices) = slices {
                let count = detector.delta(slices).unwrap().recorders();
                assert_eq!(rough.len() + linear.len(), count, "{name}");
            }
        }
    }
    assert!(layouts.iter().all(|&recorders| recorders > 500), "both layouts: {layouts:?}");
}
