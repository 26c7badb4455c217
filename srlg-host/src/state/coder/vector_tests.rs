//! Tests that the same planes are written at all vector levels.

use proptest::prelude::*;

use super::*;
use crate::vectors::{cut, on_all_levels};

fn assert_equal_planes<W: Word>(words: &[u64], range: RecentRange) {
    let (words, fold) = (&cut::<W>(words)[..], Fold::of(W::WIDTH, range));
    on_all_levels!(ones as level => level(words, fold));
    for byte in 0..W::WIDTH.bytes() {
        on_all_levels!(append_plane as level => {
            let mut plane = vec![7];
            level(words, fold, byte, &mut plane);
            plane
        });
    }
}

proptest! {
    #[test]
    fn planes_are_written_alike_on_all_levels(
        words in prop::collection::vec(prop_oneof![0u64..300, 1000u64..1300, any::<u64>()], 0..1000),
        (recent, echo) in prop_oneof![Just((300, 1000)), Just((5, 0))],
    ) {
        let range = RecentRange { recent, echo };
        assert_equal_planes::<u8>(&words, range);
        assert_equal_planes::<u16>(&words, range);
        assert_equal_planes::<u32>(&words, range);
        assert_equal_planes::<u64>(&words, range);
    }
}
