//! [`Packed`]: four 8-bit recorders or two 16-bit recorders in a 32-bit word.
//!
//! GPU kernels perform compare-and-swap on at least 32 bits. With a packed word, taking a minimum costs one load and
//! one compare-and-swap. With a narrower atomic, the compiler would add a second load. An array of packed recorders is
//! padded to a whole number of words.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

use crate::recorder::ReadRecorder;

/// A 32-bit word that consists of the bytes of neighbouring recorders of type `R`.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub struct Packed<R>(AtomicU32, PhantomData<R>);

impl<R: ReadRecorder> Packed<R> {
    const RECORDERS: usize = size_of::<u32>() / size_of::<R>();

    /// Mask of the recorder in the lowest bits of a packed word.
    const MASK: u32 = u32::MAX >> (u32::BITS - u32::BITS / Self::RECORDERS as u32);

    /// Returns the number of packed words that contain `recorders` recorders.
    #[inline(always)]
    #[must_use]
    pub const fn words(recorders: usize) -> usize {
        recorders.div_ceil(Self::RECORDERS)
    }

    /// Replaces the word of recorder number `at` in `words` with `word` if `word` is more recent.
    ///
    /// # Panics
    /// Panics if `words` does not contain that recorder.
    #[inline(always)]
    pub fn fetch_min(words: &[Self], at: usize, word: R::Word) {
        let (packed, seen) = Self::look(words, at);
        if word != R::saturated(0u32) {
            return packed.fetch_min_seen(seen, at, word);
        }
        // The minimum with 0 is always 0, so this case needs no retry. In recorders without tags, the word of every
        // touch in the current epoch is 0.
        let mask = Self::MASK << Self::shift(at);
        if seen & mask != 0 {
            packed.0.fetch_and(!mask, Relaxed);
        }
    }

    /// Returns the packed word that contains recorder number `at` of `words`, and the current value of the packed word.
    ///
    /// # Panics
    /// Panics if `words` does not contain that recorder.
    #[inline(always)]
    pub(crate) fn look(words: &[Self], at: usize) -> (&Self, u32) {
        let packed = &words[at / Self::RECORDERS];
        (packed, packed.0.load(Relaxed))
    }

    /// Replaces the word of recorder number `at` of the array with `word` if `word` is more recent. The recorder is in
    /// this packed word, and `seen` is a recent value of this packed word.
    #[inline(always)]
    pub(crate) fn fetch_min_seen(&self, mut seen: u32, at: usize, word: R::Word) {
        // A packed recorder has at most 16 bits.
        let (shift, word) = (Self::shift(at), Into::<u64>::into(word) as u32);
        while word < seen >> shift & Self::MASK {
            let all = seen & !(Self::MASK << shift) | word << shift;
            match self.0.compare_exchange(seen, all, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Returns the bit offset of recorder number `at` in its packed word.
    #[inline(always)]
    fn shift(at: usize) -> u32 {
        let place = (at % Self::RECORDERS) as u32;
        let last = Self::RECORDERS as u32 - 1;
        let from_low = if cfg!(target_endian = "little") { place } else { last - place };
        from_low * (u32::BITS / Self::RECORDERS as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Recorder, Recorder8, Recorder16};
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Asserts that recorders and packed recorders, both with the initial `words`, have the same bytes after `touches`.
    fn assert_same_bytes<R: Recorder + FromBytes + IntoBytes>(
        words: &[R::Word],
        touches: &[(usize, R::Word)],
    ) {
        let new = || words.iter().map(|&word| R::new(word)).collect::<Vec<R>>();
        let (mut recorders, mut bytes) = (new(), new());
        let length = Packed::<R>::words(words.len());
        bytes.resize_with(length * Packed::<R>::RECORDERS, || R::new(R::UNTOUCHED));
        let bytes = bytes.as_mut_slice().as_mut_bytes();
        let mut packed: Vec<Packed<R>> =
            bytes.chunks_exact(4).map(|word| Packed::read_from_bytes(word).unwrap()).collect();
        for &(at, word) in touches {
            recorders[at].fetch_min(word);
            Packed::fetch_min(&packed, at, word);
        }
        let (expected, rest) =
            (recorders.as_mut_slice().as_mut_bytes(), packed.as_mut_slice().as_mut_bytes());
        assert_eq!(&rest[..expected.len()], expected);
        assert!(rest[expected.len()..].iter().all(|&byte| byte == u8::MAX), "beside the recorders");
    }

    proptest! {
        // Seven recorders do not fill a whole number of packed words at either width.
        #[test]
        fn packed_recorders_are_the_recorders_that_they_hold(
            words in prop::collection::vec(any::<u16>(), 7),
            touches in prop::collection::vec((0usize..7, prop_oneof![3 => any::<u16>(), 1 => Just(0)]), 1..40),
        ) {
            assert_same_bytes::<Recorder16>(&words, &touches);
            let words: Vec<u8> = words.iter().map(|&word| word as u8).collect();
            let touches: Vec<_> = touches.iter().map(|&(at, word)| (at, word as u8)).collect();
            assert_same_bytes::<Recorder8>(&words, &touches);
        }
    }

    // The value that is passed is stale, because both halves of the packed word have changed since it was read.
    #[test]
    fn a_late_swap_loses_no_pair() {
        let packed = [Packed::<Recorder16>(AtomicU32::new(u32::MAX), PhantomData)];
        let (first, seen) = Packed::look(&packed, 0);
        first.fetch_min_seen(seen, 1, 5);
        first.fetch_min_seen(seen, 0, 7);
        first.fetch_min_seen(seen, 1, 6);
        first.fetch_min_seen(seen, 0, 8);
        let word = packed[0].0.load(Relaxed);
        assert!([0x0005_0007, 0x0007_0005].contains(&word), "{word:#x}");
    }
}
