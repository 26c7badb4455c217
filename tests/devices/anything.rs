//! Tests of arbitrary operations on a detector, in any order and with any limits.

use std::net::{IpAddr, Ipv6Addr};

use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use srlg::config::{HashFamily, Scheme};
use srlg::ingest::Pair;
use srlg::{Config, Device, Error, IpPair, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::ip;

use crate::device::detector;
use crate::feed::{assert_equal_recorders, pinned};
use crate::traffic::{limited, small, small_odd, small_paper};

on_every_device!(anything_in_any_order);

/// Addresses that are adjacent, extreme, or different only in their high bits.
const HOSTS: [u32; 8] = [0, 1, u32::MAX, 0x0a00_0001, 0x0b00_0001, 0xc0a8_0101, 0x8000_0000, 7];

/// A way to ingest pairs into the detector under test. The reference ingests one pair at a time.
#[derive(Clone, Copy, Debug)]
enum Way {
    Batch,
    Pinned,
    Snapshot,
    Delta,
}

/// Contacts, each with the index of its host in [`HOSTS`] and the number of its peer. If the flag is set, hosts with an
/// odd index are IPv6.
type Contacts = (Vec<(usize, u32)>, bool);

#[derive(Clone, Debug)]
enum Event {
    Pairs { contacts: Contacts, way: Way },
    Late { contacts: Contacts, slices: u32 },
    Query { host: usize, window: u32 },
    Peers { host: usize },
    Close,
    Skip { slices: u64 },
}

fn contacts() -> impl Strategy<Value = Contacts> {
    (prop::collection::vec((0..HOSTS.len(), 0u32..300), 0..260), any::<bool>())
}

/// Returns the host with the index `place` in [`HOSTS`]. If the index is odd, the host is IPv6.
fn any_host(place: usize) -> IpAddr {
    match place % 2 {
        0 => ip(HOSTS[place]),
        _ => Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(HOSTS[place])).into(),
    }
}

fn short(contacts: &[(usize, u32)]) -> Vec<Ipv4Pair> {
    contacts.iter().map(|&(host, peer)| Ipv4Pair { inside: HOSTS[host], peer }).collect()
}

fn long(contacts: &[(usize, u32)]) -> Vec<IpPair> {
    let address = |peer: u32| match peer % 3 {
        0 => Ipv6Addr::from_bits(0x2001_0db8_0001 << 80 | u128::from(peer)).into(),
        _ => ip(peer),
    };
    contacts.iter().map(|&(host, peer)| IpPair::new(any_host(host), address(peer))).collect()
}

/// Runs `$work` with the pairs of `$contacts`. If the flag of `$contacts` is set and the scheme supports IPv6, these
/// pairs are `IpPair`s.
macro_rules! of_type {
    (($config:expr, $contacts:expr), |$pairs:ident| $work:expr) => {
        match $contacts {
            (contacts, true) if matches!($config.scheme, Scheme::Tagged { .. }) => {
                let $pairs = &long(contacts);
                $work
            }
            (contacts, _) => {
                let $pairs = &short(contacts);
                $work
            }
        }
    };
}

fn event() -> impl Strategy<Value = Event> {
    let ways = [Way::Batch, Way::Pinned, Way::Snapshot, Way::Delta];
    let way = prop::sample::select(ways.to_vec());
    let host = 0..HOSTS.len();
    prop_oneof![
        4 => (contacts(), way).prop_map(|(contacts, way)| Event::Pairs { contacts, way }),
        1 => (contacts(), 0u32..7).prop_map(|(contacts, slices)| Event::Late { contacts, slices }),
        1 => (host.clone(), 1u32..5).prop_map(|(host, window)| Event::Query { host, window }),
        1 => host.prop_map(|host| Event::Peers { host }),
        3 => Just(Event::Close),
        1 => (0u64..6).prop_map(|slices| Event::Skip { slices }),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let limit = || prop::sample::select(vec![2u32, 5, 1 << 14]);
    let sizes = prop::sample::select(vec![small(), small_paper(), small_odd()]);
    let hash = prop::sample::select(vec![HashFamily::Murmur, HashFamily::HalfSip13]);
    (sizes, limit(), limit(), 8u32..60, hash, any::<u64>()).prop_map(
        |(sizes, hot_limit, candidate_limit, threshold, hash, seed)| {
            let sizes = limited(sizes, hot_limit, candidate_limit);
            Config { threshold, hash, seed, ..sizes }
        },
    )
}

fn ingest<P: Pair>(tested: &mut SlidingDetector, config: Config, pairs: &[P], way: Way) {
    let node = || {
        let mut node = detector(tested.device(), config);
        node.skip_to(tested.slice()).unwrap();
        node.ingest(pairs).unwrap();
        node
    };
    match way {
        Way::Batch => tested.ingest(pairs).unwrap(),
        Way::Pinned => {
            // After the call, the buffer may be filled again or dropped at once.
            pinned(tested, pairs).fill(|buffer| buffer.fill(P::default())).unwrap();
        }
        Way::Snapshot => {
            let snapshot = node().snapshot().unwrap();
            tested.merge_snapshot(&snapshot).unwrap();
        }
        Way::Delta => {
            let delta = node().delta(1).unwrap();
            tested.merge_delta(&delta).unwrap();
        }
    }
}

fn happen(tested: &mut SlidingDetector, one: &mut SlidingDetector, event: &Event, config: Config) {
    match event {
        Event::Pairs { contacts, way } => of_type!((config, contacts), |pairs| {
            ingest(tested, config, pairs, *way);
            pairs.iter().for_each(|&pair| one.ingest(&[pair]).unwrap());
        }),
        Event::Late { contacts, slices } => of_type!((config, contacts), |pairs| {
            tested.ingest_late(pairs, *slices).unwrap();
            pairs.iter().for_each(|&pair| one.ingest_late(&[pair], *slices).unwrap());
        }),
        Event::Query { host, window } => {
            let query = |detector: &SlidingDetector| {
                let window = (*window).min(config.window);
                let answer = detector.cardinality_within(any_host(*host), window);
                assert!(matches!(answer, Ok(_) | Err(Error::Ipv6InPaper)), "{answer:?}");
                format!("{answer:?}")
            };
            assert_eq!(query(tested), query(one));
        }
        Event::Peers { host } => {
            let peers =
                |detector: &SlidingDetector| detector.sample_peers(any_host(*host)).unwrap();
            assert_eq!(peers(tested), peers(one));
        }
        Event::Close => assert_eq!(tested.close_slice().unwrap(), one.close_slice().unwrap()),
        Event::Skip { slices } => {
            tested.skip_to(tested.slice() + slices).unwrap();
            one.skip_to(one.slice() + slices).unwrap();
        }
    }
}

fn anything_in_any_order(device: Device) {
    let cases = Cases { failure_persistence: None, ..Cases::with_cases(48) };
    let events = prop::collection::vec(event(), 1..14);
    let outcome = TestRunner::new(cases).run(&(config(), events), |(config, events)| {
        let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
        events.iter().for_each(|event| happen(&mut tested, &mut one, event, config));
        assert_equal_recorders(&mut tested, &mut one);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
