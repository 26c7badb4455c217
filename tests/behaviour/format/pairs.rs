//! Tests of the golden files of pairs.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use srlg::Error;
use srlg::ingest::PairBatch;
use srlg::state::{Delta, FormatError, SlicePairs};

use super::golden::{path, seen, tagged};
use super::{correct_crc, crc, leb128, number};

const SLICE: u64 = 6_000_000_007;

/// Returns contacts of both families, in no order. Some occur twice, and some hosts have more than 127 peers.
fn contacts() -> Vec<[IpAddr; 2]> {
    let random = |number: u32| number.wrapping_mul(0x9e37_79b9);
    let ip4 = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number));
    let ip6 = |low: u32| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, low as u16]);
    let of_number = |number: u32| {
        let (inside, peer) = (random(number) % 5, random(number) >> 8);
        match number % 4 {
            0 => [ip6(inside), ip6(peer)],
            1 if number < 30 => [ip4(inside), ip6(peer)],
            1 if number < 60 => [ip6(inside), ip4(peer)],
            _ => [ip4(inside * inside), ip4(peer)],
        }
    };
    (0..1_000).map(|number| of_number(number % 900)).collect()
}

fn slice_pairs(contacts: &[[IpAddr; 2]]) -> SlicePairs {
    let mut batch = PairBatch::new();
    batch.extend(contacts.iter().map(|&[inside, peer]| (inside, peer)));
    SlicePairs::new(&batch, SLICE).unwrap()
}

/// Returns the names and the contents of the golden files of pairs.
pub(super) fn golden() -> [(&'static str, SlicePairs); 2] {
    [("pairs", slice_pairs(&contacts())), ("pairs-empty", slice_pairs(&[]))]
}

#[test]
fn files_of_pairs_hold_the_pairs_of_equal_contacts() {
    for (name, expected) in golden() {
        let bytes = std::fs::read(path(name)).unwrap();
        assert_eq!(expected.is_empty(), name.ends_with("empty"));
        assert_eq!(SlicePairs::from_bytes(&bytes, 1_000).unwrap(), expected, "{name}");
    }
}

/// Reads one part of the body of pairs as docs/format.md describes it. Its addresses have `width` bytes. Returns the
/// pairs, and the bytes after the part.
fn part(body: &[u8], width: usize) -> (Vec<[u128; 2]>, &[u8]) {
    let (h, n) = (number(body, 0, 4) as usize, number(body, 4, 4) as usize);
    let counts: Vec<&[u8]> = body[8..].split_inclusive(|byte| byte & 0x80 == 0).take(h).collect();
    let hosts = &body[8 + counts.iter().map(|count| count.len()).sum::<usize>()..];
    let (hosts, peers) = hosts.split_at(h * width);
    let (peers, rest) = peers.split_at(n * width);
    let stored = |planes: &[u8], len: usize, at: usize| {
        (0..width).rev().fold(0, |sum, plane| sum << 8 | u128::from(planes[plane * len + at]))
    };
    let (mut pairs, mut host) = (Vec::new(), None);
    for (index, count) in counts.iter().enumerate() {
        let inside = stored(hosts, h, index) + host.map_or(0, |before: u128| before + 1);
        let mut peer = None;
        for _ in 0..leb128(count) {
            let next = stored(peers, n, pairs.len()) + peer.map_or(0, |before: u128| before + 1);
            pairs.push([inside, next]);
            peer = Some(next);
        }
        host = Some(inside);
    }
    assert_eq!(pairs.len(), n);
    (pairs, rest)
}

#[test]
fn pairs_are_as_they_are_documented() {
    for (name, pairs) in golden() {
        let contacts = if name.ends_with("empty") { Vec::new() } else { contacts() };
        let is_v4 = |pair: &[IpAddr; 2]| pair.iter().all(IpAddr::is_ipv4);
        let (v4, v6): (Vec<_>, Vec<_>) = contacts.into_iter().partition(is_v4);
        let bits = |host| match host {
            IpAddr::V4(host) => u128::from(host.to_bits()),
            IpAddr::V6(host) => host.to_bits(),
        };
        let mapped = |host| match host {
            IpAddr::V4(host) => host.to_ipv6_mapped().to_bits(),
            IpAddr::V6(host) => host.to_bits(),
        };
        let v4: BTreeSet<[u128; 2]> = v4.into_iter().map(|pair| pair.map(bits)).collect();
        let v6: BTreeSet<[u128; 2]> = v6.into_iter().map(|pair| pair.map(mapped)).collect();
        assert_eq!(v4.len() + v6.len(), pairs.len());
        // The number of pairs of a host can take two bytes.
        let of_host = v4.iter().filter(|[inside, _]| *inside == 1).count();
        assert!(pairs.is_empty() || of_host > 127, "{of_host} pairs of a host");
        for bytes in [std::fs::read(path(name)).unwrap(), pairs.to_bytes().unwrap()] {
            let of = |offset, len| number(&bytes, offset, len);
            assert_eq!(&bytes[..4], b"SRLG");
            assert_eq!((of(4, 2), of(6, 1), of(7, 1)), (3, 3, 0), "{name}");
            assert_eq!((of(8, 8), of(16, 8), of(24, 8)), (0, 0, SLICE), "{name}");
            assert_eq!((of(32, 4), of(36, 4), of(56, 8)), (1, 0, 0), "{name}");
            assert_eq!(of(48, 8), bytes.len() as u64 - 68, "{name}");
            assert_eq!(of(bytes.len() - 4, 4), crc(&bytes[..bytes.len() - 4]));
            let (frame, body) = (&bytes[64..bytes.len() - 4], of(40, 8) as usize);
            let body = zstd::bulk::decompress(frame, body).unwrap();
            assert_eq!(body.len() as u64, of(40, 8));
            let (first, rest) = part(&body, 4);
            let (second, end) = part(rest, 16);
            assert!(end.is_empty(), "{name}");
            assert!(first.into_iter().eq(v4.iter().copied()), "{name}: the pairs of IPv4");
            assert!(second.into_iter().eq(v6.iter().copied()), "{name}: the other pairs");
        }
    }
}

#[test]
fn fields_that_pairs_do_not_have_are_refused() {
    let bytes = std::fs::read(path("pairs")).unwrap();
    let refused = |bytes: &[u8]| {
        let error = SlicePairs::from_bytes(bytes, 1_000).unwrap_err();
        assert!(matches!(error, Error::Format(FormatError::Contents { .. })), "{error}");
    };
    // Byte 7, both fingerprints, the number of slices and the reserved field.
    for (offset, value) in [(7, 1), (8, 1), (15, 9), (16, 1), (23, 9), (32, 0), (32, 2), (36, 1)] {
        let mut bytes = bytes.clone();
        bytes[offset] = value;
        correct_crc(&mut bytes);
        refused(&bytes);
    }
    let mut attached = [&bytes[..bytes.len() - 4], b"more", &[0; 4]].concat();
    attached[56] = 4;
    correct_crc(&mut attached);
    refused(&attached);
}

#[test]
fn pairs_and_deltas_are_distinguished_by_their_kind() {
    let mut detector = seen(tagged(), 20);
    let delta = detector.delta(1).unwrap().to_bytes().unwrap();
    let pairs = std::fs::read(path("pairs")).unwrap();
    let errors = [
        SlicePairs::from_bytes(&delta, 1_000).unwrap_err(),
        Delta::from_bytes(&pairs, detector.params()).unwrap_err(),
    ];
    for (error, [found, expected]) in errors.into_iter().zip([[2, 3], [3, 2]]) {
        let Error::Format(error) = error else { panic!("the kind is not read: {error}") };
        let FormatError::Kind { found: is, expected: should_be, .. } = error else { panic!() };
        assert_eq!([is, should_be], [found, expected]);
    }
}
