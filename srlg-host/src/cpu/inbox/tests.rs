//! Tests that ingesting through inboxes yields the same recorders as srlg-core, which has no inboxes.

use proptest::prelude::*;
use srlg_core::counter::Lines;
use srlg_core::finder::cells::CellArray;
use srlg_core::scheme::{PaperTypes, SchemeTypes, TaggedTypes};
use srlg_core::{Config, HashFamily, PairIds, Params, ReadRecorder, Recorder, Scheme};

use super::*;
use crate::cpu::pages::Pages;
use crate::cpu::shards::Shards;

fn params(seed: u64, lines: u32, hash: HashFamily) -> Params {
    let scheme = Scheme::Tagged { cell_bits: 12, lines, tags: 64 };
    let sizes = Config { threshold: 16, linear_width: 512, ..Config::default() };
    Config { scheme, seed, hash, ..sizes }.validate().unwrap()
}

fn arrays(params: Params) -> Arrays<TaggedTypes> {
    let [finder, counter] = params.arrays().map(|shape| shape.recorders);
    Arrays {
        params,
        finder: Pages::new(finder).unwrap(),
        counter: Pages::new(counter).unwrap(),
        shards: Shards::new(counter),
    }
}

fn touch(arrays: &Arrays<TaggedTypes>, pairs: &[impl PairIds], age: u32) {
    let (finder, counter) = (arrays.params.finder(), arrays.params.counter());
    let cells = CellArray::new(finder.cells().unwrap(), arrays.finder.shared());
    pairs.iter().for_each(|pair| cells.touch(pair, age));
    Lines::new(counter.tagged().unwrap(), arrays.counter.shared()).touch(pairs, age);
}

fn words<R: Recorder>(recorders: &[R]) -> Vec<R::Word> {
    recorders.iter().map(ReadRecorder::word).collect()
}

/// A run of pairs: smallest pair number, maximum number of distinct pairs, number of pairs, lateness in epochs, pairs
/// per call, and whether the pairs are [`IpPair`]s.
type Run = (u32, u32, usize, u32, usize, bool);

fn pairs(&(start, differing, count, ..): &Run) -> Vec<Ipv4Pair> {
    let number = |i: u32| start + (i.wrapping_mul(0x9e37_79b9) >> 8) % differing;
    let pair = |number: u32| Ipv4Pair { inside: number % 11, peer: number };
    (0..count as u32).map(number).map(pair).collect()
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let differing = prop_oneof![Just(1), 1u32..100, Just(1 << 20)];
    let count = prop_oneof![0usize..200, 0usize..40_000];
    let late = prop_oneof![4 => Just(0u32), 1 => 1u32..4];
    let batch = prop_oneof![Just(1usize), 1usize..200, Just(1 << 15)];
    prop::collection::vec((0..1u32 << 20, differing, count, late, batch, any::<bool>()), 0..6)
}

/// Returns the pairs of `run` as [`IpPair`]s, with hosts and peers of both families.
fn pairs6(run: &Run) -> Vec<IpPair> {
    let limbs = |number: u32| match number % 2 {
        0 => [0, 0, 0xffff, number],
        _ => [0x2001_0db8, number, 0, 1],
    };
    let pair = |Ipv4Pair { inside, peer }| IpPair { inside: limbs(inside), peer: limbs(peer / 2) };
    pairs(run).into_iter().map(pair).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    // The expected result touches the same pairs one by one through srlg-core, which has no inboxes, shards or slots.
    #[test]
    fn inboxes_do_what_every_pair_does_by_itself(
        seed: u64,
        lines in prop_oneof![32u32..56, Just(5000)],
        keyed: bool,
        threads in prop::collection::vec(runs(), 1..4),
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let params = params(seed, lines, hash);
        let (ours, expected) = (arrays(params), arrays(params));
        let inboxes = Inboxes::new();
        std::thread::scope(|scope| {
            for runs in &threads {
                let (inboxes, ours) = (&inboxes, &ours);
                scope.spawn(move || for run in runs {
                    let ages = Ages { finder: run.3, counter: run.3 };
                    match run.5 {
                        false => pairs(run).chunks(run.4).for_each(|it| inboxes.ingest(ours, it, ages)),
                        true => pairs6(run).chunks(run.4).for_each(|it| inboxes.ingest(ours, it, ages)),
                    }
                });
            }
        });
        inboxes.drain(&ours);
        for run in threads.iter().flatten() {
            match run.5 {
                false => touch(&expected, &pairs(run), run.3),
                true => {
                    let ids = pairs6(run).into_iter().map(|pair| params.pair_ids(pair));
                    touch(&expected, &ids.collect::<Vec<_>>(), run.3);
                }
            }
        }
        prop_assert_eq!(words(ours.finder.shared()), words(expected.finder.shared()));
        prop_assert_eq!(words(ours.counter.shared()), words(expected.counter.shared()));
    }
}

// The IDs of both pairs are equal, and both pairs touch the same cell. Only the IPv4 pair shows its peer there.
#[test]
fn an_address_equal_to_the_id_of_an_ipv6_host_is_another_peer() {
    for hash in [HashFamily::Murmur, HashFamily::HalfSip13] {
        let params = params(7, 56, hash);
        let pairs = |is_v6| -> Vec<IpPair> {
            let pair = |number| {
                let inside = [0, 0, 0xffff, number];
                let v6 = IpPair { inside, peer: [0x2001_0db8, number, 0, 1] };
                let v4 = IpPair { inside, peer: [0, 0, 0xffff, params.pair_ids(v6).peer()] };
                if is_v6 { v6 } else { v4 }
            };
            (0..500).map(pair).collect()
        };
        let ids = |pairs: &[IpPair]| -> Vec<srlg_core::Ip6Ids> {
            pairs.iter().map(|&pair| params.pair_ids(pair)).collect()
        };
        let both = [pairs(true), pairs(false)];
        let expected = arrays(params);
        both.iter().for_each(|pairs| touch(&expected, &ids(pairs), 0));
        for order in [[0, 1], [1, 0]] {
            let (ours, inboxes) = (arrays(params), Inboxes::new());
            order.iter().for_each(|&of| inboxes.ingest(&ours, &both[of], Ages::default()));
            inboxes.drain(&ours);
            assert_eq!(words(ours.finder.shared()), words(expected.finder.shared()));
        }
    }
}

#[test]
fn inbox_that_is_not_in_use_is_not_a_writer() {
    let mut arrays = arrays(params(7, 56, HashFamily::Murmur));
    let inboxes = Inboxes::<TaggedTypes>::new();
    let pairs = pairs(&(0, 500, 500, 0, 0, false));
    let ingest = |arrays: &Arrays<TaggedTypes>| inboxes.ingest(arrays, &pairs, Ages::default());
    let has_sole_turn = |arrays: &Arrays<TaggedTypes>| {
        lock(inboxes.inboxes.get().unwrap()).buckets.sole_turn(&arrays.shards).is_some()
    };
    ingest(&arrays);
    std::thread::scope(|scope| drop(scope.spawn(|| ingest(&arrays))));
    inboxes.drain(&arrays);
    assert!(!has_sole_turn(&arrays));
    arrays.shards.writers.forget();
    ingest(&arrays);
    inboxes.drain(&arrays);
    assert!(has_sole_turn(&arrays));
}

#[test]
fn touches_that_are_applied_at_once_need_no_turn() {
    let shards = Shards::new(1 << 10);
    assert!(Buckets::<<PaperTypes as SchemeTypes>::Counter>::new().sole_turn(&shards).is_none());
    assert!(Buckets::<<TaggedTypes as SchemeTypes>::Counter>::new().sole_turn(&shards).is_some());
}
