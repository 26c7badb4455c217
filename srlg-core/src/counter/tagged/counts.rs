//! [`Counts`]: the numbers of a host's positions that show, may hide or exclude a touch of the host, summed over ages.
//!
//! Counts are integers, because some devices do not support floating point.

use super::histograms::{Histograms, Kind};
use super::params::TaggedParams;
use super::sizes::AGES;
use crate::epoch::Span;

/// The position counts of one or more groups of ages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) all: u64,
    /// Positions that show a touch of the host.
    pub(super) own: u64,
    /// Positions that may hide a touch of the host.
    pub(super) hidden: u64,
    /// Hidden positions at which both places have the same age.
    pub(super) hidden_twice: u64,
    /// Positions at which both places have the same age and each excludes a touch of the host.
    excluded_twice: u64,
}

impl Counts {
    /// Creates counts from `of_kind`, which returns the number of positions of a [`Kind`].
    #[inline(always)]
    pub(super) fn new(of_kind: impl Fn(usize) -> u32) -> Self {
        let of = |kind: u16| u64::from(of_kind(kind.into()));
        let (own, excluded_twice) = (of(Kind::OWN), of(Kind::EXCLUDED + Kind::TWICE));
        let hidden_twice = of(Kind::HIDDEN + Kind::TWICE);
        let hidden = of(Kind::HIDDEN) + hidden_twice;
        let all = own + hidden + of(Kind::EXCLUDED) + excluded_twice;
        Self { all, own, hidden, hidden_twice, excluded_twice }
    }

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

    #[inline(always)]
    pub(super) fn chances(self) -> u64 {
        self.all - self.own + self.hidden_twice - self.excluded_twice
    }

    /// Returns T - 1 times a lower bound on the number of `positions` that are at risk at every age of the window. The
    /// false matches expected at hidden positions are subtracted, because a position with a false match is not at risk.
    /// Each hidden position counts as two chances for a false match.
    #[inline(always)]
    pub(super) fn at_risk(self, params: &TaggedParams, positions: u32) -> u64 {
        let left = u64::from(positions).saturating_sub(self.all) * other_tags(params);
        left.saturating_sub(2 * self.hidden)
    }
}

/// Returns T - 1, the number of tags other than the host's own.
#[inline(always)]
pub(super) fn other_tags(params: &TaggedParams) -> u64 {
    u64::from(params.tags - 1)
}
