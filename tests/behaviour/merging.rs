//! Tests that several threads, or several detectors that are merged, produce the same bits as one thread.

use std::ops::Range;

use proptest::prelude::*;
use srlg::config::{HashFamily, Params, Scheme};
use srlg::ingest::PairBatch;
use srlg::state::{Delta, SlicePairs, Snapshot, StateKind};
use srlg::{Config, Error, Ipv4Pair, SlidingDetector};
use srlg_reference::PaperModel;
use srlg_traffic::synthetic::mix;

use crate::fixture::{self, detector};
use crate::small::{self, paper, tagged};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn parts_of_a_delta_are_deltas_that_fit_and_make_the_whole(
        contacts in prop::collection::vec((0u32..40, 0u32..400), 0..300),
        max_bytes in 1usize..2000,
    ) {
        let mut leader = detector(tagged());
        let (mut whole, mut parted) = (detector(tagged()), detector(tagged()));
        contacts.iter().for_each(|&(inside, peer)| leader.ingest(&[Ipv4Pair { inside, peer }]).unwrap());
        let delta = leader.delta(1).unwrap();
        let bytes = delta.to_bytes().unwrap();
        prop_assert_eq!(&Delta::from_bytes(&bytes, leader.params()).unwrap(), &delta);
        whole.merge_delta(&delta).unwrap();
        let parts = match delta.into_parts(max_bytes) {
            // Together, an envelope, two sections, and a place and a word of 8 bytes each need less than 128 bytes.
            Err(Error::PartSize { least, .. }) => {
                prop_assert!((max_bytes + 1..128).contains(&least), "{max_bytes} {least}");
                return Ok(());
            }
            parts => parts.unwrap(),
        };
        for part in parts.iter().rev() {
            prop_assert!(part.len() <= max_bytes);
            parted.merge_delta(&Delta::from_bytes(part, leader.params()).unwrap()).unwrap();
        }
        prop_assert_eq!(parts.len() == 1, bytes.len() <= max_bytes);
        prop_assert_eq!(parted.snapshot().unwrap(), whole.snapshot().unwrap());
        prop_assert_eq!(whole.snapshot().unwrap(), leader.snapshot().unwrap());
    }
}

// In the paper, algorithms 2 and 7 merge by taking the maximum.
#[test]
fn merging_by_the_maximum_would_forget_what_only_one_node_saw() {
    let model = || PaperModel::new(paper()).unwrap();
    let (mut one, mut left, mut right) = (model(), model(), model());
    for peer in 0..300 {
        let pair = Ipv4Pair { inside: 7, peer };
        one.scan(pair, 0);
        if peer % 2 == 0 { &mut left } else { &mut right }.scan(pair, 0);
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
fn closes_on_3_threads_equal_closes_on_1() {
    for config in [Config::default(), Config { window: 8, ..Config::paper() }] {
        let (mut one, mut many) = (detector(config), detector(config));
        many.set_close_threads(3.try_into().unwrap()).unwrap();
        for slice in 0..3 {
            // 900 hosts have about 400 peers, and 40 have about 3000.
            let busy = (0..120_000u32).map(|i| (i % 40, i / 40));
            let others = (0..360_000u32).map(|i| (1000 + i % 900, i / 900));
            let pairs: Vec<Ipv4Pair> = busy
                .chain(others)
                .map(|(host, peer)| Ipv4Pair {
                    inside: host * 7919,
                    peer: peer * 65_537 + host + slice,
                })
                .collect();
            one.ingest(&pairs).unwrap();
            many.ingest(&pairs).unwrap();
            let (report, of_many) = (one.close_slice().unwrap(), many.close_slice().unwrap());
            assert!(report.candidates >= report.super_points.len());
            assert!(report.super_points.len() >= 40, "{}", report.super_points.len());
            assert_eq!(of_many, report);
        }
        assert_eq!(one.snapshot().unwrap(), many.snapshot().unwrap());
    }
}

#[test]
fn snapshots_and_deltas_of_other_sizes_or_seeds_or_from_the_future_are_refused() {
    let mut detector = detector(tagged());
    let ours = *detector.params();
    let other_lines = Scheme::Tagged { cell_bits: 12, lines: 25, tags: 64 };
    let other_cells = Scheme::Tagged { cell_bits: 13, lines: 24, tags: 64 };
    for other in [
        Config { seed: 1, ..tagged() },
        Config { scheme: other_lines, ..tagged() },
        Config { scheme: other_cells, ..tagged() },
        paper(),
    ] {
        let mut theirs = self::detector(other);
        let fingerprints = |of: fn(&Params) -> u64| (of(&ours), of(theirs.params()));
        let seeds = fingerprints(Params::seed_fingerprint);
        let sizes = fingerprints(Params::sizes_fingerprint);
        let snapshot = theirs.snapshot().unwrap();
        let delta = theirs.delta(1).unwrap();
        let of_bytes = Snapshot::from_bytes(&snapshot.to_bytes().unwrap(), &ours);
        let delta_of_bytes = Delta::from_bytes(&delta.to_bytes().unwrap(), &ours);
        for error in [
            detector.merge_snapshot(&snapshot).unwrap_err(),
            detector.restore(&snapshot).unwrap_err(),
            detector.merge_delta(&delta).unwrap_err(),
            of_bytes.unwrap_err(),
            delta_of_bytes.unwrap_err(),
        ] {
            let is_right = match error {
                Error::OtherSeed { ours, theirs, .. } => other.seed == 1 && (ours, theirs) == seeds,
                Error::OtherSizes { ours, theirs, .. } => {
                    other.seed != 1 && (ours, theirs) == sizes
                }
                _ => false,
            };
            assert!(is_right, "{error}");
        }
    }
    let mut ahead = self::detector(tagged());
    ahead.skip_to(1).unwrap();
    let of_snapshot = detector.merge_snapshot(&ahead.snapshot().unwrap()).unwrap_err();
    let of_delta = detector.merge_delta(&ahead.delta(1).unwrap()).unwrap_err();
    for (error, of) in [(of_snapshot, StateKind::Snapshot), (of_delta, StateKind::Delta)] {
        let is_ahead =
            matches!(error, Error::FromFuture { stored, ours: 0, theirs: 1, .. } if stored == of);
        assert!(is_ahead, "{error}");
    }
}

#[test]
fn delta_is_merged_while_its_slice_is_in_the_window_and_refused_afterwards() {
    let delta = detector(tagged()).delta(1).unwrap();
    let mut late = detector(tagged());
    late.skip_to(7).unwrap();
    late.merge_delta(&delta).unwrap();
    late.skip_to(8).unwrap();
    let error = late.merge_delta(&delta).unwrap_err();
    assert!(
        matches!(error, Error::OlderThanWindow { ours: 8, theirs: 0, window: 8, .. }),
        "{error}"
    );
}

/// A touch in the previous window can hide echoes that an estimate reads. Touches before the previous window cannot
/// hide such echoes.
#[test]
fn a_node_that_begins_later_estimates_alike_from_its_second_window_on() {
    let window = u64::from(tagged().window);
    let of_slice = |slice: u64| -> Vec<Ipv4Pair> {
        let contact = |contact: u64| {
            let random = mix(slice << 32 | contact);
            Ipv4Pair { inside: (random >> 40) as u32 % 3, peer: random as u32 }
        };
        (0..40).map(contact).collect()
    };
    let (whole, mut later) = (detector(tagged()), detector(tagged()));
    later.skip_to(window).unwrap();
    let reports = |mut detector: SlidingDetector, slices: Range<u64>| -> Vec<_> {
        let close = |slice| {
            detector.ingest(&of_slice(slice)).unwrap();
            detector.close_slice().unwrap().super_points
        };
        slices.map(close).collect()
    };
    let whole = reports(whole, 0..6 * window).split_off(window as usize);
    let later = reports(later, window..6 * window);
    let known = 2 * window as usize - 1;
    assert_ne!(whole[..known], later[..known]);
    assert!(whole.iter().all(|super_points| super_points.len() == 3));
    assert_eq!(whole[known..], later[known..]);
}

#[test]
fn ingest_from_4_threads_equals_ingest_from_1() {
    let pairs: Vec<Ipv4Pair> = (0..400_000u32)
        .map(|i| Ipv4Pair { inside: i % 977, peer: i.wrapping_mul(0x9e37_79b9) >> 8 })
        .collect();
    let (one, many) = (detector(Config::default()), detector(Config::default()));
    one.ingest(&pairs).unwrap();
    one.ingest_late(&pairs[..1000], 2).unwrap();
    std::thread::scope(|scope| {
        for chunk in pairs.chunks(pairs.len() / 4) {
            scope.spawn(|| chunk.chunks(777).for_each(|batch| many.ingest(batch).unwrap()));
        }
        // Late touches race with touches of the running slice, and the latter must win.
        scope.spawn(|| many.ingest_late(&pairs[..1000], 2).unwrap());
    });
    assert_eq!(one.snapshot().unwrap(), many.snapshot().unwrap());
}

/// Returns the pairs of node `node` in `slice`. Both nodes have some pairs in common, and every pair occurs twice.
fn batch(node: u64, slice: u64) -> PairBatch {
    let mut batch = PairBatch::new();
    for number in 0..1_500 {
        let random = mix(slice << 40 | (number % 750 + 300 * node) << 1);
        let inside = small::host(random as u32 % 5);
        batch.push((inside, small::host((random >> 32) as u32 % 150 + 40)));
    }
    batch
}

#[test]
fn pairs_of_slices_make_the_recorders_that_deltas_make_in_any_order() {
    let sizes = [tagged(), Config { hash: HashFamily::HalfSip13, seed: 7, ..tagged() }];
    for config in sizes {
        let mut nodes = [detector(config), detector(config)];
        let (mut by_deltas, mut one) = (detector(config), detector(config));
        let mut messages = Vec::new();
        for slice in 0..12 {
            for (number, node) in (0..).zip(&mut nodes) {
                let batch = batch(number, slice);
                node.skip_to(slice).unwrap();
                batch.ingest(node).unwrap();
                batch.ingest(&one).unwrap();
                by_deltas.merge_delta(&node.delta(1).unwrap()).unwrap();
                messages.push(SlicePairs::new(&batch, slice).unwrap().to_bytes().unwrap());
            }
            if slice < 11 {
                assert_eq!(by_deltas.close_slice().unwrap(), one.close_slice().unwrap());
            }
        }
        // The detector is late with all slices, receives some twice, and receives the newest first.
        let mut by_pairs = detector(config);
        by_pairs.skip_to(11).unwrap();
        let repeated = messages.iter().rev().chain(&messages[18..20]);
        let results = repeated.map(|message| {
            let pairs = SlicePairs::from_bytes(message, 1_500).unwrap();
            (pairs.slice(), by_pairs.merge_pairs(&pairs))
        });
        for (slice, result) in results {
            // Slices before slice 4 have left the window.
            match result {
                Err(Error::OlderThanWindow { ours: 11, theirs, window: 8, .. }) => {
                    assert!(theirs == slice && slice < 4);
                }
                result => assert!(result.is_ok() && slice >= 4, "{result:?}"),
            }
        }
        let reports =
            [by_pairs, by_deltas, one].map(|mut it| it.close_slice().unwrap().super_points);
        assert_eq!(reports[0], reports[1]);
        assert_eq!(reports[0], reports[2]);
        assert_eq!(reports[0].len(), 5);
    }
}

#[test]
fn pairs_from_the_future_are_refused_and_change_nothing() {
    let detector = detector(tagged());
    let pairs = SlicePairs::new(&batch(0, 3), 3).unwrap();
    let error = detector.merge_pairs(&pairs).unwrap_err();
    assert!(matches!(
        error,
        Error::FromFuture { stored: StateKind::Pairs, ours: 0, theirs: 3, .. }
    ));
    assert_eq!(detector.snapshot().unwrap(), fixture::detector(tagged()).snapshot().unwrap());
}
