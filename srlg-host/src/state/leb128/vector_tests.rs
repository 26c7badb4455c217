//! All levels of vectors write the same bytes.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn gaps_are_written_alike_on_all_levels(
        gaps in prop::collection::vec(prop_oneof![100 => 1u32..100, 1 => 1u32..1 << 20], 0..2000),
    ) {
        let ends = gaps.iter().scan(0, |end, gap| {
            *end += gap;
            Some(*end)
        });
        let places: Vec<u32> = ends.collect();
        let of = |level: fn(&[u32], &mut Vec<u8>)| {
            let mut bytes = vec![7];
            level(&places, &mut bytes);
            bytes
        };
        let expected = of(write_gaps::plain);
        prop_assert_eq!(of(write_gaps::avx2), &expected[..]);
        prop_assert_eq!(of(write_gaps), expected);
    }
}
