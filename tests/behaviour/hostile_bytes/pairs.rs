//! Tests that read arbitrary bytes as pairs.

use std::net::{IpAddr, Ipv4Addr};

use srlg::ingest::PairBatch;
use srlg::state::{FormatError, SlicePairs};
use srlg::{Error, SlidingDetector};

use super::{filled, with_body};

const MOST_PAIRS: usize = 4_000;

/// Returns the maximum number of bytes that reading at most `pairs` pairs may allocate, according to docs/format.md.
fn most(pairs: usize) -> u64 {
    65 * pairs as u64 + (64 << 10)
}

/// Reads `bytes` as pairs, and merges them if they are valid. Returns whether `bytes` is valid.
pub(super) fn take(detector: &SlidingDetector, bytes: &[u8]) -> bool {
    let mut pairs = None;
    let read = || pairs = Some(SlicePairs::from_bytes(bytes, MOST_PAIRS));
    let (allocated, most) = (allocation_counter::measure(read).bytes_total, most(MOST_PAIRS));
    assert!(allocated <= most, "pairs: {allocated} of {most} bytes");
    let Some(Ok(pairs)) = pairs else { return false };
    assert!(pairs.len() <= MOST_PAIRS);
    let written = pairs.to_bytes().unwrap();
    assert_eq!(SlicePairs::from_bytes(&written, pairs.len()).unwrap(), pairs);
    match detector.merge_pairs(&pairs) {
        Ok(()) | Err(Error::FromFuture { .. } | Error::OlderThanWindow { .. }) => {}
        Err(Error::Ipv6InPaper) if detector.params().counter().tagged().is_none() => {}
        Err(error) => panic!("{error}"),
    }
    true
}

fn ip4(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(number).into()
}

fn ip6(number: u32) -> IpAddr {
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, number as u16].into()
}

/// Returns the pairs of slice 0 with this number of IPv4 contacts, at most 3000, and a quarter as many IPv6 contacts.
pub(super) fn original(contacts: u32) -> SlicePairs {
    let mut batch = PairBatch::new();
    batch.extend((0..contacts).map(|number| (ip4(number % 9), ip4(number))));
    (0..contacts / 4).for_each(|number| batch.push((ip6(number % 5), ip6(number))));
    SlicePairs::new(&batch, 0).unwrap()
}

// A pair takes most memory if it consists of IPv6 addresses and its host has no other pair.
#[test]
fn pairs_of_hosts_with_one_peer_take_all_the_memory_that_is_stated() {
    let mut batch = PairBatch::new();
    (0..20_000).for_each(|number| batch.push((ip6(number), ip6(number))));
    let bytes = SlicePairs::new(&batch, 0).unwrap().to_bytes().unwrap();
    let mut pairs = None;
    let read = || pairs = Some(SlicePairs::from_bytes(&bytes, 20_000));
    let allocated = allocation_counter::measure(read).bytes_total;
    assert!((65 * 20_000..=most(20_000)).contains(&allocated), "{allocated} bytes");
    assert_eq!(pairs.unwrap().unwrap().len(), 20_000);
}

/// Returns one part of a body that claims to have these numbers of hosts and pairs. `rest` follows the numbers.
fn part(hosts: u32, pairs: u32, rest: &[u8]) -> Vec<u8> {
    [&hosts.to_le_bytes(), &pairs.to_le_bytes(), rest].concat()
}

/// Returns pairs with the given parts of the body.
fn forged(v4: &[u8], v6: &[u8]) -> Vec<u8> {
    let bytes = original(4).to_bytes().unwrap();
    with_body(&bytes, 64, |body| *body = [v4, v6].concat())
}

/// Reads `bytes` as at most two pairs. Asserts that damaged pairs do not take more memory than is stated.
fn read(bytes: &[u8]) -> Result<SlicePairs, FormatError> {
    let mut pairs = None;
    let allocated = allocation_counter::measure(|| pairs = Some(SlicePairs::from_bytes(bytes, 2)));
    assert!(allocated.bytes_total <= most(2), "{} bytes", allocated.bytes_total);
    pairs.unwrap().map_err(|error| match error {
        Error::Format(error) => error,
        error => panic!("an error of the format is expected: {error}"),
    })
}

#[test]
fn more_pairs_than_the_reader_allows_are_refused_by_name() {
    let is_too_many =
        |bytes: &[u8]| matches!(read(bytes), Err(FormatError::TooManyPairs { most: 2, .. }));
    assert_eq!(read(&original(2).to_bytes().unwrap()).map(|pairs| pairs.len()), Ok(2));
    assert!(is_too_many(&original(3).to_bytes().unwrap()));
    let (none, one) = (part(0, 0, &[]), part(1, 1, &[1, 7, 0, 0, 10, 9, 0, 0, 10]));
    for pairs in [3, 1 << 24, u32::MAX] {
        for rest in [&[][..], &[3; 40]] {
            assert!(is_too_many(&forged(&part(1, pairs, rest), &none)));
            assert!(is_too_many(&forged(&none, &part(1, pairs, rest))));
        }
    }
    // Pairs of both families count.
    assert!(is_too_many(&forged(&one, &part(1, 2, &[2; 49]))));
    // A body of two pairs has at most 82 bytes.
    assert!(is_too_many(&forged(&[0; 83], &[])));
    let mut bomb = original(0).to_bytes().unwrap();
    bomb[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    super::fix_up(&mut bomb);
    assert!(is_too_many(&bomb));
    let mut batch = PairBatch::new();
    batch.push((ip4(0), ip4(1)));
    let pairs = SlicePairs::new(&batch, 0).unwrap().to_bytes().unwrap();
    assert!(matches!(
        SlicePairs::from_bytes(&pairs, 0),
        Err(Error::Format(FormatError::TooManyPairs { most: 0, .. }))
    ));
    assert!(SlicePairs::from_bytes(&pairs, usize::MAX).is_ok());
}

#[test]
fn lying_numbers_and_addresses_are_refused() {
    let none = part(0, 0, &[]);
    let (host, peers) = ([7, 0, 0, 10], [1, 2, 0, 0, 0, 0, 10, 0]);
    let two = |count: &[u8], host: &[u8], peers: &[u8]| part(1, 2, &[count, host, peers].concat());
    let valid = two(&[2], &host, &peers);
    assert_eq!(read(&forged(&valid, &none)).map(|pairs| pairs.len()), Ok(2));
    let largest = [0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0];
    let mapped = |low: u8| [low, 0, 0, 10, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (v4, v6) in [
        // The body ends within the numbers, the counts, the hosts or the peers.
        (vec![], vec![]),
        (valid.clone(), vec![]),
        (valid.clone(), vec![0; 7]),
        (part(1, 2, &[]), vec![]),
        (part(1, 2, &[2, 7, 0, 0]), vec![]),
        (two(&[2], &host, &peers[..7]), vec![]),
        // The body has one more byte.
        (valid.clone(), vec![0; 9]),
        // The counts do not add up, are 0, or are not LEB128.
        (two(&[1], &host, &peers), none.clone()),
        (two(&[3], &host, &peers), none.clone()),
        (two(&[0], &host, &peers), none.clone()),
        (two(&[0xff; 5], &host, &peers), none.clone()),
        (part(2, 2, &[&[2, 0][..], &[0; 16]].concat()), none.clone()),
        (part(0, 2, &[0; 8]), none.clone()),
        (part(u32::MAX, 2, &[1; 40]), none.clone()),
        // The second peer or the second host exceeds the largest address.
        (two(&[2], &host, &largest), none.clone()),
        (part(2, 2, &[&[1, 1][..], &largest, &peers].concat()), none.clone()),
        // A pair of two IPv4 addresses is not in the first part.
        (none.clone(), part(1, 1, &[&[1][..], &mapped(7), &mapped(9)].concat())),
    ] {
        let result = read(&forged(&v4, &v6));
        let is_refused = matches!(result, Err(FormatError::Contents { .. }));
        assert!(is_refused, "{v4:?} {v6:?}: {result:?}");
    }
}

#[test]
fn every_bit_of_pairs_is_protected() {
    let (detector, bytes) = (filled(true, 10), original(40).to_bytes().unwrap());
    assert!(take(&detector, &bytes));
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(!take(&detector, &damaged), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(!take(&detector, &bytes[..len]), "{len} bytes");
    }
}
