//! All levels of vectors write the same planes.

use proptest::prelude::*;
use srlg_core::Width;

use super::*;

proptest! {
    #[test]
    fn planes_are_written_alike_on_all_levels(
        words in prop::collection::vec(prop_oneof![0u16..300, 1000u16..1300, any::<u16>()], 0..1000),
        (recent, echo) in prop_oneof![Just((300, 1000)), Just((5, 0))],
        byte in 0usize..2,
    ) {
        let fold = Fold::of(Width::W16, RecentRange { recent, echo });
        let expected = ones::plain(&words[..], fold);
        prop_assert_eq!(ones::avx2(&words, fold), expected);
        prop_assert_eq!(ones(&words, fold), expected);
        let of = |level: fn(&[u16], Fold, usize, &mut Vec<u8>)| {
            let mut plane = vec![7];
            level(&words, fold, byte, &mut plane);
            plane
        };
        let expected = of(append_plane::plain);
        prop_assert_eq!(of(append_plane::avx2), &expected[..]);
        prop_assert_eq!(of(append_plane), expected);
    }
}
