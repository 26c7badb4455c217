//! Tests that passes and examinations return the same results at all vector levels.

use proptest::prelude::*;
use srlg_core::{
    COUNTER, Config, HashFamily, Recorder8, Recorder16, Recorder32, Recorder64, RsraSizes, Scheme,
    SchemeTypes, Word, for_scheme,
};

use super::*;
use crate::vectors::{cut, on_all_levels};

/// Returns `len` words. About half of them are near 0, like words within a window.
fn words(len: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![0u64..700, any::<u64>()], len)
}

fn assert_equal_counts<W: Word>(words: &[u64], limit: u64) {
    let (words, limit) = (&cut::<W>(words)[..], W::saturated(limit));
    on_all_levels!(count as level => level(words, limit));
}

fn assert_equal_ageing<R: Recorder>(words: &[u64], step: u64, limit: u64) {
    let words = cut::<R::Word>(words);
    on_all_levels!(age_by as level => {
        let mut recorders: Vec<R> = words.iter().map(|&word| R::new(word)).collect();
        let below = level(&mut recorders, R::saturated(step), R::saturated(limit));
        (below, recorders.iter().map(R::word).collect::<Vec<_>>())
    });
}

const TAGGED: Scheme = Scheme::Tagged { cell_bits: 12, lines: 448, tags: 64 };
const ROUGH: RsraSizes = RsraSizes { column_bits: 12, bit_stride: 10, rows: 4, ..RsraSizes::PAPER };
const PAPER: Scheme = Scheme::Paper { finder: ROUGH, rows: 3, columns: 9, stride: 128 };

proptest! {
    #[test]
    fn counts_of_all_levels_are_equal(
        words in (0usize..5000).prop_flat_map(words),
        limit in prop_oneof![0u64..700, any::<u64>()],
    ) {
        assert_equal_counts::<u8>(&words, limit);
        assert_equal_counts::<u16>(&words, limit);
        assert_equal_counts::<u32>(&words, limit);
        assert_equal_counts::<u64>(&words, limit);
    }

    #[test]
    fn recorders_age_alike_on_all_levels(
        words in (0usize..5000).prop_flat_map(words),
        step in prop_oneof![0u64..700, any::<u32>().prop_map_into(), any::<u64>()],
        limit in 0u64..700,
    ) {
        assert_equal_ageing::<Recorder8>(&words, step, limit);
        assert_equal_ageing::<Recorder16>(&words, step, limit);
        assert_equal_ageing::<Recorder32>(&words, step, limit);
        assert_equal_ageing::<Recorder64>(&words, step, limit);
    }

    #[test]
    fn tallies_of_all_levels_are_equal(
        words in words(3200),
        scheme in prop_oneof![Just(TAGGED), Just(PAPER)],
        keyed: bool,
        (host, slices) in (any::<u32>(), 1u32..300),
        lines in prop_oneof![(0u32..64, 0u32..65), (0u32..320, 0u32..321)],
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let params = Config { scheme, linear_width: 2048, hash, ..Config::default() }.validate().unwrap();
        let len = params.arrays()[COUNTER].recorders;
        let words = cut::<u16>(&words).repeat(len.div_ceil(words.len()));
        let (span, positions) = (params.span(77, slices), 32 * lines.0..32 * lines.0.max(lines.1));
        for_scheme!(&params, Types => {
            type Of = <Types as SchemeTypes>::Counter;
            let array = ArrayView::new(Of::params(params.counter()), &words[..len]);
            let most = params.regions().last().expect("a region").end;
            let positions = positions.start.min(most)..positions.end.min(most);
            let tally = on_all_levels!(look_at<Of> as level => {
                let mut counted = <Of as Counter>::Accumulator::new(span);
                let next = (srlg_core::HostId::from(!host), 0);
                let look = Look { host: host.into(), positions: positions.clone(), next };
                level(array, &look, &mut counted);
                counted.tally()
            });
            prop_assert!(tally == Of::tally(array, host.into(), span, positions.clone()));
            let mut counted = <Of as Counter>::Accumulator::new(span);
            let next = (host.into(), 0);
            look_at::<Of>(array, &Look { host: host.into(), positions: 0..256, next }, &mut counted);
            on_all_levels!(may_reach<Of> as level => level(Of::params(params.counter()), 256, &counted));
            let mut tally = <Of as Counter>::Accumulator::new(span).tally();
            on_all_levels!(tally_into<Of> as level => {
                level(&counted, &mut tally);
                tally
            });
            prop_assert!(tally == counted.tally());
        });
    }
}
