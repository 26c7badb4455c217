//! Tests that all vector levels produce the same recorders.

use proptest::prelude::*;
use srlg_core::scheme::TaggedTypes;
use srlg_core::{
    Config, HashFamily, IpPair, Ipv4Pair, Params, Recorder, RsraSizes, Scheme, for_scheme,
};

use super::*;
use crate::cpu::pages::Pages;
use crate::cpu::shards::Shards;
use crate::vectors::on_all_levels;

type Level<S, P> = fn(&mut Lane<P>, Target<'_, S>, &[P], Ages);

fn words<R: Recorder>(recorders: &[R]) -> Vec<u64> {
    recorders.iter().map(|recorder| recorder.word().into()).collect()
}

/// Pairs, and their lateness in epochs.
type Call = (Vec<(u32, u32)>, u32);

/// Returns the words of both arrays after all `calls`.
fn left<S: CpuScheme, P: LanePair>(
    level: Level<S, P>,
    pair: impl Fn(u32, u32) -> P,
    params: Params,
    calls: &[Call],
) -> [Vec<u64>; 2] {
    let [finder, counter] = params.arrays().map(|shape| shape.recorders);
    let arrays = Arrays {
        params,
        finder: Pages::new(finder).unwrap(),
        counter: Pages::new(counter).unwrap(),
        shards: Shards::new(counter),
    };
    let (mut lane, mut waiting, mut buckets) = (Lane::new(), Waiting::new(), Buckets::new());
    for &(ref pairs, late) in calls {
        let pairs: Vec<P> = pairs.iter().map(|&(inside, peer)| pair(inside, peer)).collect();
        let (waiting, buckets) = (&mut waiting, &mut buckets);
        let target = Target { arrays: &arrays, waiting, buckets, is_only_writer: false };
        level(&mut lane, target, &pairs, Ages { finder: late, counter: late });
    }
    let (rest, last) = (&mut waiting, &mut buckets);
    let mut target =
        Target { arrays: &arrays, waiting: rest, buckets: last, is_only_writer: false };
    lane.touch_waiting(&mut target);
    waiting.drain(arrays.finder());
    buckets.drain(arrays.counter(), &arrays.shards);
    [words(arrays.finder.shared()), words(arrays.counter.shared())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn recorders_are_touched_alike_on_all_levels(
        seed: u64,
        keyed: bool,
        calls in prop::collection::vec(
            (prop::collection::vec((0u32..50, any::<u32>()), 0..300), 0u32..3),
            0..8,
        ),
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let finder = RsraSizes { column_bits: 12, bit_stride: 10, rows: 4, ..RsraSizes::PAPER };
        let sizes = Config { linear_width: 512, threshold: 16, seed, hash, ..Config::default() };
        let params = |scheme| Config { scheme, ..sizes }.validate().unwrap();
        for scheme in [
            Scheme::Tagged { cell_bits: 12, lines: 40, tags: 64 },
            Scheme::Paper { finder, rows: 3, columns: 9, stride: 16 },
        ] {
            let params = params(scheme);
            for_scheme!(&params, Types => {
                let pair = |inside, peer| Ipv4Pair { inside, peer };
                let several = on_all_levels!(ingest<Ipv4Pair, Types> as level => left(level, pair, params, &calls));
                let alone = on_all_levels!(ingest_alone<Ipv4Pair, Types> as level => left(level, pair, params, &calls));
                prop_assert!(alone == several);
            });
        }
        let params = params(Scheme::Tagged { cell_bits: 12, lines: 40, tags: 64 });
        let limbs = |number: u32| match number % 3 {
            0 => [0, 0, 0xffff, number],
            _ => [0x2001_0db8, 0, number, 1],
        };
        let pair = |inside, peer| IpPair { inside: limbs(inside), peer: limbs(peer) };
        let several = on_all_levels!(ingest<IpPair, TaggedTypes> as level => left(level, pair, params, &calls));
        let alone = on_all_levels!(ingest_alone<IpPair, TaggedTypes> as level => left(level, pair, params, &calls));
        prop_assert!(alone == several);
    }
}
