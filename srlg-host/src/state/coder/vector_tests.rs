//! All levels of vectors write the same planes.

use proptest::prelude::*;

use super::*;
use crate::state::Near;

proptest! {
    #[test]
    fn planes_are_written_alike_on_all_levels(
        words in prop::collection::vec(prop_oneof![0u16..300, 1000u16..1300, any::<u16>()], 0..1000),
        near in prop_oneof![Just(Near { recent: 300, echo: 1000 }), Just(Near { recent: 5, echo: 0 })],
        shift in prop_oneof![Just(0u32), Just(8)],
    ) {
        let fold = Fold::of(near);
        let expected = ones::plain(&words, fold);
        prop_assert_eq!(ones::avx2(&words, fold), expected);
        prop_assert_eq!(ones(&words, fold), expected);
        let of = |level: fn(&[u16], Fold, u32, &mut Vec<u8>)| {
            let mut plane = vec![7];
            level(&words, fold, shift, &mut plane);
            plane
        };
        let expected = of(append_plane::plain);
        prop_assert_eq!(of(append_plane::avx2), &expected[..]);
        prop_assert_eq!(of(append_plane), expected);
    }
}
