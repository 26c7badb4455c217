//! All levels of vectors admit the same partners.

use proptest::prelude::*;
use srlg_core::{Config, Hash};

use super::*;

type Level = fn(&Params, HighTable<'_>, Overlap<'_>, u32, &[Partner], &mut [u32]) -> usize;

proptest! {
    #[test]
    fn partners_that_are_admitted_are_the_same_on_all_levels(
        seed: u64,
        keyed: bool,
        masks in prop::collection::vec(any::<u8>(), 4096),
        columns in prop::collection::vec(0u32..1 << 14, 0..500),
        base in 0u32..1 << 14,
    ) {
        let hash = if keyed { Hash::HalfSip13 } else { Hash::Murmur };
        let sizes = Config { rough_column_bits: 14, bit_stride: 9, rough_rows: 4, ..Config::paper() };
        let params = Config { hash, seed, ..sizes }.validate().unwrap();
        let search = Search::new(&params);
        let mut of_row_2 = vec![0; overlap_len(&params)];
        fill_overlap(&params, &search.subsets, &masks, 3, &mut of_row_2);
        let overlap = Overlap::new(&params, &of_row_2);
        let partner = |&column: &u32| {
            let sets = search.subsets[usize::from(masks[column as usize % masks.len()])];
            Partner { column, sets }
        };
        let partners: Vec<Partner> = columns.iter().map(partner).collect();
        let of = |level: Level| {
            let mut admitted = vec![0; partners.len()];
            let table = search.high_table(&params);
            let count = level(&params, table, overlap, base, &partners, &mut admitted);
            admitted.truncate(count);
            admitted
        };
        let expected = of(admit::plain);
        prop_assert_eq!(of(admit::avx2), &expected[..]);
        prop_assert_eq!(of(admit), expected);
    }
}
