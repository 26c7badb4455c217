//! [`Config`]: every size of a detector, as plain public fields.
//!
//! A `Config` may hold anything; [`Config::validate`] checks it against the rules of
//! the paper and turns it into [`Params`](crate::Params), the only way in. The rules of a finder or
//! a counter are where its params are.

#[cfg(feature = "serde")]
mod seed;

use core::fmt;

use crate::hash::HashFamily;

/// Chooses a finder and a counter, and their sizes.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// The paper's: RSRA and SLEA, an age in slices, 16 bits everywhere. Estimates subtract what
    /// foreign touches set on average.
    Paper {
        /// The RSRA, which finds hosts.
        finder: RsraSizes,
        /// r': rows of the SLEA.
        rows: u32,
        /// Linear estimators in a row (`2^q'` in the paper; any number here).
        columns: u32,
        /// δ': recorders between the starts of two neighbouring linear estimators.
        stride: u32,
    },
    /// Cells, which hold the hosts, and a counter whose recorders hold an age and a tag of the
    /// toucher: estimates count what a host touched itself. docs/tagged-recorders.md explains it.
    Tagged {
        /// There are `2^cell_bits` cells of 8 bytes: 14 for every θ distinct pairs of a window, or
        /// more, miss one host of θ in some 10,000.
        cell_bits: u32,
        /// Lines of 32 recorders in the SLEA; a host has `linear_width / 32` of them.
        lines: u32,
        /// The least number of tags that are told apart, from 64 on; ages take the rest of 16 bits.
        /// Where the window has too many slices for that, ages count epochs of several.
        tags: u32,
    },
}

/// Holds the sizes of an RSRA. Symbols are the paper's.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RsraSizes {
    /// r: rows.
    pub rows: u32,
    /// q: a row has `2^q` rough estimators.
    pub column_bits: u32,
    /// η: recorders of one rough estimator; 2, 4 or 8, so that a mask of them is one byte.
    pub width: u32,
    /// δ: bits by which the address is shifted from one row of the RHFG to the next.
    pub bit_stride: u32,
    /// Hot columns per row that a slice's search accepts; more is an overload.
    ///
    /// It bounds the time of a close: a search looks at no more pairs of columns, and at no more
    /// addresses that they spell, than its square; a close makes at most a search per weight from
    /// the hot weight to η. In the paper's sizes 2^28 pairs, some 3 to 5 s on one core, and six searches.
    pub hot_limit: u32,
}

impl RsraSizes {
    /// Section 5 of the paper.
    pub const PAPER: Self =
        Self { rows: 5, column_bits: 17, width: 8, bit_stride: 5, hot_limit: 1 << 14 };
}

/// Holds the sizes of a detector. Symbols are the paper's. `Debug` leaves out the seed, which may be a secret.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What a recorder remembers.
    pub scheme: Scheme,
    /// θ: a host with at least this many distinct opposite hosts is a super point. From 8 (in the paper's scheme from
    /// the width of a rough estimator) to twice `linear_width`, by default 65,536.
    pub threshold: u32,
    /// k: slices in the window, 1 to 65,534. In the tagged scheme windows of more than 511 are exact to an epoch of several
    /// slices, and so are queries of shorter windows.
    pub window: u32,
    /// η': recorders of one linear estimator. Of some hundred and fewer, estimates come out a few
    /// percent too high.
    pub linear_width: u32,
    /// Candidates per slice that a search accepts; more is an overload. A close takes a look at the
    /// linear estimator of each, and of each super point of the report before, of which as many are kept.
    pub candidate_limit: u32,
    /// The family of every hash. [`HashFamily::HalfSip13`] and a secret seed are for traffic that
    /// somebody might send to mislead the detector.
    pub hash: HashFamily,
    /// Seed of every hash. Nodes whose states are merged need the same one.
    #[cfg_attr(feature = "serde", serde(with = "seed"))]
    pub seed: u64,
}

impl Config {
    /// Returns the sizes of section 5 of the paper: 31.6 MB of recorders, θ = 1024, 300 slices.
    #[must_use]
    pub const fn paper() -> Self {
        Self::paper_with(RsraSizes::PAPER)
    }

    /// Returns the sizes of [`paper`](Self::paper) with another RSRA, `finder`.
    #[must_use]
    pub const fn paper_with(finder: RsraSizes) -> Self {
        Self {
            scheme: Scheme::Paper { finder, rows: 5, columns: 1 << 17, stride: 16 },
            threshold: 1024,
            window: 300,
            linear_width: 1 << 14,
            candidate_limit: 1 << 16,
            hash: HashFamily::Murmur,
            seed: 0,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, threshold, window, linear_width, candidate_limit, hash, seed: _ } = self;
        f.debug_struct("Config")
            .field("scheme", scheme)
            .field("threshold", threshold)
            .field("window", window)
            .field("linear_width", linear_width)
            .field("candidate_limit", candidate_limit)
            .field("hash", hash)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    /// 31.6 MB of cells and tagged recorders, for links with up to some 20 million distinct pairs per
    /// window, exact to the slice at 300 slices: to that load the finder misses a host of θ some once in 10,000
    /// times. docs/tagged-recorders.md has the figures behind each number.
    fn default() -> Self {
        Self {
            scheme: Scheme::Tagged { cell_bits: 18, lines: 461_600, tags: 64 },
            linear_width: 1 << 15,
            candidate_limit: 1 << 14,
            ..Self::paper()
        }
    }
}
