//! Recorders: small counters of slices since their last touch.
//!
//! A recorder's word orders by recency: the smaller, the more recent its touch. A
//! touch and a merge are therefore both a minimum, which is commutative, associative
//! and idempotent: any number of threads may touch at once, with relaxed atomics, in
//! any order and any number of times, and end with the same words.

use core::sync::atomic::{AtomicU16, Ordering::Relaxed};
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

/// What an array of estimators needs of one of its recorders.
pub trait Recorder: Sized + Send + Sync {
    /// The plain integer inside; a smaller one is more recent.
    type Word: Copy + Ord + core::fmt::Debug;

    /// The age at which a recorder stops growing: 'long ago, or never'.
    const MAX_AGE: u32;

    /// The word of a recorder that was never touched.
    const UNTOUCHED: Self::Word;

    /// A recorder with the given word.
    fn new(word: Self::Word) -> Self;

    /// The word.
    fn word(&self) -> Self::Word;

    /// Keeps the more recent of the recorder's word and `word`: the minimum.
    fn most_recent(&self, word: Self::Word);

    /// Records a touch `late` slices ago; 0 is the running slice.
    fn touch(&self, late: u32);

    /// Slices since the last touch, at most [`MAX_AGE`](Self::MAX_AGE).
    fn age(&self) -> u32;

    /// The word after `slices` more slices without a touch.
    fn grown(word: Self::Word, slices: u32) -> Self::Word;

    /// Ages the recorder by `slices`.
    fn grow(&mut self, slices: u32);

    /// Whether the last touch is within the last `window` slices, the running one included.
    #[inline]
    fn within(&self, window: u32) -> bool {
        self.age() < window
    }
}

/// The paper's recorder: a 16-bit age in slices, 65535 when untouched.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub struct Age16(AtomicU16);

impl Recorder for Age16 {
    type Word = u16;

    const MAX_AGE: u32 = u16::MAX as u32;
    const UNTOUCHED: u16 = u16::MAX;

    #[inline]
    fn new(word: u16) -> Self {
        Self(AtomicU16::new(word))
    }

    #[inline]
    fn word(&self) -> u16 {
        self.0.load(Relaxed)
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
    fn age(&self) -> u32 {
        u32::from(self.word())
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorder_counts_the_slices_since_its_last_touch() {
        let mut recorder = Age16::new(Age16::UNTOUCHED);
        assert!(!recorder.within(65_534));
        recorder.touch(0);
        for age in 0..300 {
            assert_eq!(recorder.age(), age);
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
            assert_eq!(recorder.age(), expected);
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
        assert_eq!(recorder.age(), 7);
        recorder.touch(0);
        recorder.touch(3);
        assert_eq!(recorder.age(), 0);
    }
}
