//! [`List`]: what many threads find, in any order.

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

/// A list of bounded length to which many threads add.
///
/// A count beyond its length says that some are missing, not how many.
#[derive(Debug)]
pub struct List<'a, T> {
    entries: &'a [T],
    count: &'a AtomicU32,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T: Entry> List<'a, T> {
    /// A list in `entries`, of which `count`, 0 at first, says how many there are.
    #[inline(always)]
    #[must_use]
    pub fn new(entries: &'a [T], count: &'a AtomicU32) -> Self {
        Self { entries, count }
    }

    /// Adds `word`, if there is room.
    #[inline(always)]
    pub fn add(self, word: T::Word) {
        // No more than the threads that pass here at once: the count cannot wrap.
        if self.count.load(Relaxed) as usize > self.entries.len() {
            return;
        }
        let at = self.count.fetch_add(1, Relaxed);
        if let Some(entry) = self.entries.get(at as usize) {
            entry.put(word);
        }
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
        (7..12).for_each(|word| List::new(&entries, &count).add(word));
        assert_eq!(entries.map(AtomicU32::into_inner), [7, 8]);
        assert_eq!(count.into_inner(), 3);
        assert_eq!([0, 1, 5].map(|count| filled(&[7, 8], count).len()), [0, 1, 2]);
        assert_eq!([0, 2, 3].map(|count| complete(&[7, 8], count).len()), [0, 2, 0]);
    }
}
