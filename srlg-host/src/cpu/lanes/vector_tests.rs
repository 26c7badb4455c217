//! All levels of vectors leave the same recorders.

use proptest::prelude::*;
use srlg_core::{Config, Hash, Recorder, Recorder8, Recorder16, Scheme};

use super::*;
use crate::cpu::pages::Pages;
use crate::cpu::shards::Shards;

type Level<R> = fn(&mut Lane, &Arrays<R>, &[IpPair], Ages);

fn words<R: Recorder>(recorders: &[R]) -> Vec<u32> {
    recorders.iter().map(|recorder| recorder.word().into()).collect()
}

/// The recorders of both arrays after batches of pairs, each of which is so many epochs late.
fn left<R: Mappable>(
    level: Level<R>,
    params: Params,
    batches: &[(Vec<(u32, u32)>, u32)],
) -> [Vec<u32>; 2] {
    let rough = Pages::<R>::new(params.rough_recorders()).unwrap();
    let linear = Pages::new(params.linear_recorders()).unwrap();
    let arrays = Arrays { params, rough, linear, shards: Shards::new(&params) };
    let mut lane = Lane::new(&params);
    for (pairs, late) in batches {
        let pairs: Vec<IpPair> = pairs.iter().map(|&(aip, bip)| IpPair { aip, bip }).collect();
        level(&mut lane, &arrays, &pairs, Ages { rough: *late, linear: *late });
    }
    lane.drain(&arrays);
    [words(arrays.rough.shared()), words(arrays.linear.shared())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn recorders_are_touched_alike_on_all_levels(
        seed: u64,
        keyed: bool,
        batches in prop::collection::vec(
            (prop::collection::vec((0u32..50, any::<u32>()), 0..300), 0u32..3),
            0..8,
        ),
    ) {
        let hash = if keyed { Hash::HalfSip13 } else { Hash::Murmur };
        let (rough_column_bits, bit_stride, rough_rows) = (12, 10, 4);
        let sizes = Config { rough_column_bits, bit_stride, rough_rows, ..Config::default() };
        let sizes = Config { linear_width: 512, threshold: 16, seed, hash, ..sizes };
        let params = |scheme| Config { scheme, ..sizes }.validate().unwrap();
        let tagged = params(Scheme::Tagged { lines: 40, tags: 64 });
        let expected = left::<Recorder8>(ingest::plain, tagged, &batches);
        prop_assert!(left::<Recorder8>(ingest::avx2, tagged, &batches) == expected);
        prop_assert!(left::<Recorder8>(ingest, tagged, &batches) == expected);
        let paper = params(Scheme::Paper { rows: 3, columns: 9, stride: 16 });
        let expected = left::<Recorder16>(ingest::plain, paper, &batches);
        prop_assert!(left::<Recorder16>(ingest::avx2, paper, &batches) == expected);
        prop_assert!(left::<Recorder16>(ingest, paper, &batches) == expected);
    }
}
