//! Recorders: small counters of slices since their last touch.
//!
//! A recorder's word orders by recency: the smaller, the more recent its touch. A
//! touch and a merge are therefore both a minimum, which is commutative, associative
//! and idempotent: any number of threads may touch at once, with relaxed atomics, in
//! any order and any number of times, and end with the same words.

use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A recorder as seen by those who only read it.
pub trait Reading: Sized + Sync {
    /// The plain integer inside; a smaller one is more recent.
    type Word: Copy + Ord + core::fmt::Debug;

    /// The word.
    fn word(&self) -> Self::Word;

    /// The least word that is not within the last `window` slices, the running one included.
    fn limit(window: u32) -> Self::Word;

    /// Whether the last touch is within the last `window` slices, the running one included.
    #[inline]
    fn within(&self, window: u32) -> bool {
        self.word() < Self::limit(window)
    }
}

/// A recorder as an atomic, touched by any number of threads at once.
pub trait Recorder: Reading + Send {
    /// The same recorder while nobody can touch it: a plain integer.
    type Frozen: Reading<Word = Self::Word>;

    /// The age at which a recorder stops growing: 'long ago, or never'.
    const MAX_AGE: u32;

    /// The word of a recorder that was never touched.
    const UNTOUCHED: Self::Word;

    /// A recorder with the given word.
    fn new(word: Self::Word) -> Self;

    /// Keeps the more recent of the recorder's word and `word`: the minimum.
    fn most_recent(&self, word: Self::Word);

    /// Records a touch `late` slices ago; 0 is the running slice.
    fn touch(&self, late: u32);

    /// The word after `slices` more slices without a touch.
    fn grown(word: Self::Word, slices: u32) -> Self::Word;

    /// Ages the recorder by `slices`.
    fn grow(&mut self, slices: u32);

    /// The recorders while nobody can touch them. Compilers vectorise loops over plain
    /// integers, never over atomics.
    fn freeze(recorders: &mut [Self]) -> &[Self::Frozen];
}

/// How many of `recorders` are within the last `window` slices.
#[must_use]
pub fn count_within<R: Reading>(recorders: &[R], window: u32) -> u32 {
    let limit = R::limit(window);
    // Counters as narrow as the words keep all lanes of a vector busy; 2^15 cannot overflow them.
    let count =
        |run: &[R]| run.iter().map(|recorder| u16::from(recorder.word() < limit)).sum::<u16>();
    recorders.chunks(1 << 15).map(|run| u32::from(count(run))).sum()
}

/// The paper's recorder: a 16-bit age in slices, 65535 when untouched.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub struct Age16(AtomicU16);

/// An [`Age16`] that nobody can touch.
#[derive(Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct FrozenAge16(u16);

impl Reading for FrozenAge16 {
    type Word = u16;

    #[inline]
    fn word(&self) -> u16 {
        self.0
    }

    #[inline]
    fn limit(window: u32) -> u16 {
        u16::try_from(window).unwrap_or(u16::MAX)
    }
}

impl Reading for Age16 {
    type Word = u16;

    #[inline]
    fn word(&self) -> u16 {
        self.0.load(Relaxed)
    }

    #[inline]
    fn limit(window: u32) -> u16 {
        FrozenAge16::limit(window)
    }
}

impl Recorder for Age16 {
    type Frozen = FrozenAge16;

    const MAX_AGE: u32 = u16::MAX as u32;
    const UNTOUCHED: u16 = u16::MAX;

    #[inline]
    fn new(word: u16) -> Self {
        Self(AtomicU16::new(word))
    }

    #[inline]
    fn most_recent(&self, word: u16) {
        self.0.fetch_min(word, Relaxed);
    }

    #[inline]
    fn touch(&self, late: u32) {
        if late == 0 {
            // The minimum with 0 is 0: a plain store does, and need not wait for a load.
            self.0.store(0, Relaxed);
        } else {
            self.most_recent(Self::grown(0, late));
        }
    }

    #[inline]
    fn grown(word: u16, slices: u32) -> u16 {
        // Saturate: a recorder that wrapped from its maximum to 0 would look just touched.
        word.saturating_add(u16::try_from(slices).unwrap_or(u16::MAX))
    }

    #[inline]
    fn grow(&mut self, slices: u32) {
        let word = self.0.get_mut();
        *word = Self::grown(*word, slices);
    }

    fn freeze(recorders: &mut [Self]) -> &[FrozenAge16] {
        let bytes: &[u8] = recorders.as_mut_bytes();
        <[FrozenAge16]>::ref_from_bytes(bytes).expect("an atomic and its integer have one layout")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn recorder_counts_the_slices_since_its_last_touch() {
        let mut recorder = Age16::new(Age16::UNTOUCHED);
        assert!(!recorder.within(65_534));
        recorder.touch(0);
        for age in 0..300 {
            assert_eq!(u32::from(recorder.word()), age);
            assert_eq!(recorder.within(300), age < 300);
            recorder.grow(1);
        }
        assert!(!recorder.within(300));
    }

    #[test]
    fn recorder_saturates_and_never_wraps() {
        let mut recorder = Age16::new(65_533);
        for expected in [65_534, 65_535, 65_535, 65_535] {
            recorder.grow(1);
            assert_eq!(recorder.word(), expected);
        }
        recorder.touch(0);
        recorder.grow(u32::MAX);
        assert_eq!(recorder.word(), Age16::UNTOUCHED);
    }

    #[test]
    fn late_touch_keeps_the_more_recent_age() {
        let recorder = Age16::new(Age16::UNTOUCHED);
        recorder.touch(7);
        recorder.touch(9);
        assert_eq!(recorder.word(), 7);
        recorder.touch(0);
        recorder.touch(3);
        assert_eq!(recorder.word(), 0);
    }

    #[test]
    fn frozen_recorders_have_the_words_of_the_atomics() {
        let mut recorders = [0, 7, 300, 65_534, u16::MAX].map(Age16::new);
        for window in [0, 1, 8, 300, 301, 65_534] {
            let expected = recorders.iter().filter(|recorder| recorder.within(window)).count();
            let frozen = Age16::freeze(&mut recorders);
            assert_eq!(count_within(frozen, window) as usize, expected, "{window}");
        }
        assert_eq!(Age16::freeze(&mut recorders)[2].word(), 300);
    }

    #[test]
    fn counting_does_not_overflow_where_everything_is_in_the_window() {
        let mut recorders: std::vec::Vec<Age16> = (0..200_001).map(|_| Age16::new(0)).collect();
        assert_eq!(count_within(Age16::freeze(&mut recorders), 1), 200_001);
    }
}
