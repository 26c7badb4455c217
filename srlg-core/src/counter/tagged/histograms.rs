//! [`Histograms`], which are the tally of the tagged counter, and [`Grouping`], which defines the bins in which devices
//! count positions.

use core::ops::Range;

use super::sizes::{AGES, MOST_POSITIONS};
use crate::epoch::Span;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Number of kinds of bins: the three kinds of [`Kind`], `EXCLUDED + TWICE` and `HIDDEN + TWICE`.
pub(super) const KINDS: usize = 5;

/// Number of bits in a bin. A bin can count all positions of a region, so it cannot overflow into its neighbour.
const BIN_BITS: u32 = 16;
const _: () = assert!(MOST_POSITIONS < 1 << BIN_BITS);

/// Maximum number of groups for computing a bound, which requires one step per group.
pub(super) const MOST_GROUPS: usize = 64;

/// A division of the ages in a window into groups of 2^s ages, in which positions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grouping {
    ages: u32,
    shift: u32,
}

impl Grouping {
    /// Creates groups of one age each, for [`Histograms`].
    #[inline(always)]
    #[must_use]
    pub const fn of_ages(span: Span) -> Self {
        Self { ages: span.ages, shift: 0 }
    }

    /// Divides the ages of `span` into at most 64 groups, for computing a [bound](super::bound). All groups have the
    /// same number of ages, except that the last may have fewer.
    #[inline(always)]
    #[must_use]
    pub const fn for_bound(span: Span) -> Self {
        let mut shift = 0;
        while span.ages.saturating_sub(1) >> shift >= MOST_GROUPS as u32 {
            shift += 1;
        }
        Self { ages: span.ages, shift }
    }

    /// Creates a grouping with the maximum number of groups that [`for_bound`](Self::for_bound) creates for any window
    /// of up to `span.ages` ages.
    #[must_use]
    pub const fn most_for_bound(span: Span) -> Self {
        let most = MOST_GROUPS as u32;
        Self { ages: if span.ages < most { span.ages } else { most }, shift: 0 }
    }

    /// Returns the binary logarithm of the number of ages in a group. Some ages of the last group may be outside the
    /// window.
    pub(super) const fn shift(self) -> u32 {
        self.shift
    }

    /// Returns the number of groups.
    #[inline(always)]
    #[must_use]
    pub const fn groups(self) -> u32 {
        (self.ages.saturating_sub(1) >> self.shift) + 1
    }

    /// Returns the group of `age`, or `None` if that age is not in the window.
    #[inline(always)]
    #[must_use]
    pub const fn group(self, age: u32) -> Option<u32> {
        if age < self.ages { Some(age >> self.shift) } else { None }
    }

    /// Returns the ages of `group` that are in the window.
    #[inline(always)]
    #[must_use]
    pub fn ages_of(self, group: usize) -> Range<usize> {
        let ages = self.ages as usize;
        (group << self.shift).min(ages)..((group + 1) << self.shift).min(ages)
    }

    /// Returns the number of bins for the positions of one host. The index of a bin is `kind * groups + group`. A
    /// 32-bit word contains two bins, the first in the lower half.
    #[inline(always)]
    #[must_use]
    pub const fn bins(self) -> usize {
        KINDS * self.groups() as usize
    }

    /// Returns the number of words for the [bins](Self::bins) of one host.
    #[inline(always)]
    #[must_use]
    pub const fn bin_words(self) -> usize {
        self.bins().div_ceil((u32::BITS / BIN_BITS) as usize)
    }

    /// Computes word number `word` of a host's bins in this grouping. `words` contains the bins of this host in the
    /// grouping `ages`, in which each group is one age.
    ///
    /// # Panics
    /// Panics if `words` is too short for the bins of `ages`.
    #[inline(always)]
    #[must_use]
    pub fn word(self, ages: Self, words: &[u32], word: usize) -> u32 {
        let (groups, each) = (self.groups() as usize, (u32::BITS / BIN_BITS) as usize);
        let mut sum = 0;
        for place in 0..each {
            let bin = word * each + place;
            let (kind, group) = (bin / groups, bin % groups);
            if kind < KINDS {
                for age in self.ages_of(group) {
                    sum += ages.count(words, kind, age) << (place as u32 * BIN_BITS);
                }
            }
        }
        sum
    }

    /// Returns the number of positions in the bin of `kind` and `group`. `words` contains the bins of a host.
    ///
    /// # Panics
    /// Panics if `words` is shorter than [`bin_words`](Self::bin_words).
    #[inline(always)]
    #[must_use]
    pub fn count(self, words: &[u32], kind: usize, group: usize) -> u32 {
        let (word, shift) = bin_place((kind * self.groups() as usize + group) as u32);
        words[word] >> shift & ((1 << BIN_BITS) - 1)
    }
}

/// Returns the index of the word that contains bin number `bin`, and the bit offset of that bin in the word.
#[inline(always)]
#[must_use]
pub const fn bin_place(bin: u32) -> (usize, u32) {
    let bins = u32::BITS / BIN_BITS;
    ((bin / bins) as usize, bin % bins * BIN_BITS)
}

/// The kinds of a position: whether its two places exclude, may hide or show a touch of the host at the age of the
/// older place.
pub(super) struct Kind;

impl Kind {
    /// A touch of the host at the position's age is impossible.
    pub(super) const EXCLUDED: u16 = 0;
    /// A touch of the host at the position's age may be hidden.
    pub(super) const HIDDEN: u16 = 1;
    /// A touch of the host at the position's age is visible.
    pub(super) const OWN: u16 = 2;
    /// Value that is added to a kind if both places have the same age. It is added to `EXCLUDED` only if each place
    /// excludes a touch, and never to `OWN`.
    pub(super) const TWICE: u16 = 3;
}

/// The position counts of one region of a host's linear estimator, at each age of a window. A position has the age of
/// the older of its two places. If the host touched the position, its last touch is at least that old.
///
/// The last two fields are needed only to compute the expected number of false matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Histograms {
    /// All positions of each age. If a position is not counted at any age, the host did not touch it in the window.
    pub all: [u32; AGES],
    /// Positions that show a touch of the host, or a touch of another host with the same tag.
    pub own: [u32; AGES],
    /// Positions that do not show a touch of the host but may hide one. If a position is neither own nor hidden, a
    /// touch of the host at the position's age would have replaced a word.
    pub hidden: [u32; AGES],
    /// Hidden positions at which both places have the same age.
    pub hidden_twice: [u32; AGES],
    /// Positions at which both places have the same age and each excludes a touch of the host. These positions are
    /// neither own nor hidden.
    pub excluded_twice: [u32; AGES],
}

impl Histograms {
    /// Histograms without positions.
    pub(crate) const EMPTY: Self = zerocopy::transmute!([[0u32; AGES]; 5]);

    /// Creates histograms from a host's [bins](Grouping::bins). [`Positions::bin`](crate::counter::Positions::bin)
    /// returns the bin in which a position is counted. `words` contains the bins in the grouping
    /// [`of_ages`](Grouping::of_ages) of `span`.
    ///
    /// # Panics
    /// Panics if `words` is shorter than [`Grouping::bin_words`].
    #[must_use]
    pub fn of_bins(span: Span, words: &[u32]) -> Self {
        let ages = Grouping::of_ages(span);
        Self::of(span.ages as usize, |kind, age| ages.count(words, kind, age))
    }

    /// Creates the histograms of a window of `ages` ages. `count` returns the number of positions of a kind and an age.
    #[inline(always)]
    pub(super) fn of(ages: usize, count: impl Fn(usize, usize) -> u32) -> Self {
        let mut histograms = Self::EMPTY;
        histograms.fill(ages, count);
        histograms
    }

    /// Replaces the counts of these histograms. `ages` must be the value with which the histograms were created.
    /// `count` is as in [`of`](Self::of).
    #[inline(always)]
    pub(super) fn fill(&mut self, ages: usize, count: impl Fn(usize, usize) -> u32) {
        for age in 0..ages.min(AGES) {
            let of_kind = |kind: u16| count(kind.into(), age);
            let (own, excluded) = (of_kind(Kind::OWN), of_kind(Kind::EXCLUDED));
            let excluded_twice = of_kind(Kind::EXCLUDED + Kind::TWICE);
            let hidden_twice = of_kind(Kind::HIDDEN + Kind::TWICE);
            let hidden = of_kind(Kind::HIDDEN) + hidden_twice;
            self.all[age] = own + excluded + excluded_twice + hidden;
            self.own[age] = own;
            self.hidden[age] = hidden;
            self.hidden_twice[age] = hidden_twice;
            self.excluded_twice[age] = excluded_twice;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_of_groups_are_the_sums_of_those_of_their_ages(
            ages in 1u32..512,
            counts in prop::collection::vec(0u32..127, KINDS * 512),
        ) {
            let span = Span::whole(ages, 1);
            let (each, groups) = (Grouping::of_ages(span), Grouping::for_bound(span));
            prop_assert!(groups.groups() <= 64 && (ages <= 64) == (groups.groups() == ages));
            let mut words = std::vec![0; each.bin_words()];
            for (bin, count) in counts[..each.bins()].iter().enumerate() {
                let (word, shift) = bin_place(bin as u32);
                words[word] |= count << shift;
            }
            let grouped: std::vec::Vec<u32> =
                (0..groups.bin_words()).map(|word| groups.word(each, &words, word)).collect();
            let mut seen = 0;
            for kind in 0..KINDS {
                for group in 0..groups.groups() as usize {
                    let within = groups.ages_of(group);
                    seen += within.len();
                    prop_assert!(within.clone().all(|age| groups.group(age as u32) == Some(group as u32)));
                    let sum: u32 = within.map(|age| each.count(&words, kind, age)).sum();
                    prop_assert_eq!(groups.count(&grouped, kind, group), sum);
                }
            }
            prop_assert_eq!(seen, KINDS * ages as usize);
            prop_assert_eq!(groups.group(ages), None);
        }
    }
}
