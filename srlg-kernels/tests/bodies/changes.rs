//! Tests of the kernels that change the recorders of one array.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::RecentRange;
use srlg_kernels::{Age, Apply, Extract, KernelRecorder, Merge, Slices, filled};

use super::{launch, recorders_of, swapped, untouched, words};

pub(crate) fn assert_changes_equal<R: KernelRecorder>(
    recorders: &[R],
    RecentRange { recent, echo }: RecentRange,
    step: u64,
    seed: u64,
) {
    let before = words(recorders);
    launch(seed, &Age::<Slices<'_>, R> { step, recorders });
    let aged: Vec<R::Word> = before.iter().map(|&word| R::aged(word, R::saturated(step))).collect();
    assert_eq!(words(recorders), aged);

    let range = RecentRange { recent, echo }.of_width();
    let places: Vec<AtomicU32> = before.iter().map(|_| AtomicU32::new(0)).collect();
    let (list, count) = (untouched::<R>(before.len()), [const { AtomicU32::new(0) }]);
    let (listed, entries, count) = (&places[..], &list[..], &count[..]);
    let extract: Extract<Slices<'_>, R> =
        Extract { recent, echo, recorders, places: listed, words: entries, count };
    launch(seed, &extract);
    let places = filled(&places, count[0].load(Relaxed)).iter().map(|place| place.load(Relaxed));
    let mut listed: Vec<(u32, R::Word)> = places.zip(words(&list)).collect();
    listed.sort_unstable();
    let all = (0..).zip(aged.iter().copied());
    let held = all.filter(|&(at, _)| range.holds(&aged, at as usize));
    assert_eq!(listed, held.collect::<Vec<_>>());

    let (other, whole) = (swapped::<R>(aged.len()), swapped::<R>(aged.len()));
    let beyond = R::saturated(0u32);
    let beyond: Apply<Slices<'_>, R> =
        Apply { step: 0, places: &[other.len() as u32 * 4], words: &[beyond], recorders: &other };
    launch(seed, &beyond);
    let (places, listed): (Vec<u32>, Vec<R::Word>) = listed.into_iter().unzip();
    let (places, listed) = (&places[..], &listed[..]);
    launch(seed, &Apply::<Slices<'_>, R> { step, places, words: listed, recorders: &other });
    let (first, second) = aged.split_at(aged.len() / 3);
    for (number, words) in [(0, first), (first.len(), second)] {
        let first = number as u32;
        launch(seed, &Merge::<Slices<'_>, R> { first, step, words, recorders: &whole });
    }
    let (other, whole) =
        (recorders_of::<R>(other, aged.len()), recorders_of::<R>(whole, aged.len()));
    for (at, &word) in aged.iter().enumerate() {
        let merged = R::aged(word, R::saturated(step));
        assert_eq!(whole[at].word(), merged);
        let kept = if range.holds(&aged, at) { merged } else { R::UNTOUCHED };
        assert_eq!(other[at].word(), kept);
    }
}
