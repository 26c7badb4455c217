//! Tests that a detector that lists its first pairs produces the same bits as one that has recorders from the
//! beginning, and that its pairs can be taken in place of deltas.

use proptest::prelude::*;
use srlg::config::Scheme;
use srlg::ingest::PairBatch;
use srlg::state::SlicePairs;
use srlg::{Config, Device, IpPair, Ipv4Pair, SlidingDetector};

use crate::fixture::{self, detector};
use crate::small::{host, ingest_any, tagged};

/// A detector that may count one pair in two.
fn small() -> Config {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 416, tags: 64 };
    Config { scheme, linear_width: 1_024, threshold: 64, ..tagged() }
}

/// A detector with a window of more than 511 slices, whose ages are in epochs of several slices.
fn long() -> Config {
    Config { window: 1030, ..small() }
}

fn sparse(config: Config, most_pairs: usize) -> SlidingDetector {
    SlidingDetector::sparse(config, Device::Cpu, most_pairs).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Ingest { host: u32, peers: u32, late: u32 },
    Skip(u64),
    Close,
    Query,
    SetShare(u32),
    MergeDelta,
    MergeSnapshot,
    MergePairs,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0u32..6, 1u32..90, prop_oneof![4 => Just(0u32), 1 => 0u32..9])
            .prop_map(|(host, peers, late)| Step::Ingest { host, peers, late }),
        4 => prop_oneof![4 => 1u64..3, 1 => 0u64..12, 1 => Just(70_000)].prop_map(Step::Skip),
        1 => Just(Step::Close),
        1 => Just(Step::Query),
        1 => prop_oneof![Just(1u32), Just(2)].prop_map(Step::SetShare),
        1 => Just(Step::MergeDelta),
        1 => Just(Step::MergeSnapshot),
        1 => Just(Step::MergePairs),
    ]
}

fn merge_another(detector: &mut SlidingDetector, config: Config, step: &Step) {
    let mut other = fixture::detector(config);
    other.skip_to(detector.slice()).unwrap();
    ingest(&other, 2, 50, 1);
    match step {
        Step::MergeDelta => detector.merge_delta(&other.delta(2).unwrap()).unwrap(),
        _ => detector.merge_snapshot(&other.snapshot().unwrap()).unwrap(),
    }
}

fn ingest(detector: &SlidingDetector, hosts: u32, peers: u32, late: u32) {
    for peer in 0..peers {
        let pair = IpPair::new(host(hosts), host(peer.wrapping_mul(7) % 120 + 9));
        ingest_any(detector, pair, true, late);
    }
}

/// Performs `step` and returns what it shows of the detector's state.
fn perform(config: Config, detector: &mut SlidingDetector, step: &Step) -> String {
    match *step {
        Step::Ingest { host, peers, late } => ingest(detector, host, peers, late),
        Step::Skip(slices) => detector.skip_to(detector.slice() + slices).unwrap(),
        Step::Close => return format!("{:?}", detector.close_slice().unwrap().super_points),
        Step::Query => return format!("{:?}", detector.cardinality(host(1)).unwrap()),
        Step::SetShare(share) => detector.set_share(share).unwrap(),
        Step::MergeDelta | Step::MergeSnapshot => merge_another(detector, config, step),
        Step::MergePairs => {
            let mut batch = PairBatch::new();
            (0..40).for_each(|peer| batch.push((host(4), host(peer + 30))));
            let pairs = SlicePairs::new(&batch, detector.slice()).unwrap();
            detector.merge_pairs(&pairs).unwrap();
        }
    }
    String::new()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_list_makes_the_recorders_that_would_have_been_touched_at_once(
        steps in prop::collection::vec(step(), 1..30),
        most_pairs in prop_oneof![Just(0), 1usize..400, Just(1_000_000)],
        is_long: bool,
    ) {
        let config = if is_long { long() } else { small() };
        let (mut dense, mut listed) = (detector(config), sparse(config, most_pairs));
        for step in &steps {
            let shown = perform(config, &mut dense, step);
            prop_assert_eq!(shown, perform(config, &mut listed, step), "{:?}", step);
        }
        prop_assert_eq!(dense.snapshot().unwrap(), listed.snapshot().unwrap());
    }

    // Some slices have more pairs than the list takes, and some contacts are late.
    #[test]
    fn taken_pairs_and_deltas_of_large_slices_make_the_recorders_of_one_node(
        slices in prop::collection::vec(
            prop::collection::vec((0u32..6, 1u32..60, 0u32..4), 0..6),
            1..24,
        ),
        most_pairs in 0usize..120,
        is_long: bool,
    ) {
        let config = if is_long { long() } else { small() };
        let (mut one, mut node) = (detector(config), sparse(config, most_pairs));
        let mut collector = detector(config);
        for contacts in &slices {
            for &(host, peers, late) in contacts {
                ingest(&one, host, peers, late);
                ingest(&node, host, peers, late);
            }
            match node.take_pairs().unwrap() {
                Some(pairs) => {
                    prop_assert!(pairs.iter().map(SlicePairs::len).sum::<usize>() <= most_pairs);
                    pairs.iter().for_each(|pairs| collector.merge_pairs(pairs).unwrap());
                }
                None => collector.merge_delta(&node.delta(4).unwrap()).unwrap(),
            }
            prop_assert_eq!(collector.close_slice().unwrap(), one.close_slice().unwrap());
            node.skip_to(one.slice()).unwrap();
        }
        prop_assert_eq!(collector.snapshot().unwrap(), one.snapshot().unwrap());
    }
}

#[test]
fn recorders_are_given_up_after_a_window_of_slices_that_a_list_took() {
    let mut node = sparse(tagged(), 100);
    let pairs = |peers| (0..peers).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>();
    let mut take = |slice, peers| {
        node.skip_to(slice).unwrap();
        node.ingest(&pairs(peers)).unwrap();
        let taken = node.take_pairs().unwrap().map(|pairs| pairs.iter().map(SlicePairs::len).sum());
        (taken, node.memory_bytes() >= node.params().recorder_bytes())
    };
    assert_eq!(take(0, 100), (Some(100usize), false));
    assert_eq!(take(1, 101), (None, true));
    for slice in 2..9 {
        assert_eq!(take(slice, 100), (Some(100), true), "{slice}");
    }
    assert_eq!(take(9, 100), (Some(100), false));
    assert_eq!(take(10, 0), (Some(0), false));
    assert_eq!(take(11, 101), (None, true));
}

#[test]
fn recorders_answer_for_the_slices_of_a_flood_and_those_after_it() {
    let (mut node, mut one) = (sparse(tagged(), 100), detector(tagged()));
    for slice in 0..8 {
        for node in [&mut node, &mut one] {
            node.skip_to(slice).unwrap();
            let peers = if slice == 2 { 0..150 } else { 0..50 };
            let pairs: Vec<_> = peers.map(|peer| Ipv4Pair { inside: 7, peer }).collect();
            node.ingest(&pairs).unwrap();
        }
        if slice >= 2 {
            let [node, one] = [&node, &one].map(|it| it.cardinality_within(host(0), 8).unwrap());
            assert_eq!(node, one);
        }
        node.take_pairs().unwrap();
    }
}

#[test]
fn threads_that_fill_a_list_make_the_recorders_of_one_thread() {
    let (mut one, mut listed) = (detector(tagged()), sparse(tagged(), 500));
    let mut feeds: Vec<_> = (0..4).map(|_| listed.feed(100).unwrap()).collect();
    let pairs =
        |number: u32| (0..700).map(move |peer| Ipv4Pair { inside: number, peer: peer % 350 });
    std::thread::scope(|scope| {
        for (feed, number) in feeds.iter_mut().zip(0..) {
            scope.spawn(move || pairs(number).for_each(|pair| feed.ingest(&[pair]).unwrap()));
        }
    });
    (0..4).for_each(|number| one.ingest(&pairs(number).collect::<Vec<_>>()).unwrap());
    assert_eq!(listed.close_slice().unwrap(), one.close_slice().unwrap());
    assert_eq!(listed.snapshot().unwrap(), one.snapshot().unwrap());
}

#[test]
fn a_list_takes_no_more_memory_than_is_stated() {
    for most_pairs in [0, 14, 1_000, 100_000, 115_000] {
        let mut detector = sparse(Config::default(), most_pairs);
        let (most, mut largest) = (SlidingDetector::list_bytes(most_pairs), 0);
        for number in 0..most_pairs as u32 {
            detector.ingest(&[Ipv4Pair { inside: number, peer: 7 }]).unwrap();
            largest = largest.max(detector.memory_bytes());
        }
        assert!(detector.is_sparse() && largest <= most, "{most_pairs}: {largest} {most}");
        detector.take_pairs().unwrap();
        let pairs: Vec<_> = (0..most_pairs as u32 / 4)
            .map(|peer| IpPair::new(host(5), host(peer * 3 + 2)))
            .collect();
        detector.ingest(&pairs[..pairs.len() / 2]).unwrap();
        let rest = most_pairs as u32 / 2;
        detector
            .ingest(&(0..rest).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>())
            .unwrap();
        assert!(detector.is_sparse() && detector.memory_bytes() <= most, "{most_pairs}");
    }
}

#[test]
fn what_is_merged_is_passed_on_and_not_forgotten() {
    for step in [Step::MergeDelta, Step::MergeSnapshot] {
        let (mut relay, mut one) = (sparse(tagged(), 1_000), detector(tagged()));
        let mut collector = detector(tagged());
        for slice in 0..30 {
            for node in [&mut relay, &mut one, &mut collector] {
                node.skip_to(slice).unwrap();
            }
            for node in [&mut relay, &mut one] {
                ingest(node, 1, 20, 0);
                if slice % 11 < 3 {
                    merge_another(node, tagged(), &step);
                }
            }
            match relay.take_pairs().unwrap() {
                Some(pairs) => pairs.iter().for_each(|it| collector.merge_pairs(it).unwrap()),
                None => collector.merge_delta(&relay.delta(2).unwrap()).unwrap(),
            }
            let [seen, expected] =
                [&collector, &one].map(|it| it.cardinality_within(host(2), 8).unwrap());
            assert_eq!(seen, expected, "{slice}");
        }
    }
}
