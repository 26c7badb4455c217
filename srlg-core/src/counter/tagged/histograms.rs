//! [`Histograms`]: a tally of the tagged counter, and the bins that devices count into.

use core::ops::Range;

use super::params::{AGES, MOST_POSITIONS};
use crate::epoch::Span;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Kinds of bins: all that a [`Kind`] and `TWICE` make together.
pub(super) const KINDS: usize = 5;

/// Bits of a bin: enough for all positions of a linear estimator, so that no bin runs over into its neighbour.
const BIN_BITS: u32 = 16;
const _: () = assert!(MOST_POSITIONS < 1 << BIN_BITS);

/// Groups that ages are counted in where not every age counts by itself, at most: a bound takes a step for each.
pub(super) const MOST_GROUPS: usize = 64;

/// Says which ages of a window a device counts together: each by itself, or 2^s at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grouping {
    ages: u32,
    shift: u32,
}

impl Grouping {
    /// Returns groups of one age of `span` each: those of [`Histograms`].
    #[inline(always)]
    #[must_use]
    pub const fn of_ages(span: Span) -> Self {
        Self { ages: span.ages, shift: 0 }
    }

    /// Returns up to 64 groups of as many ages of `span`, but for the last one: those of a [bound](super::bound).
    #[inline(always)]
    #[must_use]
    pub const fn for_bound(span: Span) -> Self {
        let mut shift = 0;
        while span.ages.saturating_sub(1) >> shift >= MOST_GROUPS as u32 {
            shift += 1;
        }
        Self { ages: span.ages, shift }
    }

    /// Returns as many groups as [`for_bound`](Self::for_bound) makes of any window of no more ages than `span`.
    #[must_use]
    pub const fn most_for_bound(span: Span) -> Self {
        let most = MOST_GROUPS as u32;
        Self { ages: if span.ages < most { span.ages } else { most }, shift: 0 }
    }

    /// The number of ages of a group; of the last one some may be outside the window.
    pub(super) const fn ages_per_group(self) -> usize {
        1 << self.shift
    }

    /// Returns the number of groups.
    #[inline(always)]
    #[must_use]
    pub const fn groups(self) -> u32 {
        (self.ages.saturating_sub(1) >> self.shift) + 1
    }

    /// Returns the group of `age`, or `None` when that age is not in the window.
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

    /// Returns the number of bins that a device counts the positions of one host into, two in a word of 32 bits, the
    /// first in the lower half; number `kind * groups + group` is that of a kind of positions and a group.
    #[inline(always)]
    #[must_use]
    pub const fn bins(self) -> usize {
        KINDS * self.groups() as usize
    }

    /// Returns the number of words that the [bins](Self::bins) of one host take.
    #[inline(always)]
    #[must_use]
    pub const fn bin_words(self) -> usize {
        self.bins().div_ceil((u32::BITS / BIN_BITS) as usize)
    }

    /// Returns word number `word` of the bins of a host in these groups, of the bins of each of the `ages` in them, which
    /// `words` hold.
    ///
    /// # Panics
    /// When there are fewer `words` than those of `ages`.
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

    /// Returns how many positions are in the bin of `kind` and `group`, as `words` hold the bins of a host.
    ///
    /// # Panics
    /// When there are fewer `words` than [`bin_words`](Self::bin_words).
    #[inline(always)]
    #[must_use]
    pub fn count(self, words: &[u32], kind: usize, group: usize) -> u32 {
        let (word, shift) = bin_place((kind * self.groups() as usize + group) as u32);
        words[word] >> shift & ((1 << BIN_BITS) - 1)
    }
}

/// Returns the number of the word that holds bin number `bin`, and by how many bits that bin is shifted there.
#[inline(always)]
#[must_use]
pub const fn bin_place(bin: u32) -> (usize, u32) {
    let bins = u32::BITS / BIN_BITS;
    ((bin / bins) as usize, bin % bins * BIN_BITS)
}

/// What the two places of a position say of an own touch of the age of the older: bin number
/// `kind * ages + age`, of a window of `ages` ages.
pub(super) struct Kind;

impl Kind {
    /// There cannot be one.
    pub(super) const EXCLUDED: u16 = 0;
    /// It might be hidden.
    pub(super) const HIDDEN: u16 = 1;
    /// It is visible.
    pub(super) const OWN: u16 = 2;
    /// Added to the first two where both places have that age. (To the third it is not.)
    pub(super) const TWICE: u16 = 3;
}

/// Counts the positions of a host's linear estimator by age, for the ages of a window: the host's own last
/// touch of a position, if there is any, is of that age or older.
///
/// The first three say what was seen, the last two how likely chance shows what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Histograms {
    /// All positions. Positions that are missing show that there is no own touch in the window.
    pub all: [u32; AGES],
    /// Positions that show an own touch of that age, or of a foreigner with the host's tag.
    pub own: [u32; AGES],
    /// Positions that show none, and might hide one. At all others, an own touch of that age
    /// would have replaced what is there.
    pub hidden: [u32; AGES],
    /// Hidden positions at which both places, of the touch and of the echo, have that age.
    pub hidden_twice: [u32; AGES],
    /// Positions neither own nor hidden at which both places have that age, and each excludes an
    /// own touch.
    pub excluded_twice: [u32; AGES],
}

impl Histograms {
    /// No position at any age of the window.
    pub(crate) const EMPTY: Self = zerocopy::transmute!([[0u32; AGES]; 5]);

    /// Returns the histograms of positions that were counted by [`Positions::bin`](crate::counter::Positions::bin): how many
    /// are in each of the [bins](Grouping::bins) of the [single ages](Grouping::of_ages) of `span`, as `words` hold them.
    ///
    /// # Panics
    /// When there are fewer `words` than [`Grouping::bin_words`].
    #[must_use]
    pub fn of_bins(span: Span, words: &[u32]) -> Self {
        let ages = Grouping::of_ages(span);
        Self::of(span.ages as usize, |kind, age| ages.count(words, kind, age))
    }

    /// The histograms of a window of `ages` ages: `count` returns the number of positions of a kind and
    /// an age.
    #[inline(always)]
    pub(super) fn of(ages: usize, count: impl Fn(usize, usize) -> u32) -> Self {
        let mut histograms = Self::EMPTY;
        histograms.fill(ages, count);
        histograms
    }

    /// Makes these, which are of a window of as many `ages`, [`of`](Self::of) them.
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
