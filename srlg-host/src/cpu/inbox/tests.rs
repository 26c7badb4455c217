//! What inboxes bring to the recorders is what srlg-core does without them.

use proptest::prelude::*;
use srlg_core::counter::Lines;
use srlg_core::finder::cells::CellArray;
use srlg_core::scheme::TaggedTypes;
use srlg_core::{Config, Hash, Params, ReadRecorder, Recorder, Scheme};

use super::*;
use crate::cpu::pages::Pages;
use crate::cpu::shards::Shards;

fn params(seed: u64, lines: u32, hash: Hash) -> Params {
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

fn words<R: Recorder>(recorders: &[R]) -> Vec<R::Word> {
    recorders.iter().map(ReadRecorder::word).collect()
}

/// A run of pairs: where their numbers start, how many differ, how many come, how late, and
/// in batches of how many.
type Run = (u32, u32, usize, u32, usize);

fn pairs(&(start, differing, count, ..): &Run) -> Vec<IpPair> {
    let number = |i: u32| start + (i.wrapping_mul(0x9e37_79b9) >> 8) % differing;
    let pair = |number: u32| IpPair { aip: number % 11, bip: number };
    (0..count as u32).map(number).map(pair).collect()
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let differing = prop_oneof![Just(1), 1u32..100, Just(1 << 20)];
    let count = prop_oneof![0usize..200, 0usize..40_000];
    let late = prop_oneof![4 => Just(0u32), 1 => 1u32..4];
    let batch = prop_oneof![Just(1usize), 1usize..200, Just(1 << 15)];
    prop::collection::vec((0..1u32 << 20, differing, count, late, batch), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    // The same pairs one by one through srlg-core, which knows no inbox, shard or slot.
    #[test]
    fn inboxes_do_what_every_pair_does_by_itself(
        seed: u64,
        lines in prop_oneof![32u32..56, Just(5000)],
        keyed: bool,
        threads in prop::collection::vec(runs(), 1..4),
    ) {
        let hash = if keyed { Hash::HalfSip13 } else { Hash::Murmur };
        let params = params(seed, lines, hash);
        let (ours, expected) = (arrays(params), arrays(params));
        let inboxes = Inboxes::new();
        std::thread::scope(|scope| {
            for runs in &threads {
                let (inboxes, ours) = (&inboxes, &ours);
                scope.spawn(move || for run in runs {
                    let ages = Ages { finder: run.3, counter: run.3 };
                    pairs(run).chunks(run.4).for_each(|pairs| inboxes.ingest(ours, pairs, ages));
                });
            }
        });
        inboxes.drain(&ours);
        for run in threads.iter().flatten() {
            let pairs = pairs(run);
            let cells = CellArray::new(params.finder().cells().unwrap(), expected.finder.shared());
            pairs.iter().for_each(|&pair| cells.touch(pair, run.3));
            Lines::new(params.counter().tagged().unwrap(), expected.counter.shared()).touch(&pairs, run.3);
        }
        prop_assert_eq!(words(ours.finder.shared()), words(expected.finder.shared()));
        prop_assert_eq!(words(ours.counter.shared()), words(expected.counter.shared()));
    }
}
