//! [`Histograms`]: a tally of the tagged counter, and the bins that devices count into.

use super::params::{AGES, MOST_POSITIONS};
use crate::epoch::Span;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Kinds of bins: all that a [`Kind`] and `TWICE` make together.
pub(super) const KINDS: usize = 5;

/// Bits of a bin: enough for all positions of a linear estimator, so that no bin runs over into its neighbour.
const BIN_BITS: u32 = 16;
const _: () = assert!(MOST_POSITIONS < 1 << BIN_BITS);

impl Span {
    /// Returns the number of bins that a device counts the positions of one host into, two in a word of 32 bits, the
    /// first in the lower half; see [`Histograms::of_bins`].
    #[inline]
    #[must_use]
    pub const fn bins(self) -> usize {
        KINDS * self.ages as usize
    }

    /// Returns the number of words that the [bins](Self::bins) of one host take.
    #[inline]
    #[must_use]
    pub const fn bin_words(self) -> usize {
        self.bins().div_ceil((u32::BITS / BIN_BITS) as usize)
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
    /// are in each of the [bins](Span::bins) of `span`, as `words` hold them.
    ///
    /// # Panics
    /// When there are fewer `words` than [`Span::bin_words`].
    #[must_use]
    pub fn of_bins(span: Span, words: &[u32]) -> Self {
        let ages = span.ages as usize;
        Self::of(ages, |kind, age| {
            let (word, shift) = bin_place((kind * ages + age) as u32);
            words[word] >> shift & ((1 << BIN_BITS) - 1)
        })
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
