//! Changes of the recorders of one array.

use std::sync::atomic::{AtomicU32, AtomicU64};

use srlg_core::Recorder;
use srlg_kernels::{List, change, filled};

use super::{launch, untouched, words};

/// Ageing, merging, and lists of the recent.
pub(crate) fn assert_changes_equal<R: Recorder>(
    recorders: &[R],
    is_recent: impl Fn(u32) -> bool + Sync,
    step: u32,
    seed: u64,
) {
    let before = words(recorders);
    launch(seed, |grid| change::age(grid, recorders, step));
    let aged: Vec<R::Word> = before.iter().map(|&word| R::aged(word, R::saturated(step))).collect();
    assert_eq!(words(recorders), aged);

    let list: Vec<AtomicU64> = before.iter().map(|_| AtomicU64::new(0)).collect();
    let count = AtomicU32::new(0);
    launch(seed, |grid| change::extract(grid, recorders, &is_recent, List::new(&list, &count)));
    let list: Vec<u64> = list.into_iter().map(AtomicU64::into_inner).collect();
    let mut recent = filled(&list, count.into_inner()).to_vec();
    recent.sort_unstable();
    let entry = |(at, &word): (usize, &R::Word)| (at as u64) << 32 | Into::<u64>::into(word);
    let all = aged.iter().enumerate().map(entry);
    assert_eq!(recent, all.filter(|&entry| is_recent(entry as u32)).collect::<Vec<_>>());

    let (other, whole) = (untouched::<R>(aged.len()), untouched::<R>(aged.len()));
    let beyond = [(aged.len() as u64) << 32];
    launch(seed, |grid| change::apply(grid, &other, &beyond, 0));
    launch(seed, |grid| change::apply(grid, &other, &recent, step));
    let plain: Vec<u16> = aged.iter().map(|&word| Into::<u64>::into(word) as u16).collect();
    let (first, second) = plain.split_at(plain.len() / 3);
    launch(seed, |grid| change::merge(grid, &whole, 0, first, step));
    launch(seed, |grid| change::merge(grid, &whole, first.len() as u32, second, step));
    for (at, &word) in aged.iter().enumerate() {
        let merged = R::aged(word, R::saturated(step));
        assert_eq!(whole[at].word(), merged);
        let kept = if is_recent(Into::<u64>::into(word) as u32) { merged } else { R::UNTOUCHED };
        assert_eq!(other[at].word(), kept);
    }
}
