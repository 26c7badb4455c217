//! Lists of limited length, to which many threads [`add`] results in any order.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Reserves the next entry of a list of `len` entries, and returns its index if the list is not full. `count`,
/// initially 0, is the number of reserved entries.
///
/// If the count exceeds `len`, some entries are missing, but the count does not show how many.
#[inline(always)]
pub(crate) fn next(len: usize, count: &AtomicU32) -> Option<usize> {
    // The count can exceed `len` by at most the number of threads that pass this check at once, so it cannot wrap.
    if count.load(Relaxed) as usize > len {
        return None;
    }
    let at = count.fetch_add(1, Relaxed) as usize;
    (at < len).then_some(at)
}

/// Adds `word` to the list `entries`, if the list is not full. `count`, initially 0, is the number of reserved entries.
///
/// If the count exceeds the number of `entries`, some words are missing, but the count does not show how many.
#[inline(always)]
pub fn add(entries: &[AtomicU32], count: &AtomicU32, word: u32) {
    if let Some(at) = next(entries.len(), count) {
        entries[at].store(word, Relaxed);
    }
}

/// Returns the filled part of `entries`, the buffer of a list whose count is `count`.
#[inline(always)]
#[must_use]
pub fn filled<T>(entries: &[T], count: u32) -> &[T] {
    &entries[..entries.len().min(count as usize)]
}

/// Returns the first `count` of `entries`, or an empty slice if there are fewer than `count` entries.
#[inline(always)]
#[must_use]
pub fn complete<T>(entries: &[T], count: u32) -> &[T] {
    entries.get(..count as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_is_reported() {
        let entries = [const { AtomicU32::new(0) }; 2];
        let count = AtomicU32::new(0);
        (7..12).for_each(|word| add(&entries, &count, word));
        assert_eq!(entries.map(AtomicU32::into_inner), [7, 8]);
        assert_eq!(count.into_inner(), 3);
        assert_eq!([0, 1, 5].map(|count| filled(&[7, 8], count).len()), [0, 1, 2]);
        assert_eq!([0, 2, 3].map(|count| complete(&[7, 8], count).len()), [0, 2, 0]);
    }
}
