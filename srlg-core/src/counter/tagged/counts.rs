//! [`Counts`]: positions of a host by what they say of own touches, summed over ages.
//!
//! Integers alone, for devices that have no floats.

use super::histograms::{Histograms, Kind};
use super::params::{AGES, TaggedParams};
use crate::epoch::Span;

/// Counts the positions of a group of ages, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// All positions.
    pub(super) all: u64,
    /// Those that show an own touch.
    pub(super) own: u64,
    /// Those that may hide one.
    pub(super) hidden: u64,
    /// Those of the hidden at which both places have one age.
    pub(super) hidden_twice: u64,
    /// Those at which both places have one age, and each excludes an own touch.
    excluded_twice: u64,
}

impl Counts {
    /// The counts of positions of which there are `of_kind` of each [`Kind`].
    #[inline(always)]
    pub(super) fn new(of_kind: impl Fn(usize) -> u32) -> Self {
        let of = |kind: u16| u64::from(of_kind(kind.into()));
        let (own, excluded_twice) = (of(Kind::OWN), of(Kind::EXCLUDED + Kind::TWICE));
        let hidden_twice = of(Kind::HIDDEN + Kind::TWICE);
        let hidden = of(Kind::HIDDEN) + hidden_twice;
        let all = own + hidden + of(Kind::EXCLUDED) + excluded_twice;
        Self { all, own, hidden, hidden_twice, excluded_twice }
    }

    /// The counts of `histograms` over `span`.
    pub(super) fn of(histograms: &Histograms, span: Span) -> Self {
        let sum =
            |bins: &[u32; AGES]| bins[..span.ages as usize].iter().map(|&bin| u64::from(bin)).sum();
        Self {
            all: sum(&histograms.all),
            own: sum(&histograms.own),
            hidden: sum(&histograms.hidden),
            hidden_twice: sum(&histograms.hidden_twice),
            excluded_twice: sum(&histograms.excluded_twice),
        }
    }

    /// The sum of both.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            own: self.own + other.own,
            hidden: self.hidden + other.hidden,
            hidden_twice: self.hidden_twice + other.hidden_twice,
            excluded_twice: self.excluded_twice + other.excluded_twice,
        }
    }

    /// Chances for a false match.
    #[inline(always)]
    pub(super) fn chances(self) -> u64 {
        self.all - self.own + self.hidden_twice - self.excluded_twice
    }

    /// Chances for a false match, at most: those that both places exclude are not taken off.
    #[inline(always)]
    pub(super) fn most_chances(self) -> u64 {
        self.all - self.own + self.hidden_twice
    }

    /// T - 1 times how many of `positions` are at risk at every age of the window, at least; 0 where none are. Positions
    /// that might hide an own touch with the tag of what hides it tell nothing either.
    #[inline(always)]
    pub(super) fn at_risk(self, params: &TaggedParams, positions: u32) -> u64 {
        let left = u64::from(positions).saturating_sub(self.all) * other_tags(params);
        left.saturating_sub(2 * self.hidden)
    }
}

/// T - 1.
#[inline(always)]
pub(super) fn other_tags(params: &TaggedParams) -> u64 {
    u64::from(params.tags - 1)
}
