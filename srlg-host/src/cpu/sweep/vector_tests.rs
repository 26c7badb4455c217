//! All levels of vectors sweep alike.

use proptest::prelude::*;
use srlg_core::{Config, Frozen8, Hash, Recorder8, Recorder16, Scheme};
use zerocopy::{FromBytes, IntoBytes};

use super::*;

/// Words of which half are near 0, as those of a window are.
fn words(len: usize) -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(prop_oneof![0u16..700, any::<u16>()], len)
}

fn frozen(words: &[u16]) -> &[Frozen16] {
    <[Frozen16]>::ref_from_bytes(words.as_bytes()).unwrap()
}

/// How many were below `limit`, and the words after growing by `step`.
fn grown<R: Recorder>(
    level: fn(&mut [R], u32, R::Word) -> u32,
    words: &[u16],
    (step, limit): (u32, u16),
) -> (u32, Vec<u32>) {
    let recorder = |&word: &u16| R::new(R::saturated(word.into()));
    let mut recorders: Vec<R> = words.iter().map(recorder).collect();
    let below = level(&mut recorders, step, R::saturated(limit.into()));
    (below, recorders.iter().map(|recorder| recorder.word().into()).collect())
}

fn sizes(scheme: Scheme) -> Config {
    let (rough_column_bits, bit_stride, rough_rows) = (12, 10, 4);
    let sizes = Config { rough_column_bits, bit_stride, rough_rows, ..Config::default() };
    Config { scheme, linear_width: 2048, ..sizes }
}

const TAGGED: Scheme = Scheme::Tagged { lines: 100, tags: 64 };
const PAPER: Scheme = Scheme::Paper { rows: 3, columns: 9, stride: 128 };

proptest! {
    #[test]
    fn masks_of_all_levels_are_equal(
        ages in prop::collection::vec(0u8..9, 4096),
        rough_width in prop_oneof![Just(2u32), Just(4), Just(8)],
        (first, count) in (0usize..256, 0usize..256),
    ) {
        let params = Config { rough_width, ..sizes(TAGGED) }.validate().unwrap();
        let ages = ages.repeat(params.rough_recorders() / ages.len());
        let rsra = Rsra::new(&params, <[Frozen8]>::ref_from_bytes(&ages).unwrap());
        let of = |level: fn(Rsra<'_, Frozen8>, u32, usize, &mut [u8])| {
            let mut masks = vec![0; count];
            level(rsra, 5, first, &mut masks);
            masks
        };
        let expected = of(masks::plain);
        prop_assert_eq!(of(masks::avx2), &expected[..]);
        prop_assert_eq!(of(masks), expected);
    }

    #[test]
    fn weights_of_all_levels_are_equal(masks: Vec<u8>, times in 1usize..30, hot_weight in 1u32..4) {
        let masks = masks.repeat(times);
        let expected = weights::plain(&masks, hot_weight);
        prop_assert_eq!(weights::avx2(&masks, hot_weight), expected);
        prop_assert_eq!(weights(&masks, hot_weight), expected);
    }

    #[test]
    fn counts_of_all_levels_are_equal(
        words in (0usize..5000).prop_flat_map(words),
        limit in prop_oneof![0u16..700, any::<u16>()],
    ) {
        let expected = count::plain(frozen(&words), limit);
        prop_assert_eq!(count::avx2(frozen(&words), limit), expected);
        prop_assert_eq!(count(frozen(&words), limit), expected);
    }

    #[test]
    fn recorders_grow_alike_on_all_levels(
        words in (0usize..5000).prop_flat_map(words),
        by in (prop_oneof![0u32..700, any::<u32>()], 0u16..700),
    ) {
        let wide = grown::<Recorder16>(grow::plain, &words, by);
        prop_assert_eq!(grown::<Recorder16>(grow::avx2, &words, by), wide.clone());
        prop_assert_eq!(grown::<Recorder16>(grow, &words, by), wide);
        let narrow = grown::<Recorder8>(grow::plain, &words, by);
        prop_assert_eq!(grown::<Recorder8>(grow::avx2, &words, by), narrow.clone());
        prop_assert_eq!(grown::<Recorder8>(grow, &words, by), narrow);
    }

    #[test]
    fn tallies_of_all_levels_are_equal(
        words in words(3200),
        scheme in prop_oneof![Just(TAGGED), Just(PAPER)],
        keyed: bool,
        (host, slices) in (any::<u32>(), 1u32..300),
        lines in (0u32..64, 0u32..65),
    ) {
        let hash = if keyed { Hash::HalfSip13 } else { Hash::Murmur };
        let params = Config { hash, ..sizes(scheme) }.validate().unwrap();
        let words = words.repeat(params.linear_recorders().div_ceil(words.len()));
        let recorders = frozen(&words[..params.linear_recorders()]);
        let (span, positions) = (params.span(77, slices), 32 * lines.0..32 * lines.0.max(lines.1));
        let expected = tally::plain(&params, recorders, host, span, positions.clone());
        let avx2 = tally::avx2(&params, recorders, host, span, positions.clone());
        prop_assert_eq!(avx2, expected);
        prop_assert_eq!(tally(&params, recorders, host, span, positions), expected);
    }
}
