//! Tests that masks, counts and admitted partners are the same at all vector levels.

use proptest::prelude::*;
use srlg_core::{ArrayParams, Config, HashFamily, RsraSizes};

use super::*;
use crate::vectors::{cut, on_all_levels};

const SIZES: RsraSizes = RsraSizes { column_bits: 14, bit_stride: 9, rows: 4, ..RsraSizes::PAPER };

fn search_of(params: &Params) -> RsraSearch {
    CpuSearch::<u16>::new(params)
}

fn assert_equal_masks(params: &RsraParams, ages: &[u64], first: usize, count: usize) {
    let ages = cut::<u16>(ages).repeat(params.recorders() / ages.len());
    let rsra = Rsra::new(params, &ages);
    on_all_levels!(take_masks as level => {
        let mut masks = vec![0; count];
        level(rsra, 5, first, &mut masks);
        masks
    });
}

proptest! {
    #[test]
    fn masks_of_all_levels_are_equal(
        ages in prop::collection::vec(prop_oneof![0u64..9, any::<u64>()], 4096),
        width in prop_oneof![Just(2u32), Just(4), Just(8)],
        (first, count) in (0usize..256, 0usize..256),
    ) {
        let params = Config::paper_with(RsraSizes { width, ..SIZES }).validate().unwrap();
        assert_equal_masks(params.finder().rsra().unwrap(), &ages, first, count);
    }

    #[test]
    fn weights_of_all_levels_are_equal(masks: Vec<u8>, times in 1usize..30, hot_weight in 1u32..4) {
        let masks = masks.repeat(times);
        on_all_levels!(weights as level => level(&masks, hot_weight));
    }

    #[test]
    fn partners_that_are_admitted_are_the_same_on_all_levels(
        seed: u64,
        keyed: bool,
        masks in prop::collection::vec(any::<u8>(), 4096),
        columns in prop::collection::vec(0u32..1 << 14, 0..500),
        base in 0u32..1 << 14,
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let params = Config { hash, seed, ..Config::paper_with(SIZES) }.validate().unwrap();
        let search = search_of(&params);
        let params = params.finder().rsra().unwrap();
        let mut of_row_2 = vec![0; overlap_len(params)];
        fill_overlap(params, &search.subsets, &masks, 3, &mut of_row_2);
        let overlap = Overlap::new(params, &of_row_2);
        let partner = |&column: &u32| {
            let sets = search.subsets[usize::from(masks[column as usize % masks.len()])];
            Partner { column, sets }
        };
        let partners: Vec<Partner> = columns.iter().map(partner).collect();
        on_all_levels!(admit as level => {
            let mut admitted = vec![0; partners.len()];
            let table = search.high_table();
            let count = level(params, table, overlap, base, &partners, &mut admitted);
            admitted.truncate(count);
            admitted
        });
    }
}
