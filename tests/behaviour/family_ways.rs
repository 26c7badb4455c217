//! Tests that pairs of both types (`Ipv4Pair` and `IpPair`) are counted in the same way, by every ingest method and in
//! any mixture.

use proptest::prelude::*;
use srlg::config::HashFamily;
use srlg::{Config, IpPair, Ipv4Pair, SlidingDetector};

use crate::fixture::detector;
use crate::small::{self, host};

#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Late(u32),
    Pinned,
    Feed,
    /// Ingested through a feed while a slice is being closed.
    FeedMeanwhile,
}

#[derive(Clone, Debug)]
enum Pairs {
    Short(Vec<Ipv4Pair>),
    Long(Vec<IpPair>),
}

fn pairs() -> impl Strategy<Value = Pairs> {
    let contacts = || prop::collection::vec((0u32..12, 0u32..300), 0..200);
    let short = |(inside, peer)| Ipv4Pair { inside, peer };
    let long = |(inside, peer)| IpPair::new(host(inside), host(peer));
    prop_oneof![
        contacts().prop_map(move |it| Pairs::Short(it.into_iter().map(short).collect())),
        contacts().prop_map(move |it| Pairs::Long(it.into_iter().map(long).collect())),
    ]
}

fn ways() -> impl Strategy<Value = Vec<(Pairs, Way)>> {
    let way = prop_oneof![
        Just(Way::Plain),
        (1u32..10).prop_map(Way::Late),
        Just(Way::Pinned),
        Just(Way::Feed),
        Just(Way::FeedMeanwhile),
    ];
    prop::collection::vec((pairs(), way), 1..12)
}

macro_rules! of_either_type {
    ($all:expr, |$pairs:ident| $work:expr) => {
        match $all {
            Pairs::Short($pairs) => $work,
            Pairs::Long($pairs) => $work,
        }
    };
}

fn pinned<P: srlg::ingest::Pair>(detector: &SlidingDetector, pairs: &[P]) {
    let mut pinned = detector.pinned_pairs(pairs.len()).unwrap();
    pinned.fill(|buffer| buffer.copy_from_slice(pairs)).unwrap();
    detector.ingest_pinned(&pinned).unwrap();
}

/// Closes the running slice of both detectors and asserts that the reports are equal. Pairs that `meanwhile` ingests
/// belong to the next slice.
fn close(tested: &mut SlidingDetector, one: &mut SlidingDetector, mut meanwhile: impl FnMut()) {
    let (slice, expected) = (one.slice() + 1, one.close_slice().unwrap());
    let check = |report| {
        assert_eq!(report, expected);
        meanwhile();
        Ok::<(), srlg::Error>(())
    };
    tested.advance_to(slice, check).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    // The reference detector ingests all pairs one by one, in the longer form.
    #[test]
    fn pairs_of_both_types_count_alike_by_all_ways(
        slices in prop::collection::vec(ways(), 1..5),
        capacity in prop_oneof![Just(0usize), Just(20_000)],
        keyed: bool,
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let config = Config { hash, ..small::tagged() };
        let (mut tested, mut one) = (detector(config), detector(config));
        let mut feed = tested.feed(capacity.max(20_000)).unwrap();
        let mut other = tested.feed(capacity).unwrap();
        for slice in slices {
            let is_meanwhile = |way: &Way| matches!(way, Way::FeedMeanwhile);
            let (later, now): (Vec<_>, Vec<_>) = slice.into_iter().partition(|it| is_meanwhile(&it.1));
            let in_one = |one: &SlidingDetector, pairs: &Pairs, late| match pairs {
                Pairs::Short(pairs) => pairs.iter().for_each(|&it| one.ingest_late(&[IpPair::from(it)], late).unwrap()),
                Pairs::Long(pairs) => pairs.iter().for_each(|it| one.ingest_late(&[*it], late).unwrap()),
            };
            for (pairs, way) in &now {
                of_either_type!(pairs, |pairs| match *way {
                    Way::Late(late) => tested.ingest_late(pairs, late).unwrap(),
                    Way::Pinned => pinned(&tested, pairs),
                    Way::Feed => other.ingest(pairs).unwrap(),
                    Way::Plain | Way::FeedMeanwhile => tested.ingest(pairs).unwrap(),
                });
                in_one(&one, pairs, if let Way::Late(late) = way { *late } else { 0 });
            }
            close(&mut tested, &mut one, || {
                later.iter().for_each(|it| of_either_type!(&it.0, |pairs| feed.ingest(pairs).unwrap()));
            });
            later.iter().for_each(|(pairs, _)| in_one(&one, pairs, 0));
            prop_assert!(tested.snapshot().unwrap() == one.snapshot().unwrap());
        }
        drop((feed, other));
        prop_assert_eq!(tested.close_slice().unwrap(), one.close_slice().unwrap());
    }
}
