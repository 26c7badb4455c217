//! Recorders: small integers that record how long ago they were last touched.
//!
//! The high bits of a recorder's word are an age. In the tagged counter, the low bits are a tag of the host that
//! touched the recorder. In a cell, the low bits identify the host that touched it. A smaller word is more recent.
//! Touching and merging therefore both take a minimum, which is commutative, associative and idempotent. Any number of
//! threads may touch recorders at the same time with relaxed atomics. The order and repetition of touches do not affect
//! the result.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

use crate::word::Word;

/// Read access to a recorder, which is an atomic, or a plain word if no thread touches it.
pub trait ReadRecorder: Sized + Sync {
    /// Integer type of the word. A smaller word is more recent.
    type Word: Word;

    /// Largest word. It means that the recorder was never touched, or that the age of its last touch does not fit into
    /// a word.
    const UNTOUCHED: Self::Word = Self::Word::MAX;

    /// Returns the recorder's word.
    fn word(&self) -> Self::Word;

    /// Returns `value` as a word, or [`UNTOUCHED`](Self::UNTOUCHED) if `value` does not fit.
    #[inline]
    fn saturated(value: impl Into<u64>) -> Self::Word {
        Self::Word::try_from(value.into()).unwrap_or(Self::UNTOUCHED)
    }
}

impl<W: Word> ReadRecorder for W {
    type Word = W;

    #[inline(always)]
    fn word(&self) -> W {
        *self
    }
}

/// An atomic word that any number of threads may touch at the same time.
pub trait Recorder: ReadRecorder + Send {
    /// Creates a recorder with `word`.
    fn new(word: Self::Word) -> Self;

    /// Sets the recorder's word to the minimum of its current value and `word`, that is, to the more recent of the two.
    fn fetch_min(&self, word: Self::Word);

    /// Does the same as [`fetch_min`](Self::fetch_min), but does not start with a load. `seen` is a value that was
    /// recently read from the recorder.
    fn fetch_min_seen(&self, seen: Self::Word, word: Self::Word);

    /// Sets the recorder's word to `word`, even if `word` is less recent. Unless `word` is 0, no other thread may use
    /// the recorder at the same time.
    fn set(&self, word: Self::Word);

    /// Returns `word` aged by `step`, the number of epochs times the growth of a word in one epoch.
    ///
    /// The step is added to the whole word, and the sum saturates, so ageing preserves the order of words. Taking a
    /// minimum before or after ageing therefore gives the same result.
    #[inline]
    fn aged(word: Self::Word, step: Self::Word) -> Self::Word {
        // A word that wrapped from its maximum to 0 would look just touched.
        word.saturating_add(step)
    }

    /// Ages the recorder by `step` and returns the previous word.
    fn age_by(&mut self, step: Self::Word) -> Self::Word;

    /// Returns the words of `recorders` as plain integers. The exclusive borrow ensures that no other thread touches
    /// the recorders. Compilers vectorise loops over plain integers, but not over atomics.
    fn freeze(recorders: &mut [Self]) -> &mut [Self::Word];
}

/// Number of recorders that are counted in one 16-bit counter. Counters as narrow as the words use all lanes of a
/// vector. The counter cannot overflow, but additions wrap explicitly, because overflow checks prevent vectorisation.
const RECORDERS_PER_COUNTER: usize = 1 << 15;

/// Returns the number of `recorders` whose word is below `limit`.
#[inline(always)]
#[must_use]
pub fn count_below<R: ReadRecorder>(recorders: &[R], limit: R::Word) -> u32 {
    let mut total = 0;
    for run in recorders.chunks(RECORDERS_PER_COUNTER) {
        let mut count = 0u16;
        for recorder in run {
            count = count.wrapping_add((recorder.word() < limit).into());
        }
        total += u32::from(count);
    }
    total
}

/// Ages all `recorders` by `step` and returns the number of words that were below `limit` before ageing.
#[inline(always)]
pub fn age_all<R: Recorder>(recorders: &mut [R], step: R::Word, limit: R::Word) -> u32 {
    let mut total = 0;
    for run in recorders.chunks_mut(RECORDERS_PER_COUNTER) {
        let mut count = 0u16;
        for recorder in run {
            count = count.wrapping_add((recorder.age_by(step) < limit).into());
        }
        total += u32::from(count);
    }
    total
}

/// Returns a mask whose bit i equals byte i. Each byte must be 0 or 1.
#[inline(always)]
pub(crate) fn gathered(bytes: [u8; 8]) -> u8 {
    // The term 2^(56 - 7i) moves the bit of byte i from bit 8i to bit 56 + i. All other products affect different bits,
    // so no carry changes the top byte.
    const TO_TOP_BYTE: u64 = 0x0102_0408_1020_4080;
    (u64::from_le_bytes(bytes).wrapping_mul(TO_TOP_BYTE) >> 56) as u8
}

macro_rules! recorder {
    ($(#[$doc:meta])* $name:ident($atomic:ident: $word:ident)) => {
        $(#[$doc])*
        #[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
        #[repr(transparent)]
        pub struct $name($atomic);

        impl ReadRecorder for $name {
            type Word = $word;

            #[inline]
            fn word(&self) -> $word {
                self.0.load(Relaxed)
            }
        }

        impl Recorder for $name {
            #[inline]
            fn new(word: $word) -> Self {
                Self($atomic::new(word))
            }

            #[inline]
            fn fetch_min(&self, word: $word) {
                if word == 0 {
                    // The minimum with 0 is a plain store of 0, which does not wait for a load.
                    self.set(0);
                } else {
                    self.fetch_min_seen(self.word(), word);
                }
            }

            #[inline]
            fn fetch_min_seen(&self, mut seen: $word, word: $word) {
                // The recorder is written only if its word changes. Other threads only decrease the word, so if it was
                // not larger than `word` before, it is not larger now.
                while word < seen {
                    match self.0.compare_exchange(seen, word, Relaxed, Relaxed) {
                        Ok(_) => return,
                        Err(now) => seen = now,
                    }
                }
            }

            #[inline]
            fn set(&self, word: $word) {
                self.0.store(word, Relaxed);
            }

            #[inline]
            fn age_by(&mut self, step: $word) -> $word {
                let word = self.0.get_mut();
                core::mem::replace(word, Self::aged(*word, step))
            }

            fn freeze(recorders: &mut [Self]) -> &mut [$word] {
                let bytes = recorders.as_mut_bytes();
                <[$word]>::mut_from_bytes(bytes).expect("an atomic and its integer have the same layout")
            }
        }
    };
}

recorder!(
    /// An 8-bit recorder, which contains an age.
    Recorder8(AtomicU8: u8)
);
recorder!(
    /// A 16-bit recorder, which contains an age and, in the tagged scheme, a tag.
    Recorder16(AtomicU16: u16)
);
recorder!(
    /// A 32-bit recorder.
    Recorder32(AtomicU32: u32)
);
recorder!(
    /// A 64-bit recorder, which is used as a cell.
    Recorder64(AtomicU64: u64)
);

impl Recorder64 {
    /// Sets the recorder's word to the minimum of its current value and `word` in one atomic operation. GPUs have an
    /// instruction for this. Most CPUs need several instructions.
    #[inline]
    pub fn fetch_min_at_once(&self, word: u64) {
        self.0.fetch_min(word, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;

    #[test]
    fn recorder_ages_with_the_slices_since_its_last_touch() {
        let mut recorder = Recorder16::new(Recorder16::UNTOUCHED);
        recorder.fetch_min(0);
        for age in 0..300 {
            assert_eq!(recorder.word(), age);
            recorder.age_by(1);
        }
    }

    fn assert_saturates<R: Recorder>() {
        let largest: u64 = R::UNTOUCHED.into();
        let mut recorder = R::new(R::saturated(largest - 2));
        for word in [largest - 1, largest, largest] {
            recorder.age_by(R::saturated(1u32));
            assert_eq!(recorder.word().into(), word);
        }
        recorder.fetch_min(R::saturated(0u32));
        recorder.age_by(R::saturated(u64::MAX));
        assert_eq!(recorder.word(), R::UNTOUCHED);
    }

    #[test]
    fn recorders_saturate_and_never_wrap() {
        assert_saturates::<Recorder8>();
        assert_saturates::<Recorder16>();
        assert_saturates::<Recorder32>();
        assert_saturates::<Recorder64>();
    }

    #[test]
    fn touch_keeps_the_more_recent_word() {
        let recorder = Recorder16::new(Recorder16::UNTOUCHED);
        for (touch, kept) in [(700, 700), (900, 700), (0, 0), (3, 0)] {
            recorder.fetch_min(touch);
            assert_eq!(recorder.word(), kept);
        }
    }

    proptest! {
        #[test]
        fn ageing_and_merging_commute(a: u16, b: u16, ages in 0u32..600, tags in 1u32..9000) {
            let step = Recorder16::saturated(ages * tags);
            let aged = |word| Recorder16::aged(word, step);
            prop_assert_eq!(aged(a.min(b)), aged(a).min(aged(b)));
        }
    }

    #[test]
    fn frozen_recorders_have_the_words_of_the_atomics() {
        let mut recorders = [0, 7, 300, 65_534, u16::MAX].map(Recorder16::new);
        for limit in [0, 1, 8, 300, 301, 65_534] {
            let expected = recorders.iter().filter(|recorder| recorder.word() < limit).count();
            let frozen = Recorder16::freeze(&mut recorders);
            assert_eq!(count_below(frozen, limit) as usize, expected, "{limit}");
        }
        assert_eq!(Recorder16::freeze(&mut recorders)[2].word(), 300);
    }

    #[test]
    fn counting_does_not_overflow_where_everything_is_in_the_window() {
        let mut recorders: std::vec::Vec<Recorder16> =
            (0..200_001).map(|_| Recorder16::new(0)).collect();
        assert_eq!(count_below(Recorder16::freeze(&mut recorders), 1), 200_001);
    }
}
