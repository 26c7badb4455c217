//! Whatever happens to a detector, in whatever order, at whatever limits.

use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, TestRunner};
use srlg::{Config, Device, Hash, IpPair, SlidingDetector};
use srlg_traffic::family::ip;

use crate::device::detector;
use crate::feed::assert_equal_recorders;
use crate::traffic::{limited, small, small_odd, small_paper};

on_every_device!(anything_in_any_order);

/// Neighbours, extremes, and hosts that differ in high bits only.
const HOSTS: [u32; 8] = [0, 1, u32::MAX, 0x0a00_0001, 0x0b00_0001, 0xc0a8_0101, 0x8000_0000, 7];

/// How pairs come to the detector under test; the reference ingests them one by one.
#[derive(Clone, Copy, Debug)]
enum Way {
    Batch,
    Pinned,
    Snapshot,
    Delta,
}

#[derive(Clone, Debug)]
enum Event {
    Pairs { pairs: Vec<IpPair>, way: Way },
    Late { pairs: Vec<IpPair>, slices: u32 },
    Query { host: u32, window: u32 },
    Peers { host: u32 },
    Close,
    Skip { slices: u64 },
}

fn pairs() -> impl Strategy<Value = Vec<IpPair>> {
    let pair = (0..HOSTS.len(), 0u32..300);
    let pair = pair.prop_map(|(host, bip)| IpPair { aip: HOSTS[host], bip });
    prop::collection::vec(pair, 0..260)
}

fn event() -> impl Strategy<Value = Event> {
    let ways = [Way::Batch, Way::Pinned, Way::Snapshot, Way::Delta];
    let way = prop::sample::select(ways.to_vec());
    let host = prop::sample::select(HOSTS.to_vec());
    prop_oneof![
        4 => (pairs(), way).prop_map(|(pairs, way)| Event::Pairs { pairs, way }),
        1 => (pairs(), 0u32..7).prop_map(|(pairs, slices)| Event::Late { pairs, slices }),
        1 => (host.clone(), 1u32..5).prop_map(|(host, window)| Event::Query { host, window }),
        1 => host.prop_map(|host| Event::Peers { host }),
        3 => Just(Event::Close),
        1 => (0u64..6).prop_map(|slices| Event::Skip { slices }),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let limit = || prop::sample::select(vec![2u32, 5, 1 << 14]);
    let sizes = prop::sample::select(vec![small(), small_paper(), small_odd()]);
    let hash = prop::sample::select(vec![Hash::Murmur, Hash::HalfSip13]);
    (sizes, limit(), limit(), 8u32..60, hash, any::<u64>()).prop_map(
        |(sizes, hot_limit, candidate_limit, threshold, hash, seed)| {
            let sizes = limited(sizes, hot_limit, candidate_limit);
            Config { threshold, hash, seed, ..sizes }
        },
    )
}

fn ingest(tested: &mut SlidingDetector, config: Config, pairs: &[IpPair], way: Way) {
    let node = || {
        let mut node = detector(tested.device(), config);
        node.skip_to(tested.slice()).unwrap();
        node.ingest(pairs).unwrap();
        node
    };
    match way {
        Way::Batch => tested.ingest(pairs).unwrap(),
        Way::Pinned => {
            let mut pinned = tested.pinned_pairs(pairs.len()).unwrap();
            pinned.fill(|buffer| buffer.copy_from_slice(pairs)).unwrap();
            tested.ingest_pinned(&pinned).unwrap();
            // The buffer may be filled again at once, and go at once.
            pinned.fill(|buffer| buffer.fill(IpPair { aip: 9, bip: 9 })).unwrap();
        }
        Way::Snapshot => {
            let snapshot = node().snapshot().unwrap();
            tested.merge_snapshot(&snapshot).unwrap();
        }
        Way::Delta => {
            let delta = node().take_delta(1).unwrap();
            tested.merge(&delta).unwrap();
        }
    }
}

fn happen(tested: &mut SlidingDetector, one: &mut SlidingDetector, event: &Event, config: Config) {
    match event {
        Event::Pairs { pairs, way } => {
            ingest(tested, config, pairs, *way);
            pairs.iter().for_each(|&pair| one.ingest(&[pair]).unwrap());
        }
        Event::Late { pairs, slices } => {
            tested.ingest_late(pairs, *slices).unwrap();
            pairs.iter().for_each(|&pair| one.ingest_late(&[pair], *slices).unwrap());
        }
        Event::Query { host, window } => {
            let query = |detector: &SlidingDetector| {
                detector.cardinality_within(ip(*host), (*window).min(config.window)).unwrap()
            };
            assert_eq!(query(tested), query(one));
        }
        Event::Peers { host } => {
            let peers = |detector: &SlidingDetector| detector.sample_peers(ip(*host)).unwrap();
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
