//! A block of the union estimator of one host, as vectors of 16 bits.

use super::BLOCK;
use crate::recorder::Reading;
use crate::tag::Tagger;

/// A block of a union estimator: per position its age, and whether rows of that age allow
/// and show a touch of the host itself.
pub(super) struct Union {
    age: [u16; BLOCK],
    allowed: [u16; BLOCK],
    shown: [u16; BLOCK],
}

impl Union {
    #[inline]
    pub(super) fn new() -> Self {
        Self { age: [0; BLOCK], allowed: [1; BLOCK], shown: [0; BLOCK] }
    }

    /// Adds a row of at most [`BLOCK`] recorders. All values are 16 bits wide, all choices are
    /// selections and all arrays of one length, so that the loops vectorise.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into four arrays vectorises")]
    pub(super) fn add<R: Reading<Word = u16>>(
        &mut self,
        row: &[R],
        tagger: Tagger,
        start: u16,
        tag_bits: u32,
    ) {
        let mut words = [0; BLOCK];
        words.iter_mut().zip(row).for_each(|(word, recorder)| *word = recorder.word());
        let mask = (1u16 << tag_bits) - 1;
        for place in 0..BLOCK {
            let (row_age, row_tag) = (words[place] >> tag_bits, words[place] & mask);
            let tag = tagger.tag(start.wrapping_add(place as u16));
            let (allows, shows) = (u16::from(row_tag <= tag), u16::from(row_tag == tag));
            let older = row_age > self.age[place];
            let equal = row_age == self.age[place];
            let (allowed, shown) = (self.allowed[place], self.shown[place]);
            // Of an older row alone, of an equal row both, of a younger one nothing.
            self.allowed[place] =
                if older { allows } else { allowed & (allows | u16::from(!equal)) };
            self.shown[place] = if older { shows } else { shown | (shows & u16::from(equal)) };
            self.age[place] = self.age[place].max(row_age);
        }
    }

    /// Per position its age, with [`AGES`](super::AGES) added where a touch of the host itself is visible.
    #[inline(always)]
    pub(super) fn bins(&self) -> [u16; BLOCK] {
        core::array::from_fn(|place| {
            self.age[place] | (self.allowed[place] & self.shown[place]) << 8
        })
    }
}
