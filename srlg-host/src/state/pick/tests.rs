//! Tests that exactly the recent recorders are picked, at all vector levels.

use proptest::prelude::*;

use super::*;
use crate::vectors::{cut, on_all_levels};

/// Generates the words of an array. Most recorders are untouched, and many lines contain only words that look like
/// echoes.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let stale = || prop_oneof![6 => Just(u64::MAX), 1 => 1000u64..1020];
    let any = prop_oneof![20 => stale(), 1 => 0u64..20, 1 => any::<u64>()];
    let line = |word: BoxedStrategy<u64>| prop::collection::vec(word, LINE as usize);
    let line = prop_oneof![line(stale().boxed()), line(any.boxed())];
    let lines = prop::collection::vec(line, 0..280);
    // An array without echoes may end in the middle of a line.
    (lines, 0..LINE as usize).prop_map(|(lines, cut)| {
        let words = lines.concat();
        words[..words.len().saturating_sub(cut)].to_vec()
    })
}

fn assert_equal_picks<W: Word>(words: &[u64], range: RecentRange) {
    let words = cut::<W>(words);
    on_all_levels!(pick as level => {
        let mut buffer = PickBuffer::new();
        level(&words, range.of_width(), 7, &mut buffer);
        (buffer.places[..buffer.len].to_vec(), buffer.words[..buffer.len].to_vec())
    });
}

proptest! {
    #[test]
    fn picked_are_the_recent_ones_in_their_order(
        words in words(),
        recent in 0u16..25,
        echo in prop_oneof![Just(0u16), Just(1000)],
    ) {
        let (words, range) = (cut::<u16>(&words), RecentRange { recent, echo });
        let expected = (0..words.len()).filter(|&at| range.holds(&words, at));
        let (places, expected): (Vec<u32>, Vec<u16>) =
            expected.map(|at| (at as u32, words[at])).unzip();
        let mut buffer = PickBuffer::new();
        pick(&words, range, 0, &mut buffer);
        prop_assert_eq!(&buffer.places[..buffer.len], places);
        prop_assert_eq!(&buffer.words[..buffer.len], expected);
    }
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
