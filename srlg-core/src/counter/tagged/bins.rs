//! [`Bins`]: the position counts of one host by kind and age, for counting on a CPU.

use super::decoder::PositionDecoder;
use super::group::{InWindow, STEP};
use super::histograms::{Grouping, Histograms, KINDS, MOST_GROUPS};
use super::sizes::AGES;
use super::tag::Tagger;
use crate::epoch::Span;

/// Length of a table. It is a power of 2, so that an index can be masked and needs no bounds check.
const TABLE: usize = (KINDS * AGES).next_power_of_two();

/// The position counts of one host, by kind and age.
#[derive(Clone, Debug)]
pub struct Bins {
    span: Span,
    /// Two tables, used in turn, so that successive increments of one bin do not wait for each other. The index of a
    /// bin is `kind * AGES + age`. A bin counts at most 32,768 positions, which is half of the positions of the longest
    /// linear estimator.
    tables: [[u16; TABLE]; 2],
}

impl Bins {
    pub(super) const fn new(span: Span) -> Self {
        Self { span, tables: [[0; TABLE]; 2] }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        let ages = self.span.ages as usize;
        for table in &mut self.tables {
            for kind in 0..KINDS {
                table[kind * AGES..][..ages].fill(0);
            }
        }
    }

    /// Returns the span over which positions are counted.
    #[inline]
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Counts the positions in `found` in whole steps of `STEP` positions. The remaining positions stay in `found`.
    #[inline(always)]
    pub(super) fn count_whole_steps(
        &mut self,
        decoder: PositionDecoder,
        tagger: Tagger,
        found: &mut InWindow,
    ) {
        let whole = found.count / STEP * STEP;
        self.count(decoder, tagger, found, whole);
        found.keep_from(whole);
    }

    /// Counts the remaining positions in `found`, which are fewer than `STEP`.
    #[inline(always)]
    pub(super) fn count_rest(
        &mut self,
        decoder: PositionDecoder,
        tagger: Tagger,
        found: &mut InWindow,
    ) {
        self.count(decoder, tagger, found, found.count);
    }

    /// Counts the first `len` positions of `found`.
    ///
    /// The first loop computes the bins. It uses only 16-bit values, and conditional selections instead of branches, so
    /// that it vectorises. The second loop counts the positions, alternately in the two tables.
    #[inline(always)]
    fn count(
        &mut self,
        decoder: PositionDecoder,
        tagger: Tagger,
        found: &mut InWindow,
        len: usize,
    ) {
        let InWindow { positions, touches, echoes, bins, .. } = found;
        for first in (0..len).step_by(STEP) {
            let (positions, touches, echoes) =
                (&positions[first..][..STEP], &touches[first..][..STEP], &echoes[first..][..STEP]);
            let bins = &mut bins[first..][..STEP];
            for at in 0..STEP {
                let tags = tagger.tags(positions[at]);
                let (age, kind) = decoder.age_and_kind(touches[at], echoes[at], tags);
                bins[at] = kind * AGES as u16 + age;
            }
        }
        let [even, odd] = &mut self.tables;
        let (twos, one) = bins[..len].as_chunks::<2>();
        for two in twos {
            even[usize::from(two[0]) % TABLE] += 1;
            odd[usize::from(two[1]) % TABLE] += 1;
        }
        one.iter().for_each(|&bin| even[usize::from(bin) % TABLE] += 1);
    }

    #[inline(always)]
    pub(super) fn grouped(&self, grouping: Grouping) -> [[u32; MOST_GROUPS]; KINDS] {
        let mut grouped = [[0; MOST_GROUPS]; KINDS];
        for (kind, groups) in grouped.iter_mut().enumerate() {
            let [even, odd] =
                self.tables.each_ref().map(|table| table[kind * AGES..].first_chunk::<AGES>());
            let (Some(even), Some(odd)) = (even, odd) else { continue };
            // Ages outside the window have no positions. A fine region has at most 57,344 positions, so all sums fit
            // into 16 bits.
            let mut sums: [u16; AGES] = core::array::from_fn(|age| even[age] + odd[age]);
            for _ in 0..grouping.shift() {
                let twos = sums;
                for (sum, two) in sums.iter_mut().zip(twos.as_chunks::<2>().0) {
                    *sum = two[0] + two[1];
                }
                sums[AGES / 2..].fill(0);
            }
            *groups = core::array::from_fn(|group| u32::from(sums[group]));
        }
        grouped
    }

    /// Returns the counts as histograms.
    #[inline(always)]
    #[must_use]
    pub fn histograms(&self) -> Histograms {
        Histograms::of(self.span.ages as usize, |kind, age| self.of(kind, age))
    }

    #[inline(always)]
    pub(super) fn fill(&self, histograms: &mut Histograms) {
        histograms.fill(self.span.ages as usize, |kind, age| self.of(kind, age));
    }

    #[inline(always)]
    fn of(&self, kind: usize, age: usize) -> u32 {
        let bin = kind * AGES + age;
        u32::from(self.tables[0][bin]) + u32::from(self.tables[1][bin])
    }
}
