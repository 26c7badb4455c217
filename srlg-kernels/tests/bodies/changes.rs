//! Changes of the recorders of one array.

use std::sync::atomic::{AtomicU32, AtomicU64};

use srlg_kernels::{Age, Apply, Extract, Merge, Slices, Width, filled};

use super::{launch, packed, unpacked, words};

/// Ageing, merging, and lists of the recent.
pub(crate) fn assert_changes_equal<R: Width>(
    recorders: &[R],
    (recent, echo): (u32, u32),
    step: u32,
    seed: u64,
) {
    let before = words(recorders);
    launch(seed, &Age::<Slices<'_>, R> { step, recorders });
    let grown: Vec<R::Word> = before.iter().map(|&word| R::grown(word, step)).collect();
    assert_eq!(words(recorders), grown);

    let is_recent = |word: u32| word < recent || (echo..echo + recent).contains(&word);
    let list: Vec<AtomicU64> = before.iter().map(|_| AtomicU64::new(0)).collect();
    let count = [const { AtomicU32::new(0) }];
    let entries = &list[..];
    launch(seed, &Extract::<Slices<'_>, R> { recent, echo, recorders, entries, count: &count });
    let list: Vec<u64> = list.into_iter().map(AtomicU64::into_inner).collect();
    let [count] = count.map(AtomicU32::into_inner);
    let mut listed = filled(&list, count).to_vec();
    listed.sort_unstable();
    let entry = |(at, &word): (usize, &R::Word)| (at as u64) << 32 | u64::from(word.into());
    let all = grown.iter().enumerate().map(entry);
    assert_eq!(listed, all.filter(|&entry| is_recent(entry as u32)).collect::<Vec<_>>());

    let (other, whole) = (packed::<R>(grown.len()), packed::<R>(grown.len()));
    let beyond = [(other.len() as u64 * 4) << 32];
    launch(seed, &Apply::<Slices<'_>, R> { step: 0, entries: &beyond, recorders: &other });
    launch(seed, &Apply::<Slices<'_>, R> { step, entries: &listed, recorders: &other });
    let (first, second) = grown.split_at(grown.len() / 3);
    for (number, words) in [(0, first), (first.len(), second)] {
        let first = number as u32;
        launch(seed, &Merge::<Slices<'_>, R> { first, step, words, recorders: &whole });
    }
    let (other, whole) = (unpacked(other, grown.len()), unpacked(whole, grown.len()));
    for (at, &word) in grown.iter().enumerate() {
        let merged = R::grown(word, step);
        assert_eq!(whole[at].word(), merged);
        let kept = if is_recent(word.into()) { merged } else { R::UNTOUCHED };
        assert_eq!(other[at].word(), kept);
    }
}
