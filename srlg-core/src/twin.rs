//! [`Twin`]: two recorders of 16 bits in one word of 32.
//!
//! 32 bits is the narrowest word that GPUs compare and swap: a minimum of 16 bits costs one load
//! and one swap here, and a load more where a compiler has to make it of 32.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

/// Two neighbouring [`Recorder16`](crate::Recorder16)s: the same bytes.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub struct Twin(AtomicU32);

impl Twin {
    /// The twin that holds recorder number `at` of `twins`, and its word now.
    ///
    /// # Panics
    /// When there is none.
    #[inline(always)]
    pub(crate) fn look(twins: &[Self], at: u32) -> (&Self, u32) {
        let twin = &twins[(at / 2) as usize];
        (twin, twin.0.load(Relaxed))
    }

    /// Keeps the more recent of `word` and the word of recorder number `at`; `seen` is what both
    /// recorders had a moment ago.
    #[inline(always)]
    pub(crate) fn fetch_min_seen(&self, mut seen: u32, at: u32, word: u16) {
        let shift = 16 * if cfg!(target_endian = "little") { at % 2 } else { 1 - at % 2 };
        while word < (seen >> shift) as u16 {
            let both = seen & !(0xffff << shift) | u32::from(word) << shift;
            match self.0.compare_exchange(seen, both, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{ReadRecorder, Recorder, Recorder16};
    extern crate std;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn bytes(words: impl IntoIterator<Item = u16>) -> Vec<u8> {
        words.into_iter().flat_map(u16::to_ne_bytes).collect()
    }

    proptest! {
        #[test]
        fn twins_are_the_recorders_that_they_hold(
            words in prop::collection::vec(any::<u16>(), 8),
            touches in prop::collection::vec((0u32..8, any::<u16>()), 1..40),
        ) {
            let recorders: Vec<Recorder16> = words.iter().map(|&w| Recorder16::new(w)).collect();
            let mut twins = [const { AtomicU32::new(0) }; 4].map(Twin);
            twins.as_mut_slice().as_mut_bytes().copy_from_slice(&bytes(words));
            for &(at, word) in &touches {
                recorders[at as usize].fetch_min(word);
                let (twin, seen) = Twin::look(&twins, at);
                twin.fetch_min_seen(seen, at, word);
            }
            let expected = bytes(recorders.iter().map(ReadRecorder::word));
            prop_assert_eq!(twins.as_mut_slice().as_mut_bytes(), &expected[..]);
        }
    }

    // What was seen may be old: both halves have changed meanwhile.
    #[test]
    fn a_swap_that_comes_late_loses_nothing() {
        let twin = [Twin(AtomicU32::new(u32::MAX))];
        let (first, seen) = Twin::look(&twin, 0);
        first.fetch_min_seen(seen, 1, 5);
        first.fetch_min_seen(seen, 0, 7);
        first.fetch_min_seen(seen, 1, 6);
        first.fetch_min_seen(seen, 0, 8);
        let word = twin[0].0.load(Relaxed);
        assert!([0x0005_0007, 0x0007_0005].contains(&word), "{word:#x}");
    }
}
