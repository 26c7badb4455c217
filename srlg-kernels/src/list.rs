//! Lists of bounded length to which many threads [`add`] what they find, in any order.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// An entry of a list.
pub trait Entry {
    /// The plain integer.
    type Word;

    /// Writes an entry that nobody else writes.
    fn put(&self, word: Self::Word);
}

macro_rules! entry {
    ($($atomic:ident: $word:ident),*) => {
        $(impl Entry for $atomic {
            type Word = $word;

            #[inline(always)]
            fn put(&self, word: $word) {
                self.store(word, Relaxed);
            }
        })*
    };
}
entry!(AtomicU32: u32, AtomicU64: u64);

/// Adds `word` to the list in `entries`, if there is room; `count`, 0 at first, says how many there
/// are.
///
/// A count beyond the length of `entries` says that some are missing, not how many.
#[inline(always)]
pub fn add<T: Entry>(entries: &[T], count: &AtomicU32, word: T::Word) {
    // No more than the threads that pass here at once: the count cannot wrap.
    if count.load(Relaxed) as usize > entries.len() {
        return;
    }
    let at = count.fetch_add(1, Relaxed);
    if let Some(entry) = entries.get(at as usize) {
        entry.put(word);
    }
}

/// Those of `entries` that a list of them holds when it counted `count`.
#[inline(always)]
#[must_use]
pub fn filled<T>(entries: &[T], count: u32) -> &[T] {
    &entries[..entries.len().min(count as usize)]
}

/// The same, but nothing of a list that has not all.
#[inline(always)]
#[must_use]
pub fn complete<T>(entries: &[T], count: u32) -> &[T] {
    entries.get(..count as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_says_that_it_had_no_room() {
        let entries = [const { AtomicU32::new(0) }; 2];
        let count = AtomicU32::new(0);
        (7..12).for_each(|word| add(&entries, &count, word));
        assert_eq!(entries.map(AtomicU32::into_inner), [7, 8]);
        assert_eq!(count.into_inner(), 3);
        assert_eq!([0, 1, 5].map(|count| filled(&[7, 8], count).len()), [0, 1, 2]);
        assert_eq!([0, 2, 3].map(|count| complete(&[7, 8], count).len()), [0, 2, 0]);
    }
}
