//! All levels of vectors pick the same recorders.

use proptest::prelude::*;

use super::tests::words;
use super::*;
use crate::vectors::cut;

fn picked<W: Word>(
    level: fn(&[W], RecentRange<W>, u32, &mut PickBuffer<W>),
    words: &[W],
    range: RecentRange,
) -> (Vec<u32>, Vec<W>) {
    let mut buffer = PickBuffer::new();
    level(words, range.of_width(), 7, &mut buffer);
    (buffer.places[..buffer.len].to_vec(), buffer.words[..buffer.len].to_vec())
}

/// Asserts that all levels pick the same of `words`, made `W`s.
fn assert_equal_picks<W: Word>(words: &[u64], range: RecentRange) {
    let words = cut::<W>(words);
    let expected = picked(pick::plain, &words, range);
    assert_eq!(picked(pick::avx2, &words, range), expected);
    assert_eq!(picked(pick, &words, range), expected);
}

proptest! {
    #[test]
    fn picked_recorders_are_the_same_on_all_levels(
        words in words(),
        recent in 0u64..25,
        echo in prop_oneof![Just(0u64), Just(1000)],
    ) {
        let range = RecentRange { recent, echo };
        assert_equal_picks::<u8>(&words, RecentRange { echo: 0, ..range });
        assert_equal_picks::<u16>(&words, range);
        assert_equal_picks::<u32>(&words, range);
        assert_equal_picks::<u64>(&words, range);
    }
}
