//! Many writers, one answer: threads and nodes end with the bits of one that saw everything.

use proptest::prelude::*;
use srlg::{Config, Device, Error, IpPair, Scheme, SlidingDetector};
use srlg_evaluation::reference::PaperModel;

/// Small arrays, so that contacts collide.
fn small() -> Config {
    Config {
        threshold: 32,
        window: 8,
        rough_column_bits: 12,
        bit_stride: 10,
        rough_rows: 4,
        scheme: Scheme::Tagged { lines: 24, tags: 64 },
        linear_width: 256,
        ..Config::default()
    }
}

fn detector(config: Config) -> SlidingDetector {
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

/// Per slice, contacts and the node that sees each of them.
fn seen_by_nodes() -> impl Strategy<Value = Vec<Vec<(IpPair, usize)>>> {
    let pair = (0u32..40, 0u32..400).prop_map(|(aip, bip)| IpPair { aip, bip });
    prop::collection::vec(prop::collection::vec((pair, 0usize..3), 0..200), 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn merged_nodes_equal_one_node_that_saw_everything(slices in seen_by_nodes()) {
        let mut one = detector(small());
        let mut nodes = [detector(small()), detector(small()), detector(small())];
        for contacts in &slices {
            for &(pair, node) in contacts {
                one.ingest(&[pair]).unwrap();
                nodes[node].ingest(&[pair]).unwrap();
            }
            one.close_slice().unwrap();
            nodes.iter_mut().for_each(|node| { node.close_slice().unwrap(); });
        }
        let [first, second, third] = &mut nodes;
        first.merge(&third.state().unwrap()).unwrap();
        first.merge(&second.state().unwrap()).unwrap();
        first.merge(&third.state().unwrap()).unwrap(); // twice: idempotent
        prop_assert_eq!(first.state().unwrap(), one.state().unwrap());
        prop_assert_eq!(first.close_slice().unwrap(), one.close_slice().unwrap());
    }

    #[test]
    fn state_of_an_earlier_slice_is_aged_to_the_running_one(
        before in prop::collection::vec((0u32..40, 0u32..400), 1..200),
        slices in 1u64..12,
    ) {
        let pairs: Vec<IpPair> = before.iter().map(|&(aip, bip)| IpPair { aip, bip }).collect();
        let (mut one, early, mut late) = (detector(small()), detector(small()), detector(small()));
        one.ingest(&pairs).unwrap();
        early.ingest(&pairs).unwrap();
        one.skip_to(slices).unwrap();
        late.skip_to(slices).unwrap();
        late.merge(&early.state().unwrap()).unwrap();
        prop_assert_eq!(late.state().unwrap(), one.state().unwrap());
    }
}

// The paper's text, Alg. 2 and Alg. 7 merge by the maximum.
#[test]
fn merging_by_the_maximum_would_forget_what_only_one_node_saw() {
    let scheme = Scheme::Paper { rows: 2, columns: 500, stride: 1 };
    let config = Config { scheme, ..small() };
    let model = || PaperModel::new(config).unwrap();
    let (mut one, mut left, mut right) = (model(), model(), model());
    for bip in 0..300 {
        let pair = IpPair { aip: 7, bip };
        one.scan(pair, 0);
        if bip % 2 == 0 { &mut left } else { &mut right }.scan(pair, 0);
    }
    let by_maximum = left
        .slea
        .concat()
        .iter()
        .zip(right.slea.concat())
        .map(|(&a, b)| a.max(b))
        .collect::<Vec<_>>();
    left.merge(&right);
    assert_eq!(left.slea, one.slea);
    let touched = |ages: &[u16]| ages.iter().filter(|&&age| age == 0).count();
    assert!(touched(&by_maximum) * 2 < touched(&one.slea.concat()));
}

#[test]
fn ingest_from_4_threads_equals_ingest_from_1() {
    let pairs: Vec<IpPair> = (0..400_000u32)
        .map(|i| IpPair { aip: i % 977, bip: i.wrapping_mul(0x9e37_79b9) >> 8 })
        .collect();
    let (one, many) = (detector(Config::default()), detector(Config::default()));
    one.ingest(&pairs).unwrap();
    one.ingest_late(&pairs[..1000], 2).unwrap();
    std::thread::scope(|scope| {
        for chunk in pairs.chunks(pairs.len() / 4) {
            scope.spawn(|| chunk.chunks(777).for_each(|batch| many.ingest(batch).unwrap()));
        }
        // Late touches race with touches of the running slice, which must win.
        scope.spawn(|| many.ingest_late(&pairs[..1000], 2).unwrap());
    });
    assert_eq!(one.state().unwrap(), many.state().unwrap());
}

#[test]
fn closes_on_3_threads_equal_closes_on_1() {
    for config in [Config::default(), Config { window: 8, ..Config::paper() }] {
        let (mut one, mut many) = (detector(config), detector(config));
        many.set_close_threads(3.try_into().unwrap()).unwrap();
        for slice in 0..3 {
            // 900 hosts of some 400 and 40 of some 3000.
            let busy = (0..120_000u32).map(|i| (i % 40, i / 40));
            let others = (0..360_000u32).map(|i| (1000 + i % 900, i / 900));
            let pairs: Vec<IpPair> = busy
                .chain(others)
                .map(|(host, peer)| IpPair { aip: host * 7919, bip: peer * 65_537 + host + slice })
                .collect();
            one.ingest(&pairs).unwrap();
            many.ingest(&pairs).unwrap();
            let (report, of_many) = (one.close_slice().unwrap(), many.close_slice().unwrap());
            assert!(report.candidates >= report.super_points.len());
            assert!(report.super_points.len() >= 40, "{}", report.super_points.len());
            assert_eq!(of_many, report);
        }
        assert_eq!(one.state().unwrap(), many.state().unwrap());
    }
}

#[test]
fn states_of_other_sizes_or_seeds_or_from_the_future_are_refused() {
    let mut detector = detector(small());
    let other_lines = Scheme::Tagged { lines: 25, tags: 64 };
    for other in [Config { seed: 1, ..small() }, Config { scheme: other_lines, ..small() }] {
        let state = self::detector(other).state().unwrap();
        let error = detector.merge(&state).unwrap_err();
        let ours = format!("{:#018x}", detector.params().fingerprint());
        assert!(matches!(error, Error::Fingerprint { .. }));
        assert!(error.to_string().contains(&ours), "{error}");
        assert!(error.to_string().contains(&format!("{:#018x}", state.fingerprint())), "{error}");
    }
    let mut ahead = self::detector(small());
    ahead.skip_to(1).unwrap();
    let error = detector.merge(&ahead.state().unwrap()).unwrap_err();
    assert!(matches!(error, Error::StateFromFuture { ours: 0, theirs: 1 }));
}
