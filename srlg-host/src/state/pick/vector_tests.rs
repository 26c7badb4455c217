//! All levels of vectors pick the same recorders.

use proptest::prelude::*;
use srlg_core::{Recorder, Recorder8, Recorder16};

use super::*;

fn picked<R: Recorder>(
    level: fn(&[R], Near, u32, &mut Tray),
    words: &[u16],
    near: Near,
) -> (Vec<u32>, Vec<u16>) {
    let recorder = |&word: &u16| R::new(R::saturated(word.into()));
    let recorders: Vec<R> = words.iter().map(recorder).collect();
    let mut tray = Tray::new();
    level(&recorders, near, 7, &mut tray);
    (tray.places[..tray.len].to_vec(), tray.words[..tray.len].to_vec())
}

proptest! {
    #[test]
    fn picked_recorders_are_the_same_on_all_levels(
        words in prop::collection::vec(prop_oneof![0u16..20, 1000u16..1020, any::<u16>()], 0..5000),
        recent in 0u16..25,
        echo in prop_oneof![Just(0u16), Just(1000)],
    ) {
        let near = Near { recent, echo };
        let wide = picked::<Recorder16>(pick::plain, &words, near);
        prop_assert_eq!(picked::<Recorder16>(pick::avx2, &words, near), wide.clone());
        prop_assert_eq!(picked::<Recorder16>(pick, &words, near), wide);
        let narrow = picked::<Recorder8>(pick::plain, &words, near);
        prop_assert_eq!(picked::<Recorder8>(pick::avx2, &words, near), narrow.clone());
        prop_assert_eq!(picked::<Recorder8>(pick, &words, near), narrow);
    }
}
